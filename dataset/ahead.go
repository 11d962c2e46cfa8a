package dataset

import (
	"io"

	"github.com/largemvc/largemvc/internal/parallel"
)

// partsAhead is how many parts of a stream are read before they are asked for.
const partsAhead = 4

// readAhead reads total bytes in parts of size, the last one smaller, on a goroutine of its own: it inflates while the caller
// converts. A part is good until the next one is asked for. stop waits until nothing is read any more.
func readAhead(r io.Reader, total, size int) (next func() ([]byte, error), stop func()) {
	type part struct {
		raw []byte
		err error
	}
	full, empty, quit := make(chan part, partsAhead), make(chan []byte, partsAhead), make(chan struct{})
	for range min(partsAhead, (total+size-1)/size) {
		empty <- make([]byte, min(size, total))
	}
	go func() {
		defer close(full)
		for left, err := total, error(nil); left > 0 && err == nil; {
			select {
			case <-quit:
				return
			case raw := <-empty:
				raw = raw[:min(left, size)]
				left -= len(raw)
				err = parallel.Caught(func() error {
					_, err := io.ReadFull(r, raw)
					return err
				})
				full <- part{raw, err}
			}
		}
	}()
	var last []byte
	next = func() ([]byte, error) {
		if last != nil {
			empty <- last
		}
		p := <-full
		last = p.raw
		return p.raw, p.err
	}
	return next, func() {
		close(quit)
		for range full { // until it is closed
		}
	}
}
