package view

import (
	"context"
	"strings"
	"testing"
)

// TestTakeBounds: a sample that there is not is no row of what lies behind the view in memory.
func TestTakeBounds(t *testing.T) {
	big := make([]float64, 40)
	v := View{Rows: 6, Cols: 4, F64: big[:24]}
	if got := v.Take([]int{5, 0}); len(got.F64) != 8 {
		t.Errorf("%d values", len(got.F64))
	}
	for _, i := range []int{-1, 6, 9} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "of a view of 6 samples") {
					t.Errorf("sample %d: %q", i, text)
				}
			}()
			v.Take([]int{0, i})
		}()
	}
}

// TestOrderOfWideViews: the columns of a sparse view that have no entry take no memory.
func TestOrderOfWideViews(t *testing.T) {
	const n = 5
	v := View{Rows: n, Cols: 1 << 40, Sparse: &CSR{Ptr: make([]int, n+1), Cols: []int32{}, F64: []float64{}}}
	if _, err := ByContent(context.Background(), []View{v}, 1, 2); err != nil {
		t.Error(err)
	}
}
