package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

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
	indexTree       = 0
	indexSingle     = 1
	indexNone       = 2
	indexFixed      = 3
	indexExtensible = 4
	indexTree2      = 5
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
	plain  bool     // chunks that are cut off by the end of an axis do not go through the filters
}

func (l *layout) parse(b *block) error {
	version := b.u8()
	if version != 3 && version != 4 {
		return fmt.Errorf("has a data layout of version %d; 3 and 4 are read; %s", version, convertHDF5)
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
		return errors.New("is a virtual dataset, made of others, which is not read: in Python, save the array itself, " +
			"new['X'] = old['X'][...]")
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
	l.plain = flags&1 != 0
	switch l.index = b.u8(); l.index {
	case indexSingle:
		if l.filled = flags&2 != 0; l.filled {
			l.single.size = b.length()
			l.single.mask = b.u32()
		}
	case indexNone:
	case indexFixed:
		b.skip(1)
	case indexExtensible:
		b.skip(5)
	case indexTree2:
		b.skip(6)
	default:
		return fmt.Errorf("indexes its chunks in a way of number %d, which is not read; %s", l.index, convertHDF5)
	}
	l.addr = b.offset()
	return b.err
}

// chunkRef is one chunk in the file.
type chunkRef struct {
	k    int // its place in the grid of chunks, in row-major order
	addr uint64
	size uint64 // bytes in the file
	mask uint32 // filters left out
}

// refBytes is the memory of a chunkRef.
const refBytes = 32

// chunkList is a list of chunks whose memory is booked.
type chunkList struct {
	refs []chunkRef
	f    *File
}

func (l *chunkList) add(c chunkRef) error {
	if n := len(l.refs); n == cap(l.refs) {
		room := max(64, 2*n)
		if err := l.f.lim.Take("the list of its chunks", refBytes*int64(room)); err != nil {
			return err
		}
		l.refs = append(make([]chunkRef, 0, room), l.refs...)
		l.f.lim.Give(refBytes * int64(n))
	}
	l.refs = append(l.refs, c)
	return nil
}

func (l *chunkList) done() {
	l.f.lim.Give(refBytes * int64(cap(l.refs)))
	l.refs = nil
}

// check refuses chunks that are listed twice or share bytes, and leaves them in the order of their places.
func (l *chunkList) check() error {
	slices.SortFunc(l.refs, func(a, b chunkRef) int { return cmp.Compare(a.addr, b.addr) })
	for i, c := range l.refs {
		if c.addr > uint64(l.f.size) || c.size > uint64(l.f.size)-c.addr {
			return fmt.Errorf("has a chunk of %d bytes that ends beyond the file (%d bytes)", c.size, l.f.size)
		}
		if i > 0 && c.addr < l.refs[i-1].addr+l.refs[i-1].size {
			return errors.New("is damaged (two chunks share bytes of the file)")
		}
	}
	slices.SortFunc(l.refs, func(a, b chunkRef) int { return cmp.Compare(a.k, b.k) })
	for i, c := range l.refs {
		if i > 0 && c.k == l.refs[i-1].k {
			return errors.New("is damaged (a chunk listed twice)")
		}
	}
	return nil
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

// place is the first element of chunk k.
func (o *Object) place(at, axes []int, k int) {
	for a := len(axes) - 1; a >= 0; a-- {
		at[a] = k % axes[a] * o.layout.chunk[a]
		k /= axes[a]
	}
}

// numbering is how an index of chunks numbers them: by the largest sizes that the axes may have, the slowest axis first, which
// is the one without limit.
type numbering struct {
	axes  []int // slowest first
	most  []int // chunks on each of axes; of one without limit, 0
	total int   // 0 where there is no limit
	grid  []int // chunks on each axis of the dataset, as large as it is
	at    []int // of the chunk that add is about
}

// numbering is the numbering of an index of a dataset. free says whether an axis has no limit.
func (o *Object) numbering(free bool) (*numbering, error) {
	grid, _ := o.grid()
	n := &numbering{grid: grid, at: make([]int, len(grid))}
	sizes := []int64{}
	for a := range o.Dims {
		most := o.Dims[a]
		if o.most != nil {
			most = o.most[a]
		}
		switch {
		case most < 0 && free && (len(n.most) == 0 || n.most[0] > 0):
			n.axes, n.most = slices.Insert(n.axes, 0, a), slices.Insert(n.most, 0, 0)
			continue
		case most < o.Dims[a]:
			return nil, errIndex
		}
		c := o.layout.chunk[a]
		n.axes, n.most = append(n.axes, a), append(n.most, most/c+min(most%c, 1))
		sizes = append(sizes, int64(max(n.most[len(n.most)-1], 1)))
	}
	total, ok := elem.Product(math.MaxInt/1024, sizes...)
	if !ok || free != (len(n.most) > 0 && n.most[0] == 0) {
		return nil, errIndex
	}
	if !free {
		n.total = int(total)
	}
	return n, nil
}

// add adds chunk number k of the index, where the dataset reaches that far.
func (n *numbering) add(list *chunkList, k int, c chunkRef) error {
	for i := len(n.axes) - 1; i > 0; i-- {
		n.at[n.axes[i]] = k % n.most[i]
		k /= n.most[i]
	}
	n.at[n.axes[0]] = k
	for a, size := range n.grid {
		if n.at[a] >= size {
			return nil
		}
		c.k = c.k*size + n.at[a]
	}
	return list.add(c)
}

// addAll adds the chunks of a dataset that lie one after the other.
func (n *numbering) addAll(list *chunkList, addr, size uint64) error {
	if size == 0 || uint64(n.total) > uint64(list.f.size)/size {
		return fmt.Errorf("should have %d chunks of %d bytes, in a file of %d bytes", n.total, size, list.f.size)
	}
	for k := range n.total {
		if err := n.add(list, k, chunkRef{addr: addr + uint64(k)*size, size: size}); err != nil {
			return err
		}
	}
	return nil
}

// chunks lists the chunks of a dataset in the order of their places. Those never written are not in it.
func (f *File) chunks(o *Object) (*chunkList, error) {
	list := &chunkList{f: f}
	if _, total := o.grid(); o.layout.addr == undefined || total == 0 {
		return list, nil
	}
	if err := f.listChunks(list, o); err != nil {
		return nil, err
	}
	if o.layout.plain {
		o.leavePlain(list)
	}
	return list, list.check()
}

// leavePlain notes that chunks which an axis cuts off went through no filter.
func (o *Object) leavePlain(list *chunkList) {
	axes, _ := o.grid()
	at := make([]int, len(axes))
	for i := range list.refs {
		o.place(at, axes, list.refs[i].k)
		for a, n := range o.layout.chunk {
			if at[a]+n > o.Dims[a] {
				list.refs[i].mask = math.MaxUint32
			}
		}
	}
}

func (f *File) listChunks(list *chunkList, o *Object) error {
	l := &o.layout
	full := uint64(o.chunkBytes())
	switch l.index {
	case indexTree:
		return f.treeChunks(list, o)
	case indexTree2:
		return f.tree2Chunks(list, o)
	case indexSingle:
		if _, total := o.grid(); total != 1 {
			return errors.New("is damaged (a single chunk that does not cover it)")
		}
		c := chunkRef{addr: l.addr, size: full}
		if l.filled {
			c.size, c.mask = l.single.size, l.single.mask
		}
		return list.add(c)
	}
	order, err := o.numbering(l.index == indexExtensible)
	if err != nil {
		return err
	}
	// element takes an entry of an array of chunks.
	element := func(k, width int, filtered bool, b block) error {
		c := chunkRef{addr: b.offset(), size: full}
		if filtered {
			c.size = b.uint(width - f.offSize - 4)
			c.mask = b.u32()
		}
		if b.err != nil || c.addr == undefined {
			return b.err
		}
		return order.add(list, k, c)
	}
	switch l.index {
	case indexNone:
		return order.addAll(list, l.addr, full)
	case indexExtensible:
		return f.extensibleArray(l.addr, f.offSize, element)
	}
	return f.fixedArray(l.addr, order.total, element)
}

// treeChunks lists the chunks of a version 1 B-tree.
func (f *File) treeChunks(list *chunkList, o *Object) error {
	axes, _ := o.grid()
	return f.walk(o.layout.addr, 1, 8+8*(len(o.Dims)+1), func(key []byte, child uint64) error {
		b := block{b: key, f: f}
		c := chunkRef{size: uint64(b.u32()), mask: b.u32(), addr: child}
		for a, n := range o.layout.chunk {
			at := b.uint(8)
			if at >= uint64(o.Dims[a]) || at%uint64(n) != 0 {
				return errors.New("is damaged (a chunk outside its dataset)")
			}
			c.k = c.k*axes[a] + int(at)/n
		}
		return list.add(c)
	})
}

// tree2Chunks lists the chunks of a version 2 B-tree.
func (f *File) tree2Chunks(list *chunkList, o *Object) error {
	axes, _ := o.grid()
	kind, fixed := uint8(treeChunks), f.offSize+8*len(axes)
	right := func(n int) bool { return n == fixed }
	if len(o.filter) > 0 {
		kind, fixed = treeFiltered, fixed+4
		right = func(n int) bool { return n > fixed && n <= fixed+8 }
	}
	return f.walk2(o.layout.addr, kind, right, func(b block) error {
		width := len(b.b)
		c := chunkRef{addr: b.offset(), size: uint64(o.chunkBytes())}
		if kind == treeFiltered {
			c.size = b.uint(width - fixed)
			c.mask = b.u32()
		}
		for _, n := range axes {
			at := b.uint(8)
			if at >= uint64(n) {
				return errors.New("is damaged (a chunk outside its dataset)")
			}
			c.k = c.k*n + int(at)
		}
		if b.err != nil {
			return b.err
		}
		return list.add(c)
	})
}

// fixedArray visits the entries of a fixed array index.
func (f *File) fixedArray(addr uint64, total int, element func(k, width int, filtered bool, b block) error) error {
	head, err := f.bytes(addr, int64(12+f.lenSize+f.offSize))
	if err != nil {
		return err
	}
	defer f.done(head)
	b := block{b: head, f: f}
	b.expect("FAHD")
	b.skip(1)
	x := &fixedArray{f: f, filtered: b.u8() == 1, width: int(b.u8()), element: element}
	pageBits := b.u8()
	entries, data := b.length(), b.offset()
	b.checksum(head, "index of chunks")
	if b.err != nil {
		return b.err
	}
	least := f.offSize
	if x.filtered {
		least += 5
	}
	if entries != uint64(total) || x.width < least || x.width > f.offSize+12 || pageBits > 30 || entries > uint64(f.size) {
		return errIndex
	}
	if data == undefined {
		return nil
	}
	prefix := 6 + f.offSize
	page := 1 << pageBits
	if total > page {
		return x.pages(data, prefix, page, total)
	}
	if err := f.signature(data, "FADB"); err != nil {
		return err
	}
	return x.elements(data, prefix, 0, total)
}

// fixedArray is an index of the chunks of a dataset of fixed size.
type fixedArray struct {
	f        *File
	filtered bool
	width    int // bytes of an element
	element  func(k, width int, filtered bool, b block) error
}

// elements visits n elements from k on with the checksum behind them; before is what the checksum covers with them.
func (x *fixedArray) elements(at uint64, before, k, n int) error {
	body, err := x.f.bytes(at, int64(before)+int64(n)*int64(x.width)+4)
	if err != nil {
		return err
	}
	defer x.f.done(body)
	if err := x.f.verify(body, "index of chunks"); err != nil {
		return err
	}
	for i := range n {
		lo := before + i*x.width
		if err := x.element(k+i, x.width, x.filtered, block{b: body[lo : lo+x.width], f: x.f}); err != nil {
			return err
		}
	}
	return nil
}

// pages visits the elements of the pages that the bits behind the prefix mark as written.
func (x *fixedArray) pages(data uint64, prefix, page, total int) error {
	written, err := x.f.bytes(data, int64(prefix+((total+page-1)/page+7)/8+4))
	if err != nil {
		return err
	}
	defer x.f.done(written)
	if err := x.f.signature(data, "FADB"); err != nil {
		return err
	}
	if err := x.f.verify(written, "index of chunks"); err != nil {
		return err
	}
	at := data + uint64(len(written))
	for k := 0; k < total; k += page {
		n := min(page, total-k)
		if p := k / page; written[prefix+p/8]&(0x80>>(p%8)) != 0 {
			if err := x.elements(at, 0, k, n); err != nil {
				return err
			}
		}
		at += uint64(n*x.width + 4)
	}
	return nil
}

// signature compares the first bytes at an address.
func (f *File) signature(addr uint64, want string) error {
	head, err := f.bytes(addr, int64(len(want)))
	if err != nil {
		return err
	}
	defer f.done(head)
	b := block{b: head, f: f}
	b.expect(want)
	return b.err
}
