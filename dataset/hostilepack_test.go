package dataset

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/largemvc/largemvc/internal/testrig/hostile"
)

// packer deflates bytes and any number of zeros. The zeros cost neither time nor memory: the same deflated block is written
// again and again.
type packer struct {
	out   bytes.Buffer
	sum   sum
	count int64
}

const zeroBlock = 1 << 20

var (
	zeroBytes     [zeroBlock]byte
	deflatedZeros = deflateBlock(zeroBytes[:])
)

// deflaters are used again, for making one takes much longer than its use for few bytes.
var deflaters = sync.Pool{New: func() any {
	z, err := flate.NewWriter(nil, flate.BestCompression)
	if err != nil {
		panic(err) // the level is one of the package's
	}
	return z
}}

// deflateBlock deflates bytes to whole bytes of output, without the end of a stream.
func deflateBlock(data []byte) []byte {
	var b bytes.Buffer
	z := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(z)
	z.Reset(&b)
	_, err := z.Write(data)
	if err == nil {
		err = z.Flush()
	}
	if err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return b.Bytes()
}

// newZlib packs for a zlib stream, newGzip for a gzip member or an entry of a zip archive.
func newZlib() *packer { return &packer{sum: &adler{a: 1}} }
func newGzip() *packer { return &packer{sum: new(crc)} }

// sum is a checksum.
type sum interface {
	add(data []byte)
	zeroBlock() // adds zeroBlock zeros
	value() uint32
}

type crc uint32

func (c *crc) add(data []byte) { *c = crc(crc32.Update(uint32(*c), crc32.IEEETable, data)) }
func (c *crc) zeroBlock()      { c.add(zeroBytes[:]) }
func (c *crc) value() uint32   { return uint32(*c) }

// adler is Adler-32, to which zeros can be added without going through them.
type adler struct{ a, b uint32 }

const adlerModulus = 65521

func (s *adler) add(data []byte) {
	for _, c := range data {
		s.a = (s.a + uint32(c)) % adlerModulus
		s.b = (s.b + s.a) % adlerModulus
	}
}

func (s *adler) zeroBlock()    { s.b = uint32((uint64(s.b) + zeroBlock*uint64(s.a)) % adlerModulus) }
func (s *adler) value() uint32 { return s.b<<16 | s.a }

// add adds bytes that are deflated already.
func (p *packer) add(data, deflated []byte) {
	p.sum.add(data)
	p.count += int64(len(data))
	p.out.Write(deflated)
}

// put adds bytes.
func (p *packer) put(data ...byte) { p.add(data, deflateBlock(data)) }

// repeat adds the same bytes n times, deflated once.
func (p *packer) repeat(data []byte, n int) {
	block := deflateBlock(data)
	for range n {
		p.add(data, block)
	}
}

// zero adds n zeros.
func (p *packer) zero(n int64) {
	for ; n >= zeroBlock; n -= zeroBlock {
		p.sum.zeroBlock()
		p.count += zeroBlock
		p.out.Write(deflatedZeros)
	}
	p.put(zeroBytes[:n]...)
}

// raw is the deflated stream.
func (p *packer) raw() []byte { return append(bytes.Clone(p.out.Bytes()), 3, 0) }

// zlib is the stream with header and checksum.
func (p *packer) zlib() []byte {
	return binary.BigEndian.AppendUint32(append([]byte{0x78, 0xda}, p.raw()...), p.sum.value())
}

// gzip is the stream as a gzip member.
func (p *packer) gzip() []byte {
	out := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}, p.raw()...)
	out = binary.LittleEndian.AppendUint32(out, p.sum.value())
	return binary.LittleEndian.AppendUint32(out, uint32(p.count))
}

// npyHead is the head of a NumPy array. descr and shape are written as they are.
func npyHead(descr, shape string) []byte {
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	return hostile.LE("\x93NUMPY\x01\x00", uint16(len(text)), text)
}

// zipMember is one entry of a zip archive.
type zipMember struct {
	name         string
	method       uint16
	crc          uint32
	packed, full uint64
	at           uint32
}

// archive is a zip archive under construction.
type archive struct {
	data    []byte
	members []zipMember
}

func (a *archive) add(m zipMember, body []byte) {
	m.at, m.packed = uint32(len(a.data)), uint64(len(body))
	a.data = hostile.LE(a.data, "PK\x03\x04", uint16(20), uint16(0), m.method, uint32(0), m.crc,
		uint32(m.packed), uint32(m.full), uint16(len(m.name)), uint16(0), m.name, body)
	a.members = append(a.members, m)
}

// stored adds a member as it is.
func (a *archive) stored(name string, body []byte) {
	a.add(zipMember{name: name, crc: crc32.ChecksumIEEE(body), full: uint64(len(body))}, body)
}

// zeros adds a deflated array whose elements are n zero bytes.
func (a *archive) zeros(name string, head []byte, n int64) {
	p := newGzip()
	p.put(head...)
	p.zero(n)
	a.packed(name, p)
}

func (a *archive) packed(name string, p *packer) {
	a.add(zipMember{name: name, method: 8, crc: p.sum.value(), full: uint64(p.count)}, p.raw())
}

// bytes ends the archive.
func (a *archive) bytes() []byte {
	at := len(a.data)
	out := a.data
	for _, m := range a.members {
		out = append(out, hostile.LE("PK\x01\x02", uint16(20), uint16(20), uint16(0), m.method, uint32(0), m.crc,
			uint32(m.packed), uint32(m.full), uint16(len(m.name)), uint16(0), uint16(0), uint16(0), uint16(0),
			uint32(0), m.at, m.name)...)
	}
	size := len(out) - at
	n := uint16(len(a.members))
	return hostile.LE(out, "PK\x05\x06", uint32(0), n, n, uint32(size), uint32(at), uint16(0))
}
