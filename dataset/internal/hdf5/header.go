package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/lookup3"
)

// Message types of an object header.
const (
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgOldFill      = 0x04
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgFilters      = 0x0b
	msgAttribute    = 0x0c
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
	msgAttributes   = 0x15
)

const (
	maxHeaderBytes = 1 << 24 // of one object, over all its blocks
	maxAttribute   = 1 << 8  // bytes of an attribute that is kept
)

// Object is a group or a dataset.
type Object struct {
	Attributes map[string]Attribute
	// Of a dataset:
	IsDataset bool
	Dims      []int // slowest axis first
	most      []int // the largest size of each axis, −1 without limit; nil: Dims
	Type      Datatype

	links  []Link
	dense  *dense // links that lie in a heap; nil without
	symbol *symbolTable
	layout layout
	filter []filter
	fill   []byte
	why    error // what keeps the data from being read

	stored *stored // what was found out about the data
}

// objectBytes is the memory of an object, beside what its header holds.
const objectBytes = 1 << 10

// memory is the memory that an object holds.
func (o *Object) memory() int64 {
	n := objectBytes + int64(len(o.layout.data)+len(o.fill))
	for name, a := range o.Attributes {
		n += 128 + int64(len(name)+len(a.raw))
	}
	for _, l := range o.links {
		n += linkBytes + int64(len(l.Name))
	}
	for _, x := range o.Type.Fields {
		n += 64 + int64(len(x.Name))
	}
	return n + 16*int64(len(o.Dims))
}

// settle copies what is kept of the header, so that the rest can go.
func (o *Object) settle() {
	o.layout.data, o.fill = bytes.Clone(o.layout.data), bytes.Clone(o.fill)
}

// Attribute is a small named value of an object.
type Attribute struct {
	Type  Datatype
	Count int
	raw   []byte
}

// Text is the value of a string attribute.
func (a Attribute) Text() string {
	if a.Type.Class != String {
		return ""
	}
	return cString(a.raw)
}

// Number is the first value of a numeric attribute.
func (a Attribute) Number() (float64, bool) {
	x := a.Numbers()
	if len(x) == 0 {
		return 0, false
	}
	return x[0], true
}

// Numbers are the values of a numeric attribute; nil for others.
func (a Attribute) Numbers() []float64 {
	if a.Type.Elem.Kind == elem.Invalid {
		return nil
	}
	x := make([]float64, len(a.raw)/a.Type.Size)
	elem.Decode(x, bytes.Clone(a.raw[:len(x)*a.Type.Size]), a.Type.Elem)
	return x
}

// Object reads the header at an address. The memory of the object stays booked.
func (f *File) Object(addr uint64) (*Object, error) {
	if o := f.objects[addr]; o != nil {
		return o, nil
	}
	used := f.lim.Used()
	o, err := f.object(addr)
	if err != nil {
		return nil, err
	}
	o.settle()
	f.lim.Reset(used)
	if err := f.lim.Take("the list of its arrays", o.memory()); err != nil {
		return nil, err
	}
	f.objects[addr] = o
	return o, nil
}

func (f *File) object(addr uint64) (*Object, error) { return (&headerParser{f: f}).object(addr) }

func (p *headerParser) object(addr uint64) (*Object, error) {
	o := &Object{Attributes: map[string]Attribute{}}
	p.o, p.seen = o, map[uint64]bool{addr: true}
	start, err := p.f.upTo(addr, 64)
	if err != nil {
		return nil, err
	}
	if len(start) >= 4 && string(start[:4]) == "OHDR" {
		err = p.version2(addr, start)
	} else {
		err = p.version1(addr, start)
	}
	if err != nil {
		return nil, err
	}
	o.IsDataset = p.space && p.datatype && p.layout
	return o, nil
}

type headerParser struct {
	f                       *File
	o                       *Object
	seen                    map[uint64]bool
	total                   int64
	order                   bool // version 2: messages carry a creation order
	space, datatype, layout bool
	attributes              func(message []byte) // gets the attributes as they stand in the file; nil: nothing does
	err                     error                // what keeps the attributes from being written again
}

// chunk reads one block of messages, counting what an object takes.
func (p *headerParser) chunk(addr uint64, n int64) ([]byte, error) {
	if p.total += n; n < 0 || p.total > maxHeaderBytes {
		return nil, errors.New("is damaged (an object header without end)")
	}
	return p.f.bytes(addr, n)
}

func (p *headerParser) version1(addr uint64, start []byte) error {
	b := block{b: start, f: p.f}
	version := b.u8()
	b.skip(7)
	n := b.u32()
	if b.err != nil {
		return b.err
	}
	if version != 1 {
		return fmt.Errorf("is damaged (object header version %d)", version)
	}
	data, err := p.chunk(addr+16, int64(n))
	if err != nil {
		return err
	}
	return p.messages1(data)
}

