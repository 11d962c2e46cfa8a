package hostile

import (
	"encoding/binary"
	"fmt"
)

// Classes of MATLAB arrays and types of their elements.
const (
	ClassCell   = 1
	ClassChar   = 4
	ClassSparse = 5
	ClassDouble = 6

	MATInt8   = 1
	MATUint8  = 2
	MATInt32  = 5
	MATUint32 = 6
	MATDouble = 9
	MATMatrix = 14
)

// MAT5 is the head of a MATLAB v5 file before its variables.
func MAT5(variables ...[]byte) []byte {
	out := fmt.Appendf(nil, "%-124s", "MATLAB 5.0 MAT-file")
	out = LE(out, uint16(0x0100), "IM")
	for _, v := range variables {
		out = append(out, v...)
	}
	return out
}

// Pad8 is the number of bytes up to a multiple of 8.
func Pad8(n int64) int64 { return (8 - n%8) % 8 }

// Element is a data element with its tag and padding.
func Element(kind uint32, data []byte) []byte {
	return LE(kind, uint32(len(data)), data, make([]byte, Pad8(int64(len(data)))))
}

// ArrayHead returns the elements that precede the numbers of an array.
func ArrayHead(name string, class uint8, dims ...int) []byte {
	var d []byte
	for _, n := range dims {
		d = binary.LittleEndian.AppendUint32(d, uint32(n))
	}
	return LE(Element(MATUint32, LE(uint32(class), uint32(0))), Element(MATInt32, d), Element(MATInt8, []byte(name)))
}
