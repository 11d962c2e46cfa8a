package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Entries gives access to the entries of a Gorgonia value in place, whatever its kind.
type Entries interface {
	Len() int
	At(j int) float64
	Set(j int, x float64)
}

type float64s []float64

func (f float64s) Len() int             { return len(f) }
func (f float64s) At(j int) float64     { return f[j] }
func (f float64s) Set(j int, x float64) { f[j] = x }

type float32s []float32

func (f float32s) Len() int             { return len(f) }
func (f float32s) At(j int) float64     { return float64(f[j]) }
func (f float32s) Set(j int, x float64) { f[j] = float32(x) }

type scalar64 struct{ x *gorgonia.F64 }

func (s scalar64) Len() int             { return 1 }
func (s scalar64) At(int) float64       { return float64(*s.x) }
func (s scalar64) Set(_ int, x float64) { *s.x = gorgonia.F64(x) }

type scalar32 struct{ x *gorgonia.F32 }

func (s scalar32) Len() int             { return 1 }
func (s scalar32) At(int) float64       { return float64(*s.x) }
func (s scalar32) Set(_ int, x float64) { *s.x = gorgonia.F32(x) }

// EntriesOf returns the entries of v, nil if v is of no kind that holds floats in order.
func EntriesOf(v gorgonia.Value) Entries {
	switch x := v.(type) {
	case *gorgonia.F64:
		return scalar64{x}
	case *gorgonia.F32:
		return scalar32{x}
	case *tensor.Dense:
		if x.RequiresIterator() || !x.DataOrder().IsRowMajor() {
			return nil
		}
		switch x.Dtype() {
		case tensor.Float64:
			return float64s(x.Float64s())
		case tensor.Float32:
			return float32s(x.Float32s())
		}
	}
	return nil
}
