// Package hostile builds HDF5 and MATLAB files by hand, byte by byte, for tests of the readers: whole ones, and such as no proper
// writer makes.
package hostile

import (
	"encoding/binary"
	"math"

	"github.com/largemvc/largemvc/internal/lookup3"
)

// HDF5 is a file under construction: version 2 superblock and object headers, with right checksums.
type HDF5 struct {
	data  []byte
	Links []byte // messages of the root group
}

// superblockBytes is the size of a version 2 superblock.
const superblockBytes = 48

// NewHDF5 begins a file.
func NewHDF5() *HDF5 { return &HDF5{data: make([]byte, superblockBytes)} }

// Add appends bytes and returns their address.
func (h *HDF5) Add(data []byte) uint64 {
	at := uint64(len(h.data))
	h.data = append(h.data, data...)
	return at
}

// LE appends little endian numbers, each in its own width.
func LE(values ...any) []byte {
	var out []byte
	for _, v := range values {
		switch v := v.(type) {
		case string:
			out = append(out, v...)
		case []byte:
			out = append(out, v...)
		default:
			var err error
			if out, err = binary.Append(out, binary.LittleEndian, v); err != nil {
				panic(err) // a type without a fixed size
			}
		}
	}
	return out
}

// Message is one message of an object header.
func Message(kind uint8, body []byte) []byte {
	return LE(kind, uint16(len(body)), uint8(0), body)
}

// Object adds an object header of messages and returns its address.
func (h *HDF5) Object(messages ...[]byte) uint64 {
	var all []byte
	for _, m := range messages {
		all = append(all, m...)
	}
	return h.Add(Sealed(LE("OHDR", uint8(2), uint8(2), uint32(len(all)), all)))
}

// Sealed appends the checksum of a structure.
func Sealed(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, lookup3.Sum(b)) }

// Link puts an object into the root group.
func (h *HDF5) Link(name string, addr uint64) {
	h.Links = append(h.Links, Link(name, addr)...)
}

// Link is the message of a link of a group.
func Link(name string, addr uint64) []byte {
	return Message(6, LE(uint8(1), uint8(1), uint16(len(name)), name, addr))
}

// Bytes ends the file.
func (h *HDF5) Bytes() []byte {
	root := h.Object(h.Links)
	copy(h.data, Sealed(LE(signature, uint8(2), uint8(8), uint8(8), uint8(0), uint64(0), uint64(math.MaxUint64),
		uint64(len(h.data)), root)))
	return h.data
}

const signature = "\x89HDF\r\n\x1a\n"

// Dataspace is the message of the sizes of an array.
func Dataspace(dims ...int) []byte {
	body := LE(uint8(2), uint8(len(dims)), uint8(0), uint8(1))
	for _, d := range dims {
		body = LE(body, uint64(d))
	}
	return Message(1, body)
}

// The messages of element types.
var (
	Uint8   = Message(3, LE(uint8(0x10), []byte{0, 0, 0}, uint32(1), uint16(0), uint16(8)))
	Int64   = Message(3, LE(uint8(0x10), []byte{8, 0, 0}, uint32(8), uint16(0), uint16(64)))
	Float64 = Message(3, LE(uint8(0x11), []byte{0x20, 0x3f, 0}, uint32(8), uint16(0), uint16(64), []byte{52, 11, 0, 52},
		uint32(1023)))
	Float128 = Message(3, LE(uint8(0x11), []byte{0x20, 0x7f, 0}, uint32(16), uint16(0), uint16(128),
		[]byte{112, 15, 0, 112}, uint32(16383)))
	Text      = Message(3, LE(uint8(0x13), []byte{0, 0, 0}, uint32(16)))
	Compound  = Message(3, LE(uint8(0x16), []byte{2, 0, 0}, uint32(16), make([]byte, 64)))
	Reference = Message(3, LE(uint8(0x17), []byte{0, 0, 0}, uint32(8)))
)

// VariableText is the message of texts of variable length.
var VariableText = Message(3, LE(uint8(0x19), []byte{1, 0, 0}, uint32(16), uint8(0x13), []byte{0, 0, 0}, uint32(1)))

// Collection adds a global heap of n empty objects and one text behind them, and returns its address.
func (h *HDF5) Collection(n int, text string) uint64 {
	var body []byte
	for k := range n {
		body = append(body, LE(uint16(k+1), uint16(1), uint32(0), uint64(0))...)
	}
	body = append(body, LE(uint16(n+1), uint16(1), uint32(0), uint64(len(text)), text, make([]byte, -len(text)&7))...)
	return h.Add(LE("GCOL", uint8(1), []byte{0, 0, 0}, uint64(16+len(body)), body))
}

// Filters is the message of a filter pipeline, by the filters' numbers: 1 deflate, 2 shuffle, 3 Fletcher-32, 4 szip.
func Filters(ids ...uint16) []byte {
	body := LE(uint8(2), uint8(len(ids)))
	for _, id := range ids {
		body = LE(body, id, uint16(0), uint16(0))
	}
	return Message(0x0b, body)
}

// Contiguous is the layout of elements that lie in one piece.
func Contiguous(addr uint64, size int) []byte {
	return Message(8, LE(uint8(3), uint8(1), addr, uint64(size)))
}

// SingleChunk is the layout of one filtered chunk of size bytes; the last of dims is the width of an element.
func SingleChunk(addr, size uint64, mask uint32, dims ...int) []byte {
	body := LE(uint8(4), uint8(2), uint8(2), uint8(len(dims)), uint8(8))
	for _, d := range dims {
		body = LE(body, uint64(d))
	}
	return Message(8, LE(body, uint8(1), size, mask, addr))
}

// TreeChunks is the layout of chunks in a version 1 B-tree at an address.
func TreeChunks(tree uint64, dims ...int) []byte {
	body := LE(uint8(3), uint8(2), uint8(len(dims)), tree)
	for _, d := range dims {
		body = LE(body, uint32(d))
	}
	return Message(8, body)
}

// Chunk is an entry of an index.
type Chunk struct {
	At   []int
	Addr uint64
	Size uint32
	Mask uint32
}

// Tree adds a version 1 B-tree of chunks: one node of leaves.
func (h *HDF5) Tree(chunks []Chunk) uint64 {
	body := LE("TREE", uint8(1), uint8(0), uint16(len(chunks)), uint64(math.MaxUint64), uint64(math.MaxUint64))
	for _, c := range chunks {
		body = LE(body, c.Size, c.Mask)
		for _, at := range c.At {
			body = LE(body, uint64(at))
		}
		body = LE(body, uint64(0), c.Addr)
	}
	return h.Add(body)
}

// FixedArrayChunks is the layout of unfiltered chunks in a fixed array.
func FixedArrayChunks(array uint64, dims ...int) []byte {
	body := LE(uint8(4), uint8(2), uint8(0), uint8(len(dims)), uint8(8))
	for _, d := range dims {
		body = LE(body, uint64(d))
	}
	return Message(8, LE(body, uint8(3), uint8(10), array))
}

// FixedArray adds an index of unfiltered chunks.
func (h *HDF5) FixedArray(addrs ...uint64) uint64 {
	head := uint64(len(h.data))
	block := head + 28
	h.Add(Sealed(LE("FAHD", uint8(0), uint8(0), uint8(8), uint8(10), uint64(len(addrs)), block)))
	body := LE("FADB", uint8(0), uint8(0), head)
	for _, a := range addrs {
		body = LE(body, a)
	}
	h.Add(Sealed(body))
	return head
}
