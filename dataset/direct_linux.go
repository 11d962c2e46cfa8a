package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openPast opens a file once more by its descriptor, for it may have lost its name, and by its name where there is no /proc.
func openPast(f *os.File) (*os.File, error) {
	past, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return os.OpenFile(f.Name(), os.O_RDONLY|unix.O_DIRECT, 0)
	}
	return past, nil
}

func refuses(err error) bool { return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) }

// hugePages returns memory that is to lie in huge pages, with what gives it back; nil where there is none.
func hugePages(bytes int) (memory []byte, unmap func() error) {
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil
	}
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // without them it is memory all the same
	return m, func() error { return os.NewSyscallError("munmap", unix.Munmap(m)) }
}

// inHugePages asks the system for huge pages for memory that nothing was written to: there are fewer page faults then.
func inHugePages[E any](s []E) []E {
	const page = 2 << 20
	bytes := uintptr(cap(s)) * uintptr(bytesOf[E]())
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	if first := (page - start%page) % page; bytes >= first+page { // the pages that lie in s alone
		inside := (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), first))
		_ = unix.Madvise(unsafe.Slice(inside, (bytes-first)/page*page), unix.MADV_HUGEPAGE) // else it is memory all the same
	}
	return s
}

// cacheRoom is the memory that the system may have for what it keeps of files: what is available, and within that what the
// control groups of the process leave. ok is false where that cannot be told.
func cacheRoom() (room int64, ok bool) { return roomIn("/proc", "/sys/fs/cgroup") }

func roomIn(proc, groups string) (room int64, ok bool) {
	room, ok = available(filepath.Join(proc, "meminfo"))
	if !ok {
		return 0, false
	}
	of, err := os.ReadFile(filepath.Join(proc, "self", "cgroup"))
	if err != nil {
		return room, true
	}
	for line := range bytes.Lines(of) {
		part := strings.SplitN(strings.TrimSpace(string(line)), ":", 3) // number:controllers:path
		if len(part) < 3 {
			continue
		}
		root, file := groups, "memory.max"
		if part[1] != "" {
			if !strings.Contains(","+part[1]+",", ",memory,") {
				continue
			}
			root, file = filepath.Join(groups, "memory"), "memory.limit_in_bytes"
		}
		for at := filepath.Clean("/" + part[2]); ; at = filepath.Dir(at) { // a container may show its own group as the root
			if b, err := os.ReadFile(filepath.Join(root, at, file)); err == nil {
				if most, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
					room = min(room, most)
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return room, true
}

// available is MemAvailable of /proc/meminfo.
func available(path string) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, found := strings.Cut(lines.Text(), ":"); found && name == "MemAvailable" {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