func (p *headerParser) messages1(data []byte) error {
	b := block{b: data, f: p.f}
	for len(b.b) >= 8 {
		kind, n, flags := b.u16(), b.u16(), b.u8()
		b.skip(3)
		body := b.take(int(n))
		if b.err != nil {
			return b.err
		}
		if kind == msgContinuation {
			next, err := p.continuation(body)
			if err != nil {
				return err
			}
			if err := p.messages1(next); err != nil {
				return err
			}
			continue
		}
		if err := p.message(kind, flags, body); err != nil {
			return err
		}
	}
	return nil
}

// continuation reads the block that a continuation message names.
func (p *headerParser) continuation(body []byte) ([]byte, error) {
	b := block{b: body, f: p.f}
	addr, n := b.offset(), b.length()
	if b.err != nil {
		return nil, b.err
	}
	if p.seen[addr] || n > math.MaxInt32 {
		return nil, errors.New("is damaged (an object header that continues in a circle)")
	}
	p.seen[addr] = true
	return p.chunk(addr, int64(n))
}

func (p *headerParser) version2(addr uint64, start []byte) error {
	b := block{b: start, f: p.f}
	b.skip(4)
	version, flags := b.u8(), b.u8()
	if flags&0x20 != 0 {
		b.skip(16)
	}
	if flags&0x10 != 0 {
		b.skip(4)
	}
	n := b.uint(1 << (flags & 3))
	if b.err != nil {
		return b.err
	}
	if version != 2 || n > maxHeaderBytes {
		return fmt.Errorf("is damaged (object header version %d)", version)
	}
	p.order = flags&4 != 0
	head := len(start) - len(b.b)
	whole, err := p.chunk(addr, int64(head)+int64(n)+4)
	if err != nil {
		return err
	}
	if err := p.f.verify(whole, "object header"); err != nil {
		return err
	}
	return p.messages2(whole[head : len(whole)-4])
}

// verify compares the checksum that the last four bytes of a structure are.
func (f *File) verify(whole []byte, what string) error {
	n := len(whole) - 4
	if n < 0 || binary.LittleEndian.Uint32(whole[n:]) != lookup3.Sum(whole[:n]) && !f.unsealed {
		return damagedSum(what)
	}
	return nil
}

func (p *headerParser) messages2(data []byte) error {
	b := block{b: data, f: p.f}
	least := 4
	if p.order {
		least = 6
	}
	for len(b.b) >= least { // less is a gap
		kind, n, flags := uint16(b.u8()), b.u16(), b.u8()
		if p.order {
			b.skip(2)
		}
		body := b.take(int(n))
		if b.err != nil {
			return b.err
		}
		if kind == msgContinuation {
			next, err := p.continuation(body)
			if err != nil {
				return err
			}
			if len(next) < 8 || string(next[:4]) != "OCHK" {
				return errors.New("is damaged (continuation of an object header)")
			}
			if err := p.f.verify(next, "object header"); err != nil {
				return err
			}
			if err := p.messages2(next[4 : len(next)-4]); err != nil {
				return err
			}
			continue
		}
		if err := p.message(kind, flags, body); err != nil {
			return err
		}
	}
	return nil
}

// message takes the messages that matter. What concerns only the data of a dataset is kept in why, so that a file with one
// strange dataset can be listed.
func (p *headerParser) message(kind uint16, flags uint8, body []byte) (err error) {
	const shared = 2
	o, b := p.o, &block{b: body, f: p.f}
	if flags&shared != 0 {
		p.sharedMessage(kind)
		return nil
	}
	switch kind {
	case msgDataspace:
		p.space = true
		o.Dims, o.most, err = dataspace(b)
		return err
	case msgDatatype:
		p.datatype = true
		o.Type, err = datatype(b, 0)
		o.keep(err)
	case msgLayout:
		p.layout = true
		o.keep(o.layout.parse(b))
	case msgFilters:
		o.filter, err = filters(b)
		o.keep(err)
	case msgFill, msgOldFill:
		o.fill, err = fillValue(b, kind == msgOldFill)
		o.keep(err)
	case msgExternal:
		o.keep(errors.New("keeps its data in other files, which are not read"))
	case msgAttribute:
		return p.attribute(b)
	case msgSymbolTable:
		o.symbol = &symbolTable{tree: b.offset(), heap: b.offset()}
		return b.err
	case msgLink:
		l, err := link(b)
		if err != nil {
			return err
		}
		o.links = append(o.links, l)
	case msgLinkInfo:
		if d := b.dense(8); d != nil {
			o.dense = d
		}
		return b.err
	case msgAttributes:
		return p.denseAttributes(b)
	}
	return nil
}

