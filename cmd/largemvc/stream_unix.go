//go:build unix

package main

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// hasDescriptors reports whether paths can mean open files of the process.
const hasDescriptors = true

// duplicate opens an open file of this process again, so that it can be closed without the other.
func duplicate(number int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(number), unix.F_GETFL, 0)
	if err != nil {
		return nil, err
	}
	if flags&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, errors.New("it is open only for reading")
	}
	again, err := unix.FcntlInt(uintptr(number), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(again), "descriptor "+strconv.Itoa(number)), nil
}

// readsToo reports whether a file is open for reading and writing.
func readsToo(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// mayWrite reports whether a pipe or a device may be written, without opening it.
func mayWrite(path string) error { return unix.Access(path, unix.W_OK) }
