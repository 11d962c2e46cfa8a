package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/view"
)

// Columns are constant over the rows of all ranks: a column that has one value on each rank is not, if the values differ; a rank
// whose rows are all absent has no say.
func TestConstantColumnsOfRanks(t *testing.T) {
	const n, d, piece = 3 * 1024, 5, 1024
	x := make([]float64, n*d)
	for i := range n {
		x[i*d], x[i*d+1], x[i*d+2], x[i*d+3] = 7, float64(i/piece), float64(i), 0
		if i/piece == 1 {
			x[i*d+4] = 3 // in rows that are absent
		}
	}
	present := make([]bool, n)
	for i := range present {
		present[i] = i/piece != 1
	}
	for name, in := range holders(n, d, x) {
		if in.Sparse != nil && name == "sparse32" || in.Matrix != nil {
			continue
		}
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for r, c := range comm.Local(3) {
			wg.Go(func() {
				_, g := ranks.Enter(t.Context(), c)
				lo, hi := r*piece, (r+1)*piece
				part := in.Window(lo, hi)
				part.Present = present[lo:hi]
				err := g.Join(hi-lo, nil)
				s, e := Measure(t.Context(), g, PerSample, []view.View{part}, 1)
				if err = errors.Join(err, e); err == nil {
					if got := s.omitted(0); got == nil || !slices.Equal(got.out, []bool{true, false, false, true, true}) {
						err = fmt.Errorf("left out: %+v", got)
					}
				}
				errs[r] = errors.Join(err, g.Leave(err))
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is left out is saved and read; marks that cannot be are damage.
func TestConstantColumnsAreSaved(t *testing.T) {
	x := view.View{Rows: 3, Cols: 4, F64: []float64{1, 5, 2, 8, 2, 5, 1, 8, 3, 5, 3, 8}}
	for _, kind := range []Kind{PerSample, UnitNorm} {
		s, err := Measure(context.Background(), nil, kind, []view.View{x}, 1)
		if err != nil {
			t.Fatal(err)
		}
		f := &safetensors.File{}
		s.Save(f)
		in := &file.Tensors{File: f}
		got := Read(in, kind, []int{4})
		if in.Err != nil || got.LeftOut(0) != 2 || !slices.Equal(got.omitted(0).kept, []int{0, 2}) {
			t.Errorf("%v: %d are left out, %v", kind, got.LeftOut(0), in.Err)
		}
	}
	for want, marks := range map[string][]int{
		"has 2, want 0 or 1": {0, 2, 0, 1}, "all features, or none": {1, 1, 1, 1}, "constant.0": {1, 0},
	} {
		in := &file.Tensors{File: &safetensors.File{Tensors: []safetensors.Tensor{
			safetensors.Ints("constant.0", marks, len(marks))}}}
		if Read(in, PerSample, []int{4}); in.Err == nil || !strings.Contains(in.Err.Error(), want) {
			t.Errorf("%v: %v, want %q", marks, in.Err, want)
		}
	}
}
