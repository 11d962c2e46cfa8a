package hdf5

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// chunkReader reads the chunks of a dataset one after the other, in buffers that it keeps.
type chunkReader struct {
	f             *File
	o             *Object
	full          int // bytes of a chunk
	plain, spread []byte
	inflater      io.ReadCloser // a zlib.Resetter too
	held          int64
}

// newChunkReader books the buffers. Chunks are read whole, for a filter may need all of one.
func (f *File) newChunkReader(o *Object) (*chunkReader, error) {
	c := &chunkReader{f: f, o: o, full: o.chunkBytes()}
	room := int64(c.full) + 4 // a checksum may lie inside the compressed data
	buffers := int64(0)
	for _, x := range o.filter {
		if x.id != filterFletcher {
			buffers++
		}
	}
	c.held = buffers * room
	if err := f.lim.Take("a chunk", c.held); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *chunkReader) done() { c.f.lim.Give(c.held) }

// read reads a chunk and undoes its filters, the last one first. The bytes are good until the next call.
func (c *chunkReader) read(ref chunkRef) ([]byte, error) {
	raw, err := c.f.bytes(ref.addr, int64(ref.size)) // the size was compared with the size of the file
	if err != nil {
		return nil, err
	}
	defer c.f.done(raw)
	data := raw
	for k := len(c.o.filter) - 1; k >= 0; k-- {
		if k < 32 && ref.mask&(1<<k) != 0 {
			continue
		}
		switch c.o.filter[k].id {
		case filterDeflate:
			data, err = c.inflate(data)
		case filterLZF:
			data, err = c.unLZF(data)
		case filterShuffle:
			data = c.unshuffle(data)
		case filterFletcher:
			data, err = fletcher(data)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(data) != c.full {
		return nil, fmt.Errorf("is damaged (a chunk of %d bytes instead of %d)", len(data), c.full)
	}
	return data, nil
}

// inflate undoes deflate.
func (c *chunkReader) inflate(data []byte) ([]byte, error) {
	var err error
	if c.inflater == nil {
		c.inflater, err = zlib.NewReader(bytes.NewReader(data))
	} else {
		err = c.inflater.(zlib.Resetter).Reset(bytes.NewReader(data), nil)
	}
	n := 0
	if err == nil {
		if c.plain == nil {
			c.plain = make([]byte, c.full+5)
		}
		r := c.f.lim.Reader(c.inflater)
		for err == nil && n < len(c.plain) {
			var k int
			k, err = r.Read(c.plain[n:])
			n += k
		}
		if err == nil {
			return nil, fmt.Errorf("is damaged (a chunk of more than %d bytes)", c.full)
		}
	}
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, zlib.ErrChecksum) || errors.Is(err, zlib.ErrHeader) ||
		errors.Is(err, zlib.ErrDictionary) {
		return nil, errors.New("is damaged (compressed data)")
	}
	if !errors.Is(err, io.EOF) {
		return nil, truncated(err)
	}
	return c.plain[:n], nil
}

// unLZF undoes LZF: runs of bytes as they are, and copies of earlier bytes.
func (c *chunkReader) unLZF(data []byte) ([]byte, error) {
	if c.plain == nil {
		c.plain = make([]byte, c.full+5)
	}
	out, b := c.plain[:0], block{b: data}
	for len(b.b) > 0 && b.err == nil {
		first := int(b.u8())
		if first < 32 {
			if len(out)+first+1 > cap(out) {
				break
			}
			out = append(out, b.take(first+1)...)
			continue
		}
		n := first>>5 + 2
		if n == 9 {
			n += int(b.u8())
		}
		from := len(out) - (first&31<<8 | int(b.u8())) - 1
		if from < 0 || len(out)+n > cap(out) {
			b.err = errShort
		}
		for k := 0; k < n && b.err == nil; k++ { // the copy may reach into itself
			out = append(out, out[from+k])
		}
	}
	if b.err != nil || len(b.b) > 0 {
		return nil, errors.New("is damaged (compressed data)")
	}
	return out, c.f.lim.Step(int64(len(out)))
}

// unshuffle brings the bytes of each element together again; the last incomplete element stays as it is.
func (c *chunkReader) unshuffle(data []byte) []byte {
	width := c.o.layout.width
	n := len(data) / width
	if width == 1 || n < 2 || len(data) > c.full+4 {
		return data
	}
	if c.spread == nil {
		c.spread = make([]byte, c.full+4)
	}
	out := c.spread[:len(data)]
	for k := range width {
		for i, b := range data[k*n : (k+1)*n] {
			out[i*width+k] = b
		}
	}
	copy(out[n*width:], data[n*width:])
	return out
}
