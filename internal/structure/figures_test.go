package structure

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
	"github.com/largemvc/largemvc/score"
)

func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 5, 30, 100} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.IntN(20))
		}
		for _, k := range []int{1, 3, 40} {
			var want []neighbour
			for j := range x {
				if j != n/2 {
					want = append(want, neighbour{x[j], j})
				}
			}
			slices.SortStableFunc(want, func(a, b neighbour) int { return int(a.square - b.square) })
			want = want[:min(k, len(want))]
			got := nearest(x, n/2, make([]neighbour, 0, k))
			if len(got) != len(want) {
				t.Fatalf("%d of %d: %d neighbours, want %d", k, n, len(got), len(want))
			}
			for q := range got {
				if got[q].square != want[q].square || q > 0 && got[q].square == got[q-1].square && got[q].row < got[q-1].row {
					t.Fatalf("%d of %d: %v, want %v", k, n, got, want)
				}
			}
		}
	}
}

func TestRankCorrelation(t *testing.T) {
	x := []float64{3, 1, 2, math.Inf(1)}
	for _, c := range []struct {
		y    []float64
		want float64
	}{{[]float64{30, 10, 20, 40}, 1}, {[]float64{-3, -1, -2, -4}, -1}, {[]float64{1, 2, 3, 4}, 0.4}} {
		if got := rankCorrelation(x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %g, want %g", c.y, got, c.want)
		}
	}
}

// Even rows have the local dimension of the space which they fill.
func TestDimension(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, dims := range []int{1, 2, 5} {
		const n = 500
		b := newBlock(n, 12)
		for i := range n {
			for j := range dims {
				b.X[i*b.Ld+j] = r.Float32()
			}
		}
		d := &data{n: n, blocks: []neighbor.Block[float32]{b}}
		_, got := d.local()
		if got < 0.7*float64(dims) || got > 1.3*float64(dims)+0.1 {
			t.Errorf("%d dimensions: %g", dims, got)
		}
	}
}

func TestBorders(t *testing.T) {
	p := placed{margin: []float64{0, 0.1, 0.125, 0.5, 0.6, 0.7, math.Inf(1)}}
	if at, within := p.borders(); at != 2 || within != 3 {
		t.Errorf("%g at borders and %g within", at, within)
	}
}

