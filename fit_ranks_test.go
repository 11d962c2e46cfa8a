package largemvc_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
)

// rankViews are two views of n samples of a few blobs with much noise, so that many samples change their clusters.
func rankViews(n int) [][]float32 {
	rng := rand.New(rand.NewPCG(7, 8))
	out := [][]float32{make([]float32, n*rankDims[0]), make([]float32, n*rankDims[1])}
	for i := range n {
		for v, d := range rankDims {
			for j := range d {
				out[v][i*d+j] = float32(2*rng.NormFloat64() + 3*math.Sin(float64((1+i%5)*(j+1)*(v+2))))
			}
		}
	}
	return out
}

var rankDims = []int{11, 7}

// cut returns the rows from lo to hi of the views.
func cut(x [][]float32, lo, hi int) (out []largemvc.View) {
	for v, d := range rankDims {
		out = append(out, largemvc.DenseView(hi-lo, d, slices.Clone(x[v][lo*d:hi*d])))
	}
	return out
}

// rankWork is what one rank does with its views.
type rankWork func(ctx context.Context, rank int, world machine.Comm, views []largemvc.View) (*largemvc.Clustering, error)

// onRanks runs work on ranks that begin at the given samples of n, and returns what each of them found.
func onRanks(ctx context.Context, x [][]float32, n int, starts []int, work rankWork) ([]*largemvc.Clustering, []error) {
	found, errs := make([]*largemvc.Clustering, len(starts)), make([]error, len(starts))
	var wg sync.WaitGroup
	for r, c := range comm.Local(len(starts)) {
		hi := n
		if r+1 < len(starts) {
			hi = starts[r+1]
		}
		views := cut(x, starts[r], hi)
		wg.Go(func() { found[r], errs[r] = work(ctx, r, c, views) })
	}
	wg.Wait()
	return found, errs
}

