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

	typeInt8   = 1
	typeUint8  = 2
	typeInt32  = 5
	typeUint32 = 6
	typeDouble = 9
	typeMatrix = 14
)

// MAT5 is the head of a MATLAB v5 file before its variables.
func MAT5(variables ...[]byte) []byte {
	out := fmt.Appendf(nil, "%-124s", "MATLAB 5.0 MAT-file")
	out = le(out, uint16(0x0100), "IM")
	for _, v := range variables {
		out = append(out, v...)
	}
	return out
}

// pad8 is the number of bytes up to a multiple of 8.
func pad8(n int64) int64 { return (8 - n%8) % 8 }

// element is a data element with its tag and padding.
func element(kind uint32, data []byte) []byte {
	return le(kind, uint32(len(data)), data, make([]byte, pad8(int64(len(data)))))
}

// arrayHead is what precedes the numbers of an array.
func arrayHead(name string, class uint8, dims ...int) []byte {
	var d []byte
	for _, n := range dims {
		d = binary.LittleEndian.AppendUint32(d, uint32(n))
	}
	return le(element(typeUint32, le(uint32(class), uint32(0))), element(typeInt32, d), element(typeInt8, []byte(name)))
}

// zeroPart is a data element of n zeros: its tag, and how many zeros follow.
func zeroPart(kind uint32, n int64) ([]byte, int64) { return le(kind, uint32(n)), n + pad8(n) }

// zeroArray is a compressed array whose numbers are zeros of one byte each.
func zeroArray(name string, class uint8, rows, cols int) []byte {
	n := int64(rows) * int64(cols)
	tag, total := zeroPart(typeUint8, n)
	head := arrayHead(name, class, rows, cols)
	p := newZlib()
	p.put(le(uint32(typeMatrix), uint32(int64(len(head))+8+total), head, tag)...)
	p.zero(total)
	return le(uint32(15), uint32(len(p.zlib())), p.zlib())
}

// zeroSparse is a compressed sparse matrix of n entries, all zero, in row 0 of the last of its columns.
func zeroSparse(name string, rows, cols int, n int64) []byte {
	head := arrayHead(name, ClassSparse, rows, cols)
	ir, nir := zeroPart(typeInt8, n)
	starts := make([]byte, 4*(cols+1))
	binary.LittleEndian.PutUint32(starts[4*cols:], uint32(n))
	jc := element(typeInt32, starts)
	data, ndata := zeroPart(typeUint8, n)
	p := newZlib()
	p.put(le(uint32(typeMatrix), uint32(int64(len(head)+8)+nir+int64(len(jc)+8)+ndata), head, ir)...)
	p.zero(nir)
	p.put(le(jc, data)...)
	p.zero(ndata)
	return le(uint32(15), uint32(len(p.zlib())), p.zlib())
}

// zeroCell is a compressed cell of text elements of n zeros each.
func zeroCell(name string, elements int, n int64) []byte {
	p := newZlib()
	head := arrayHead(name, ClassCell, 1, elements)
	one := arrayHead("", ClassChar, 1, int(n))
	tag, total := zeroPart(typeUint8, n)
	size := int64(len(one)+8) + total
	p.put(le(uint32(typeMatrix), uint32(int64(len(head))+int64(elements)*(8+size)), head)...)
	for range elements {
		p.put(le(uint32(typeMatrix), uint32(size), one, tag)...)
		p.zero(total)
	}
	return le(uint32(15), uint32(len(p.zlib())), p.zlib())
}

// SmallMAT5 are small proper files: a matrix, a cell, a sparse matrix and a text, as they are and compressed.
func SmallMAT5() [][]byte {
	matrix := le(arrayHead("X0", ClassDouble, 3, 2), element(typeUint8, []byte{1, 2, 3, 4, 5, 6}))
	inner := element(typeMatrix, le(arrayHead("", ClassDouble, 2, 1), element(typeDouble, make([]byte, 16))))
	cell := le(arrayHead("X", ClassCell, 1, 2), inner, inner)
	sparse := le(arrayHead("S", ClassSparse, 3, 2), element(typeInt32, le(int32(0), int32(2))),
		element(typeInt32, le(int32(0), int32(1), int32(2))),
		element(typeDouble, make([]byte, 16)))
	text := le(arrayHead("note", ClassChar, 1, 4), element(typeUint8, []byte("text")))
	var plain, packed [][]byte
	for _, v := range [][]byte{matrix, cell, sparse, text} {
		plain = append(plain, element(typeMatrix, v))
		p := newZlib()
		p.put(element(typeMatrix, v)...)
		packed = append(packed, le(uint32(15), uint32(len(p.zlib())), p.zlib()))
	}
	return [][]byte{MAT5(plain...), MAT5(packed...), MAT5(packed[1], plain[2]), MAT5(plain[0])}
}

// ComplexMAT5 is a file of one complex matrix.
func ComplexMAT5() []byte {
	head := arrayHead("X", ClassDouble, 2, 1)
	head[9] |= 8 // the flag of complex numbers
	part := element(typeDouble, make([]byte, 16))
	return MAT5(element(typeMatrix, le(head, part, part)))
}

// StructMAT5 is a file of one structure without fields.
func StructMAT5() []byte {
	return MAT5(element(typeMatrix, le(arrayHead("X", 2, 1, 1), element(typeInt32, le(int32(32))), element(typeInt8, nil))))
}

// Int64MAT5 is a file of the whole numbers 0 and x in a column.
func Int64MAT5(x int64) []byte {
	return MAT5(element(typeMatrix, le(arrayHead("X", 14, 2, 1), element(12, le(int64(0), x)))))
}
