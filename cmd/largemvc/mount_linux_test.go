package main

import (
	"syscall"
	"testing"
)

// mountSmall mounts a disk of 16 KiB, until the test ends, where that is permitted.
func mountSmall(t *testing.T, folder string) bool {
	if syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=16k") != nil {
		return false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return true
}
