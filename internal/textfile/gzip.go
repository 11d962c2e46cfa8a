package textfile

import (
	"bufio"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// GzipReader unpacks the streams of a file one after another, and says what is there where something else follows them: the
// reader of the standard library takes that for a stream that was cut off.
type GzipReader struct {
	packed *bufio.Reader
	stream *gzip.Reader
}

// NewGzipReader returns the reader of a file that begins as one of gzip.
func NewGzipReader(r io.Reader) (*GzipReader, error) {
	packed := bufio.NewReaderSize(r, bufferSize)
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, plain(err)
	}
	z.Multistream(false)
	return &GzipReader{packed, z}, nil
}

// Read implements io.Reader. Its errors say what is wrong with the file, to be read behind its name.
func (g *GzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.stream.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil // the next call finds out what follows
			}
			return n, plain(err)
		}
		if err := g.next(); err != nil {
			return 0, plain(err)
		}
	}
}

// next goes on to the stream after one that has ended.
func (g *GzipReader) next() error {
	head, err := g.packed.Peek(2)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return io.EOF
	case string(head) == "\x1f\x8b":
		if err := g.stream.Reset(g.packed); err != nil {
			return err
		}
		g.stream.Multistream(false)
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	more, err := io.Copy(io.Discard, g.packed)
	if err != nil {
		return err
	}
	return fmt.Errorf("has bytes after the end of its gzip stream, which is whole: %d of them, which are no gzip; take them off "+
		"(gzip -dc file.gz > file.csv does)", more)
}

// plain says what an error of the standard library means for a file.
func plain(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return errors.New("is damaged (gzip)")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is truncated (gzip)")
	}
	return err
}
