package hostile

import (
	"bytes"
	"compress/gzip"
	"strings"
)

// LongCSV is a proper CSV file of some bytes, gzipped.
func LongCSV(size int) []byte {
	block := []byte(strings.Repeat("1,2\n3,4\n5,6\n7,8\n", 1<<16))
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte("a,b\n"))
	for n := 0; n+len(block) <= size && err == nil; n += len(block) {
		_, err = z.Write(block)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return out.Bytes()
}
