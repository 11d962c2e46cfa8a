package prepare

import (
	"math"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/view"
)

// Rows up to the largest norm can be computed with; a longer one is an error that names it, unless it is absent.
func TestUsable(t *testing.T) {
	const large = 1e18 // LargestNorm[float32]
	rows := func(x float64) view.View {
		return view.View{Rows: 3, Cols: 2, F64: []float64{1, 2, 0, x, 3, 4}}
	}
	s := &Standardiser{Kind: Raw}
	for x, good := range map[float64]bool{1e10: true, 0.9 * large: true, 1.1 * large: false, math.MaxFloat32: false} {
		err := Usable[float32](t.Context(), nil, s, rows(x), 0, 1)
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "row 1 has the norm") {
			t.Errorf("a row of the norm %g: %v", x, err)
		}
	}
	sparse := view.View{Rows: 3, Cols: 2, Sparse: &view.CSR{
		Ptr: []int{0, 1, 2, 3}, Cols: []int32{0, 1, 0}, F64: []float64{1, 1.1 * large, 3},
	}}
	for what, absent := range map[string]view.View{"dense": rows(1.1 * large), "sparse": sparse} {
		if err := Usable[float32](t.Context(), nil, s, absent, 0, 1); err == nil {
			t.Errorf("%s: no error for a long row", what)
		}
		absent.Present = []bool{true, false, true}
		if err := Usable[float32](t.Context(), nil, s, absent, 0, 1); err != nil {
			t.Errorf("%s: a row that is absent: %v", what, err)
		}
	}
}
