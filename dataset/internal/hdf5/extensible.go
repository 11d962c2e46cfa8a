package hdf5

import (
	"errors"
	"math/bits"
)

// extensible is an index of chunks that grows along one axis: an index block with the first elements and the addresses of the
// next data blocks, and secondary blocks with the addresses of further ones. Data blocks double in size every second level.
type extensible struct {
	f        *File
	addr     uint64
	filtered bool
	width    int // bytes of an element
	offBytes int // of the number of an element
	page     int // elements of a page of a data block
	first    int // elements in the index block
	least    int // elements of the smallest data block
	pointers int // least number of data blocks of a secondary block
	levels   int // of data blocks
	element  func(k int, b block) error
	prefix   int // bytes of a block before its own fields
	used     int // elements that were ever set
}

var errIndex = errors.New("is damaged (index of chunks)")

// extensibleArray visits the elements of an extensible array index.
func (f *File) extensibleArray(addr uint64, least int, element func(k, width int, filtered bool, b block) error) error {
	head, err := f.bytes(addr, int64(16+6*f.lenSize+f.offSize))
	if err != nil {
		return err
	}
	defer f.done(head)
	b := block{b: head, f: f}
	b.expect("EAHD")
	version := b.u8()
	x := &extensible{f: f, addr: addr, filtered: b.u8() == 1, width: int(b.u8()), prefix: 6 + f.offSize}
	indexBits := int(b.u8())
	x.first, x.least, x.pointers = int(b.u8()), int(b.u8()), int(b.u8())
	pageBits := int(b.u8())
	b.skip(4 * f.lenSize)
	used := b.length()
	b.skip(f.lenSize)
	at := b.offset()
	b.checksum(head, "index of chunks")
	if b.err != nil {
		return b.err
	}
	if x.filtered {
		least += 5
	}
	if version != 0 || x.width < least || x.width > f.offSize+12 || indexBits < 1 || indexBits > 62 || pageBits > 30 ||
		!power(x.least) || !power(x.pointers) || indexBits < bits.Len(uint(x.least))-1 || used > 1<<indexBits {
		return errIndex
	}
	x.page, x.offBytes, x.used = 1<<pageBits, (indexBits+7)/8, int(used)
	x.levels = 1 + indexBits - (bits.Len(uint(x.least)) - 1)
	x.element = func(k int, b block) error { return element(k, x.width, x.filtered, b) }
	if at == undefined {
		return nil
	}
	return x.index(at)
}

func power(n int) bool { return n > 0 && n&(n-1) == 0 }

// blocks and elements are the number of the data blocks of a level, and of the elements of each.
func (x *extensible) blocks(level int) int   { return 1 << (level / 2) }
func (x *extensible) elements(level int) int { return x.least << ((level + 1) / 2) }

// index reads the index block.
func (x *extensible) index(at uint64) error {
	f := x.f
	direct := 2 * (bits.Len(uint(x.pointers)) - 1) // levels whose data blocks it names itself
	if direct > x.levels {
		return errIndex
	}
	data, secondary := 2*(x.pointers-1), x.levels-direct
	body, err := f.bytes(at, int64(x.prefix+x.first*x.width+(data+secondary)*f.offSize+4))
	if err != nil {
		return err
	}
	defer f.done(body)
	if err := f.verify(body, "index of chunks"); err != nil {
		return err
	}
	b, err := x.open(body, "EAIB")
	if err != nil {
		return err
	}
	if err := x.run(0, x.first, b.take(x.first*x.width)); err != nil {
		return err
	}
	k := x.first
	for level := range x.levels {
		if k >= x.used {
			return b.err
		}
		if level >= direct {
			if err := x.secondary(b.offset(), k, level); err != nil {
				return err
			}
			k += x.blocks(level) * x.elements(level)
			continue
		}
		for range x.blocks(level) {
			if err := x.data(b.offset(), k, level, nil); err != nil {
				return err
			}
			k += x.elements(level)
		}
	}
	return b.err
}

// open compares what each block begins and ends with.
func (x *extensible) open(body []byte, signature string) (*block, error) {
	b := &block{b: body, f: x.f}
	b.expect(signature)
	version, filtered, of := b.u8(), b.u8() == 1, b.offset()
	if b.err == nil && (version != 0 || filtered != x.filtered || of != x.addr) {
		b.err = errIndex
	}
	return b, b.err
}

// run visits the elements from k on. The last ones may never have been set.
func (x *extensible) run(k, n int, raw []byte) error {
	for i := range min(n, max(x.used-k, 0)) {
		if len(raw) < (i+1)*x.width {
			return errShort
		}
		if err := x.element(k+i, block{b: raw[i*x.width : (i+1)*x.width], f: x.f}); err != nil {
			return err
		}
	}
	return nil
}

// secondary reads a secondary block, whose data blocks begin with element k, and these.
func (x *extensible) secondary(at uint64, k, level int) error {
	if at == undefined {
		return nil
	}
	f, n, per := x.f, x.blocks(level), x.elements(level)
	pages, mask := 0, 0 // of a data block; bytes that say which pages were written
	if per > x.page {
		pages = per / x.page
		mask = (pages + 7) / 8
	}
	body, err := f.bytes(at, int64(x.prefix+x.offBytes+n*(mask+f.offSize)+4))
	if err != nil {
		return err
	}
	defer f.done(body)
	if err := f.verify(body, "index of chunks"); err != nil {
		return err
	}
	b, err := x.open(body, "EASB")
	if err != nil {
		return err
	}
	if b.uint(x.offBytes) != uint64(k-x.first) {
		return errIndex
	}
	bitmap := b.take(n * mask)
	for i := range n {
		written := func(page int) bool {
			bit := i*pages + page
			return bitmap[bit/8]&(0x80>>(bit%8)) != 0
		}
		if err := x.data(b.offset(), k, level, written); err != nil {
			return err
		}
		if k += per; k >= x.used {
			break
		}
	}
	return b.err
}

// data reads a data block, which begins with element k. written tells which of its pages were written.
func (x *extensible) data(at uint64, k, level int, written func(page int) bool) error {
	if at == undefined || k >= x.used {
		return nil
	}
	f, n := x.f, x.elements(level)
	head := x.prefix + x.offBytes
	size := head + 4
	paged := n > x.page
	if paged && written == nil {
		return errIndex
	}
	if !paged {
		size += n * x.width
	}
	body, err := f.bytes(at, int64(size))
	if err != nil {
		return err
	}
	defer f.done(body)
	if err := f.verify(body, "index of chunks"); err != nil {
		return err
	}
	b, err := x.open(body, "EADB")
	if err != nil {
		return err
	}
	b.skip(x.offBytes) // its place in the array, which writers count in more than one way
	if !paged {
		return x.run(k, n, b.take(n*x.width))
	}
	pageBytes := x.page*x.width + 4
	for p := 0; p < n/x.page && k+p*x.page < x.used; p++ {
		if !written(p) {
			continue
		}
		if err := x.readPage(at+uint64(size)+uint64(p)*uint64(pageBytes), k+p*x.page); err != nil {
			return err
		}
	}
	return nil
}

// readPage reads a page of a data block.
func (x *extensible) readPage(at uint64, k int) error {
	body, err := x.f.bytes(at, int64(x.page*x.width+4))
	if err != nil {
		return err
	}
	defer x.f.done(body)
	if err := x.f.verify(body, "index of chunks"); err != nil {
		return err
	}
	return x.run(k, x.page, body)
}
