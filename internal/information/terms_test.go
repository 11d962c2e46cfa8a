package information

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/neighbor"
)

// someGraph returns a factor to a few atoms, or a symmetric graph.
func someGraph(t *testing.T, n int, factor bool) neighbor.Operator {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	if factor {
		const atoms = 40
		ptr, cols, weights := []int{0}, []int32{}, []float64{}
		for range n {
			picked := rng.Perm(atoms)[:4]
			slices.Sort(picked)
			for _, a := range picked {
				cols, weights = append(cols, int32(a)), append(weights, rng.Float64()/10+0.01)
			}
			ptr = append(ptr, len(cols))
		}
		l, err := neighbor.NewLinks(n, atoms, ptr, cols, weights)
		if err != nil {
			t.Fatal(err)
		}
		f, err := neighbor.NewFactor(l)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	w := make([]map[int]float64, n)
	for i := range w {
		w[i] = map[int]float64{}
	}
	for i := range n {
		for range 3 {
			if j := rng.IntN(n); j != i {
				v := rng.Float64() + 0.1
				w[i][j], w[j][i] = v, v
			}
		}
	}
	ptr, cols, weights := []int{0}, []int32{}, []float64{}
	for i := range n {
		for j := range n {
			if v := w[i][j]; v > 0 {
				cols, weights = append(cols, int32(j)), append(weights, v)
			}
		}
		ptr = append(ptr, len(cols))
	}
	l, err := neighbor.NewLinks(n, n, ptr, cols, weights)
	if err != nil {
		t.Fatal(err)
	}
	g, err := neighbor.NewGraph(l)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// inSteps takes the terms through their steps over chunks as a shard does.
func inSteps[T kernel.Float](s *Terms[T], h, dh []T) float64 {
	value, all := s.Steps()
	out := 0.0
	for step := range all {
		tree := parallel.NewVectorTree(s.Size(step))
		for c, lo := 0, 0; lo < s.n; c, lo = c+1, lo+s.chunk {
			part, hi := make([]float64, s.Size(step)), min(lo+s.chunk, s.n)
			s.Rows(step, 0, lo, hi, h[lo*s.ld:hi*s.ld], dh[lo*s.ld:hi*s.ld], s.ld, part)
			tree.Push(c, part)
		}
		s.Total(step, tree.Total())
		if step == value-1 {
			out = s.Value()
		}
	}
	return out
}

// The terms in steps are those of the graph ops, value and cotangent, with a graph and with a factor.
func TestTermsInStepsAreTheTerms(t *testing.T) {
	t.Run("float64", func(t *testing.T) { compareTerms[float64](t, 1e-12) })
	t.Run("float32", func(t *testing.T) { compareTerms[float32](t, 2e-4) })
}

func compareTerms[T kernel.Float](t *testing.T, tolerance float64) {
	const m = 5
	_, x := twoViews(90, false)
	n, _ := x[0].Dims()
	held64, err := NewLeaveOneOut(t.Context(), x, Regression{Directions: 6})
	if err != nil {
		t.Fatal(err)
	}
	held := &LeaveOneOut[T]{n: n, rank: held64.rank, ld: held64.ld, weight: held64.weight, y: kernel.Convert[T](held64.y),
		leverage: kernel.Convert[T](held64.leverage), rest: kernel.Convert[T](held64.rest)}
	rng := rand.New(rand.NewPCG(1, 1))
	ld := kernel.Pad(m)
	rows, plain := make([]T, n*ld), make([]T, n*m)
	for i := range n {
		for j := range m {
			v := T(rng.NormFloat64())
			if i == 7 {
				v = 0 // a row without a direction
			}
			rows[i*ld+j], plain[i*m+j] = v, v
		}
	}
	for _, factor := range []bool{false, true} {
		graph := someGraph(t, n, factor)
		for _, weight := range [][2]float64{{2, 0}, {0, 3}, {2, 3}} {
			want, gradient := 0.0, make([]float64, n*m)
			add := func(dh []T) {
				for i, v := range dh {
					gradient[i] += float64(v)
				}
			}
			scale := math.Log(m)
			if weight[0] > 0 {
				s := NewNeighbors[T](nil, 2, m, graph, 0)
				table, err := s.Table(plain)
				if err != nil {
					t.Fatal(err)
				}
				want -= weight[0] * table.Information / scale
				dh, err := s.Gradient(plain, table, -weight[0]/scale)
				if err != nil {
					t.Fatal(err)
				}
				add(dh)
			}
			if weight[1] > 0 {
				s := NewHeldOut(2, m, held, 0)
				table, err := s.Table(plain)
				if err != nil {
					t.Fatal(err)
				}
				want -= weight[1] * table.Information / scale
				dh, err := s.Gradient(plain, table, -weight[1]/scale)
				if err != nil {
					t.Fatal(err)
				}
				add(dh)
			}
			s, err := NewTerms(n, m, TermsOptions[T]{Graph: graph, Neighbors: weight[0], Held: held, HeldOut: weight[1]})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // buffers are used again
				dh := make([]T, n*ld)
				for i := range dh {
					dh[i] = 1 // the cotangent is added
				}
				got := inSteps(s, rows, dh)
				if math.Abs(got-want) > tolerance {
					t.Errorf("factor %v, weights %v: %v, want %v", factor, weight, got, want)
				}
				most := 0.0
				for _, v := range gradient {
					most = max(most, math.Abs(v))
				}
				for i := range n {
					for j := range m {
						if e := math.Abs(float64(dh[i*ld+j]) - 1 - gradient[i*m+j]); e > tolerance*max(most, 1) {
							t.Fatalf(
								"factor %v, weights %v: cotangent %d, %d is off by %v (largest %v)",
								factor, weight, i, j, e, most,
							)
						}
					}
				}
			}
		}
	}
}

func TestTermsRefuse(t *testing.T) {
	graph := someGraph(t, 20, true)
	for name, c := range map[string]struct {
		n, m int
		o    TermsOptions[float64]
	}{
		"one cluster": {20, 1, TermsOptions[float64]{Graph: graph, Neighbors: 1}},
		"no weight":   {20, 3, TermsOptions[float64]{Graph: graph}},
		"samples":     {21, 3, TermsOptions[float64]{Graph: graph, Neighbors: 1}},
		"operator":    {20, 3, TermsOptions[float64]{Graph: struct{ neighbor.Operator }{graph}, Neighbors: 1}},
		"regression":  {20, 3, TermsOptions[float64]{Held: &LeaveOneOut[float64]{n: 19}, HeldOut: 1}},
	} {
		if _, err := NewTerms(c.n, c.m, c.o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
