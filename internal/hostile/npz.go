package hostile

import (
	"fmt"
	"hash/crc32"
)

// NPY is the head of a NumPy array. descr and shape are written as they are.
func NPY(descr, shape string) []byte {
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	return le("\x93NUMPY\x01\x00", uint16(len(text)), text)
}

// member is one entry of a zip archive.
type member struct {
	name         string
	method       uint16
	crc          uint32
	packed, full uint64
	at           uint32
}

// archive is a zip archive under construction.
type archive struct {
	data    []byte
	members []member
}

func (a *archive) add(m member, body []byte) {
	m.at, m.packed = uint32(len(a.data)), uint64(len(body))
	a.data = le(a.data, "PK\x03\x04", uint16(20), uint16(0), m.method, uint32(0), m.crc, uint32(m.packed), uint32(m.full),
		uint16(len(m.name)), uint16(0), m.name, body)
	a.members = append(a.members, m)
}

// stored adds a member as it is.
func (a *archive) stored(name string, body []byte) {
	a.add(member{name: name, crc: crc32.ChecksumIEEE(body), full: uint64(len(body))}, body)
}

// zeros adds a deflated array whose elements are n zero bytes.
func (a *archive) zeros(name string, head []byte, n int64) {
	p := newGzip()
	p.put(head...)
	p.zero(n)
	a.packed(name, p)
}

func (a *archive) packed(name string, p *packer) {
	a.add(member{name: name, method: 8, crc: p.sum.value(), full: uint64(p.count)}, p.raw())
}

// bytes ends the archive.
func (a *archive) bytes() []byte {
	at := len(a.data)
	out := a.data
	for _, m := range a.members {
		out = append(out, le("PK\x01\x02", uint16(20), uint16(20), uint16(0), m.method, uint32(0), m.crc,
			uint32(m.packed), uint32(m.full), uint16(len(m.name)), uint16(0), uint16(0), uint16(0), uint16(0),
			uint32(0), m.at, m.name)...)
	}
	size := len(out) - at
	n := uint16(len(a.members))
	return le(out, "PK\x05\x06", uint32(0), n, n, uint32(size), uint32(at), uint16(0))
}