func TestRule(t *testing.T) {
	figures := func(stability, border, agreement float64) Figures { return Figures{stability, border, agreement} }
	for _, c := range []struct {
		name                string
		data, null          Figures
		dimension, sparsity float64
		want                score.Judgement
	}{
		{"equal", figures(0.9, 0.1, 0.5), figures(0.9, 0.1, 0.5), 10, 0, score.StructureNone},
		{"a little more", figures(0.62, 1, 0.5), figures(0.5, 1, 0.5), 10, 0, score.StructureNone},
		{"stable with gaps", figures(0.9, 0.1, 0.5), figures(0.3, 2, 0.1), 10, 0, score.StructureClear},
		{"more stable, no gaps", figures(0.4, 1.6, 0.1), figures(0.1, 2, 0), 10, 0, score.StructureWeak},
		{"unstable", figures(0.3, 0.3, 0.1), figures(0.2, 2, 0.1), 10, 0, score.StructureWeak},
		{"a curve", figures(0.9, 0.8, 0.8), figures(0.3, 2, 0.3), 1.1, 0.2, score.StructureNone},
		{"a surface", figures(0.9, 0.8, 0.8), figures(0.3, 2, 0.3), 2.1, 0.2, score.StructureNone},
		{"clusters of two dimensions", figures(0.95, 0.01, 0.8), figures(0.3, 2, 0.3), 1.9, 0.2, score.StructureClear},
		{"thin borders in few dimensions", figures(0.9, 0.5, 0.8), figures(0.3, 1.4, 0.3), 2.4, 0.5, score.StructureClear},
		{"too few rows for a dimension", figures(0.9, 0.5, 0.8), figures(0.3, 1.4, 0.3), math.Inf(1), 0.5, score.StructureNone},
		{"too few rows, with gaps", figures(0.9, 0.1, 0.8), figures(0.3, 1.4, 0.3), math.Inf(1), 0, score.StructureClear},
		{"views agree as in noise", figures(0.7, 1, 0.1), figures(0.5, 1, 0.1), 10, 0, score.StructureNone},
		{"views agree more", figures(0.7, 1, 0.11), figures(0.5, 1, 0.1), 10, 0, score.StructureWeak},
		{"equal views", figures(0.7, 1, 0.98), figures(0.5, 1, 0.99), 10, 0, score.StructureWeak},
		{"one view", figures(0.7, 1, 0), figures(0.5, 1, 0), 10, 0, score.StructureWeak},
		{"much more than noise, as if in one view", figures(0.9, 1, 0.1), figures(0.5, 1, 0.1), 10, 0, score.StructureWeak},
	} {
		r := &Result{Data: c.data, Dimension: c.dimension, Sparsity: c.sparsity, views: 2}
		if c.data.Agreement == 0 {
			r.views = 1
		}
		r.Normal, r.Uniform, r.Shuffled = c.null, c.null, c.null
		r.groups = []Figures{c.data, c.data}
		for kind := range r.nulls {
			r.nulls[kind] = []Figures{c.null, c.null}
		}
		if got := r.judge(); got != c.want {
			t.Errorf("%s: %v, want %v (excess %g, contrast %g)", c.name, got, c.want, r.Excess, r.contrast())
		}
		if r.repeated = true; c.name == "a little more" {
			r.views, c.want = 1, score.StructureWeak
		}
		if got := r.judge(); got != c.want {
			t.Errorf("%s, repeated: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOneMode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sorted := func(f func() float64) []float64 {
		x := make([]float64, 400)
		for i := range x {
			x[i] = f()
		}
		slices.Sort(x)
		return x
	}
	largest := func(x, y []float64) (gap float64) {
		for i := range x {
			gap = max(gap, math.Abs(x[i]-y[i]))
		}
		return gap
	}
	even := sorted(r.NormFloat64)
	flat := slices.Clone(even)
	oneMode(flat)
	if !slices.IsSorted(flat) || flat[0] != even[0] || flat[399] != even[399] || largest(even, flat) > 0.4 {
		t.Errorf("normal values move by %g", largest(even, flat))
	}
	two := sorted(func() float64 { return r.NormFloat64() + 20*float64(r.IntN(2)) })
	flat = slices.Clone(two)
	oneMode(flat)
	between := 0
	for _, x := range flat {
		if x > 5 && x < 15 {
			between++
		}
	}
	if !slices.IsSorted(flat) || between < 40 {
		t.Errorf("%d of 400 values lie between two modes that became one", between)
	}
	steps := sorted(func() float64 { return float64(r.IntN(3)) })
	flat = slices.Clone(steps)
	oneMode(flat)
	if !slices.Equal(flat, steps) {
		t.Error("values of three steps have changed")
	}
}

// Shuffled columns have the values of the rows that have the view.
func TestShuffled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x := made(50, 20, func(_, _ int) float64 { return float64(r.IntN(4)) })
	x.Present = make([]bool, 50)
	for i := range x.Present {
		x.Present[i] = i%4 > 0
	}
	d, err := (&null{columns: []*columns{newColumns(x)}}).shuffled(context.Background(), r, options(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	if d.n != 50 || len(d.blocks) != 2 || !slices.Equal(d.blocks[0].Present, x.Present) {
		t.Errorf("%d rows, %d blocks", d.n, len(d.blocks))
	}
	constant := made(50, 20, func(_, _ int) float64 { return 1 })
	none := &null{columns: []*columns{newColumns(constant)}}
	if d, err := none.shuffled(context.Background(), r, options(3, 1)); d != nil || err != nil {
		t.Errorf("constant: %v, %v", d, err)
	}
}

// Sparse columns are shuffled as dense ones, in the memory of their entries.
func TestShuffledSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n, d, wide = 50, 20, 200_000
	x := made(n, d, func(_, j int) float64 { return float64(r.IntN(3)) * float64(j+r.IntN(10*(j+1))) })
	x.Present = make([]bool, n)
	for i := range x.Present {
		x.Present[i] = i%4 > 0
	}
	sparse := sparseOf(x)
	want := newColumns(x).shuffled(rand.New(rand.NewPCG(1, 2))).F32
	got := newColumns(sparse).shuffled(rand.New(rand.NewPCG(1, 2)))
	if err := got.Sparse.Check(n, d, len(got.Sparse.F32)); err != nil {
		t.Fatal(err)
	}
	row := make([]float64, d)
	for i := range n {
		got.Row(i, row)
		for j, y := range row {
			if float32(y) != want[i*d+j] {
				t.Fatalf("row %d, column %d: %g, dense %g", i, j, y, want[i*d+j])
			}
		}
	}
	sparse.Cols = wide
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	newColumns(sparse).shuffled(r)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*n*wide/4 {
		t.Errorf("%d bytes for %d entries", took, len(sparse.Sparse.Cols))
	}
}

// TestShuffledWords: words that are given to other rows keep the sums of rows and columns. Values that are no counts of words are
// not taken for them.
func TestShuffledWords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	const n, d = 60, 40
	counts := make([]float64, n*d)
	for i := range n {
		for range 1 + r.IntN(3*i+1) {
			counts[i*d+int(float64(d)*r.Float64()*r.Float64())]++
		}
	}
	x := view.View{Rows: n, Cols: d, F64: counts}
	words := wordsOf(x)
	if words.rows == nil {
		t.Fatal("counts are taken for no words")
	}
	got := words.shuffled(n, r)
	dealt := make([]float64, n*d)
	for i := range n {
		for k := got.Ptr[i]; k < got.Ptr[i+1]; k++ {
			dealt[i*d+int(got.Cols[k])] += got.Value(k)
		}
	}
	moved := 0.0
	for i := range n {
		was, is := 0.0, 0.0
		for j := range d {
			was, is, moved = was+counts[i*d+j], is+dealt[i*d+j], moved+math.Abs(counts[i*d+j]-dealt[i*d+j])
		}
		if was != is {
			t.Errorf("row %d has %v words, had %v", i, is, was)
		}
	}
	for j := range d {
		was, is := 0.0, 0.0
		for i := range n {
			was, is = was+counts[i*d+j], is+dealt[i*d+j]
		}
		if was != is {
			t.Errorf("column %d has %v words, had %v", j, is, was)
		}
	}
	if moved == 0 {
		t.Error("no word was dealt to another row")
	}
	for name, change := range map[string]func(x float64) float64{
		"decimals": func(x float64) float64 { return x / 2 }, "negative": func(x float64) float64 { return -x },
		"zero and one":         func(x float64) float64 { return min(x, 1) },
		"mostly other numbers": func(x float64) float64 { return x + 1 },
	} {
		other := slices.Clone(counts)
		for k := range other {
			other[k] = change(other[k])
		}
		if words := wordsOf(view.View{Rows: n, Cols: d, F64: other}); words.rows != nil {
			t.Errorf("%s are taken for words", name)
		}
	}
}
