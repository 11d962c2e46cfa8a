package neighbor

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// TestAttachedEdgesAreThoseOfARefit: of a space's graph of all samples but one, the edges of that one as a new sample, before
// they are normalised, are those in the graph of all.
func TestAttachedEdgesAreThoseOfARefit(t *testing.T) {
	ctx := context.Background()
	for _, masks := range []bool{false, true} {
		for _, k := range []int{1, 5, 200} {
			d := randomData(31, 120, masks, 3, 4)
			last := d.n - 2 // a sample that has a view
			base := d.rows(slices.Delete(upTo(d.n), last, last+1)...)
			order := append(slices.Delete(upTo(d.n), last, last+1), last)
			for _, views := range [][]int{{0}, {0, 1}} {
				x := must(Build(ctx, viewsOf[float64](t, base), []Space{{Views: views, Weight: 3}}, Config{Neighbors: k}))
				links := must(x.Attach(ctx, viewsOf[float64](t, d.rows(last)), 1))
				refit := d.rows(order...)
				lists := refit.bruteForce(views, k)
				out := lists.directed()
				in := out.transpose()
				degree := 0.0
				want := map[int32]float64{}
				mergeRows(out, in, d.n-1, func(j int32, a, b float64) {
					want[j] = mutualWeight(a, b, defaultRest)
					degree += want[j]
				})
				atoms, weights := links.Row(0)
				if len(atoms) != len(want) {
					t.Fatalf("masks %t, k %d, views %v: %d edges, want %d", masks, k, views, len(atoms), len(want))
				}
				for e, j := range atoms {
					was := x.exact.degree[0][j]
					if was == 0 {
						was = want[j]
					}
					if w := weights[e] * math.Sqrt(degree*was); math.Abs(w-want[j]) > 1e-12 {
						t.Errorf("masks %t, k %d, views %v: the edge to sample %d is %v, want %v", masks, k, views, j, w, want[j])
					}
				}
			}
		}
	}
}

// TestAttachIsCloseToARefit: what the filter makes of new samples differs from what it makes of them in an index with them
// hardly more than what it makes of the samples of the index does.
func TestAttachIsCloseToARefit(t *testing.T) {
	ctx := context.Background()
	d := randomData(32, 400, false, 4, 9)
	base, fresh := d.rows(upTo(380)...), d.rows(upTo(400)[380:]...)
	for kind, x := range operators[float64](t, base) {
		blocks := []Block[float64]{blockOf[float64](base, 0), blockOf[float64](base, 1)}
		filters := must(Smooth(ctx, x.Operator(), blocks, 6, 1))
		links := must(x.Attach(ctx, viewsOf[float64](t, fresh), 1))
		refit := operators[float64](t, d)[kind]
		whole := []Block[float64]{blockOf[float64](d, 0), blockOf[float64](d, 1)}
		must(Smooth(ctx, refit.Operator(), whole, 6, 1))
		for v := range blocks {
			b := blockOf[float64](fresh, v)
			if err := filters[v].Apply(ctx, links, b, 1); err != nil {
				t.Fatal(err)
			}
			old, young := 0.0, 0.0 // mean squared differences of unit rows
			for i := range d.n {
				now := whole[v].X[i*b.Ld : i*b.Ld+b.Cols]
				if i < base.n {
					old += kernel.SquaredDistance(now, blocks[v].X[i*b.Ld:i*b.Ld+b.Cols]) / float64(base.n)
				} else {
					young += kernel.SquaredDistance(now, b.X[(i-base.n)*b.Ld:(i-base.n)*b.Ld+b.Cols]) / float64(fresh.n)
				}
			}
			t.Logf("%s, view %d: %.5f for new samples, %.5f for old", kind, v, young, old)
			if young > 2*old+1e-3 {
				t.Errorf("%s, view %d: new samples differ by %.5f from a refit, old ones by %.5f", kind, v, young, old)
			}
		}
	}
}

