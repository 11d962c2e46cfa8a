package hdf5

import (
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// Storage classes.
const (
	compact    = 0
	contiguous = 1
	chunked    = 2
)

// Chunk indices of layout version 4; the B-tree of version 3 is called 0 here.
const (
	indexTree   = 0
	indexSingle = 1
	indexNone   = 2
	indexFixed  = 3
)

// layout says where the elements of a dataset are.
type layout struct {
	class  uint8
	data   []byte // compact
	addr   uint64 // of the data, or of the index of the chunks
	size   uint64 // contiguous
	chunk  []int  // size of a chunk on each axis
	width  int    // bytes of an element, as the chunks have it
	index  uint8
	single chunkRef // of the single chunk, where it is filtered
	filled bool     // the single chunk is filtered
}

func (l *layout) parse(b *block) error {
	version := b.u8()
	if version != 3 && version != 4 {
		return fmt.Errorf("has a data layout of version %d; 3 and 4 are read", version)
	}
	switch l.class = b.u8(); l.class {
	case compact:
		l.data = b.take(int(b.u16()))
	case contiguous:
		l.addr, l.size = b.offset(), b.length()
	case chunked:
		if version == 3 {
			return l.chunks3(b)
		}
		return l.chunks4(b)
	default:
		return errors.New("has a virtual layout, which is not read")
	}
	return b.err
}

func (l *layout) chunks3(b *block) error {
	rank := int(b.u8())
	l.addr = b.offset()
	return l.chunkSizes(b, rank, 4)
}

// chunkSizes reads the size of a chunk on each axis and the bytes of an element.
func (l *layout) chunkSizes(b *block, rank, width int) error {
	if rank < 2 || rank > 33 || width < 1 || width > 8 {
		return errors.New("is damaged (chunks)")
	}
	sizes := []int64{}
	for range rank {
		n := b.uint(width)
		if n == 0 || n > math.MaxUint32 {
			return errors.New("is damaged (chunk of an impossible size)")
		}
		l.chunk = append(l.chunk, int(n))
		sizes = append(sizes, int64(n))
	}
	if _, ok := elem.Product(math.MaxUint32, sizes...); !ok && b.err == nil {
		return fmt.Errorf("has chunks of the impossible size %v", l.chunk)
	}
	l.width, l.chunk = l.chunk[rank-1], l.chunk[:rank-1]
	return b.err
}

func (l *layout) chunks4(b *block) error {
	flags, rank, width := b.u8(), int(b.u8()), int(b.u8())
	if err := l.chunkSizes(b, rank, width); err != nil {
		return err
	}
	switch l.index = b.u8(); l.index {
	case indexSingle:
		if l.filled = flags&2 != 0; l.filled {
			l.single.size = b.length()
			l.single.mask = b.u32()
		}
	case indexNone:
	case indexFixed:
		b.skip(1)
	default:
		return errors.New("indexes its chunks by an extensible array or a version 2 B-tree (an axis without limit in a new format), which is not read; save it with a fixed size, or with an older format version (h5py: libver='earliest')")
	}
	l.addr = b.offset()
	return b.err
}

// chunkRef is one chunk in the file.
type chunkRef struct {
	at   []int // its first element
	addr uint64
	size uint64 // bytes in the file
	mask uint32 // filters left out
}

// chunkBytes is the size of a chunk before filters.
func (o *Object) chunkBytes() int {
	n := o.layout.width
	for _, c := range o.layout.chunk {
		n *= c
	}
	return n
}

// grid is the number of chunks on each axis, and in all.
func (o *Object) grid() (axes []int, total int) {
	total = 1
	for k, n := range o.Dims {
		c := o.layout.chunk[k]
		axes = append(axes, (n+c-1)/c)
		total *= axes[k]
	}
	return axes, total
}

// chunks lists the chunks of a dataset. Those never written are not in it.
func (f *File) chunks(o *Object) ([]chunkRef, error) {
	l := &o.layout
	axes, total := o.grid()
	if l.addr == undefined || total == 0 {
		return nil, nil
	}
	if l.index == indexTree {
		return f.treeChunks(o)
	}
	full := uint64(o.chunkBytes())
	place := func(k int) []int {
		at := make([]int, len(axes))
		for a := len(axes) - 1; a >= 0; a-- {
			at[a] = k % axes[a] * l.chunk[a]
			k /= axes[a]
		}
		return at
	}
	switch l.index {
	case indexSingle:
		if total != 1 {
			return nil, errors.New("is damaged (a single chunk that does not cover it)")
		}
		c := chunkRef{at: place(0), addr: l.addr, size: full}
		if l.filled {
			c.size, c.mask = l.single.size, l.single.mask
		}
		return []chunkRef{c}, nil
	case indexNone:
		if full == 0 || uint64(total) > uint64(f.size)/full {
			return nil, fmt.Errorf("promises %d chunks of %d bytes in a file of %d", total, full, f.size)
		}
		var refs []chunkRef
		for k := range total {
			refs = append(refs, chunkRef{at: place(k), addr: l.addr + uint64(k)*full, size: full})
		}
		return refs, nil
	}
	return f.fixedArray(o, total, place)
}

// treeChunks lists the chunks of a version 1 B-tree.
func (f *File) treeChunks(o *Object) ([]chunkRef, error) {
	rank := len(o.Dims)
	var refs []chunkRef
	seen := map[int]bool{}
	axes, _ := o.grid()
	err := f.walk(o.layout.addr, 1, 8+8*(rank+1), func(key []byte, child uint64) error {
		b := block{b: key, f: f}
		c := chunkRef{size: uint64(b.u32()), mask: b.u32(), addr: child}
		k := 0
		for a, n := range o.layout.chunk {
			at := b.uint(8)
			if at >= uint64(o.Dims[a]) || at%uint64(n) != 0 {
				return errors.New("is damaged (a chunk outside its dataset)")
			}
			c.at = append(c.at, int(at))
			k = k*axes[a] + int(at)/n
		}
		if seen[k] {
			return errors.New("is damaged (a chunk listed twice)")
		}
		seen[k] = true
		refs = append(refs, c)
		return nil
	})
	return refs, err
}

// fixedArray lists the chunks of a fixed array index.
func (f *File) fixedArray(o *Object, total int, place func(int) []int) ([]chunkRef, error) {
	head, err := f.bytes(o.layout.addr, int64(8+f.lenSize+f.offSize))
	if err != nil {
		return nil, err
	}
	b := block{b: head, f: f}
	b.expect("FAHD")
	b.skip(1)
	filtered, width, pageBits := b.u8() == 1, int(b.u8()), b.u8()
	entries, data := b.length(), b.offset()
	if b.err != nil {
		return nil, b.err
	}
	least := f.offSize
	if filtered {
		least += 5
	}
	if entries != uint64(total) || width < least || width > f.offSize+12 || pageBits > 30 || entries > uint64(f.size) {
		return nil, errors.New("is damaged (index of chunks)")
	}
	if data == undefined {
		return nil, nil
	}
	page := 1 << pageBits
	at := data + uint64(6+f.offSize)
	var pages []byte // which pages were written
	if total > page {
		n := (total + page - 1) / page
		if pages, err = f.bytes(at, int64((n+7)/8)); err != nil {
			return nil, err
		}
		at += uint64(len(pages) + 4)
	}
	var refs []chunkRef
	for k := 0; k < total; k += page {
		n := min(page, total-k)
		if pages == nil || pages[k/page/8]&(0x80>>(k/page%8)) != 0 {
			body, err := f.bytes(at, int64(n*width))
			if err != nil {
				return nil, err
			}
			for i := range n {
				e := block{b: body[i*width : (i+1)*width], f: f}
				c := chunkRef{at: place(k + i), addr: e.offset(), size: uint64(o.chunkBytes())}
				if filtered {
					c.size = e.uint(width - f.offSize - 4)
					c.mask = e.u32()
				}
				if c.addr != undefined {
					refs = append(refs, c)
				}
			}
		}
		at += uint64(n*width + 4)
	}
	return refs, nil
}
