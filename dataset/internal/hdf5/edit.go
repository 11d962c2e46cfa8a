package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/lookup3"
)

// Edit makes a copy of a file with objects added behind its end. The objects of the file stay where they are. A group that gets
// members is written again, with links to its old ones, and so are the groups above it up to the root.
type Edit struct {
	f     *File
	super []byte
	end   uint64 // where added begins
	added []byte
	heap  struct{ at, used, size, count int } // the collection of texts that is filled, within added
}

const (
	msgGroupInfo = 0x0a

	heapHead  = 16   // bytes of the header of a collection of texts, and of each text in it
	heapBytes = 4096 // of a collection
)

var le = binary.LittleEndian

// Edit begins a copy of a file.
func (f *File) Edit() (*Edit, error) {
	super, err := f.bytes(0, 128)
	if err != nil {
		return nil, err
	}
	e := &Edit{f: f, super: super, end: (uint64(f.size) + 7) &^ 7}
	switch version := super[8]; {
	case f.offSize != 8 || f.lenSize != 8:
		return nil, errors.New("has addresses of fewer than 8 bytes")
	case version >= 2 && le.Uint64(super[20:]) != undefined:
		return nil, errors.New("has an extension of its superblock")
	}
	return e, nil
}

// place adds some bytes, from a multiple of 8 on, and returns their address.
func (e *Edit) place(b []byte) uint64 {
	at := e.end + uint64(len(e.added))
	e.added = append(e.added, b...)
	e.added = append(e.added, make([]byte, -len(b)&7)...)
	return at
}

// Value is the content of an attribute or of a dataset.
type Value struct {
	dims  []int // nil: a scalar
	datum []byte
	raw   []byte
}

// whole is the type of whole numbers of some bytes.
func whole(size int, signed uint8) []byte {
	return []byte{0x10, signed << 3, 0, 0, byte(size), 0, 0, 0, 0, 0, byte(8 * size), 0}
}

// Floats holds float32 values, row-major.
func Floats(dims []int, x []float32) Value {
	v := Value{dims, []byte{0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0}, make([]byte, 0, 4*len(x))}
	for _, a := range x {
		v.raw = le.AppendUint32(v.raw, math.Float32bits(a))
	}
	return v
}

// Codes holds whole numbers from −1 to below n in as few bytes as these take.
func Codes(x []int, n int) Value {
	size := 4
	if n <= math.MaxInt8 {
		size = 1
	} else if n <= math.MaxInt16 {
		size = 2
	}
	v := Value{[]int{len(x)}, whole(size, 1), make([]byte, 0, size*len(x))}
	for _, k := range x {
		v.raw = append(v.raw, le.AppendUint32(nil, uint32(int32(k)))[:size]...)
	}
	return v
}

// False is a truth value as h5py stores it, an enumeration.
func False() Value {
	datum := append([]byte{0x18, 2, 0, 0, 1, 0, 0, 0}, whole(1, 1)...)
	return Value{nil, append(datum, "FALSE\x00\x00\x00TRUE\x00\x00\x00\x00\x00\x01"...), []byte{0}}
}

// Text holds one text, and Texts a list.
func (e *Edit) Text(s string) Value {
	v := e.Texts([]string{s})
	v.dims = nil
	return v
}

// Texts holds texts of variable length.
func (e *Edit) Texts(texts []string) Value {
	v := Value{[]int{len(texts)}, append([]byte{0x19, 1, 1, 0, 16, 0, 0, 0}, whole(1, 0)...), nil}
	for _, s := range texts {
		v.raw = append(v.raw, e.reference(s)...)
	}
	return v
}

// reference puts a text into the heap, and returns what stands for it.
func (e *Edit) reference(s string) []byte {
	h, need := &e.heap, heapHead+(len(s)+7)&^7
	switch {
	case s == "":
		return make([]byte, 16)
	case h.used+need > h.size:
		h.size, h.used, h.count, h.at = max(heapBytes, heapHead+need), heapHead, 0, len(e.added)
		e.place(append(le.AppendUint64([]byte("GCOL\x01\x00\x00\x00"), uint64(h.size)), make([]byte, h.size-heapHead)...))
	}
	h.count++
	at := e.added[h.at+h.used : h.at+h.size]
	le.PutUint16(at, uint16(h.count))
	le.PutUint64(at[8:], uint64(len(s)))
	copy(at[heapHead:], s)
	h.used += need
	if left := h.size - h.used; left >= heapHead { // its number 0 says that it is free
		le.PutUint64(at[need+8:], uint64(left))
	}
	ref := le.AppendUint32(nil, uint32(len(s)))
	return le.AppendUint32(le.AppendUint64(ref, e.end+uint64(h.at)), uint32(h.count))
}

// space is the message of a dataspace.
func (v *Value) space() []byte {
	b := []byte{2, byte(len(v.dims)), 0, 1}
	if v.dims == nil {
		b[3] = 0
	}
	for _, d := range v.dims {
		b = le.AppendUint64(b, uint64(d))
	}
	return b
}

// NewAttribute is an attribute that Edit writes.
type NewAttribute struct {
	Name string
	Value
}

