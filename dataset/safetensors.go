package dataset

import (
	"encoding/binary"
	"io"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/safetensors"
)

// tensorTypes are the elements of tensors that are read.
var tensorTypes = map[safetensors.Dtype]elem.Kind{
	"BOOL": elem.Bool, "I8": elem.Int8, "U8": elem.Uint8, "I16": elem.Int16, "U16": elem.Uint16, "I32": elem.Int32,
	"U32": elem.Uint32, "I64": elem.Int64, "U64": elem.Uint64, "F16": elem.Float16, "BF16": elem.BFloat16,
	"F32": elem.Float32, "F64": elem.Float64,
}

// isSafetensors reports whether a file begins with the length of a header and the header.
func isSafetensors(head []byte, size int64) bool {
	if len(head) < 10 || head[8] != '{' {
		return false
	}
	n := binary.LittleEndian.Uint64(head)
	return n >= 2 && n <= uint64(size)-8
}

// listSafetensors lists the tensors of a file, whose axes are those of NumPy.
func (s *source) listSafetensors(f io.ReaderAt, lim *limits) error {
	s.format = "safetensors"
	// The header may hold some bytes a tensor, whose list takes several times as much.
	head := make([]byte, 8)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if err := lim.Take("the list of its tensors", 8*int64(min(binary.LittleEndian.Uint64(head), uint64(s.size)))); err != nil {
		return err
	}
	places, err := safetensors.Places(io.NewSectionReader(f, 0, s.size), s.size)
	if err != nil {
		return err
	}
	for _, p := range places {
		v := &variable{file: s.path, name: p.Name, dims: p.Shape, typ: elem.Type{Kind: tensorTypes[p.Dtype]}, backed: true}
		if err := book(lim, v); err != nil {
			return err
		}
		if v.class = v.typ.Kind.String(); v.typ.Kind == elem.Invalid {
			v.kind, v.note = other, "elements of type "+string(p.Dtype)+" are not read"
		} else {
			v.place = func() (int64, error) { return p.At, nil }
			v.stream = func(run func(int, []byte) error) error {
				return streamFrom(func() (io.ReadCloser, error) {
					return io.NopCloser(io.NewSectionReader(f, p.At, p.Bytes)), nil
				}, v.elements(), v.typ.Size(), run)
			}
		}
		s.vars = append(s.vars, v)
	}
	return nil
}