// TestAttachFindsTheSampleItself: in a space of its own, a new sample a little beside one of the index is linked to it most.
func TestAttachFindsTheSampleItself(t *testing.T) {
	ctx := context.Background()
	d := randomData(33, 200, false, 5)
	near := d.rows(upTo(50)...)
	for i := range near.x[0] {
		near.x[0][i] += 1e-6
	}
	x := must(Build(ctx, viewsOf[float64](t, d), []Space{{Views: []int{0}, Weight: 1}}, Config{}))
	links := must(x.Attach(ctx, viewsOf[float64](t, near), 2))
	for i := range near.n {
		atoms, w := links.Row(i)
		edges := slices.Clone(w)
		for e, j := range atoms { // before they were normalised
			edges[e] *= math.Sqrt(x.exact.degree[0][j])
		}
		if at := slices.Index(edges, slices.Max(edges)); atoms[at] != int32(i) {
			t.Errorf("sample %d is linked most to %d", i, atoms[at])
		}
	}
	// A sample without any view hangs on nothing.
	none := near.rows(0)
	none.present[0] = []bool{false}
	if atoms, _ := must(x.Attach(ctx, viewsOf[float64](t, none), 1)).Row(0); len(atoms) != 0 {
		t.Errorf("a sample without views has %d links", len(atoms))
	}
}

func TestAttachDoesNotDependOnTheBatch(t *testing.T) {
	ctx := context.Background()
	d := randomData(34, 300, true, 6, 100)
	fresh := randomData(35, 150, true, 6, 100)
	for kind, x := range operators[float32](t, d) {
		all := must(x.Attach(ctx, viewsOf[float32](t, fresh), 3))
		for _, i := range []int{0, 63, 64, 149} {
			one := must(x.Attach(ctx, viewsOf[float32](t, fresh.rows(i)), 1))
			a, w := all.Row(i)
			b, u := one.Row(0)
			if !slices.Equal(a, b) || !slices.Equal(w, u) {
				t.Errorf("%s: sample %d alone has other links", kind, i)
			}
		}
	}
}

func TestRestoredIndexAttachesAlike(t *testing.T) {
	ctx := context.Background()
	d := randomData(36, 260, true, 4, 9)
	fresh := viewsOf[float32](t, randomData(37, 40, true, 4, 9))
	for kind, x := range operators[float32](t, d) {
		state := x.State()
		again, err := Restore(ctx, state, viewsOf[float32](t, d), 2)
		if err != nil {
			t.Fatal(err)
		}
		if again.Exact() != x.Exact() || x.Exact() != (kind == "exact") {
			t.Errorf("%s: Exact is %t, then %t", kind, x.Exact(), again.Exact())
		}
		a, b := must(x.Attach(ctx, fresh, 1)), must(again.Attach(ctx, fresh, 2))
		if !slices.Equal(a.ptr, b.ptr) || !slices.Equal(a.col, b.col) || !slices.Equal(a.val, b.val) {
			t.Errorf("%s: other links", kind)
		}
	}
	exact := operators[float32](t, d)["exact"].State()
	if _, err := Restore(ctx, exact, viewsOf[float32](t, d.rows(upTo(200)...)), 1); err == nil {
		t.Error("views of 200 samples are taken for an index of 260")
	}
	if _, err := Restore(ctx, exact, nil, 1); err == nil {
		t.Error("an exact index is restored without views")
	}
	marks := landmarkIndex[float32](t, d, 1).State()
	marks.Landmarks[1].Scale = slices.Clone(marks.Landmarks[1].Scale)
	marks.Landmarks[1].Scale[3] = math.NaN()
	if _, err := Restore(ctx, marks, nil, 1); err == nil {
		t.Error("a scale of NaN is taken")
	}
	marks.Landmarks = marks.Landmarks[:2]
	if _, err := Restore(ctx, marks, nil, 1); err == nil {
		t.Error("landmarks of two spaces are taken for three")
	}
}

func TestAttachRefuses(t *testing.T) {
	ctx := context.Background()
	x := landmarkIndex[float64](t, randomData(38, 60, false, 3, 4), 1)
	if _, err := x.Attach(ctx, viewsOf[float64](t, randomData(38, 5, false, 3)), 1); err == nil {
		t.Error("one view is taken for two")
	}
	if _, err := x.Attach(ctx, viewsOf[float64](t, randomData(38, 5, false, 3, 5)), 1); err == nil {
		t.Error("5 columns are taken for 4")
	}
}
