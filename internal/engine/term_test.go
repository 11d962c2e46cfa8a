package engine

import (
	"context"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/parallel"
)

// squares is the term c·(Σ h²)²/2, which needs a sum over all rows before its cotangent 2c·(Σ h²)·h.
type squares struct {
	n, m  int
	c     float64
	total float64
}

func (s *squares) Chunk() int              { return parallel.ChunkRows(s.n, parallel.MaxChunk) }
func (s *squares) Steps() (value, all int) { return 1, 2 }
func (s *squares) Size(step int) int       { return 1 - step }
func (s *squares) Value() float64          { return s.c * s.total * s.total / 2 }
func (s *squares) Total(step int, x []float64) {
	if step == 0 {
		s.total = x[0]
	}
}

func (s *squares) Rows(step, _, lo, hi int, h, dh []float64, ld int, sums []float64) {
	for i := range hi - lo {
		for j := i * ld; j < i*ld+s.m; j++ {
			if step == 0 {
				sums[0] += h[j] * h[j]
			} else {
				dh[j] += 2 * s.c * s.total * h[j]
			}
		}
	}
}

// A term gives the gradients that its cotangent gives through AddH, and the same bits for any number of shards.
func TestTermIsPartOfThePasses(t *testing.T) {
	p := makeProblem(t, shape(2600, 4, 12, 6), 0.2, 3)
	n, m := p.spec.Samples, p.spec.Anchors
	chunk := parallel.ChunkRows(n, parallel.MaxChunk)
	if chunk%ChunkRows(&p.spec, false) != 0 {
		t.Fatal("chunks do not fit each other")
	}
	const c = 1e-4
	plain := netOf[float64](t, p)
	if _, err := plain.Forward(context.Background(), p.params, true); err != nil {
		t.Fatal(err)
	}
	h, total := make([]float64, n*m), 0.0
	if err := plain.Read(FieldH, p.spec.Layers, 0, 0, n, h); err != nil {
		t.Fatal(err)
	}
	for _, x := range h {
		total += x * x
	}
	for j := range h {
		h[j] *= 2 * c * total
	}
	if err := plain.AddH(p.spec.Layers, h); err != nil {
		t.Fatal(err)
	}
	g := NewParams(&p.spec)
	if err := plain.Backward(context.Background(), 1, g); err != nil {
		t.Fatal(err)
	}
	want := append(append(append(append([]float64(nil), g.Theta...), g.R...), g.U...), flat(g.Rho)...)
	var first []float64
	for _, sizes := range [][]int{{n}, {chunk, n - chunk}, {chunk, chunk, n - 2*chunk}} {
		net := netOf[float64](t, p, sizes...)
		if err := SetTerm(net, func(lo, hi int) (Term[float64], error) { return &squares{n: n, m: m, c: c}, nil }); err != nil {
			t.Fatal(err)
		}
		got := step(t, net, p.params)
		if e := math.Abs(net.TermValue() - c*total*total/2); e > 1e-9*net.TermValue() {
			t.Errorf("shards of %v rows: the term is off by %v", sizes, e)
		}
		within(t, "gradients with a term", got[len(p.spec.Dims):], want, 1e-9)
		if first == nil {
			first = got
		}
		for i := range got {
			if got[i] != first[i] {
				t.Fatalf("shards of %v rows: value %d is %v, with one %v", sizes, i, got[i], first[i])
			}
		}
	}
	if err := SetTerm(plain, func(lo, hi int) (Term[float32], error) { return nil, nil }); err == nil {
		t.Error("a float32 term of a float64 network: no error")
	}
}
