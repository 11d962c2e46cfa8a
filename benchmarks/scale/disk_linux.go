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
	const block, page = 1 << 20, 4096
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var wait sync.WaitGroup
	var counts [2]int64
	var errs [2]error
	for k := range counts {
		wait.Go(func() {
			buf := make([]byte, block+page)
			buf = buf[page-int(uintptr(unsafe.Pointer(&buf[0]))%page):][:block]
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

// processor is the processor time of this process in seconds.
func processor() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
