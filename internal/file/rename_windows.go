package file

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// patience is how long rename waits for other programs.
const patience = 2 * time.Second

// rename gives a file the name of another, which it replaces. Windows refuses that while any program has the other open:
// a virus scanner or an indexer does for a moment after each writing, so rename tries again for a while.
func rename(from, to string) error {
	begin := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := os.Rename(from, to)
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) ||
			errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !busy || time.Since(begin) > patience {
			return err
		}
		time.Sleep(wait)
	}
}
