package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/neighbor"
)

// someGraph returns a factor to a few atoms, or a symmetric graph, in which some samples have no link.
func someGraph(t *testing.T, n int, factor bool) neighbor.Operator {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	atoms, rows := n, make([]map[int]float64, n)
	if factor {
		atoms = 11
	}
	for i := range rows {
		rows[i] = map[int]float64{}
	}
	for i := range n {
		if i%9 == 4 {
			continue
		}
		for range 3 {
			j, v := rng.IntN(atoms), rng.Float64()+0.1
			if factor {
				rows[i][j] = v / 10
			} else if j != i && j%9 != 4 {
				rows[i][j], rows[j][i] = v, v
			}
		}
	}
	ptr, cols, weights := []int{0}, []int32{}, []float64{}
	for _, row := range rows {
		at := []int{}
		for j := range row {
			at = append(at, j)
		}
		slices.Sort(at)
		for _, j := range at {
			cols, weights = append(cols, int32(j)), append(weights, row[j])
		}
		ptr = append(ptr, len(cols))
	}
	l, err := neighbor.NewLinks(n, atoms, ptr, cols, weights)
	if err != nil {
		t.Fatal(err)
	}
	if factor {
		f, err := neighbor.NewFactor(l)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	g, err := neighbor.NewGraph(l)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The terms on a device are those of a network in memory, and so are the gradients with them.
func TestTerms(t *testing.T) { eachType(t, testTerms[float32], testTerms[float64]) }

func testTerms[T kernel.Float](t *testing.T) {
	tol := 1e-9
	if kernel.Is32[T]() {
		tol = 1e-5
	}
	p := makeProblem(t, shape(83, 5, 2, 12, 7), 0.2, 4)
	for i := range p.params.U { // a column of H that is zero in many rows, and rows of zeros
		if i%p.spec.Anchors == 0 {
			p.params.U[i], p.params.R[i] = 0, 0
		}
	}
	held, err := information.NewLeaveOneOut(t.Context(), views[T](p), information.Regression{Directions: 6})
	if err != nil {
		t.Fatal(err)
	}
	for _, factor := range []bool{false, true} {
		for i, weight := range [][2]float64{{2, 0}, {0, 3}, {2, 3}} {
			if !testutil.Slow && factor != (i == 2) {
				continue
			}
			what := fmt.Sprintf("a factor %v, weights %v", factor, weight)
			o := information.TermsOptions[T]{Graph: someGraph(t, p.spec.Samples, factor), Neighbors: weight[0], Held: held,
				HeldOut: weight[1]}
			memory, device := inMemory[T](t, p), onDevice[T](t, p, &simdevice.Sim{})
			err := engine.SetTerm(memory, func(lo, hi int) (engine.Term[T], error) {
				return information.NewTerms(hi-lo, p.spec.Anchors, o)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := SetTerm(device, o); err != nil {
				t.Fatal(err)
			}
			want, got := step(t, memory, p.params, nil), step(t, device, p.params, nil)
			if a, b := memory.TermValue(), device.TermValue(); a == 0 || !(math.Abs(a-b) <= tol*math.Abs(a)) {
				t.Errorf("%s: the terms are %v, in memory %v", what, b, a)
			}
			t.Run(what, func(t *testing.T) { compare(t, got, want, nil, tol) })
			if _, err := device.Forward(context.Background(), p.params, false); err != nil {
				t.Errorf("%s: without a gradient: %v", what, err)
			}
		}
	}
}

func TestTermsThatDoNotFit(t *testing.T) {
	p := makeProblem(t, shape(40, 3, 1, 6), 0, 4)
	net := onDevice[float32](t, p, &simdevice.Sim{})
	for what, o := range map[string]information.TermsOptions[float32]{
		"no weight":          {},
		"of other samples":   {Graph: someGraph(t, 41, false), Neighbors: 1},
		"of another element": {Graph: nil, Neighbors: 1},
	} {
		if err := SetTerm(net, o); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	drv, short := &simdevice.Sim{Limit: 1 << 20}, &MemoryError{}
	full := onDevice[float32](t, p, drv)
	free, _, err := drv.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drv.Alloc("all but a little", free-1000); err != nil {
		t.Fatal(err)
	}
	err = SetTerm(full, information.TermsOptions[float32]{Graph: someGraph(t, 40, false), Neighbors: 1})
	if !errors.As(err, &short) {
		t.Errorf("a device that is too small for the terms: %v", err)
	}
	if err := SetTerm(net, information.TermsOptions[float64]{Graph: someGraph(t, 40, false), Neighbors: 1}); err == nil {
		t.Error("float64 terms of a float32 network: no error")
	}
}