func (a *NewAttribute) message() []byte {
	space := a.space()
	b := []byte{3, 0}
	for _, n := range []int{len(a.Name) + 1, len(a.datum), len(space)} {
		b = le.AppendUint16(b, uint16(n))
	}
	return slices.Concat(b, []byte{1}, []byte(a.Name), []byte{0}, a.datum, space, a.raw)
}

type message struct {
	kind uint8
	body []byte
}

// header adds an object header.
func (e *Edit) header(messages []message, attributes []NewAttribute) (uint64, error) {
	for _, a := range attributes {
		messages = append(messages, message{msgAttribute, a.message()})
	}
	var all []byte
	for _, m := range messages {
		if len(m.body) > math.MaxUint16 {
			return 0, fmt.Errorf("has more columns, or longer names, than an attribute of a group holds (%d bytes)", len(m.body))
		}
		all = append(append(le.AppendUint16(append(all, m.kind), uint16(len(m.body))), 0), m.body...)
	}
	b := append(le.AppendUint32([]byte("OHDR\x02\x02"), uint32(len(all))), all...)
	return e.place(le.AppendUint32(b, lookup3.Sum(b))), nil
}

// Dataset adds a dataset.
func (e *Edit) Dataset(v Value, attributes ...NewAttribute) (uint64, error) {
	at := uint64(undefined)
	if len(v.raw) > 0 {
		at = e.place(v.raw)
	}
	layout := le.AppendUint64(le.AppendUint64([]byte{3, contiguous}, at), uint64(len(v.raw)))
	return e.header([]message{{msgDataspace, v.space()}, {msgDatatype, v.datum}, {msgFill, []byte{3, 0x0a}},
		{msgLayout, layout}}, attributes)
}

// Group adds a group with members and attributes. It takes over further ones with other names from the group at an address; 0:
// there are none.
func (e *Edit) Group(old uint64, members []Link, attributes ...NewAttribute) (uint64, error) {
	info := slices.Concat([]byte{0, 0}, slices.Repeat([]byte{0xff}, 16)) // no heap of links
	messages := []message{{msgLinkInfo, info}, {msgGroupInfo, []byte{0, 0}}}
	if old != 0 {
		o, kept, err := e.f.withAttributes(old)
		if err != nil {
			return 0, err
		}
		links, err := e.f.Links(o)
		if err != nil {
			return 0, err
		}
		members = append(slices.DeleteFunc(slices.Clone(links), func(l Link) bool {
			return slices.ContainsFunc(members, func(m Link) bool { return m.Name == l.Name })
		}), members...)
		for _, m := range kept {
			name, _, err := attribute(&block{b: m, f: e.f})
			if err == nil && slices.ContainsFunc(attributes, func(a NewAttribute) bool { return a.Name == name }) {
				continue
			}
			messages = append(messages, message{msgAttribute, m})
		}
	}
	for _, l := range members {
		messages = append(messages, message{msgLink, l.message()})
	}
	return e.header(messages, attributes)
}

// withAttributes reads an object and the messages of its attributes.
func (f *File) withAttributes(addr uint64) (o *Object, attributes [][]byte, err error) {
	p := headerParser{f: f, attributes: func(m []byte) { attributes = append(attributes, m) }}
	o, err = p.object(addr)
	if err == nil {
		err = p.err
	}
	return o, attributes, err
}

// message is the link as a message.
func (l *Link) message() []byte {
	b := []byte{1, 0x11} // a character set, and 2 bytes for the length of the name
	if l.kind != 0 {
		b = []byte{1, 0x19, l.kind}
	}
	b = append(le.AppendUint16(append(b, 1), uint16(len(l.Name))), l.Name...)
	if l.kind != 0 {
		return append(b, l.value...)
	}
	return le.AppendUint64(b, l.Addr)
}

// AllTexts returns the texts of an attribute of any length of the object at an address; nil if it holds none. ok is false if
// there is no such attribute.
func (f *File) AllTexts(addr uint64, name string) (texts []string, ok bool, err error) {
	_, messages, err := f.withAttributes(addr)
	for _, m := range messages {
		if of, a, err := attribute(&block{b: m, f: f}); err == nil && of == name {
			texts, err = f.AttributeTexts(a)
			return texts, true, err
		}
	}
	return nil, false, err
}

// Copy writes the file with all that was added, and with a new root group.
func (e *Edit) Copy(w io.Writer, root uint64) error {
	head, end := slices.Clone(e.super), uint64(e.f.base)+e.end+uint64(len(e.added))
	switch head[8] {
	case 2, 3:
		le.PutUint64(head[28:], end)
		le.PutUint64(head[36:], root)
		le.PutUint32(head[44:], lookup3.Sum(head[:44]))
	default:
		at := head[24+4*int(head[8]):] // the base address; then of free space, the end, a driver, and the entry of the root
		le.PutUint64(at[16:], end)
		le.PutUint64(at[40:], root)
		clear(at[48:72]) // where the old root had its members
	}
	gap := make([]byte, e.end-uint64(e.f.size))
	after := e.f.base + int64(len(head))
	_, err := io.Copy(w, io.MultiReader(io.NewSectionReader(e.f.r, 0, e.f.base), bytes.NewReader(head),
		io.NewSectionReader(e.f.r, after, e.f.base+e.f.size-after), bytes.NewReader(gap), bytes.NewReader(e.added)))
	return err
}
