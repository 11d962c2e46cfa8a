package view

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
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

// TestTakeKeepsNoList: a caller may use the list of samples again, also if the rows stay where they are.
func TestTakeKeepsNoList(t *testing.T) {
	x := mat.NewDense(4, 3, []float64{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3})
	samples := []int{2, 1}
	v := View{Rows: 4, Cols: 2, Matrix: x.Slice(0, 4, 0, 2)}.Take(samples)
	samples[0] = 3
	row := make([]float64, 2)
	if v.Row(0, row); row[0] != 2 {
		t.Errorf("sample 2 has the values %v", row)
	}
}

// brokenSource has rows that cannot be read.
type brokenSource struct{ err error }

func (brokenSource) Dims() (n, d int) { return 5, 2 }

func (s brokenSource) ReadRows(ctx context.Context, _ int, _ []float32) error {
	if s.err == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.err
}

// TestCheckFiniteOfSource: a row that cannot be read is no NaN, and a source that waits ends with the context.
func TestCheckFiniteOfSource(t *testing.T) {
	v := View{Rows: 5, Cols: 2, Source: brokenSource{io.ErrUnexpectedEOF}}
	if err := CheckFinite(t.Context(), []View{v}, 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	v.Source = brokenSource{}
	if err := CheckFinite(ctx, []View{v}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
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
