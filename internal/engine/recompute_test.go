package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// recomputedOf is netOf of a shard that keeps no state.
func recomputedOf[T kernel.Float](t *testing.T, p *problem) *Net {
	t.Helper()
	spec := p.spec
	var x []rows.Matrix[T]
	for v, d := range spec.Dims {
		x = append(x, rows.NewDense(spec.Samples, d, d, kernel.Convert[T](p.x[v])))
	}
	shards, err := RecomputedFrom[T](0)(&spec, x, p.present, nil)
	if err != nil {
		t.Fatal(err)
	}
	net, err := NewNet(spec, shards, InOrder{}, p.start)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// A network that keeps no state has the bits of one that does, in every epoch, and what it keeps in the end.
func TestRecomputedHasTheBitsOfMemory(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"as it is": func(*Spec) {}, "without noise": func(s *Spec) { s.Noise = false },
		"fixed anchors": func(s *Spec) { s.Anchored = false }, "detached": func(s *Spec) { s.Detach = true },
		"ReLU": func(s *Spec) { s.Represent, s.OneSided = ReLU, true }, "SELU": func(s *Spec) { s.Represent = SELU },
		"one layer": func(s *Spec) { s.Layers = 1 }, "four layers": func(s *Spec) { s.Layers = 4 },
	} {
		for _, masks := range []float64{0, 0.3} {
			spec := shape(1300, 6, 40, 4, 23)
			spec.Workers = 2
			change(&spec)
			p := makeProblem(t, spec, masks, 5)
			kept, again := netOf[float32](t, p), recomputedOf[float32](t, p)
			for epoch := range 3 {
				if want, got := step(t, kept, p.params), step(t, again, p.params); !slices.Equal(want, got) {
					t.Fatalf("%s, masks %v: epoch %d is\n%v, want\n%v", name, masks, epoch, got, want)
				}
				p.params.Theta[0] += 0.01
			}
			if err := CopyH(again, spec.Layers, make([]float32, 1300*16), 16); err == nil {
				t.Errorf("%s: H is there before a pass for it", name)
			}
			var h [2][]float32
			var trust [2][]float64
			for k, n := range []*Net{kept, again} {
				if _, err := n.Forward(context.Background(), p.params, false); err != nil {
					t.Fatal(err)
				}
				h[k], trust[k] = make([]float32, 1300*16), make([]float64, 1300)
				if err := CopyH(n, spec.Layers, h[k], 16); err != nil {
					t.Fatal(err)
				}
				if err := n.Read(FieldTrust, spec.Layers, 1, 0, 1300, trust[k]); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(h[0], h[1]) || !slices.Equal(trust[0], trust[1]) {
				t.Errorf("%s, masks %v: other rows of H or of trust", name, masks)
			}
			if taken := TakeH[float32](again); !slices.Equal(taken, h[0]) || TakeH[float32](again) != nil || TakeH[float32](kept) != nil {
				t.Errorf("%s: H is not handed out once, %d values", name, len(taken))
			}
			if err := again.AddH(1, make([]float64, 1300*6)); err == nil {
				t.Error("a cotangent is taken")
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Sparse rows, and a start of the rows' own, keep their state; passes come in their order.
func TestRecomputedRefuses(t *testing.T) {
	spec := shape(40, 3, 5, 4)
	x := []rows.Matrix[float64]{sparseOf(40, 5, make([]float64, 200)), rows.NewDense(40, 4, 4, make([]float64, 160))}
	if s, err := NewRecomputed(&spec, 0, x, nil); err == nil {
		t.Error("sparse rows", s)
	}
	x[0] = rows.NewDense(40, 5, 5, make([]float64, 200))
	if s, err := RecomputedFrom[float64](0)(&spec, x, nil, make([]float64, 120)); err == nil {
		t.Error("a start", s)
	}
	s, err := NewRecomputed(&spec, 0, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background(), &Pass{Kind: Final}, NewTree(&spec)); err == nil {
		t.Error("a final pass before all others")
	}
	if err := s.Read(FieldH, 3, 0, 0, 40, nil, make([]float64, 120)); err == nil {
		t.Error("H is there before any pass")
	}
}
