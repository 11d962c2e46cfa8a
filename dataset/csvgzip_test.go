package dataset

import (
	"bytes"
	"compress/gzip"
	"slices"
	"testing"
)

// TestGzipEnds: what follows a whole gzip stream is said to be that, and what is cut off is truncated.
func TestGzipEnds(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	whole := pack("a,b\n1,2\n3,4\n")
	for _, c := range []struct {
		data []byte
		word string
	}{
		{slices.Concat(whole, []byte("x")), "has bytes after the end of its gzip stream, which is whole: 1 of them"},
		{slices.Concat(whole, []byte("\x1f")), "1 of them"},
		{slices.Concat(whole, make([]byte, 512)), "512 of them"},
		{slices.Concat(whole, whole, []byte("\r\n")), "2 of them"},
		{whole[:len(whole)-1], "is truncated (gzip)"},
		{whole[:len(whole)-9], "is truncated (gzip)"},
		{slices.Concat(whole, whole[:12]), "is truncated (gzip)"},
	} {
		_, err := read("t.csv.gz", c.data, Options{})
		wantError(t, err, "t.csv.gz", c.word)
	}
	s := mustRead(t, "t.csv.gz", slices.Concat(whole, pack("5,6\n"), pack(""), pack("7,8\n")), Options{})
	if got := values(&s.Views[0]); got != "1 2|3 4|5 6|7 8" {
		t.Error(got)
	}
}
