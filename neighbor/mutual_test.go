package neighbor

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// denseMutual is the graph of lists as the formula says, in dense matrices.
func denseMutual(l *Lists, rest float64) *mat.Dense {
	d := mat.NewDense(l.N, l.N, nil)
	for i := range l.N {
		last := 0.0
		for r := range l.K {
			if l.Index[i*l.K+r] >= 0 {
				last = l.Square[i*l.K+r]
			}
		}
		for r := range l.K {
			if j := l.Index[i*l.K+r]; j >= 0 {
				w := 1.0
				if last > 0 {
					w = math.Exp(-l.Square[i*l.K+r] / last)
				}
				d.Set(i, int(j), w)
			}
		}
	}
	a := mat.NewDense(l.N, l.N, nil)
	degree := make([]float64, l.N)
	for i := range l.N {
		for j := range l.N {
			a.Set(i, j, min(d.At(i, j), d.At(j, i))+rest*(d.At(i, j)+d.At(j, i)))
			degree[i] += a.At(i, j)
		}
	}
	a.Apply(func(i, j int, x float64) float64 {
		if x == 0 {
			return 0
		}
		return x / math.Sqrt(degree[i]*degree[j])
	}, a)
	return a
}

// checkSymmetric checks that a is symmetric to the bit, not negative, and of spectral radius at most 1.
func checkSymmetric(t *testing.T, a *mat.Dense) {
	t.Helper()
	n, _ := a.Dims()
	for i := range n {
		for j := range n {
			if a.At(i, j) != a.At(j, i) || a.At(i, j) < 0 {
				t.Fatalf("entries %d, %d: %v and %v", i, j, a.At(i, j), a.At(j, i))
			}
		}
	}
	if low, high := spectrum(t, a); low < -1-1e-12 || high > 1+1e-12 {
		t.Errorf("eigenvalues from %v to %v", low, high)
	}
}

func TestMutualEqualsTheFormula(t *testing.T) {
	for name, d := range map[string]*dataset{"all": randomData(1, 90, false, 3, 5), "masks": randomData(1, 90, true, 3, 5)} {
		for _, rest := range []float64{0, 0.05} {
			for _, k := range []int{1, 6, 200} {
				l := d.bruteForce([]int{0}, k)
				g := must(Mutual(l, rest))
				a := matrixOf(g.Links())
				if e := far(a, denseMutual(l, rest)); e > 1e-14 {
					t.Errorf("%s, rest %g, k %d: differs by %.1e", name, rest, k, e)
				}
				checkSymmetric(t, a)
				if _, high := spectrum(t, a); math.Abs(high-1) > 1e-12 {
					t.Errorf("%s: the largest eigenvalue is %v, want 1", name, high)
				}
			}
		}
	}
}

func TestMutualOfEqualSamples(t *testing.T) {
	// Samples 0 to 2 are equal, sample 3 is alone and far, with no list.
	l := &Lists{N: 4, K: 2, Index: []int32{1, 2, 0, 2, 0, 1, -1, -1},
		Square: []float64{0, 0, 0, 0, 0, 0, math.Inf(1), math.Inf(1)}}
	a := matrixOf(must(Mutual(l, 0.05)).Links())
	for i := range 4 {
		for j := range 4 {
			want := 0.0
			if i != j && i < 3 && j < 3 {
				want = 0.5
			}
			if math.Abs(a.At(i, j)-want) > 1e-15 {
				t.Errorf("entry %d, %d is %v, want %v", i, j, a.At(i, j), want)
			}
		}
	}
}

