package dataset

import (
	"encoding/binary"

	"github.com/largemvc/largemvc/internal/testrig/hostile"
)

// zeroPart is a data element of n zeros: its tag, and how many zeros follow.
func zeroPart(kind uint32, n int64) ([]byte, int64) {
	return hostile.LE(kind, uint32(n)), n + hostile.Pad8(n)
}

// zeroArray is a compressed array whose numbers are zeros of one byte each.
func zeroArray(name string, class uint8, rows, cols int) []byte {
	n := int64(rows) * int64(cols)
	tag, total := zeroPart(hostile.MATUint8, n)
	head := hostile.ArrayHead(name, class, rows, cols)
	p := newZlib()
	p.put(hostile.LE(uint32(hostile.MATMatrix), uint32(int64(len(head))+8+total), head, tag)...)
	p.zero(total)
	return hostile.LE(uint32(15), uint32(len(p.zlib())), p.zlib())
}

// zeroSparse is a compressed sparse matrix of n entries, all zero, in row 0 of the last of its columns.
func zeroSparse(name string, rows, cols int, n int64) []byte {
	head := hostile.ArrayHead(name, hostile.ClassSparse, rows, cols)
	ir, nir := zeroPart(hostile.MATInt8, n)
	starts := make([]byte, 4*(cols+1))
	binary.LittleEndian.PutUint32(starts[4*cols:], uint32(n))
	jc := hostile.Element(hostile.MATInt32, starts)
	data, ndata := zeroPart(hostile.MATUint8, n)
	p := newZlib()
	p.put(hostile.LE(uint32(hostile.MATMatrix), uint32(int64(len(head)+8)+nir+int64(len(jc)+8)+ndata), head, ir)...)
	p.zero(nir)
	p.put(hostile.LE(jc, data)...)
	p.zero(ndata)
	return hostile.LE(uint32(15), uint32(len(p.zlib())), p.zlib())
}

// zeroCell is a compressed cell of text elements of n zeros each.
func zeroCell(name string, elements int, n int64) []byte {
	p := newZlib()
	head := hostile.ArrayHead(name, hostile.ClassCell, 1, elements)
	one := hostile.ArrayHead("", hostile.ClassChar, 1, int(n))
	tag, total := zeroPart(hostile.MATUint8, n)
	size := int64(len(one)+8) + total
	p.put(hostile.LE(uint32(hostile.MATMatrix), uint32(int64(len(head))+int64(elements)*(8+size)), head)...)
	for range elements {
		p.put(hostile.LE(uint32(hostile.MATMatrix), uint32(size), one, tag)...)
		p.zero(total)
	}
	return hostile.LE(uint32(15), uint32(len(p.zlib())), p.zlib())
}

// complexMAT5 is a file of one complex matrix.
func complexMAT5() []byte {
	head := hostile.ArrayHead("X", hostile.ClassDouble, 2, 1)
	head[9] |= 8 // the flag of complex numbers
	part := hostile.Element(hostile.MATDouble, make([]byte, 16))
	return hostile.MAT5(hostile.Element(hostile.MATMatrix, hostile.LE(head, part, part)))
}

// structMAT5 is a file of one structure without fields.
func structMAT5() []byte {
	return hostile.MAT5(hostile.Element(hostile.MATMatrix, hostile.LE(hostile.ArrayHead("X", 2, 1, 1),
		hostile.Element(hostile.MATInt32, hostile.LE(int32(32))), hostile.Element(hostile.MATInt8, nil))))
}

// int64MAT5 is a file of the whole numbers 0 and x in a column.
func int64MAT5(x int64) []byte {
	return hostile.MAT5(hostile.Element(hostile.MATMatrix, hostile.LE(hostile.ArrayHead("X", 14, 2, 1),
		hostile.Element(12, hostile.LE(int64(0), x)))))
}
