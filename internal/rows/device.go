package rows

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Device multiplies and filters rows elsewhere than in this process's memory, such as on a GPU. It is used by one goroutine at a
// time.
type Device interface {
	// Take32 and Take64 take the rows of some views to the device; present[v] says which rows have view v (nil: all), and
	// absent rows must be zero. They return nil, and no error, where the rows are better multiplied here.
	Take32(x []Matrix[float32], present [][]bool, use Use) (Products[float32], error)
	Take64(x []Matrix[float64], present [][]bool, use Use) (Products[float64], error)
	// Filter32 and Filter64 filter a view and return its table, nil where the view is better filtered here.
	Filter32(ctx context.Context, f *Filter[float32]) ([]float32, error)
	Filter64(ctx context.Context, f *Filter[float64]) ([]float64, error)
}

// Links are sparse rows: row i has Values[e] in Columns[e] for e from Begin[i] to Begin[i+1]−1.
type Links[T kernel.Float] struct {
	Begin   []int64
	Columns []int32
	Values  []T
}

// Filter describes a filter of a view's n rows x_0 by polynomials of A = diag(Scale)·B·Bᵀ. With z = Bᵀx_0 and u_0 = First·z, each
// step takes the table u_t, an atom a row, to
//
//	u_(t+1) = Product·Bᵀdiag(Scale)·B·u_t + Start·z + Last·u_t + Before·u_(t−1),    u_(−1) = 0.
//
// The last table is the result, with the stride Ld.
type Filter[T kernel.Float] struct {
	Samples, Atoms Links[T] // rows of B, and of Bᵀ
	Columns, Ld    int
	Row            func(i int, row []T) // sets row to row i of x_0
	Scale          []T                  // nil: 1
	First          float64
	Steps          []FilterStep
}

// FilterStep holds the factors of a step.
type FilterStep struct{ Product, Start, Last, Before float64 }

// Filtered returns the table of a filter on a device, nil where there is no device, or where the view is better filtered here.
func Filtered[T kernel.Float](ctx context.Context, d Device, f *Filter[T]) (table []T, err error) {
	if d == nil {
		return nil, nil
	}
	switch f := any(f).(type) {
	case *Filter[float32]:
		var x []float32
		x, err = d.Filter32(ctx, f)
		table, _ = any(x).([]T)
	case *Filter[float64]:
		var x []float64
		x, err = d.Filter64(ctx, f)
		table, _ = any(x).([]T)
	}
	return table, err
}

// Use holds the shapes of the coming products of rows, so that a device has the memory for it from the beginning or leaves the
// rows here. Products that go beyond it can end with an error for want of memory.
type Use struct {
	Columns int  // the most that rows are multiplied by at a time
	Keep    int  // the most scores that are found of a row at a time, by Nearest or Lowest
	Sums    bool // whether GramTimes is asked for
	Workers int  // goroutines that prepare rows for the device; 0: GOMAXPROCS
}

// Products are the products of rows that are on a device. Until Close they take its memory.
type Products[T kernel.Float] interface {
	// Lowest finds the lowest scores of every row in each group of columns, score = Σ_{v present} (x_v·c_vj + bias_vj) for the
	// columns c[v] (k×d_v) and bias (V×k; +∞ for a column that there is not). For row i and group g, element i·groups+g of
	// first becomes the column, the first of equals, of low and next the two lowest scores; next is +∞ where there is one.
	Lowest(ctx context.Context, columns [][]T, bias []float64, group int, first []int32, low, next []float64) error
	// Nearest returns the `keep` columns of the lowest scores of every row, in order, and their scores: n×keep of each. Where
	// there are fewer, the column is −1 and the score infinite. Where self is not negative, row i has no column i−self.
	Nearest(ctx context.Context, columns [][]T, bias []float64, keep, self int) (column []int32, score []float64, err error)
	// GramTimes returns G·XᵀX, k×D, for the views side by side, D columns together, in memory that is the caller's.
	GramTimes(ctx context.Context, g []float64, k int) ([]float64, error)
	// Project sets dst, with the stride ld ≥ k, to Σ_v X_v B_vᵀ, b[v] being k×d_v.
	Project(ctx context.Context, b [][]float64, k int, dst []T, ld int) error
	Close() error
}

// Take takes rows to a device. The products are nil where there is no device, or where the rows are better multiplied here.
func Take[T kernel.Float](d Device, x []Matrix[T], present [][]bool, use Use) (Products[T], error) {
	if d == nil {
		return nil, nil
	}
	var got any
	var err error
	switch x := any(x).(type) {
	case []Matrix[float32]:
		var p Products[float32]
		if p, err = d.Take32(x, present, use); p != nil {
			got = p
		}
	case []Matrix[float64]:
		var p Products[float64]
		if p, err = d.Take64(x, present, use); p != nil {
			got = p
		}
	}
	if err != nil || got == nil {
		return nil, err
	}
	products, ok := got.(Products[T])
	if !ok {
		return nil, fmt.Errorf("rows: a device has products of type %T", got)
	}
	return products, nil
}

// IsSparse says whether rows, or what they are taken or scaled from, are sparse.
func IsSparse[T kernel.Float](m Matrix[T]) bool {
	if t, ok := m.(*thin[T]); ok {
		m = t.Matrix
	}
	m, _ = Unscaled(m)
	_, sparse := m.(*Sparse[T])
	return sparse
}
