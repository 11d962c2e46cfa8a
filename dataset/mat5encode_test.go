package dataset

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"math"
)

// mat5 encodes MATLAB v5 files, just enough for the tests.
type mat5Encoder struct {
	big     bool
	deflate bool
	out     bytes.Buffer
}

func newMAT5(big, deflate bool) *mat5Encoder {
	e := &mat5Encoder{big: big, deflate: deflate}
	head := bytes.Repeat([]byte{' '}, 128)
	copy(head, "MATLAB 5.0 MAT-file, made by a test")
	e.order().PutUint16(head[124:], 0x0100)
	e.order().PutUint16(head[126:], 0x4d49) // "MI"
	e.out.Write(head)
	return e
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (e *mat5Encoder) order() byteOrder {
	if e.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// element is a data element: small where it fits.
func (e *mat5Encoder) element(kind int, data []byte) []byte {
	if n := len(data); n > 0 && n <= 4 {
		b := make([]byte, 8)
		e.order().PutUint32(b, uint32(n<<16|kind))
		copy(b[4:], data)
		return b
	}
	b := make([]byte, 8, 16+len(data))
	e.order().PutUint32(b, uint32(kind))
	e.order().PutUint32(b[4:], uint32(len(data)))
	b = append(b, data...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func (e *mat5Encoder) ints(x ...int) []byte {
	var b []byte
	for _, v := range x {
		b = e.order().AppendUint32(b, uint32(v))
	}
	return b
}

// numbers encodes values in a storage type.
func (e *mat5Encoder) numbers(kind int, x []float64) []byte {
	var b []byte
	for _, v := range x {
		switch kind {
		case 1, 2:
			b = append(b, byte(int(v)))
		case 3, 4:
			b = e.order().AppendUint16(b, uint16(int(v)))
		case 5, 6:
			b = e.order().AppendUint32(b, uint32(int(v)))
		case 7:
			b = e.order().AppendUint32(b, math.Float32bits(float32(v)))
		case 9:
			b = e.order().AppendUint64(b, math.Float64bits(v))
		case 12, 13:
			b = e.order().AppendUint64(b, uint64(int(v)))
		}
	}
	return e.element(kind, b)
}

// array is a matrix element without the parts behind the name.
func (e *mat5Encoder) array(name string, class, flags int, dims []int, parts ...[]byte) []byte {
	body := e.element(6, e.ints(class|flags<<8, 0))
	body = append(body, e.element(5, e.ints(dims...))...)
	body = append(body, e.element(1, []byte(name))...)
	for _, p := range parts {
		body = append(body, p...)
	}
	return e.element(14, body)
}

// matrix encodes rows×cols values given by a function, column by column.
func (e *mat5Encoder) matrix(name string, class, kind, rows, cols int, f func(i, j int) float64) []byte {
	var x []float64
	for j := range cols {
		for i := range rows {
			x = append(x, f(i, j))
		}
	}
	return e.array(name, class, 0, []int{rows, cols}, e.numbers(kind, x))
}

func (e *mat5Encoder) sparse(name string, rows, cols int, f func(i, j int) float64) []byte {
	var ir []int
	jc := []int{0}
	var x []float64
	for j := range cols {
		for i := range rows {
			if v := f(i, j); v != 0 {
				ir, x = append(ir, i), append(x, v)
			}
		}
		jc = append(jc, len(ir))
	}
	return e.array(name, 5, 0, []int{rows, cols}, e.element(5, e.ints(ir...)), e.element(5, e.ints(jc...)), e.numbers(9, x))
}

func (e *mat5Encoder) cell(name string, dims []int, items ...[]byte) []byte {
	return e.array(name, 1, 0, dims, items...)
}

// add puts a variable into the file.
func (e *mat5Encoder) add(array []byte) {
	if !e.deflate {
		e.out.Write(array)
		return
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(array) // a bytes.Buffer takes everything
	w.Close()
	e.out.Write(e.ints(15, z.Len()))
	e.out.Write(z.Bytes())
}

func (e *mat5Encoder) bytes() []byte { return e.out.Bytes() }

// sampleValue is a value that every storage type holds.
func sampleValue(v int) func(i, j int) float64 {
	return func(i, j int) float64 { return float64((5*i + 3*j + v) % 40) }
}

// some keeps a few of the sample values.
func some(v int) func(i, j int) float64 {
	return func(i, j int) float64 {
		if x := sampleValue(v)(i, j); x < 8 {
			return x
		}
		return 0
	}
}

// sampleMAT5 has 6 samples in five views of 3, 2, 9, 6 and 4 columns, next to variables that are skipped.
func sampleMAT5(big, deflate bool) []byte {
	e := newMAT5(big, deflate)
	e.add(e.array("title", 4, 0, []int{1, 5}, e.element(16, []byte("hello"))))
	e.add(e.array("s", 2, 0, []int{1, 1}, e.element(5, e.ints(8)), e.element(1, []byte("field\x00\x00\x00")), e.matrix("",
		6, 9, 1, 1, sampleValue(0))))
	e.add(e.cell("X", []int{1, 5},
		e.matrix("", 6, 9, 6, 3, sampleValue(0)),
		e.matrix("", 6, 2, 6, 2, sampleValue(1)),
		e.sparse("", 6, 9, some(2)),
		e.matrix("", 7, 7, 6, 6, sampleValue(3)),
		e.matrix("", 13, 4, 6, 4, sampleValue(4)),
	))
	e.add(e.matrix("Y", 6, 2, 6, 1, func(i, _ int) float64 { return float64(i%2 + 3) }))
	return e.bytes()
}

// incompleteMAT5 has two views d×n of 5 samples in the incomplete convention.
func incompleteMAT5() []byte {
	e := newMAT5(false, true)
	lost := func(v, at int) func(i, j int) float64 {
		return func(i, j int) float64 {
			if j == at {
				return math.NaN()
			}
			return sampleValue(v)(i, j)
		}
	}
	e.add(e.cell("data", []int{2, 1}, e.matrix("", 6, 9, 4, 5, lost(0, 1)), e.matrix("", 6, 9, 2, 5, lost(1, 4))))
	e.add(e.cell("index", []int{1, 2}, e.matrix("", 6, 2, 4, 1, func(i, _ int) float64 { return []float64{1, 3, 4, 5}[i] }),
		e.matrix("", 6, 2, 4, 1, func(i, _ int) float64 { return float64(i + 1) })))
	return e.bytes()
}
