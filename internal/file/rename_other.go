//go:build !windows

package file

import "os"

// rename gives a file the name of another, which it replaces, whoever reads the other.
func rename(from, to string) error { return os.Rename(from, to) }
