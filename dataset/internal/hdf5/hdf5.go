// Package hdf5 reads the part of HDF5 ("HDF5 File Format Specification Version 3.0", The HDF Group) that MATLAB v7.3 and
// h5py use for arrays: superblocks 0 to 3 behind a user block, object headers 1 and 2, groups by symbol table, by links in the
// header or in a heap, contiguous, compact and chunked datasets with every index of chunks, deflate, LZF, shuffle and
// Fletcher-32, texts, attributes and object references. What it cannot read gives an error that says what it is. Edit adds
// objects to a copy of a file. The checksums of the newer structures are compared.
package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/budget"
	"github.com/largemvc/largemvc/internal/lookup3"
)

const (
	signature = "\x89HDF\r\n\x1a\n"
	undefined = math.MaxUint64
	maxLinks  = 1 << 16 // members of a group, and nodes of an index
)

// File is an open HDF5 file. It is not for concurrent use.
type File struct {
	r       io.ReaderAt
	base    int64 // of all addresses
	size    int64 // bytes behind base
	offSize int   // bytes of an address
	lenSize int   // bytes of a length
	root    uint64
	lim     *budget.Budget
	objects map[uint64]*Object
	claimed int64 // bytes of all data that were looked at
	// unsealed leaves the checksums out, so that tests can reach what lies behind them.
	unsealed bool
	User     bool // there is a user block before the HDF5 data
}

// Open reads the superblock of a file of size bytes. What is read from the file later is booked in lim.
func Open(r io.ReaderAt, size int64, lim *budget.Budget) (*File, error) {
	return open(r, size, lim, false)
}

func open(r io.ReaderAt, size int64, lim *budget.Budget, unsealed bool) (*File, error) {
	for at := int64(0); at+8 <= size; at = max(512, 2*at) {
		var sig [8]byte
		if _, err := r.ReadAt(sig[:], at); err != nil {
			return nil, truncated(err)
		}
		if string(sig[:]) == signature {
			f := &File{r: r, base: at, size: size - at, User: at > 0, lim: lim, objects: map[uint64]*Object{}, unsealed: unsealed}
			return f, f.superblock()
		}
	}
	return nil, errors.New("is not an HDF5 file")
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is truncated")
	}
	return err
}

func (f *File) superblock() error {
	head, err := f.bytes(0, min(f.size, 128))
	if err != nil {
		return err
	}
	b := block{b: head, f: f}
	b.skip(8)
	var end uint64
	switch version := b.u8(); version {
	case 0, 1:
		b.skip(4)
		f.offSize, f.lenSize = int(b.u8()), int(b.u8())
		b.skip(1 + 4 + 4)
		if version == 1 {
			b.skip(4)
		}
		if err := f.checkSizes(); err != nil {
			return err
		}
		b.skip(2 * f.offSize)
		end = b.offset()
		b.skip(f.offSize + f.offSize) // driver information, name of the root
		f.root = b.offset()
	case 2, 3:
		f.offSize, f.lenSize = int(b.u8()), int(b.u8())
		b.skip(1)
		if err := f.checkSizes(); err != nil {
			return err
		}
		b.skip(2 * f.offSize)
		end = b.offset()
		f.root = b.offset()
		b.checksum(head, "superblock")
	default:
		return fmt.Errorf("has an HDF5 superblock of version %d; 0 to 3 are read", version)
	}
	if b.err != nil {
		return b.err
	}
	// The end is stored as an absolute address by some writers and behind the user block by others.
	if end != undefined && end > uint64(f.size+f.base) {
		return fmt.Errorf("is truncated: it should have %d bytes, and has %d", end, f.size+f.base)
	}
	return nil
}

func (f *File) checkSizes() error {
	for _, n := range []int{f.offSize, f.lenSize} {
		if n != 2 && n != 4 && n != 8 {
			return fmt.Errorf("has HDF5 addresses of %d bytes", n)
		}
	}
	return nil
}

// Root is the address of the root group.
func (f *File) Root() uint64 { return f.root }

// bytes reads n bytes at an address. They are known to be in the file before memory is taken, and booked.
func (f *File) bytes(addr uint64, n int64) ([]byte, error) {
	if n < 0 || addr > uint64(f.size) || uint64(n) > uint64(f.size)-addr {
		return nil, fmt.Errorf("is truncated or damaged: %d bytes at address %d of %d", n, addr, f.size)
	}
	if err := f.lim.Take("a structure of the file", n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := f.r.ReadAt(b, f.base+int64(addr)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// done releases what bytes has read.
func (f *File) done(b []byte) { f.lim.Give(int64(len(b))) }

// upTo reads n bytes at an address, or as many as the file has.
func (f *File) upTo(addr uint64, n int64) ([]byte, error) {
	if addr <= uint64(f.size) {
		n = min(n, f.size-int64(addr))
	}
	return f.bytes(addr, n)
}

// block takes fields from the front of some bytes. After the first field that is not there, err is set and everything is zero.
type block struct {
	b   []byte
	f   *File
	err error
}

var errShort = errors.New("is damaged (a structure ends early)")

func (b *block) take(n int) []byte {
	if b.err == nil && (n < 0 || n > len(b.b)) {
		b.err, b.b = errShort, nil
	}
	if b.err != nil {
		return nil
	}
	out := b.b[:n:n]
	b.b = b.b[n:]
	return out
}

func (b *block) skip(n int) { b.take(n) }

// uint takes a little endian number of 1 to 8 bytes.
func (b *block) uint(n int) uint64 {
	var full [8]byte
	copy(full[:], b.take(n))
	return binary.LittleEndian.Uint64(full[:])
}

func (b *block) u8() uint8   { return uint8(b.uint(1)) }
func (b *block) u16() uint16 { return uint16(b.uint(2)) }
func (b *block) u32() uint32 { return uint32(b.uint(4)) }

// offset takes an address; all ones are the undefined one.
func (b *block) offset() uint64 {
	x := b.uint(b.f.offSize)
	if n := b.f.offSize; n < 8 && x == 1<<(8*n)-1 {
		return undefined
	}
	return x
}

func (b *block) length() uint64 { return b.uint(b.f.lenSize) }

// checksum takes the checksum of all that was taken from whole until now.
func (b *block) checksum(whole []byte, what string) {
	n := len(whole) - len(b.b)
	sum := b.u32()
	if b.err == nil && sum != lookup3.Sum(whole[:n]) && !b.f.unsealed {
		b.err = damagedSum(what)
	}
}

func damagedSum(what string) error {
	return fmt.Errorf("is damaged (the checksum of its %s is wrong)", what)
}

// expect takes a signature.
func (b *block) expect(sig string) {
	if got := b.take(len(sig)); b.err == nil && string(got) != sig {
		b.err = fmt.Errorf("is damaged (%q where %q should be)", got, sig)
	}
}

// cString takes the bytes before a zero.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
