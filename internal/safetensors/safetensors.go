// Package safetensors reads and writes the safetensors format: named arrays with a shape, and text for whatever else there
// is to say.
//
//	8 bytes    N, the length of the header, little-endian
//	N bytes    JSON: {"__metadata__": {"key": "text", …}, "name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]}, …}
//	the rest   the arrays' elements, row-major, little-endian; data_offsets count from its first byte
//
// The arrays cover the rest without gaps and without sharing bytes. The header begins with { and may end in spaces, with
// which the writer brings the elements to a multiple of 8 bytes.
//
// A file can be sealed: its metadata then holds the SHA-256 of the whole file in 64 hexadecimal digits, reckoned with 64
// zeros in their place.
//
// Nothing that a file claims is believed before it is there: memory is taken as the bytes arrive, and every size is
// compared with the bytes that there are.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Dtype is an element type, by its name in the format.
type Dtype string

// The element types that can be made and read here.
const (
	F64 Dtype = "F64"
	F32 Dtype = "F32"
	I64 Dtype = "I64"
	I32 Dtype = "I32"
	U8  Dtype = "U8"
)

// sizes are the bytes of an element of every type of the format; those without a constant can be stored, not read.
var sizes = map[Dtype]int{
	F64: 8, F32: 4, I64: 8, "U64": 8, I32: 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I8": 1, "U8": 1,
	"BOOL": 1, "F8_E5M2": 1, "F8_E4M3": 1,
}

// Tensor is a named array.
type Tensor struct {
	Name  string
	Dtype Dtype
	Shape []int // empty: a single element
	Data  []byte
}

// File is the content of a file.
type File struct {
	Metadata map[string]string
	Tensors  []Tensor // in the order of their bytes
	header   []byte   // as read, for Verify
}

// Float64s makes a tensor of float64 elements. x must have as many elements as the shape.
func Float64s(name string, x []float64, shape ...int) Tensor {
	data := make([]byte, 8*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint64(data[8*i:], math.Float64bits(v))
	}
	return Tensor{Name: name, Dtype: F64, Shape: slices.Clone(shape), Data: data}
}

// Float32s makes a tensor of float32 elements, to which x is rounded.
func Float32s(name string, x []float64, shape ...int) Tensor {
	data := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(v)))
	}
	return Tensor{Name: name, Dtype: F32, Shape: slices.Clone(shape), Data: data}
}

// Ints makes a tensor of int64 elements.
func Ints(name string, x []int, shape ...int) Tensor {
	data := make([]byte, 8*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint64(data[8*i:], uint64(v))
	}
	return Tensor{Name: name, Dtype: I64, Shape: slices.Clone(shape), Data: data}
}

// Int32s makes a tensor of int32 elements.
func Int32s(name string, x []int32, shape ...int) Tensor {
	data := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(v))
	}
	return Tensor{Name: name, Dtype: I32, Shape: slices.Clone(shape), Data: data}
}

// Bytes makes a tensor of bytes, of one axis.
func Bytes(name string, data []byte) Tensor {
	return Tensor{Name: name, Dtype: U8, Shape: []int{len(data)}, Data: data}
}

// Float64s returns the elements of an F64 or F32 tensor.
func (t *Tensor) Float64s() ([]float64, error) {
	switch t.Dtype {
	case F64:
		out := make([]float64, len(t.Data)/8)
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:]))
		}
		return out, nil
	case F32:
		out := make([]float64, len(t.Data)/4)
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
		}
		return out, nil
	}
	return nil, fmt.Errorf("safetensors: %q has the type %s, want F64 or F32", t.Name, t.Dtype)
}

// Ints returns the elements of an I64 tensor. It is an error if one is out of the range of int.
func (t *Tensor) Ints() ([]int, error) {
	if t.Dtype != I64 {
		return nil, fmt.Errorf("safetensors: %q has the type %s, want I64", t.Name, t.Dtype)
	}
	out := make([]int, len(t.Data)/8)
	for i := range out {
		x := int64(binary.LittleEndian.Uint64(t.Data[8*i:]))
		if out[i] = int(x); int64(out[i]) != x {
			return nil, fmt.Errorf("safetensors: element %d of %q is %d, out of range", i, t.Name, x)
		}
	}
	return out, nil
}

// Int32s returns the elements of an I32 tensor.
func (t *Tensor) Int32s() ([]int32, error) {
	if t.Dtype != I32 {
		return nil, fmt.Errorf("safetensors: %q has the type %s, want I32", t.Name, t.Dtype)
	}
	out := make([]int32, len(t.Data)/4)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return out, nil
}

// Tensor returns the tensor of that name, nil if there is none.
func (f *File) Tensor(name string) *Tensor {
	for i := range f.Tensors {
		if f.Tensors[i].Name == name {
			return &f.Tensors[i]
		}
	}
	return nil
}

// bytesOf returns the bytes of a tensor of the type and shape, and an error if there is no such type or no such size.
func bytesOf(name string, of Dtype, shape []int) (int, error) {
	n, ok := sizes[of]
	if !ok {
		return 0, fmt.Errorf("safetensors: %q has the unknown type %q", name, of)
	}
	empty := slices.Contains(shape, 0)
	for _, s := range shape {
		if s < 0 {
			return 0, fmt.Errorf("safetensors: %q has the shape %v", name, shape)
		}
		if empty {
			continue
		}
		if n > math.MaxInt/s {
			return 0, fmt.Errorf("safetensors: %q has the shape %v, more than there can be", name, shape)
		}
		n *= s
	}
	if empty {
		return 0, nil
	}
	return n, nil
}