func TestMixEqualsTheFormula(t *testing.T) {
	d := randomData(2, 80, true, 3, 5)
	ctx := context.Background()
	var parts []*Links
	weights, total := []float64{1, 2, 3}, 6.0
	cover := make([]float64, d.n)
	sum := mat.NewDense(d.n, d.n, nil)
	for q, views := range [][]int{{0}, {1}, {0, 1}} {
		g := must(Mutual(d.bruteForce(views, 5), 0.05))
		parts = append(parts, g.links)
		a := matrixOf(g.Links())
		for i := range d.n {
			if mat.Sum(a.RowView(i)) > 0 {
				cover[i] += weights[q] / total
			}
		}
		a.Scale(weights[q]/total, a)
		sum.Add(sum, a)
	}
	sum.Apply(func(i, j int, x float64) float64 {
		if x == 0 {
			return 0
		}
		return x / math.Sqrt(cover[i]*cover[j])
	}, sum)
	w := must(shares(weights))
	one, four := must(mix(ctx, parts, w, covered(parts, w), 1)), must(mix(ctx, parts, w, covered(parts, w), 4))
	a := matrixOf(one)
	if e := far(a, sum); e > 1e-14 {
		t.Errorf("differs by %.1e", e)
	}
	checkSymmetric(t, a)
	if !slices.Equal(one.val, four.val) || !slices.Equal(one.col, four.col) {
		t.Error("depends on the workers")
	}
	if _, err := NewGraph(one); err != nil {
		t.Error(err)
	}
}

func TestGraphsRefuse(t *testing.T) {
	inf := math.Inf(1)
	for name, l := range map[string]*Lists{
		"nil":      nil,
		"short":    {N: 2, K: 1, Index: []int32{1}, Square: []float64{1}},
		"self":     {N: 2, K: 1, Index: []int32{0, 0}, Square: []float64{0, 0}},
		"outside":  {N: 2, K: 1, Index: []int32{2, 0}, Square: []float64{0, 0}},
		"order":    {N: 3, K: 2, Index: []int32{1, 2, 0, 2, 0, 1}, Square: []float64{2, 1, 2, 3, 1, 3}},
		"hole":     {N: 3, K: 2, Index: []int32{-1, 2, 0, 2, 0, 1}, Square: []float64{inf, 1, 2, 3, 1, 3}},
		"twice":    {N: 3, K: 2, Index: []int32{1, 1, 0, 2, 0, 1}, Square: []float64{1, 1, 2, 3, 1, 3}},
		"negative": {N: 2, K: 1, Index: []int32{1, 0}, Square: []float64{-1, 1}},
		"overflow": {N: 1 << 33, K: 1 << 31},
	} {
		if _, err := Mutual(l, 0.05); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	l := &Lists{N: 2, K: 1, Index: []int32{1, 0}, Square: []float64{1, 1}}
	for _, rest := range []float64{-1, math.NaN(), 1.7e308} { // of the last, degrees would be infinite
		if _, err := Mutual(l, rest); err == nil {
			t.Errorf("Mutual takes the rest %g", rest)
		}
	}
	if _, err := Dense[float32](3, 1, 1<<62, make([]float32, 9), nil); err == nil {
		t.Error("Dense takes a stride that overflows")
	}
	for _, g := range []*Graph{nil, {}} {
		if _, err := NewParts[float32](g); err == nil {
			t.Errorf("NewParts takes %v", g)
		}
	}
	for name, weights := range map[string][]float64{
		"zero": {0}, "sum": {1e308, 1e308}, "nothing beside": {1e-320, 1e300},
	} {
		if _, err := shares(weights); err == nil {
			t.Errorf("weights, %s: no error", name)
		}
	}
	if _, err := NewGraph(must(NewLinks(2, 2, []int{0, 1, 1}, []int32{1}, []float64{1}))); err == nil {
		t.Error("NewGraph takes a matrix that is not symmetric")
	}
	for name, f := range map[string]func() (*Links, error){
		"offsets":  func() (*Links, error) { return NewLinks(2, 2, []int{0, 1}, []int32{1}, []float64{1}) },
		"column":   func() (*Links, error) { return NewLinks(1, 2, []int{0, 1}, []int32{2}, []float64{1}) },
		"order":    func() (*Links, error) { return NewLinks(1, 2, []int{0, 2}, []int32{1, 0}, []float64{1, 1}) },
		"weight":   func() (*Links, error) { return NewLinks(1, 2, []int{0, 1}, []int32{1}, []float64{inf}) },
		"decrease": func() (*Links, error) { return NewLinks(2, 2, []int{0, 2, 1}, []int32{1}, []float64{1}) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("NewLinks, %s: no error", name)
		}
	}
}
