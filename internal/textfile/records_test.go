package textfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestRecords: comments become empty lines, and nothing else changes.
func TestRecords(t *testing.T) {
	long := strings.Repeat("x", 2*bufferSize)
	for in, want := range map[string]string{
		"":                                "",
		"# a\n#\nid,label\n#b\nc,1":       "\n\nid,label\n\nc,1",
		"#N/A,1\n#N/A\n#NA\n#N/A":         "#N/A,1\n#N/A\n\n#N/A",
		"#a\nlabel\n# b\n##\n#\n#\tc\n0":  "\nlabel\n\n\n\n\n0",
		"a,b\n# of one, or two\n#\tc,d\n": "a,b\n\n\n",
		"#id\tx\n\na\tb\n#c,d\n# e":       "\n\na\tb\n\n",
		"\"a\n# in a quote\"\n# b\"\nc":   "\"a\n# in a quote\"\n\nc",
		"#" + long + "\n" + long:          "\n" + long,
		"a#b\r\n# c\r\n":                  "a#b\r\n\n",
	} {
		got, err := io.ReadAll(Records(bufio.NewReaderSize(strings.NewReader(in), bufferSize), true))
		if err != nil || string(got) != want {
			t.Errorf("%.40q: %.40q, %v", in, got, err)
		}
	}
}

// endless is lines of zeros, all alike.
type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.line[i%len(e.line)]
	}
	return len(p), nil
}

// failing gives its error once, as a bufio.Reader does.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

// TestRecordsErrors: what is longer than any record is an error long before the memory ends, and errors stay.
func TestRecordsErrors(t *testing.T) {
	for want, in := range map[string]io.Reader{
		"has a line of more than 64 MiB, line 2":            io.MultiReader(strings.NewReader("label\n"), endless{"0"}),
		"has a record of more than 64 MiB, from line 2 on;": io.MultiReader(strings.NewReader("label\n\""), endless{"0\n"}),
		"line 2 begins with #":                              strings.NewReader("label\n#sports\nnews\n"),
		"line 4 begins with #":                              strings.NewReader("# of May\n\nid,label\n#1,a\n"),
		"line 3 begins with #, as":                          strings.NewReader("a;b;c\n\n#1;2;3"),
		"line 6 begins with #, as co":                       strings.NewReader("a,\"b\n#\nc\"\n# d\nx,y\n#e,f\n"),
	} {
		n, err := io.Copy(io.Discard, Records(bufio.NewReaderSize(in, bufferSize), true))
		if err == nil || !strings.Contains(err.Error(), want) || n > MaxLine+bufferSize {
			t.Errorf("%d bytes, %v; want %q", n, err, want)
		}
	}
	lost, err := io.ReadAll(Records(bufio.NewReader(strings.NewReader("id,label\n#1,a\n2,b\n")), false))
	if err != nil || string(lost) != "id,label\n\n2,b\n" {
		t.Errorf("a comment that may be a record: %q, %v", lost, err)
	}
	broken := errors.New("broken")
	r := Records(bufio.NewReaderSize(io.MultiReader(bytes.NewReader([]byte("a\n")), &failing{broken}), bufferSize), true)
	for range 2 {
		if _, err := io.ReadAll(r); err != broken {
			t.Errorf("%v, want %v", err, broken)
		}
	}
}
