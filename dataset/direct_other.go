//go:build !linux

package dataset

import (
	"errors"
	"os"
)

func openPast(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

func refuses(error) bool { return false }

func cacheRoom() (int64, bool) { return 0, false }

func hugePages(int) ([]byte, func() error) { return nil, nil }

func inHugePages[E any](s []E) []E { return s }
