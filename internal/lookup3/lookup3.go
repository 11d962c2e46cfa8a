// Package lookup3 has Bob Jenkins's hash lookup3 (hashlittle, 2006), the checksum of HDF5's metadata.
package lookup3

import (
	"encoding/binary"
	"math/bits"
)

// Sum is the hash of some bytes, with the initial value 0.
func Sum(k []byte) uint32 {
	a := 0xdeadbeef + uint32(len(k))
	b, c := a, a
	u := binary.LittleEndian.Uint32
	for ; len(k) > 12; k = k[12:] {
		a, b, c = a+u(k), b+u(k[4:]), c+u(k[8:])
		a, c = (a-c)^bits.RotateLeft32(c, 4), c+b
		b, a = (b-a)^bits.RotateLeft32(a, 6), a+c
		c, b = (c-b)^bits.RotateLeft32(b, 8), b+a
		a, c = (a-c)^bits.RotateLeft32(c, 16), c+b
		b, a = (b-a)^bits.RotateLeft32(a, 19), a+c
		c, b = (c-b)^bits.RotateLeft32(b, 4), b+a
	}
	if len(k) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], k)
	a, b, c = a+u(last[:]), b+u(last[4:]), c+u(last[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
