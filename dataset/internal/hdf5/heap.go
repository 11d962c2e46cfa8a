package hdf5

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/largemvc/largemvc/internal/lookup3"
)

// heap is a fractal heap, in which the links and attributes lie of objects that have many.
type heap struct {
	f            *File
	addr         uint64
	idBytes      int
	offBytes     int // of an offset within the heap
	lenBytes     int // of the length of an object
	checksums    bool
	width        int // blocks of a row
	start, most  uint64
	root         uint64
	rows         int // of the root; 0: it is a direct block
	blocks       []heapBlock
	listed       bool
	booked       int64
	firstRowBits int
}

// heapBlock is a direct block: objects that lie one after the other.
type heapBlock struct{ off, addr, size uint64 }

const heapBlockBytes = 24

var errHeap = errors.New("is damaged (heap)")

// heap reads the header of a fractal heap.
func (f *File) heap(addr uint64) (*heap, error) {
	head, err := f.bytes(addr, int64(26+3*f.offSize+12*f.lenSize))
	if err != nil {
		return nil, err
	}
	defer f.done(head)
	h, b := &heap{f: f, addr: addr}, block{b: head, f: f}
	b.expect("FRHP")
	version := b.u8()
	h.idBytes = int(b.u16())
	filters := b.u16()
	h.checksums = b.u8()&2 != 0
	objects := uint64(b.u32()) // larger ones lie elsewhere
	b.skip(f.lenSize + f.offSize + f.lenSize + f.offSize + 8*f.lenSize)
	h.width, h.start, h.most = int(b.u16()), b.length(), b.length()
	heapBits := int(b.u16())
	b.skip(2)
	h.root, h.rows = b.offset(), int(b.u16())
	if filters > 0 && b.err == nil {
		return nil, errors.New("has a compressed heap, which is not read")
	}
	b.checksum(head, "heap")
	if b.err != nil {
		return nil, b.err
	}
	if version != 0 || h.most > 1<<31 || h.start > h.most || !power(int(h.start)) || !power(int(h.most)) || !power(h.width) ||
		heapBits < 1 || heapBits > 64 || h.rows > 64 || h.idBytes < 2 {
		return nil, errHeap
	}
	h.offBytes = (heapBits + 7) / 8
	h.lenBytes = min((bits.Len64(h.most-1)+7)/8, (max(bits.Len64(objects), 1)-1)/8+1)
	h.firstRowBits = bits.Len64(h.start) - 1 + bits.Len(uint(h.width)) - 1
	return h, nil
}

// list finds the direct blocks.
func (h *heap) list() error {
	if h.listed || h.root == undefined {
		return nil
	}
	h.listed = true
	if h.rows == 0 {
		return h.add(0, h.root, h.start)
	}
	if err := h.indirect(h.root, 0, h.rows, 0); err != nil {
		return err
	}
	slices.SortFunc(h.blocks, func(a, b heapBlock) int { return cmp.Compare(a.off, b.off) })
	return nil
}

func (h *heap) add(off, addr, size uint64) error {
	if err := h.f.lim.Take("an index", heapBlockBytes); err != nil {
		return err
	}
	h.booked += heapBlockBytes
	h.blocks = append(h.blocks, heapBlock{off, addr, size})
	return nil
}

func (h *heap) done() { h.f.lim.Give(h.booked) }

// rowSize is the size of the blocks of a row.
func (h *heap) rowSize(row int) uint64 { return h.start << max(row-1, 0) }

// indirect walks through a block of addresses of others, which begins at an offset of the heap.
func (h *heap) indirect(addr, off uint64, rows, depth int) error {
	f := h.f
	if depth > 16 || rows < 1 || rows > 64 {
		return errHeap
	}
	direct := min(rows, bits.Len64(h.most)-bits.Len64(h.start)+2)
	prefix := 5 + f.offSize + h.offBytes
	body, err := f.bytes(addr, int64(prefix+rows*h.width*f.offSize+4))
	if err != nil {
		return err
	}
	defer f.done(body)
	if err := h.checkIndirect(body, off); err != nil {
		return err
	}
	b := block{b: body[prefix:], f: f}
	for row := range rows {
		size := h.rowSize(row)
		for range h.width {
			child := b.offset()
			if b.err != nil {
				return b.err
			}
			switch {
			case child == undefined:
			case row < direct:
				err = h.add(off, child, size)
			default:
				err = h.indirect(child, off, bits.Len64(size)-1-h.firstRowBits+1, depth+1)
			}
			if err != nil {
				return err
			}
			off += size
		}
	}
	return nil
}

// checkIndirect checks the sum and the header of a block of addresses.
func (h *heap) checkIndirect(body []byte, off uint64) error {
	if err := h.f.verify(body, "heap"); err != nil {
		return err
	}
	b := block{b: body, f: h.f}
	b.expect("FHIB")
	version, of, at := b.u8(), b.offset(), b.uint(h.offBytes)
	if b.err == nil && (version != 0 || of != h.addr || at != off) {
		return errHeap
	}
	return b.err
}