// sharedMessage notes a message that lies elsewhere in the file.
func (p *headerParser) sharedMessage(kind uint16) {
	switch kind {
	case msgAttribute:
		p.err = errors.New("has attributes that several objects share")
	case msgDatatype, msgDataspace, msgFilters, msgFill:
		p.space = p.space || kind == msgDataspace
		p.datatype = p.datatype || kind == msgDatatype
		p.o.keep(errors.New("has a shared header message (a named datatype), which is not read: in Python, save the array " +
			"itself, new['X'] = old['X'][...]"))
	}
}

// dense reads where the links or attributes lie of an object that has many; nil where it has none or they cannot be read. order
// is the number of bytes of the largest number of their order.
func (b *block) dense(order int) *dense {
	b.skip(1)
	if b.u8()&1 != 0 {
		b.skip(order)
	}
	d := &dense{heap: b.offset(), names: b.offset()}
	if d.heap == undefined || b.err != nil {
		return nil
	}
	return d
}

// denseAttributes keeps the attributes of an object that has many.
func (p *headerParser) denseAttributes(b *block) error {
	d := b.dense(2)
	if d == nil {
		return b.err
	}
	return d.each(p.f, treeAttributeNames, 0, p.attribute)
}

// attribute keeps an attribute; one that is not read says nothing that is needed.
func (p *headerParser) attribute(b *block) error {
	if p.attributes != nil {
		p.attributes(bytes.Clone(b.b))
	}
	name, a, err := attribute(b)
	if err != nil || len(a.raw) > maxAttribute {
		return nil
	}
	a.raw = bytes.Clone(a.raw)
	if err := p.f.lim.Take("the attributes of an array", int64(128+len(name)+len(a.raw))); err != nil {
		return err
	}
	p.o.Attributes[name] = a
	return nil
}

func (o *Object) keep(err error) {
	if o.why == nil {
		o.why = err
	}
}

// dataspace reads the size of each axis, and the largest that it may have, where that is said (−1: any); a scalar has none.
func dataspace(b *block) (dims, most []int, err error) {
	version, rank, flags := b.u8(), int(b.u8()), b.u8()
	null := false
	switch version {
	case 1:
		b.skip(5)
	case 2:
		null = b.u8() == 2
	default:
		return nil, nil, fmt.Errorf("has a dataspace of version %d", version)
	}
	if rank > 32 {
		return nil, nil, fmt.Errorf("has %d axes", rank)
	}
	dims = make([]int, 0, rank)
	sizes := make([]int64, 0, rank)
	for range rank {
		n := b.length()
		if n > math.MaxInt/16 {
			return nil, nil, errors.New("has an impossible size")
		}
		dims, sizes = append(dims, int(n)), append(sizes, max(int64(n), 1))
	}
	if flags&1 != 0 {
		for range rank {
			n := int(min(b.length(), math.MaxInt/16))
			if n == math.MaxInt/16 || b.f.lenSize < 8 && n == 1<<(8*b.f.lenSize)-1 {
				n = -1
			}
			most = append(most, n)
		}
	}
	if _, ok := elem.Product(math.MaxInt/1024, sizes...); !ok {
		return nil, nil, fmt.Errorf("has the impossible size %v", dims)
	}
	if null {
		dims, most = []int{0}, nil
	}
	return dims, most, b.err
}

// attribute reads an attribute message.
func attribute(b *block) (string, Attribute, error) {
	version := b.u8()
	b.skip(1)
	nName, nType, nSpace := int(b.u16()), int(b.u16()), int(b.u16())
	pad := func(n int) int { return n }
	switch version {
	case 1:
		pad = func(n int) int { return (n + 7) &^ 7 }
	case 2:
	case 3:
		b.skip(1)
	default:
		return "", Attribute{}, fmt.Errorf("has an attribute of version %d", version)
	}
	name := cString(b.take(pad(nName)))
	t, err := datatype(&block{b: b.take(pad(nType)), f: b.f}, 0)
	if err != nil {
		return "", Attribute{}, err
	}
	dims, _, err := dataspace(&block{b: b.take(pad(nSpace)), f: b.f})
	if err != nil {
		return "", Attribute{}, err
	}
	a := Attribute{Type: t, Count: 1}
	for _, d := range dims {
		a.Count *= d
	}
	if t.Size <= 0 || a.Count > len(b.b)/t.Size {
		return "", Attribute{}, errShort
	}
	a.raw = b.take(a.Count * t.Size)
	return name, a, b.err
}

// fillValue reads the value of elements that were never written.
func fillValue(b *block, old bool) ([]byte, error) {
	if old {
		v := b.take(int(b.u32()))
		return v, b.err
	}
	switch version := b.u8(); version {
	case 1, 2:
		b.skip(2)
		if defined := b.u8(); version == 2 && defined == 0 {
			return nil, b.err
		}
	case 3:
		if b.u8()&0x20 == 0 {
			return nil, b.err
		}
	default:
		return nil, fmt.Errorf("has a fill value of version %d", version)
	}
	v := b.take(int(int32(b.u32())))
	return v, b.err
}
