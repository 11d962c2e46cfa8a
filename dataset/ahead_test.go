package dataset

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("broken") }

// TestReadAhead reads streams of several lengths to the end, and stops in one.
func TestReadAhead(t *testing.T) {
	for _, total := range []int{0, 1, 7, 8, 9, 63, 64, 65, 1000} {
		want := make([]byte, total)
		for i := range want {
			want[i] = byte(i * 7)
		}
		next, stop := readAhead(iotest.OneByteReader(bytes.NewReader(want)), total, 8)
		var got []byte
		for len(got) < total {
			part, err := next()
			if err != nil || len(part) == 0 || len(part) > 8 {
				t.Fatalf("%d bytes: a part of %d: %v", total, len(part), err)
			}
			got = append(got, part...)
		}
		stop()
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v", total, got)
		}
	}
	reader := &io.LimitedReader{R: iotest.OneByteReader(neverEnding{}), N: 1 << 40}
	next, stop := readAhead(reader, 1<<40, 1<<10)
	if _, err := next(); err != nil {
		t.Fatal(err)
	}
	stop()
	if left := reader.N; left < 1<<40-(1+partsAhead)<<10 { // the race detector sees a read after stop
		t.Errorf("%d bytes were read for one part", 1<<40-left)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }

// TestReadAheadFails hands the error of a reader, or its panic, to the caller behind the parts before it.
func TestReadAheadFails(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"cut":    bytes.NewReader(make([]byte, 20)),
		"panics": io.MultiReader(bytes.NewReader(make([]byte, 20)), panicking{}),
	} {
		next, stop := readAhead(r, 40, 8)
		for range 2 {
			if _, err := next(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		stop()
	}
}