// heapID is where an object of a heap lies.
type heapID struct {
	off, n uint64
	short  []byte // the object itself, where it is that small
}

// id takes the place of an object.
func (h *heap) id(b *block) (heapID, error) {
	raw := block{b: b.take(h.idBytes), f: h.f}
	if b.err != nil {
		return heapID{}, b.err
	}
	first := raw.u8()
	switch {
	case first>>6 != 0:
		return heapID{}, errHeap
	case first>>4 == 1:
		return heapID{}, errors.New("has a link or an attribute of many bytes in a heap, which is not read; " + convertHDF5)
	case first>>4 == 2:
		n := int(first&15) + 1
		if h.idBytes > 17 {
			n = int(first&15)<<8 + int(raw.u8()) + 1
		}
		id := heapID{short: raw.take(n)}
		return id, raw.err
	case first>>4 == 0:
		id := heapID{off: raw.uint(h.offBytes), n: raw.uint(h.lenBytes)}
		return id, raw.err
	}
	return heapID{}, errHeap
}

// objects hands over objects of the heap, in the order of their places, which it sorts.
func (h *heap) objects(ids []heapID, each func(object *block) error) error {
	if err := h.list(); err != nil {
		return err
	}
	slices.SortFunc(ids, func(a, b heapID) int { return cmp.Compare(a.off, b.off) })
	var held heapBlock
	var body []byte
	defer func() { h.f.done(body) }()
	for i, id := range ids {
		if id.short != nil {
			if err := each(&block{b: id.short, f: h.f}); err != nil {
				return err
			}
			continue
		}
		if i > 0 && ids[i-1].short == nil && id.off < ids[i-1].off+ids[i-1].n {
			return errors.New("is damaged (objects of a heap share bytes)")
		}
		if body == nil || id.off >= held.off+held.size {
			k := h.blockAt(id.off)
			if k < 0 {
				return errHeap
			}
			h.f.done(body)
			held = h.blocks[k]
			var err error
			if body, err = h.direct(held); err != nil {
				return err
			}
		}
		at := id.off - held.off
		if id.n > held.size-at {
			return errHeap
		}
		if err := each(&block{b: body[at : at+id.n : at+id.n], f: h.f}); err != nil {
			return err
		}
	}
	return nil
}

// blockAt returns the number of the direct block at an offset; −1 without one.
func (h *heap) blockAt(off uint64) int {
	k, found := slices.BinarySearchFunc(h.blocks, off, func(b heapBlock, off uint64) int { return cmp.Compare(b.off, off) })
	if !found {
		k--
	}
	if k < 0 || off >= h.blocks[k].off+h.blocks[k].size {
		return -1
	}
	return k
}

// direct reads a direct block and compares its checksum, in which the checksum itself counts as zero.
func (h *heap) direct(of heapBlock) ([]byte, error) {
	body, err := h.f.bytes(of.addr, int64(of.size))
	if err != nil {
		return nil, err
	}
	b := block{b: body, f: h.f}
	b.expect("FHDB")
	version, heap, at := b.u8(), b.offset(), b.uint(h.offBytes)
	if b.err == nil && (version != 0 || heap != h.addr || at != of.off) {
		b.err = errHeap
	}
	if h.checksums && b.err == nil {
		sum := b.take(4)
		if b.err == nil {
			want := binary.LittleEndian.Uint32(sum)
			clear(sum)
			if want != lookup3.Sum(body) && !h.f.unsealed {
				b.err = damagedSum("heap")
			}
		}
	}
	if b.err != nil {
		h.f.done(body)
		return nil, b.err
	}
	return body, nil
}

const convertHDF5 = "in Python, h5py.File(new, 'w', libver='earliest') and f.copy of each array; or h5repack --high=v18 IN OUT"

// dense is where the links or attributes of an object lie that has many.
type dense struct{ heap, names uint64 }

// each hands over the messages of the heap that an index of names names.
func (d *dense) each(f *File, kind uint8, before int, message func(b *block) error) error {
	h, err := f.heap(d.heap)
	if err != nil {
		return err
	}
	defer h.done()
	var ids []heapID
	const perID = 64
	defer func() { f.lim.Give(perID * int64(len(ids))) }()
	width := func(n int) bool { return n >= before+h.idBytes }
	err = f.walk2(d.names, kind, width, func(record block) error {
		record.skip(before)
		id, err := h.id(&record)
		if err != nil {
			return err
		}
		if len(ids) == maxLinks {
			return fmt.Errorf("has an object of more than %d members or attributes", maxLinks)
		}
		if err := f.lim.Take("the members of a group", perID); err != nil {
			return err
		}
		id.short = slices.Clone(id.short)
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		return err
	}
	return h.objects(ids, message)
}
