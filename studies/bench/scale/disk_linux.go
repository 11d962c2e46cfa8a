package main

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// diskRate reads the files past the system's cache, two blocks at a time, and returns the bytes a second.
func diskRate(files []string) (float64, error) {
	var bytes int64
	began := time.Now()
	for _, path := range files {
		n, err := readPast(path)
		if err != nil {
			return 0, err
		}
		bytes += n
	}
	return float64(bytes) / time.Since(began).Seconds(), nil
}

func readPast(path string) (total int64, err error) {
	const block = 1 << 20
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var held [2][]byte
	for k := range held {
		held[k], err = syscall.Mmap(-1, 0, block, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return 0, err
		}
		defer syscall.Munmap(held[k])
		if err := syscall.Madvise(held[k], syscall.MADV_NOHUGEPAGE); err != nil {
			return 0, err
		}
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
