package main

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// diskRate reads the files past the system's cache, two blocks at a time, and returns the bytes a second. huge says whether
// the memory that they go to lies in huge pages, to which a disk of a virtual machine may give more.
func diskRate(files []string, huge bool) (float64, error) {
	var bytes int64
	began := time.Now()
	for _, path := range files {
		n, err := readPast(path, huge)
		if err != nil {
			return 0, err
		}
		bytes += n
	}
	return float64(bytes) / time.Since(began).Seconds(), nil
}

func readPast(path string, huge bool) (total int64, err error) {
	const block, page = 1 << 20, 2 << 20
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var held [2][]byte
	for k := range held {
		all, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return 0, err
		}
		defer syscall.Munmap(all)
		advice := syscall.MADV_NOHUGEPAGE
		if huge {
			advice = syscall.MADV_HUGEPAGE
		}
		if err := syscall.Madvise(all, advice); err != nil {
			return 0, err
		}
		held[k] = all[page-int(uintptr(unsafe.Pointer(&all[0]))%page):][:block]
	}
	var wait sync.WaitGroup
	var counts [2]int64
	var errs [2]error
	for k, buf := range held {
		wait.Go(func() {
			for at := int64(k) * block; ; at += 2 * block {
				n, err := f.ReadAt(buf, at)
				counts[k] += int64(n)
				if err != nil {
					if !errors.Is(err, io.EOF) {
						errs[k] = err
					}
					return
				}
			}
		})
	}
	wait.Wait()
	return counts[0] + counts[1], errors.Join(errs[:]...)
}
