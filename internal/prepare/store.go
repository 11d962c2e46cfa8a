package prepare

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
)

// Save appends what was measured on the training samples.
func (s *Standardiser) Save(f *safetensors.File) {
	for v, mean := range s.Mean {
		f.Tensors = append(f.Tensors, safetensors.Float64s(fmt.Sprintf("mean.%d", v), mean, len(mean)),
			safetensors.Float64s(fmt.Sprintf("scale.%d", v), s.Scale[v], len(mean)))
	}
}

// Read reads what Save wrote for views of the given features; in has the first error.
func Read(in *file.Tensors, kind Kind, dims []int) *Standardiser {
	s := &Standardiser{Kind: kind}
	for v, d := range dims {
		if kind == Balanced || kind == ZScore {
			s.Mean = append(s.Mean, in.Floats(fmt.Sprintf("mean.%d", v), d))
			s.Scale = append(s.Scale, in.Floats(fmt.Sprintf("scale.%d", v), d))
		}
	}
	return s
}
