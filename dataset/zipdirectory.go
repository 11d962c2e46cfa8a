package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
)

// directoryReader books the memory that the directory of a zip archive takes.
type directoryReader struct {
	r     io.ReaderAt
	lim   *limits
	ended bool
}

// perDirectoryByte is how much memory package zip takes for a byte of the directory: an entry of at least 46 bytes becomes a
// zip.File.
const perDirectoryByte = 8

// ReadAt implements io.ReaderAt.
func (d *directoryReader) ReadAt(p []byte, off int64) (int, error) {
	if !d.ended {
		if err := d.lim.Take("the directory of the archive", perDirectoryByte*int64(len(p))); err != nil {
			return 0, err
		}
	}
	return d.r.ReadAt(p, off)
}

// open lists an archive of size bytes.
func (d *directoryReader) open(size int64) (*zip.Reader, error) {
	listed, err := directoryEntries(d.r, size)
	if err != nil {
		return nil, err
	}
	// Package zip makes room for as many entries as the file could hold.
	if err := d.lim.Take("the directory of the archive", 8*int64(min(listed, uint64(size)/30))); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(d, size)
	d.ended = true
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("is a broken or truncated .npz file (%w)", err)
	}
	if z != nil {
		z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	}
	return z, err
}

// directoryEntries returns the number of entries that the end of an archive gives, at least 65,536.
func directoryEntries(r io.ReaderAt, size int64) (uint64, error) {
	tail := make([]byte, min(size, 66<<10)) // as far as package zip looks for it
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	most := uint64(1 << 16)
	for {
		at := bytes.Index(tail, []byte("PK\x06\x07")) // the place of a zip64 record
		if at < 0 || len(tail) < at+20 {
			return most, nil
		}
		var record [40]byte
		place := binary.LittleEndian.Uint64(tail[at+8:])
		if place < uint64(size) {
			if n, _ := r.ReadAt(record[:], int64(place)); n == len(record) {
				most = max(most, binary.LittleEndian.Uint64(record[32:]))
			}
		}
		tail = tail[at+4:]
	}
}
