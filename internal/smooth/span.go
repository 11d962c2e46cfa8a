package smooth

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/spectral"
)

// projector takes rows of an input to its directions.
type projector[T kernel.Float] interface {
	Rows(x rows.Matrix[T], lo, hi int, y []T)
}

// spanName is the name of a tensor of sparse directions of input k.
func spanName(part string, k int) string { return fmt.Sprintf("span_%s.%d", part, k) }

// saveSpan appends directions that are held as combinations of sparse rows.
func saveSpan(f *safetensors.File, k int, b *spectral.RowSpan) {
	add := func(t safetensors.Tensor) { f.Tensors = append(f.Tensors, t) }
	row := make([]int, len(b.X.Row))
	for e, i := range b.X.Row {
		row[e] = int(i)
	}
	add(safetensors.Ints(spanName("columns", k), b.X.Ptr, len(b.X.Ptr)))
	add(safetensors.Ints(spanName("rows", k), row, len(row)))
	add(safetensors.Float64s(spanName("values", k), b.X.Value, len(b.X.Value)))
	add(safetensors.Float64s(spanName("factors", k), b.X.Factor, b.X.N))
	if b.X.Shift != nil {
		add(safetensors.Float64s(spanName("shifts", k), b.X.Shift, b.X.N))
		add(safetensors.Float64s(spanName("along", k), b.X.Along, b.X.D))
	}
	add(safetensors.Float64s(spanName("weights", k), b.Weights, b.X.N, len(b.S)))
	add(safetensors.Float64s(fmt.Sprintf("singular_values.%d", k), b.S, len(b.S)))
}

// readSpan reads the result of saveSpan for directions of the given rank of d columns; in has the first error.
func readSpan(in *file.Tensors, k, rank, d int) *spectral.RowSpan {
	b := &spectral.RowSpan{S: in.Floats(fmt.Sprintf("singular_values.%d", k), rank)}
	x := &b.X
	x.Factor = in.Floats(spanName("factors", k), -1)
	x.N, x.D = len(x.Factor), d
	if in.Err != nil || d < 1 {
		return b
	}
	// The length is one more than d, which may be the largest integer.
	if x.Ptr = in.Ints(spanName("columns", k), -1); in.Err == nil && len(x.Ptr)-1 != d {
		in.Fail("%q has %d entries, want one more than %d features", spanName("columns", k), len(x.Ptr), d)
	}
	x.Value = in.Floats(spanName("values", k), -1)
	row := in.Ints(spanName("rows", k), len(x.Value))
	x.Row = make([]int32, len(row))
	for e, i := range row {
		if i < 0 || i >= x.N {
			in.Fail("entry %d of %q is %d, of %d rows", e, spanName("rows", k), i, x.N)
			break
		}
		x.Row[e] = int32(i)
	}
	if in.Has(spanName("shifts", k)) || in.Has(spanName("along", k)) {
		x.Shift, x.Along = in.Floats(spanName("shifts", k), x.N), in.Floats(spanName("along", k), d)
	}
	b.Weights = in.Floats(spanName("weights", k), x.N, rank)
	return b
}
