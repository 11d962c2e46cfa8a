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
			if !slices.Equal(TakeH[float32](again), h[0]) || TakeH[float32](again) != nil || TakeH[float32](kept) != nil {
				t.Errorf("%s: H is not handed out once", name)
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

// A network with state in spare memory has the bits of one without; at rest it still has H and the trust of the last layer.
func TestSpareMemoryAndRest(t *testing.T) {
	const n = 700
	for name, anchored := range map[string]bool{"anchors of each layer": true, "fixed anchors": false} {
		spec := shape(n, 6, 40, 4, 23)
		spec.Workers, spec.Anchored = 2, anchored
		p := makeProblem(t, spec, 0.3, 5)
		spec = p.spec
		var x []rows.Matrix[float32]
		for v, d := range spec.Dims {
			x = append(x, rows.NewDense(n, d, d, kernel.Convert[float32](p.x[v])))
		}
		spare := [][]float32{make([]float32, n*40), make([]float32, n*4), make([]float32, n*23)}
		for _, s := range spare {
			for i := range s {
				s[i] = 7
			}
		}
		shards, err := InMemoryFrom(0, spare...)(&spec, x, p.present, nil)
		if err != nil {
			t.Fatal(err)
		}
		within, err := NewNet(spec, shards, InOrder{}, p.start)
		if err != nil {
			t.Fatal(err)
		}
		own, used := netOf[float32](t, p), 0
		for _, y := range shards[0].(*Memory[float32]).y {
			for _, rows := range y {
				for _, s := range spare {
					for lo := 0; lo+len(rows) <= len(s); lo += len(rows) {
						if &rows[0] == &s[lo] {
							used += 4 * len(rows)
						}
					}
				}
			}
		}
		if want := SparedBytes(&spec, n, 4, []int{40, 4, 23}); int64(used) != want || want != 3*n*16*4 {
			t.Errorf("%s: %d bytes lie in spare memory, counted %d", name, used, want)
		}
		for epoch := range 2 {
			if want, got := step(t, own, p.params), step(t, within, p.params); !slices.Equal(want, got) {
				t.Fatalf("%s: epoch %d is\n%v, want\n%v", name, epoch, got, want)
			}
		}
		var h [2][]float32
		var trust [2][]float64
		for k, net := range []*Net{own, within} {
			if k == 1 {
				net.Rest()
			}
			h[k], trust[k] = make([]float32, n*16), make([]float64, n)
			if err := CopyH(net, spec.Layers, h[k], 16); err != nil {
				t.Fatal(err)
			}
			if err := net.Read(FieldTrust, spec.Layers, 1, 0, n, trust[k]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(h[0], h[1]) || !slices.Equal(trust[0], trust[1]) {
			t.Errorf("%s: at rest there are other rows", name)
		}
		if err := CopyH(within, spec.Layers-1, h[1], 16); err == nil {
			t.Errorf("%s: at rest there is H of another layer", name)
		}
		if err := within.Read(FieldNorm, spec.Layers, 0, 0, n, trust[1]); err == nil {
			t.Errorf("%s: at rest there are norms", name)
		}
		if _, err := within.Forward(context.Background(), p.params, false); err == nil {
			t.Errorf("%s: a network at rest runs", name)
		}
	}
}