// hashOf is the SHA-256 of parameters, anchors and labels; of ranks, of their labels in order.
func hashOf(t *testing.T, found ...*largemvc.Clustering) string {
	t.Helper()
	h := sha256.New()
	put := func(x any) {
		if err := binary.Write(h, binary.LittleEndian, x); err != nil {
			t.Fatal(err)
		}
	}
	one := func(c *largemvc.Clustering) string {
		h.Reset()
		put(c.Theta)
		for _, rho := range c.Rho {
			put(rho)
		}
		put(c.R().RawMatrix().Data)
		put(c.U().RawMatrix().Data)
		for v := range c.Inputs() {
			for l := range c.Config().Layers + 1 {
				put(c.Anchors(l, v).RawMatrix().Data)
			}
		}
		put(c.Loss)
		for _, s := range c.Sizes {
			put(int64(s))
		}
		return string(h.Sum(nil))
	}
	first := one(found[0])
	for r, c := range found {
		if one(c) != first {
			t.Errorf("rank %d has another network than rank 0", r)
		}
	}
	h.Reset()
	h.Write([]byte(first))
	for _, c := range found {
		for i, l := range c.Labels {
			put(int64(l))
			for j := range c.Config().Anchors {
				put(c.H.At(i, j))
			}
			for _, trust := range c.Trust {
				put(trust[i])
			}
			if c.Confidence != nil {
				put([]float64{c.Confidence[i], c.Remoteness[i]})
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestRanksHaveTheBitsOfOneProcess fits the same samples in one process and on ranks, cut in many ways.
func TestRanksHaveTheBitsOfOneProcess(t *testing.T) {
	type cutting struct {
		n      int
		starts []int
	}
	for name, c := range map[string]struct {
		config   largemvc.Config
		cuttings []cutting
	}{
		"paper": {
			largemvc.Paper(largemvc.Config{Clusters: 5, Epochs: 4, Seed: 3}),
			[]cutting{
				{3500, []int{0, 1024, 2048, 3072}}, {3500, []int{0}}, {9001, []int{0, 8192}}, {9001, []int{0, 2048, 6144}},
			},
		},
		"balanced, 2 restarts": {
			largemvc.Paper(largemvc.Config{
				Clusters: 5, Anchors: 9, Layers: 3, Epochs: 3, Restarts: 2,
				Preprocess: largemvc.PreprocessBalanced, Reduction: largemvc.ReductionRelative, Float64: true,
			}),
			[]cutting{{4000, []int{0, 1024, 3072}}, {9001, []int{0, 4096}}, {9001, []int{0, 2048, 6144}}},
		},
		"z-scores, no noise": {
			largemvc.Paper(largemvc.Config{Clusters: 4, Epochs: 2, Preprocess: largemvc.PreprocessZScore,
				Noise: &largemvc.NoNoise{}}),
			[]cutting{{2500, []int{0, 2048}}, {9001, []int{0, 2048, 4096}}},
		},
		"neighbours": {
			largemvc.Config{Clusters: 5, Epochs: 3, Seed: 3},
			[]cutting{{2500, []int{0, 1024, 2048}}, {4000, []int{0, 1024, 3072}}, {4000, []int{0}}},
		},
		"landmarks": {
			largemvc.Config{Clusters: 5, Epochs: 3, Seed: 3},
			[]cutting{{20_001, []int{0, 4096, 12288, 16384}}, {24_001, []int{0, 8192, 20480}}},
		},
		"few landmarks": {
			largemvc.Config{
				Clusters: 5, Anchors: 9, Epochs: 3, Float64: true, Preprocess: largemvc.PreprocessBoth,
				Neighborhood: largemvc.Neighborhood{Exact: largemvc.None, Directions: 5, Landmarks: 60},
			},
			[]cutting{{2500, []int{0, 1024, 2048}}, {4000, []int{0, 1024, 3072}}, {9001, []int{0, 6144}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, answers, judged := map[int]string{}, map[int]string{}, map[int]score.Structure{}
			for i, cutting := range c.cuttings {
				if !testutil.Slow && (i > 0 || cutting.n > 20_000 || name == "balanced, 2 restarts" ||
					testutil.UnderRace && (name == "paper" || name == "z-scores, no noise")) { // others do the same
					break
				}
				x := rankViews(cutting.n)
				if want[cutting.n] == "" {
					one := c.config
					one.Machine.Workers = 2
					whole, err := largemvc.Fit(t.Context(), cut(x, 0, cutting.n), one)
					if err != nil {
						t.Fatal(err)
					}
					want[cutting.n], answers[cutting.n] = hashOf(t, whole), answersOf(t, whole, cut(x, 0, 200))
					judged[cutting.n] = whole.Structure
				}
				found, errs := onRanks(t.Context(), x, cutting.n, cutting.starts,
					func(ctx context.Context, rank int, world machine.Comm, views []largemvc.View) (*largemvc.Clustering, error) {
						config := c.config
						config.Machine.Workers, config.Machine.Comm = []int{1, 2, 5}[rank%3], world
						return largemvc.Fit(ctx, views, config)
					})
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				if got := hashOf(t, found...); got != want[cutting.n] {
					t.Errorf("%d samples cut at %v: hash %.16s, want that of one process, %.16s", cutting.n, cutting.starts, got,
						want[cutting.n])
				}
				for r, c := range found {
					if c.Structure != judged[cutting.n] || c.Structure.Judgement == score.StructureUnknown {
						t.Errorf("%d samples cut at %v, rank %d: %v, want %v", cutting.n, cutting.starts, r, c.Structure,
							judged[cutting.n])
					}
					if answersOf(t, c, cut(x, 0, 200)) != answers[cutting.n] {
						t.Errorf("%d samples cut at %v: rank %d predicts otherwise", cutting.n, cutting.starts, r)
					}
				}
			}
		})
	}
}

// answersOf is the SHA-256 of what a predictor says of some samples.
func answersOf(t *testing.T, c *largemvc.Clustering, views []largemvc.View) string {
	t.Helper()
	h := sha256.New()
	found, err := c.Assign(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	novelty, err := c.Novelty(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(h, "%v %v %v %v", found.Labels, found.Near, found.Confidence, novelty)
	if c.Config().Neighborhood.Neighbors != largemvc.None {
		trust, err := c.ViewTrust(t.Context(), views)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(h, trust)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestRanksWithAbsentViews: samples that lack views have the bits of one process, whether their neighbours are searched among
// all, or landmarks stand for them, or there are none. Some ranks have samples that lack nothing, or that all lack a view.
func TestRanksWithAbsentViews(t *testing.T) {
	for name, c := range map[string]struct {
		config   largemvc.Config
		n        int
		rate     float64 // of absent rows
		from, to int     // samples of which all have view 0 alone
		complete int     // the sample from which on nothing is absent
		cuttings [][]int
	}{
		"neighbours": {largemvc.Config{Clusters: 5, Epochs: 3, Seed: 3}, 2500, 0.25, 0, 0, 2048, [][]int{{0, 1024, 2048}}},
		"landmarks": {
			largemvc.Config{Clusters: 5, Epochs: 3, Seed: 3}, 20_001, 0.3, 8192, 12288, 16384,
			[][]int{{0, 4096, 8192, 12288, 16384}, {0}, {0, 8192, 16384}},
		},
		"few landmarks, a rare view": {
			largemvc.Config{
				Clusters: 5, Anchors: 9, Epochs: 3, Float64: true, Preprocess: largemvc.PreprocessBoth,
				Neighborhood: largemvc.Neighborhood{Exact: largemvc.None, Directions: 5, Landmarks: 120},
			},
			9001, 0.99, 0, 4096, 9001, [][]int{{0, 2048, 6144}, {0, 4096}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.n > 5000 {
				testutil.Long(t, "thousands of samples")
			}
			x := rankViews(c.n)
			rng := rand.New(rand.NewPCG(1, 2))
			present := [][]bool{make([]bool, c.n), make([]bool, c.n)}
			for i := range c.n {
				lacks := rng.Float64() < c.rate
				v := rng.IntN(2)
				if c.from <= i && i < c.to {
					lacks, v = true, 1
				}
				for u := range present {
					if present[u][i] = i >= c.complete || !lacks || u != v; !present[u][i] {
						for j := range rankDims[u] {
							x[u][i*rankDims[u]+j] = float32(math.NaN())
						}
					}
				}
			}
			masked := func(lo, hi int) []largemvc.View {
				views := cut(x, lo, hi)
				for v := range views {
					if p := present[v][lo:hi]; slices.Contains(p, false) {
						views[v] = views[v].WithPresent(p)
					}
				}
				return views
			}
			one := c.config
			one.Machine.Workers = 2
			whole, err := largemvc.FitAlone(t.Context(), masked(0, c.n), one)
			if err != nil {
				t.Fatal(err)
			}
			want, answers := hashOf(t, whole), answersOf(t, whole, masked(0, 200))
			for i, starts := range c.cuttings {
				if !testutil.Slow && i > 0 {
					break
				}
				found, errs := onRanks(t.Context(), x, c.n, starts,
					func(ctx context.Context, rank int, world machine.Comm, _ []largemvc.View) (*largemvc.Clustering, error) {
						config := c.config
						config.Machine.Workers, config.Machine.Comm = []int{1, 2, 5}[rank%3], world
						hi := c.n
						if rank+1 < len(starts) {
							hi = starts[rank+1]
						}
						return largemvc.FitAlone(ctx, masked(starts[rank], hi), config)
					})
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				if got := hashOf(t, found...); got != want {
					t.Errorf("cut at %v: hash %.16s, want that of one process, %.16s", starts, got, want)
				}
				for r, f := range found {
					if answersOf(t, f, masked(0, 200)) != answers || !slices.Equal(f.Notes, whole.Notes) {
						t.Errorf("cut at %v: rank %d predicts otherwise, or has the notes %q, not %q", starts, r, f.Notes,
							whole.Notes)
					}
				}
			}
		})
	}
}

// ranksConfig is that of a short training on ranks.
func ranksConfig() largemvc.Config {
	return largemvc.Paper(largemvc.Config{Clusters: 5, Epochs: 6, Seed: 3})
}

// TestRanksFailTogether: an error of one rank, before the work or in it, ends the fit on all of them and names that rank.
func TestRanksFailTogether(t *testing.T) {
	const n = 6000
	boom := errors.New("no more disk")
	for name, test := range map[string]struct {
		starts []int
		change func(rank int, c *largemvc.Config, views []largemvc.View) []largemvc.View
		own    string // of rank 1
		others string
	}{
		"another seed": {[]int{0, 1024, 2048}, func(rank int, c *largemvc.Config, x []largemvc.View) []largemvc.View {
			c.Seed += uint64(rank / 2)
			return x
		}, "rank 0 and rank 2 differ: Seed is 3 on rank 0, Seed is 4 on rank 2", "differ: Seed is"},
		"another cut": {[]int{0, 1000, 2048}, nil, "rank 1 begins at sample 1000 of 6000", "multiples of 1024"},
		"a NaN": {[]int{0, 1024, 2048}, func(rank int, _ *largemvc.Config, x []largemvc.View) []largemvc.View {
			if rank == 1 {
				values := make([]float32, 1024*rankDims[0])
				values[3*rankDims[0]+2] = float32(math.NaN())
				x[0] = largemvc.DenseView(1024, rankDims[0], values)
			}
			return x
		}, "view 0 has NaN at row 1027, column 2", "rank 1: view 0 has NaN at row 1027, column 2"},
		"a callback": {[]int{0, 1024, 2048}, func(rank int, c *largemvc.Config, x []largemvc.View) []largemvc.View {
			c.Progress = func(e largemvc.Progress) error {
				if rank == 1 && e.Epoch == 2 {
					return boom
				}
				return nil
			}
			return x
		}, boom.Error(), "rank 1: no more disk"},
		"a callback before the training": {[]int{0, 1024}, func(rank int, c *largemvc.Config, x []largemvc.View) []largemvc.View {
			c.Progress = func(largemvc.Progress) error {
				if rank == 1 {
					return boom
				}
				return nil
			}
			return x
		}, boom.Error(), "rank 1: no more disk"},
		"a mask and a k-means of rows": {
			[]int{0, 1024}, func(rank int, _ *largemvc.Config, x []largemvc.View) []largemvc.View {
				if rank == 1 {
					x[1] = x[1].WithPresent(slices.Repeat([]bool{true}, n-1024))
				}
				return x
			}, "view 1 has a mask: want neighbours",
			"rank 1: on several ranks k-means does not run on rows that are partly absent",
		},
		"a sample without views": {
			[]int{0, 1024}, func(rank int, c *largemvc.Config, x []largemvc.View) []largemvc.View {
				c.Neighborhood = largemvc.Neighborhood{Exact: 3000}
				if rank == 1 {
					for v := range x {
						present := slices.Repeat([]bool{true}, n-1024)
						present[7] = false
						x[v] = x[v].WithPresent(present)
					}
				}
				return x
			}, "sample 1031 has no view", "rank 1: sample 1031 has no view",
		},
		"a view without samples": {
			[]int{0, 1024}, func(rank int, c *largemvc.Config, x []largemvc.View) []largemvc.View {
				c.Neighborhood = largemvc.Neighborhood{Exact: 3000}
				x[1] = x[1].WithPresent(make([]bool, []int{1024, n - 1024}[rank]))
				return x
			}, "no sample has view 1", "no sample has view 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := rankViews(n)
			_, errs := onRanks(t.Context(), x, n, test.starts,
				func(ctx context.Context, rank int, world machine.Comm, views []largemvc.View) (*largemvc.Clustering, error) {
					c := ranksConfig()
					c.Machine.Comm = world
					if test.change != nil {
						views = test.change(rank, &c, views)
					}
					return largemvc.FitAlone(ctx, views, c)
				})
			for rank, err := range errs {
				want := test.others
				if rank == 1 {
					want = test.own
				}
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("rank %d: error %v, want %q", rank, err, want)
				}
			}
		})
	}
}

// TestRanksPanic: the panic of a rank reaches its caller, and the others get an error.
func TestRanksPanic(t *testing.T) {
	const n = 3000
	var caught any
	_, errs := onRanks(t.Context(), rankViews(n), n, []int{0, 1024},
		func(ctx context.Context, rank int, world machine.Comm, views []largemvc.View) (c *largemvc.Clustering, err error) {
			config := ranksConfig()
			config.Machine.Comm = world
			if rank == 1 {
				config.Progress = func(e largemvc.Progress) error {
					if e.Epoch == 3 {
						panic("a mistake")
					}
					return nil
				}
				defer func() { caught = recover() }()
			}
			return largemvc.FitAlone(ctx, views, config)
		})
	if caught != "a mistake" || errs[0] == nil || !strings.Contains(errs[0].Error(), "rank 1: panic: a mistake") {
		t.Errorf("caught %v, rank 0 has the error %v", caught, errs[0])
	}
}

// TestRanksEndTogether: a context that ends on one rank, or ErrStop, ends the training on all of them at the same epoch.
func TestRanksEndTogether(t *testing.T) {
	const n = 2200
	for name, status := range map[string]largemvc.Status{
		"cancel": largemvc.Cancelled, "stop": largemvc.Stopped,
		"cancel, drawn": largemvc.Cancelled, "stop, drawn": largemvc.Stopped,
	} {
		t.Run(name, func(t *testing.T) {
			found, errs := onRanks(t.Context(), rankViews(n), n, []int{0, 1024, 2048},
				func(ctx context.Context, rank int, world machine.Comm, views []largemvc.View) (*largemvc.Clustering, error) {
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					c := ranksConfig()
					c.Machine.Comm, c.Epochs = world, 1000
					c.FitSamples = 1500 * strings.Count(name, "drawn") // 0: all
					c.Progress = func(e largemvc.Progress) error {
						if rank == 1 && e.Epoch == 4 {
							if status == largemvc.Stopped {
								return largemvc.ErrStop
							}
							cancel()
						}
						return nil
					}
					return largemvc.FitAlone(ctx, views, c)
				})
			for rank, c := range found {
				if c == nil || c.Epochs != 4 || c.Status != status || len(c.Labels) == 0 {
					t.Fatalf("rank %d: %v, error %v", rank, c, errs[rank])
				}
				if (status == largemvc.Stopped) == errors.Is(errs[rank], context.Canceled) {
					t.Errorf("rank %d: error %v", rank, errs[rank])
				}
			}
			hashOf(t, found...) // which compares them
		})
	}
}

// TestRanksResume goes on from a checkpoint on other numbers of ranks, one process among them, to the bits of a fit that was not
// interrupted.
func TestRanksResume(t *testing.T) {
	for name, c := range map[string]largemvc.Config{
		"network of the paper": ranksConfig(),
		"landmarks": {
			Clusters: 5, Epochs: 10, Float64: true,
			Neighborhood: largemvc.Neighborhood{Exact: largemvc.None, Directions: 5, Landmarks: 60},
		},
		"given labels": largemvc.Paper(largemvc.Config{Clusters: 5, Epochs: 6, StartLabels: []int{}}),
	} {
		if name != "landmarks" || testutil.Slow { // it takes five fits of 7,000 samples
			t.Run(name, func(t *testing.T) { resumesOnOtherRanks(t, c) })
		}
	}
}

func resumesOnOtherRanks(t *testing.T, config largemvc.Config) {
	const n = 7000
	x := rankViews(n)
	path := filepath.Join(t.TempDir(), "run.ckpt")
	fit := func(stop int) rankWork {
		return func(ctx context.Context, rank int, world machine.Comm, views []largemvc.View) (*largemvc.Clustering, error) {
			c := config
			c.Machine.Comm = world
			if n, d := views[0].Dims(); c.StartLabels != nil {
				for i, row := 0, make([]float64, d); i < n; i++ {
					views[0].Row(row, i)
					c.StartLabels = append(c.StartLabels, int(math.Abs(row[0]))%5)
				}
			}
			if stop > 0 {
				c.Checkpoint = largemvc.Checkpoint{Path: path, Every: 2}
				c.Progress = func(e largemvc.Progress) error {
					if e.Epoch == stop {
						return largemvc.ErrStop
					}
					return nil
				}
			}
			return largemvc.FitAlone(ctx, views, c)
		}
	}
	whole, errs := onRanks(t.Context(), x, n, []int{0}, fit(0))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	want := hashOf(t, whole...)
	ways := [][]int{{0, 2048}, {0, 1024, 4096}, {0}, nil}
	for i, from := range ways {
		for j, to := range ways {
			if !testutil.Slow && (i+1)%len(ways) != j {
				continue
			}
			var stopped error
			if from == nil {
				_, stopped = fit(3)(t.Context(), 0, nil, cut(x, 0, n))
			} else {
				_, errs := onRanks(t.Context(), x, n, from, fit(3))
				stopped = errors.Join(errs...)
			}
			if stopped != nil {
				t.Fatal(stopped)
			}
			resume := func(ctx context.Context, _ int, world machine.Comm, views []largemvc.View) (*largemvc.Clustering, error) {
				return largemvc.Resume(ctx, views, path, func(c *largemvc.Config) { c.Machine.Comm = world })
			}
			found, errs := make([]*largemvc.Clustering, 1), make([]error, 1)
			if to == nil {
				found[0], errs[0] = resume(t.Context(), 0, nil, cut(x, 0, n))
			} else {
				found, errs = onRanks(t.Context(), x, n, to, resume)
			}
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if got := hashOf(t, found...); got != want {
				t.Errorf("from ranks at %v to ranks at %v: hash %.16s, want %.16s", from, to, got, want)
			}
		}
	}
}

// TestRanksEndTheJudgementTogether: if one rank is stopped or cancelled while the structure is judged, all ranks have the result
// of the training and no structure.
func TestRanksEndTheJudgementTogether(t *testing.T) {
	const n = 3000
	for _, end := range []error{largemvc.ErrStop, context.Canceled, errors.New("enough")} {
		found, errs := onRanks(t.Context(), rankViews(n), n, []int{0, 1024, 2048},
			func(ctx context.Context, rank int, world machine.Comm, views []largemvc.View) (*largemvc.Clustering, error) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				c := ranksConfig()
				c.Machine.Comm = world
				c.Progress = func(e largemvc.Progress) error {
					switch {
					case rank != 1 || e.Phase != "structure":
						return nil
					case end == context.Canceled:
						cancel()
						return nil
					}
					return end
				}
				return largemvc.Fit(ctx, views, c)
			})
		for rank, c := range found {
			if c == nil || c.Structure != (score.Structure{}) || (errs[rank] == nil) != (end == largemvc.ErrStop) ||
				rank == 1 && end != largemvc.ErrStop && !errors.Is(errs[rank], end) {
				t.Errorf("%v, rank %d: %v, error %v", end, rank, c, errs[rank])
			}
		}
	}
}
