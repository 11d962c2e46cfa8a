package largemvc

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/rows"
)

// takenOf are some samples of views.
func takenOf(views []View, samples []int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		out[v] = x.Take(samples)
	}
	return out
}

// drawByHand is the draw of a fit on some of n samples, and which it is, from fits of each draw by the front door.
func drawByHand(t *testing.T, views []View, n int, c Config) (drawn []int, draw int) {
	t.Helper()
	stream := func(k uint64, m int) []int { return rows.Sample(rand.New(rand.NewPCG(c.Seed, 0x73616d70+k)), n, m) }
	compared := takenOf(views, stream(3, min(c.FitSamples, 5000)))
	var sets, labels [3][]int
	for d := range sets {
		sets[d] = stream(uint64(d), c.FitSamples)
		begin := onDrawn(c, n)
		begin.Epochs = None
		a, err := mustFit(t, takenOf(views, sets[d]), begin).Assign(context.Background(), compared)
		if err != nil {
			t.Fatal(err)
		}
		labels[d] = a.Labels
	}
	var sums [3]float64
	for d := range labels {
		for e := range labels {
			nmi, err := nmiOf(labels[min(d, e)], labels[max(d, e)])
			if err != nil {
				t.Fatal(err)
			}
			if e != d {
				sums[d] += nmi
			}
		}
	}
	for d, x := range sums {
		if x > sums[draw]+1e-12 {
			draw = d
		}
	}
	return sets[draw], draw
}

// onDrawn is the configuration of a fit of what was drawn of n samples.
func onDrawn(c Config, n int) Config {
	full := c.WithDefaults()
	full.forSamples(n)
	c.FitSamples, c.Neighborhood = 0, full.Neighborhood
	return c
}

// A fit on a sample trains on the draw whose start is most like those of the others, as fits of the three by hand say, for any
// number of goroutines, and goes on from a checkpoint on the same draw.
func TestDraws(t *testing.T) {
	const n, k = 900, 150
	ctx := context.Background()
	others := 0 // draws that are not the first
	for _, preset := range []defaults{byDefault, asPaper} {
		for seed := range uint64(3) {
			views, _ := blobViews(n, 5, 2.5, seed, 12, 9)
			c := preset.of(Config{Clusters: 5, Epochs: 6, FitSamples: k, Seed: seed + 1})
			drawn, draw := drawByHand(t, views, n, c)
			byHand := mustFit(t, takenOf(views, drawn), onDrawn(c, n))
			want, err := byHand.Assign(ctx, views)
			if err != nil {
				t.Fatal(err)
			}
			check := func(name string, got *Clustering, err error) {
				t.Helper()
				if err != nil || !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, byHand.Loss) {
					t.Errorf("%v, seed %d, %s: not that of draw %d, %v", preset, seed, name, draw, err)
				}
			}
			for _, workers := range []int{1, 2, 5} {
				c.Machine.Workers = workers
				got, err := Fit(ctx, views, c)
				check("fit", got, err)
			}
			if draw == 0 {
				continue
			}
			others++
			c.Checkpoint.Path = t.TempDir() + "/state"
			c.Progress = func(e Progress) error {
				if e.Epoch == 3 {
					return ErrStop
				}
				return nil
			}
			mustFit(t, views, c)
			got, err := Resume(ctx, views, c.Checkpoint.Path, nil)
			check("resumed", got, err)
			views, _ = blobViews(n, 5, 2.5, seed+10, 12, 9)
			if _, err := Resume(ctx, views, c.Checkpoint.Path, nil); err == nil {
				t.Error("a training went on with other samples")
			}
		}
	}
	if others < 2 {
		t.Errorf("%d draws are not the first", others)
	}
}

// A fit that is cancelled while draws are compared returns the error and nothing else, and leaves no checkpoint.
func TestDrawsCancelled(t *testing.T) {
	views, _ := blobViews(900, 5, 2.5, 1, 12, 9)
	c := Config{Clusters: 5, FitSamples: 150, Epochs: 2}
	c.Machine.Workers = 1
	c.Checkpoint.Path = t.TempDir() + "/state"
	filled := &run{config: completed(c, 900), views: inner(views)}
	const plenty = 1 << 40
	whole := newCountdown(plenty)
	_, err := filled.chooseDraw(whole, filled.startOfDraw)
	asked := plenty - whole.left.Load()
	if err != nil || asked < 100 {
		t.Fatalf("the context is asked %d times, %v", asked, err)
	}
	for q := range int64(10) {
		got, err := Fit(newCountdown(20+q*asked/10), views, c)
		if got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %d of %d: result %v, %v", 20+q*asked/10, asked, got != nil, err)
		}
		if _, err := readResumed(c.Checkpoint.Path); err == nil {
			t.Error("there is a checkpoint")
		}
	}
}

// A draw that has no sample with some view is not compared, and not an error: the first one decides.
func TestDrawsThatLackAView(t *testing.T) {
	const n, k = 200, 60
	views, _ := blobViews(n, 3, 0.5, 1, 8, 6)
	present := make([]bool, n)
	for i := range 4 {
		present[50*i] = true
	}
	views[1] = views[1].WithPresent(present)
	lacks := func(seed uint64, draw int) bool {
		c := Config{Seed: seed, FitSamples: k}
		return !slices.ContainsFunc(drawn(&c, n, draw), func(i int) bool { return present[i] })
	}
	tried := 0
	for seed := uint64(0); tried < 2; seed++ {
		if lacks(seed, 0) || !lacks(seed, 1) {
			continue
		}
		tried++
		c := paper(Config{Clusters: 3, Epochs: 2, FitSamples: k, Seed: seed})
		if got, err := Fit(context.Background(), views, c); err != nil || len(got.Labels) != n {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// A fit on drawn samples begins with the labels that were given for these samples.
func TestDrawsHaveTheirLabels(t *testing.T) {
	const n, k = 300, 60
	views, _ := blobViews(n, 3, 2.5, 1, 12, 9)
	c := paper(Config{Clusters: 3, Epochs: 2, FitSamples: k, Seed: 2, Float64: true})
	c.StartLabels = make([]int, n)
	for i := range c.StartLabels {
		c.StartLabels[i] = i / 7 % 3
	}
	got := mustFit(t, views, c)
	drawn := rows.Sample(rand.New(rand.NewPCG(c.Seed, 0x73616d70)), n, k)
	alone := onDrawn(c, n)
	alone.StartLabels = make([]int, k)
	for j, i := range drawn {
		alone.StartLabels[j] = c.StartLabels[i]
	}
	if want := mustFit(t, takenOf(views, drawn), alone); !slices.Equal(got.Loss, want.Loss) {
		t.Errorf("losses %v, of the drawn samples alone %v", got.Loss, want.Loss)
	}
}
