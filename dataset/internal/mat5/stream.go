package mat5

import (
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/largemvc/largemvc/dataset/internal/budget"
)

// stream reads the bytes of one variable forward, inflating them where they are compressed.
type stream struct {
	pos   int64
	order binary.ByteOrder
	raw   io.ReaderAt // not compressed
	base  int64
	size  int64
	z     *bufio.Reader // compressed
}

// inflater inflates the variables, one at a time.
type inflater struct {
	zlib io.ReadCloser
	buf  *bufio.Reader
}

// open begins to inflate. The stream opened before must not be used from then on.
func (i *inflater) open(r io.Reader, lim *budget.Budget) (*bufio.Reader, error) {
	var err error
	if i.zlib == nil {
		i.zlib, err = zlib.NewReader(r)
	} else {
		err = i.zlib.(zlib.Resetter).Reset(r, nil)
	}
	if err != nil {
		return nil, inflateError(err)
	}
	if i.buf == nil {
		i.buf = bufio.NewReaderSize(nil, 1<<16)
	}
	i.buf.Reset(lim.Reader(i.zlib))
	return i.buf, nil
}

func (f *File) open(k int) (*stream, error) {
	t := f.tops[k]
	s := &stream{order: f.order(), raw: f.r, base: t.at, size: t.size}
	if !t.compressed {
		return s, nil
	}
	f.cur = nil
	var err error
	s.z, err = f.inflater.open(io.NewSectionReader(f.r, t.at, t.size), f.lim)
	return s, err
}

func inflateError(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, zlib.ErrChecksum) || errors.Is(err, zlib.ErrHeader) ||
		errors.Is(err, zlib.ErrDictionary) {
		return errors.New("is damaged (compressed data)")
	}
	return truncated(err)
}

func (s *stream) read(b []byte) error {
	if s.z != nil {
		n, err := io.ReadFull(s.z, b)
		s.pos += int64(n)
		if err != nil {
			return inflateError(err)
		}
		return nil
	}
	if int64(len(b)) > s.size-s.pos {
		return errors.New("is truncated")
	}
	_, err := s.raw.ReadAt(b, s.base+s.pos)
	s.pos += int64(len(b))
	if err != nil && !errors.Is(err, io.EOF) { // ReadAt may report the end of the file with the last bytes
		return err
	}
	return nil
}

// skip moves forward. In compressed data the bytes are known to be there when it returns.
func (s *stream) skip(n int64) error {
	if n < 0 {
		return errors.New("is damaged (sizes)")
	}
	if s.z != nil {
		m, err := io.CopyN(io.Discard, s.z, n)
		s.pos += m
		if err != nil {
			return inflateError(err)
		}
		return nil
	}
	if n > s.size-s.pos {
		return errors.New("is truncated")
	}
	s.pos += n
	return nil
}

// finish reads the end of compressed data, where their checksum is compared.
func (s *stream) finish() error {
	switch n, err := s.z.Read(make([]byte, 1)); {
	case n > 0:
		return errors.New("holds more than its size")
	case err != nil && !errors.Is(err, io.EOF):
		return inflateError(err)
	}
	return nil
}

// tag reads the tag of a data element that may take up to left bytes: its type and size. A small element has its data
// in the tag.
func (s *stream) tag(left int64) (kind uint32, size int64, small []byte, err error) {
	if left < 8 {
		return 0, 0, nil, errors.New("is damaged (an element ends inside its tag)")
	}
	var b [8]byte
	if err := s.read(b[:]); err != nil {
		return 0, 0, nil, err
	}
	w := s.order.Uint32(b[:])
	if n := w >> 16; n != 0 {
		if n > 4 {
			return 0, 0, nil, fmt.Errorf("is damaged (a small element of %d bytes)", n)
		}
		return w & 0xffff, int64(n), b[4 : 4+n], nil
	}
	size = int64(s.order.Uint32(b[4:]))
	if size > left-8 {
		return 0, 0, nil, fmt.Errorf("is damaged (an element of %d bytes where %d remain)", size, left-8)
	}
	return w, size, nil, nil
}
