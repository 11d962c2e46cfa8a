package dataset

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// gzipReader unpacks the streams of a file one after another, and says what is there where something else follows them: the
// reader of the standard library takes that for a stream that was cut off.
type gzipReader struct {
	packed *bufio.Reader
	stream *gzip.Reader
}

func newGzipReader(r io.Reader) (*gzipReader, error) {
	packed := newBuffered(r)
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gzipReader{packed, z}, nil
}

func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.stream.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil // the next call finds out what follows
			}
			return n, err
		}
		if err := g.next(); err != nil {
			return 0, err
		}
	}
}

// next goes on to the stream after one that has ended.
func (g *gzipReader) next() error {
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

func gzipError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return errors.New("is damaged (gzip)")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is truncated (gzip)")
	}
	return err
}
