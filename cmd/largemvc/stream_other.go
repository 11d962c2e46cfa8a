//go:build !unix

package main

import (
	"errors"
	"os"
)

// hasDescriptors reports whether paths can mean open files of the process.
const hasDescriptors = false

// duplicate is never asked for here.
func duplicate(int) (*os.File, error) { return nil, errors.ErrUnsupported }

// readsToo is not known here, where a standard stream that is closed stays so.
func readsToo(*os.File) bool { return false }

// mayWrite cannot tell here; the writing will.
func mayWrite(string) error { return nil }
