package hostile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash"
	"hash/adler32"
	"hash/crc32"
)

// packer deflates bytes and any number of zeros. The zeros cost neither time nor memory: the same deflated block is written
// again and again.
type packer struct {
	out   bytes.Buffer
	sum   hash.Hash32
	count int64
}

const zeroBlock = 1 << 20

var (
	zeros         [zeroBlock]byte
	deflatedZeros = deflateBlock(zeros[:])
)

// deflateBlock deflates bytes to whole bytes of output, without the end of a stream.
func deflateBlock(data []byte) []byte {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Flush()
	}
	if err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return b.Bytes()
}

// newZlib packs for a zlib stream, newGzip for a gzip member or an entry of a zip archive.
func newZlib() *packer { return &packer{sum: adler32.New()} }
func newGzip() *packer { return &packer{sum: crc32.NewIEEE()} }

// add adds bytes that are deflated already.
func (p *packer) add(data, deflated []byte) {
	p.sum.Write(data) // never fails
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
		p.add(zeros[:], deflatedZeros)
	}
	p.put(zeros[:n]...)
}

// raw is the deflated stream.
func (p *packer) raw() []byte { return append(bytes.Clone(p.out.Bytes()), 3, 0) }

// zlib is the stream with header and checksum.
func (p *packer) zlib() []byte {
	return binary.BigEndian.AppendUint32(append([]byte{0x78, 0xda}, p.raw()...), p.sum.Sum32())
}

// gzip is the stream as a gzip member.
func (p *packer) gzip() []byte {
	out := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}, p.raw()...)
	out = binary.LittleEndian.AppendUint32(out, p.sum.Sum32())
	return binary.LittleEndian.AppendUint32(out, uint32(p.count))
}
