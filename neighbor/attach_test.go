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

// filledByHand returns new samples with the rows that they lack filled along their links to the samples of d, beside themselves.
func filledByHand(t *testing.T, d, fresh *dataset, links *Links) *source[float64] {
	whole := fresh.rows(upTo(fresh.n)...)
	for v, k := range d.dims {
		for i := range fresh.n {
			if fresh.has(v, i) {
				continue
			}
			row := whole.row(v, i)
			clear(row)
			atoms, weights := links.Row(i)
			for e, j := range atoms {
				for c := 0; c < k && d.has(v, int(j)); c++ {
					row[c] += weights[e] * d.row(v, int(j))[c]
				}
			}
			if norm := math.Sqrt(distanceToZero(row)); norm > 0 {
				whole.present[v][i] = true
				for c := range row {
					row[c] /= norm
				}
			}
		}
	}
	out := must(newSource(context.Background(), nil, append(viewsOf[float64](t, whole), viewsOf[float64](t, fresh)...), 1))
	out.twice = len(d.dims)
	return out
}

// With Config.Adapt a row that is shorter than those of the index gets the links of the row of their length, one of a sample that
// lacks views those of the sample with filled rows, in a restored index too; a sample of the index keeps its own, however short
// it is.
func TestAttachAdapts(t *testing.T) {
	ctx := context.Background()
	for _, masks := range []bool{false, true} {
		d, fresh := randomData(41, 150, masks, 6, 9), randomData(42, 40, masks, 6, 9)
		for v := range d.x { // below norm 1
			for i := range d.x[v] {
				d.x[v][i] /= 32
			}
		}
		spaces := []Space{{Views: []int{0, 1}, Weight: 2, Filled: masks}, {Views: []int{1}, Weight: 1}}
		build := func(adapt bool) *Index[float64] {
			views := viewsOf[float64](t, d)
			for v := range views { // filled rows have values
				views[v] = must(Dense(d.n, d.dims[v], d.dims[v], d.x[v], d.present[v]))
			}
			return must(Build(ctx, views, spaces, Config{Adapt: adapt}))
		}
		plain, x := build(false), build(true)
		short, right := fresh.rows(upTo(fresh.n)...), fresh.rows(upTo(fresh.n)...)
		for v, k := range d.dims {
			sum, count := 0.0, 0.0
			for i := range d.n {
				for _, y := range d.row(v, i) {
					if d.has(v, i) {
						sum += y * y
					}
				}
				if d.has(v, i) {
					count++
				}
			}
			for i := range fresh.n {
				norm := math.Sqrt(distanceToZero(fresh.row(v, i)))
				for j := range k {
					short.x[v][i*k+j] *= 0.02 / norm
					right.x[v][i*k+j] *= math.Sqrt(sum/count) / norm
				}
			}
		}
		want := must(plain.Attach(ctx, viewsOf[float64](t, right), 1))
		if masks {
			want = must(plain.attachExact(ctx, filledByHand(t, d, right, want), 1))
		}
		again := must(Restore(ctx, x.State(), []View[float64]{
			must(Dense(d.n, 6, 6, d.x[0], d.present[0])), must(Dense(d.n, 9, 9, d.x[1], d.present[1])),
		}, 1))
		for name, index := range map[string]*Index[float64]{"built": x, "restored": again} {
			got := must(index.Attach(ctx, viewsOf[float64](t, short), 2))
			if !slices.Equal(got.ptr, want.ptr) || !slices.Equal(got.col, want.col) || far(matrixOf(got), matrixOf(want)) > 1e-9 {
				t.Errorf("masks %t, %s: other links", masks, name)
			}
			own := must(index.Attach(ctx, viewsOf[float64](t, d), 1))
			for i := range d.n {
				a, w := own.Row(i)
				b, u := index.exact.graph.Row(i)
				if (d.has(0, i) || d.has(1, i)) && !(slices.Equal(a, b) && slices.Equal(w, u)) {
					t.Errorf("masks %t, %s: sample %d of the index has other links", masks, name, i)
				}
			}
		}
		state := x.State()
		state.Lengths = []float64{1, math.NaN()}
		if _, err := Restore(ctx, state, viewsOf[float64](t, d), 1); err == nil {
			t.Error("a length of NaN is taken")
		}
		state.Lengths = state.Lengths[:1]
		if _, err := Restore(ctx, state, viewsOf[float64](t, d), 1); err == nil {
			t.Error("one length is taken for two views")
		}
	}
}

func distanceToZero(x []float64) float64 {
	sum := 0.0
	for _, y := range x {
		sum += y * y
	}
	return sum
}
