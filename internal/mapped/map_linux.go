package mapped

import (
	"os"

	"golang.org/x/sys/unix"
)

const possible = true

// create returns the content of a file of so many bytes. The disk has room for all of them: a page that could not be written
// later would end the process.
func create(f *os.File, bytes int) ([]byte, error) {
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(bytes)); err != nil {
		return nil, os.NewSyscallError("fallocate", err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return m, os.NewSyscallError("mmap", err)
}

func unmap(m []byte) error { return os.NewSyscallError("munmap", unix.Munmap(m)) }
