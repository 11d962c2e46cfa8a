package spectral

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// someSparse returns sparse rows, shifted along a common direction and scaled where asked for, and the same rows dense.
func someSparse(n, d int, shifted, scaled bool) (x, dense rows.Matrix[float64]) {
	rng := rand.New(rand.NewPCG(3, 5))
	ptr := make([]int, n+1)
	var cols []int32
	var values, shift, factor []float64
	var along *rows.Direction[float64]
	for i := range n {
		for j := range d {
			if rng.Float64() < 0.05 {
				cols, values = append(cols, int32(j)), append(values, rng.NormFloat64())
			}
		}
		ptr[i+1] = len(cols)
		shift, factor = append(shift, rng.NormFloat64()), append(factor, 0.5+rng.Float64())
	}
	if shifted {
		u := make([]float64, d)
		for j := range u {
			u[j] = rng.NormFloat64() / math.Sqrt(float64(d))
		}
		along = rows.NewDirection(u)
	} else {
		shift = nil
	}
	x = rows.NewSparse(n, d, ptr, cols, values, shift, along)
	if scaled {
		x = rows.NewScaled(x, factor)
	}
	all := make([]float64, n*d)
	for i := range n {
		x.Row(i, all[i*d:(i+1)*d])
	}
	return x, rows.NewDense(n, d, d, all)
}

// Directions found from the rows' side are those found from the columns' side, but for their signs, and rows have the same
// coordinates in them whether they are given sparse or dense, alone or with others, for one goroutine or many.
func TestFindSpan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const n, d = 14, 300
	for _, kind := range []struct{ shifted, scaled bool }{{}, {true, false}, {false, true}, {true, true}} {
		x, all := someSparse(n, d, kind.shifted, kind.scaled)
		for _, rank := range []int{n, 5} { // Both carry n directions along, and are exact.
			cfg := Config{Rank: rank, Workers: 3}
			want, err := Find(ctx, []rows.Matrix[float64]{x}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			got, err := FindSpan(ctx, x, cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Workers = 1
			if alone, err := FindSpan(ctx, x, cfg); err != nil || !slices.Equal(alone.Weights, got.Weights) {
				t.Errorf("other weights with one goroutine (%v)", err)
			}
			for r, s := range want.S {
				if math.Abs(s-got.S[r]) > 1e-9*want.S[0] {
					t.Errorf("%+v: singular value %d is %g, want %g", kind, r, got.S[r], s)
				}
			}
			p, err := NewSpanProjector[float64](got)
			if err != nil {
				t.Fatal(err)
			}
			ld := kernel.Pad(rank)
			y, ofDense, one := make([]float64, n*ld), make([]float64, n*ld), make([]float64, ld)
			p.Rows(x, 0, n, y)
			p.Rows(all, 0, n, ofDense)
			plain := make([]float64, n*ld)
			NewProjector[float64](want).Rows(x, 0, n, plain)
			for i := range n {
				p.Rows(x, i, i+1, one)
				if !slices.Equal(one[:rank], y[i*ld:i*ld+rank]) {
					t.Errorf("%+v: row %d alone differs", kind, i)
				}
				for r := range rank {
					at := i*ld + r
					if math.Abs(math.Abs(y[at])-math.Abs(plain[at])) > 1e-8*want.S[0] ||
						math.Abs(y[at]-ofDense[at]) > 1e-9*want.S[0] {
						t.Fatalf("%+v: row %d in direction %d is %g and %g, want ±%g", kind, i, r, y[at], ofDense[at], plain[at])
					}
				}
			}
		}
	}
}

// Parts that do not go together are refused.
func TestSpanCheck(t *testing.T) {
	t.Parallel()
	x, _ := someSparse(6, 40, true, true)
	for name, change := range map[string]func(b *RowSpan){
		"row out of range": func(b *RowSpan) { b.X.Row[1] = 6 },
		"negative row":     func(b *RowSpan) { b.X.Row[1] = -1 },
		"columns":          func(b *RowSpan) { b.X.Ptr[3] = len(b.X.Row) + 1 },
		"last column":      func(b *RowSpan) { b.X.Ptr[b.X.D]-- },
		"first column":     func(b *RowSpan) { b.X.Ptr[0] = 1 },
		"weights":          func(b *RowSpan) { b.Weights = b.Weights[1:] },
		"shift":            func(b *RowSpan) { b.X.Shift = nil },
		"values":           func(b *RowSpan) { b.X.Value = b.X.Value[1:] },
		"sizes":            func(b *RowSpan) { b.X.D = math.MaxInt },
	} {
		b, err := FindSpan(context.Background(), x, Config{Rank: 3})
		if err != nil {
			t.Fatal(err)
		}
		change(b)
		if _, err := NewSpanProjector[float64](b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Rows are held as they are where that is far less than the directions.
func TestSpans(t *testing.T) {
	t.Parallel()
	sparse := func(n, d, entries int) rows.Matrix[float32] {
		ptr := make([]int, n+1)
		ptr[n] = entries
		return rows.NewSparse[float32](n, d, ptr, make([]int32, entries), make([]float32, entries), nil, nil)
	}
	for _, c := range []struct {
		x    rows.Matrix[float32]
		rank int
		want bool
	}{
		{sparse(50, 1_000_000, 500_000), 50, true},
		{rows.NewScaled(sparse(50, 1_000_000, 500_000), make([]float32, 50)), 50, true},
		{sparse(50, 1_000_000, 10_000_000), 50, false}, // a fifth is filled
		{sparse(3312, 3703, 100_000), 200, false},      // citeseer
		{sparse(20_000, 1_000_000, 20_000), 200, false},
		{rows.NewDense(2, 3, 3, make([]float32, 6)), 2, false},
	} {
		if got := Spans(c.x, c.rank); got != c.want {
			n, d := c.x.Dims()
			t.Errorf("%d×%d, rank %d: %v", n, d, c.rank, got)
		}
	}
}
