package prepare

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
)

// Save appends the values from the training samples.
func (s *Standardiser) Save(f *safetensors.File) {
	for v, mean := range s.Mean {
		f.Tensors = append(f.Tensors, safetensors.Float64s(fmt.Sprintf("mean.%d", v), mean, len(mean)),
			safetensors.Float64s(fmt.Sprintf("scale.%d", v), s.Scale[v], len(mean)))
	}
	for v, o := range s.omissions {
		if o == nil {
			continue
		}
		out := make([]int, len(o.out))
		for j, left := range o.out {
			if left {
				out[j] = 1
			}
		}
		f.Tensors = append(f.Tensors, safetensors.Ints(constantName(v), out, len(out)))
	}
}

// constantName is the tensor that marks the omitted columns of view v; absent if there are none.
func constantName(v int) string { return fmt.Sprintf("constant.%d", v) }

// readOmission reads the omitted columns of view v, of d columns.
func readOmission(in *file.Tensors, v, d int) *omission {
	if !in.Has(constantName(v)) {
		return nil
	}
	out := make([]bool, d)
	for j, left := range in.Ints(constantName(v), d) {
		if left != 0 && left != 1 {
			in.Fail("%q has %d, want 0 or 1", constantName(v), left)
			return nil
		}
		out[j] = left == 1
	}
	o := newOmission(out)
	if o == nil {
		in.Fail("%q leaves out all features, or none", constantName(v))
	}
	return o
}

// Read reads the result of Save for views of the given features; in has the first error.
func Read(in *file.Tensors, kind Kind, dims []int) *Standardiser {
	s := &Standardiser{Kind: kind}
	for v, d := range dims {
		if kind == Balanced || kind == ZScore {
			s.Mean = append(s.Mean, in.Floats(fmt.Sprintf("mean.%d", v), d))
			s.Scale = append(s.Scale, in.Floats(fmt.Sprintf("scale.%d", v), d))
		}
		if kind == PerSample || kind == UnitNorm {
			s.omissions = append(s.omissions, readOmission(in, v, d))
		}
	}
	return s
}
