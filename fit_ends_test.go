package largemvc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/neighbor"
	"github.com/largemvc/largemvc/optim"
)

func TestFitCancel(t *testing.T) { withAndWithout(t, testFitCancel) }

func testFitCancel(t *testing.T, neighbors int) {
	views, _ := blobViews(600, 3, 0.5, 5, 20, 10)
	config := Config{Clusters: 3, Epochs: 50, Neighborhood: Neighborhood{Neighbors: neighbors}}
	why := errors.New("the reason")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	c, err := fitAlone(ctx, views, config)
	if c != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("cancelled before the start: %v, %v", c, err)
	}
	full := mustFit(t, views, config)
	for _, extra := range []bool{false, true} {
		c := config
		if extra {
			c.ExtraLoss = func(net Network) (*Node, error) {
				h, err := net.H(2)
				if err != nil {
					return nil, err
				}
				return gorgonia.HadamardProd(constantOf(net, 0), must(gorgonia.Sum(h)))
			}
		}
		for _, at := range []int{1, 7} {
			ctx, cancel := context.WithCancelCause(context.Background())
			calls := 0
			c.Progress = func(e Progress) error {
				if !e.Training() {
					return nil
				}
				if calls++; e.Epoch == at {
					cancel(why)
				}
				return nil
			}
			got, err := fitAlone(ctx, views, c)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Fatalf("cancelled in epoch %d: %v", at, err)
			}
			if got == nil || got.Status != Cancelled || got.Epochs != at || calls != at || len(got.Loss) != at+1 {
				t.Fatalf("cancelled in epoch %d: %+v after %d calls", at, got, calls)
			}
			if !slices.Equal(got.Loss[:at], full.Loss[:at]) && !extra {
				t.Errorf("losses %v, want the first of %v", got.Loss, full.Loss)
			}
			checkResult(t, views, got)
		}
	}
	t.Run("deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		config.Epochs = 1e6
		_, err := fitAlone(ctx, views, config)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// constantOf is a scalar of the network's type.
func constantOf(net Network, x float64) *Node {
	if net.Env().Of == tensor.Float32 {
		return gorgonia.NewConstant(float32(x))
	}
	return gorgonia.NewConstant(x)
}

func TestFitStops(t *testing.T) { withAndWithout(t, testFitStops) }

func testFitStops(t *testing.T, neighbors int) {
	views, _ := blobViews(100, 3, 0.5, 6, 12, 8)
	config := Config{Clusters: 3, Epochs: 40, Neighborhood: Neighborhood{Neighbors: neighbors}}
	full := mustFit(t, views, config)
	own := errors.New("enough")
	for _, end := range []error{ErrStop, own, fmt.Errorf("wrapped: %w", ErrStop)} {
		var seen []Progress
		c := config
		c.Progress = func(e Progress) error {
			if !e.Training() {
				return nil
			}
			seen = append(seen, e)
			if e.Epoch == 5 {
				return end
			}
			return nil
		}
		got, err := fitAlone(context.Background(), views, c)
		if errors.Is(end, ErrStop) && err != nil || end == own && !errors.Is(err, own) {
			t.Errorf("stopped by %v: %v", end, err)
		}
		if got == nil || got.Status != Stopped || !got.Status.Early() || got.Epochs != 5 || len(seen) != 5 {
			t.Fatalf("stopped by %v: %+v", end, got)
		}
		if !slices.Equal(got.Loss, full.Loss[:6]) {
			t.Errorf("losses %v, want %v", got.Loss, full.Loss[:6])
		}
		checkResult(t, views, got)
		for i, e := range seen {
			if e.Epoch != i+1 || e.Epochs != 40 || e.Restart != 0 || e.Restarts != 1 || e.Loss != full.Loss[i] ||
				len(e.ViewLoss) != len(got.Inputs()) ||
				e.Elapsed <= 0 {
				t.Errorf("epoch %d: %+v", i, e)
			}
		}
	}
	c := config
	c.Epochs, c.Tolerance, c.Patience = 2000, 0.5, 3
	if got := mustFit(t, views, c); got.Status != Converged || got.Epochs != 4 {
		t.Errorf("%v after %d epochs, want it to wait for 3 after the first", got.Status, got.Epochs)
	}
	c.Tolerance, c.Patience, c.Optimizer.LearningRate = 1e-5, 0, 0.01 // larger steps leave a start that is nearly the best
	got := mustFit(t, views, c)
	if got.Status != Converged || got.Epochs >= 2000 || got.Epochs < 10 || got.Config().Patience != 5 {
		t.Errorf("%v after %d epochs, patience %d", got.Status, got.Epochs, got.Config().Patience)
	}
	checkResult(t, views, got)
}

// exploding is a loss of −1e6·Σθ² that grows with the steps.
func exploding(net Network) (*Node, error) {
	theta := net.Learnables()[0]
	return gorgonia.Mul(constantOf(net, -1e9), must(gorgonia.Square(theta)))
}

func TestFitDiverges(t *testing.T) { withAndWithout(t, testFitDiverges) }

func testFitDiverges(t *testing.T, neighbors int) {
	views, _ := blobViews(100, 3, 0.5, 7, 12, 8)
	for name, c := range map[string]Config{
		"rate": {
			Optimizer: optim.Options{LearningRate: 1e30}, Represent: &SoftThreshold{Unconstrained: true},
			Noise: &RowShrink{Unconstrained: true},
		},
		"largest rate": {Optimizer: optim.Options{LearningRate: 1e308}, Float64: true},
		"rate, RMvC":   {Optimizer: optim.Options{LearningRate: 1e25}, Noise: &NoNoise{}, Anchor: &FixedAnchors{}},
		"rate, SELU": {
			Optimizer: optim.Options{LearningRate: 1e30}, Represent: &SoftThreshold{Activation: SELU},
			Noise: &RowShrink{Activation: SELU}, Float64: true,
		},
		"extra loss":     {ExtraLoss: exploding, Optimizer: optim.Options{LearningRate: 1}},
		"several starts": {Optimizer: optim.Options{LearningRate: 1e30}, Restarts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c.Clusters, c.Epochs, c.Neighborhood.Neighbors = 3, 50, neighbors
			got, err := fitAlone(context.Background(), views, c)
			var diverged *DivergedError
			if !errors.As(err, &diverged) || got == nil {
				t.Fatalf("%v, %v", got, err)
			}
			if got.Status != Diverged || diverged.Epoch <= got.Epochs ||
				!strings.Contains(err.Error(), fmt.Sprintf("epoch %d", diverged.Epoch)) {
				t.Errorf("%v after %d epochs: %v", got.Status, got.Epochs, err)
			}
			for _, l := range got.Loss {
				if math.IsNaN(l) || math.IsInf(l, 0) {
					t.Errorf("losses %v", got.Loss)
				}
			}
			checkResult(t, views, got)
			// The state is that of a training which ended before the step that failed.
			if c.Epochs = got.Epochs; c.Epochs == 0 {
				c.Epochs = None
			}
			before, err := fitAlone(context.Background(), views, c)
			if err != nil {
				t.Fatal(err)
			}
			before.Status = Diverged
			if c.ExtraLoss != nil { // its gradient enters the last loss of one run and not of the other
				before.Loss = got.Loss
			}
			sameResult(t, before, got)
		})
	}
	t.Run("first epoch", func(t *testing.T) {
		c := Config{
			Clusters: 3, Neighborhood: Neighborhood{Neighbors: neighbors},
			ExtraLoss: func(net Network) (*Node, error) {
				return gorgonia.Log(must(gorgonia.Neg(must(gorgonia.Square(net.Learnables()[0])))))
			},
		}
		got, err := fitAlone(context.Background(), views, c)
		var diverged *DivergedError
		if got != nil || !errors.As(err, &diverged) || diverged.Epoch != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// A fit so good that its loss is rounding error does not count as diverged when that grows.
func TestFitPerfectIsNotDiverged(t *testing.T) {
	x := make([]float64, 20*3)
	for i := range 20 {
		x[i*3+i%2] = 1 + float64(i%2)
	}
	c := mustFit(
		t, []View{DenseView(20, 3, x)},
		Config{
			Clusters: 2, Preprocess: None, Represent: &SoftThreshold{Theta0: 1e-9}, Float64: true,
			Neighborhood: Neighborhood{Neighbors: None},
		},
	)
	if c.Status != EpochLimit || c.Loss[0] > 1e-15 {
		t.Errorf("%v, losses from %v", c.Status, c.Loss[0])
	}
}

// A slope that is not finite is found after the step that takes it, though the loss was finite, and the step is undone.
func TestFitParameterIsNotFinite(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	c := paper(Config{Clusters: 3, Epochs: 5, ExtraLoss: func(net Network) (*Node, error) {
		none, err := gorgonia.Mul(constantOf(net, 0), net.Learnables()[0])
		if err != nil {
			return nil, err
		}
		return gorgonia.Sqrt(none) // 0, with the derivative 1/0·0
	}})
	got, err := fitAlone(context.Background(), views, c)
	var diverged *DivergedError
	if !errors.As(err, &diverged) || got == nil {
		t.Fatalf("%v, result %v", err, got != nil)
	}
	if diverged.Epoch != 1 || !strings.Contains(err.Error(), "theta_1 is not finite after the step") {
		t.Errorf("%v in epoch %d", err, diverged.Epoch)
	}
	if got.Status != Diverged || got.Epochs != 0 {
		t.Errorf("%v after %d epochs", got.Status, got.Epochs)
	}
	c.ExtraLoss, c.Epochs = nil, None
	sameMatrix(t, "H", got.H, mustFit(t, views, c).H)
}

// phasesOf are the phases that a fit with the configuration says it goes through, each once for each time that it begins.
func phasesOf(t *testing.T, views []View, c Config) []string {
	t.Helper()
	var seen []string
	done, last := 0, ""
	c.Progress = func(e Progress) error {
		if e.Phase != last || e.Training() && e.Epoch == 1 {
			seen, done, last = append(seen, e.Phase), 0, e.Phase
		}
		if e.Done < done || e.Done > e.Total || e.Total < 1 || e.Left < 0 || e.Elapsed < 0 {
			t.Errorf("%v: %d of %d after %d, %v left after %v", e.Phase, e.Done, e.Total, done, e.Left, e.Elapsed)
		}
		if done = e.Done; !e.Training() && (e.Epoch != 0 || e.ViewLoss != nil) {
			t.Errorf("%v: epoch %d", e.Phase, e.Epoch)
		}
		return nil
	}
	mustFit(t, views, c)
	return seen
}

func TestProgressOfPhases(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	for _, test := range []struct {
		config Config
		want   []meter.Phase
	}{
		{Config{Restarts: 2}, []meter.Phase{meter.Checks, meter.Preparation, meter.Regression, meter.Neighbors,
			meter.Smoothing, meter.Anchors,
			meter.Training, meter.Anchors, meter.Training, meter.Clusters}},
		{paper(Config{}), []meter.Phase{meter.Checks, meter.Preparation, meter.Anchors, meter.Training,
			meter.Clusters}},
		{Config{Neighborhood: Neighborhood{Exact: None, HeldOutWeight: None}, Epochs: None}, []meter.Phase{meter.Checks,
			meter.Preparation,
			meter.Neighbors, meter.Smoothing, meter.Anchors, meter.Clusters}},
		{Config{FitSamples: 40}, []meter.Phase{meter.Checks, meter.Draws, meter.Preparation, meter.Regression, meter.Neighbors,
			meter.Smoothing, meter.Anchors, meter.Training, meter.Clusters}},
		{paper(Config{FitSamples: 40, StartLabels: make([]int, 60)}), []meter.Phase{meter.Checks,
			meter.Preparation, meter.Anchors, meter.Training, meter.Clusters}},
	} {
		test.config.Clusters = 3
		if test.config.Epochs == 0 {
			test.config.Epochs = 3
		}
		want := make([]string, len(test.want))
		for i, p := range test.want {
			want[i] = p.String()
		}
		if got := phasesOf(t, views, test.config); !slices.Equal(got, want) {
			t.Errorf("the phases are %v, want %v", got, test.want)
		}
	}
}

// TestProgressChangesNothing wants the same bits with a callback and without.
func TestProgressChangesNothing(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	c := Config{Clusters: 3, Epochs: 3}
	plain := mustFit(t, views, c)
	c.Progress = func(Progress) error { return nil }
	watched := mustFit(t, views, c)
	sameMatrix(t, "H", watched.H, plain.H)
}

// TestProgressStopsBeforeTraining wants an error of the callback to end every phase before the training, without a result; in
// the last phase the result is kept.
func TestProgressStopsBeforeTraining(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	enough := fmt.Errorf("%w: %w", errors.New("enough"), io.ErrShortWrite) // as it is, though it has two errors inside
	for p := meter.Checks; p <= meter.Clusters; p++ {
		for _, end := range []error{enough, ErrStop} {
			c := Config{Clusters: 3, Epochs: 3}
			if p == meter.Draws {
				c.FitSamples = 40
			}
			calls := 0
			c.Progress = func(e Progress) error {
				if e.Phase != p.String() {
					return nil
				}
				calls++
				return end
			}
			got, err := fitAlone(context.Background(), views, c)
			switch {
			case calls != 1:
				t.Errorf("%v: %d calls", p, calls)
			case p < meter.Training && (got != nil || err != end):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p >= meter.Training && (got == nil || end == enough && err != end || end == ErrStop && err != nil):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p == meter.Clusters && got.Status != EpochLimit:
				t.Errorf("the status is %v", got.Status)
			}
		}
	}
}

// TestProgressStopsWithinAPhase wants the callback's own error, in its own words, from every phase too in the midst of which it
// comes, and not that of the context that ends there.
func TestProgressStopsWithinAPhase(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(120, 3, 1, 20, 9)
	enough := errors.New("enough")
	for _, drawn := range []int{0, 90} {
		for p := meter.Checks; p <= meter.Clusters; p++ {
			c := Config{Clusters: 3, Epochs: 3, FitSamples: drawn, Checkpoint: Checkpoint{Path: t.TempDir() + "/state"}}
			calls := 0
			c.Progress = func(e Progress) error {
				if e.Phase != p.String() {
					return nil
				}
				if calls++; calls > 1 {
					return enough
				}
				time.Sleep(meter.Interval) // so that it is called at the next step within the phase
				return nil
			}
			got, err := fitAlone(t.Context(), views, c)
			if calls > 1 && (err != enough || (got != nil) != (p >= meter.Training)) {
				t.Errorf("%v, %d drawn: %v, result %v", p, drawn, err, got != nil)
			} else if calls < 2 && (p != meter.Draws || drawn > 0) {
				t.Errorf("%v, %d drawn: %d calls", p, drawn, calls)
			}
		}
	}
}

func TestFitLossFalls(t *testing.T) {
	views, _ := blobViews(120, 4, 0.5, 2, 15, 9)
	withAndWithout(t, func(t *testing.T, neighbors int) {
		c := mustFit(t, views, Config{Clusters: 4, Float64: true, Neighborhood: Neighborhood{Neighbors: neighbors}})
		if first, last := c.Loss[0], c.Loss[len(c.Loss)-1]; !(last < first) || c.Status != EpochLimit || c.Status.Early() {
			t.Errorf("loss from %v to %v, %v", first, last, c.Status)
		}
		for e, parts := range c.ViewLoss {
			sum := 0.0
			for _, part := range parts {
				sum += part
			}
			if neighbors == None && math.Abs(sum-c.Loss[e]) > 1e-12*sum {
				t.Errorf("epoch %d: loss %v, by view %v", e, c.Loss[e], parts)
			}
			if neighbors != None && !(sum > 0 && sum < 1 && c.Loss[e] < sum && c.Loss[e] > sum-6) {
				t.Errorf("epoch %d: loss %v, by input %v", e, c.Loss[e], parts)
			}
		}
		if c.Timings.Total <= 0 || c.Timings.Train <= 0 || c.Timings.Epoch <= 0 || c.Timings.Train > c.Timings.Total {
			t.Errorf("timings %+v", c.Timings)
		}
	})
}

// graphOf is the neighbour graph of a fit's samples as a full matrix, from the smoothing that a Fit with the same
// configuration makes.
func graphOf(t testing.TB, views []View, c Config) *mat.Dense {
	t.Helper()
	s, err := prepareInputs[float64](context.Background(), &run{config: completed(c, views[0].in.Rows), views: inner(views)})
	if err != nil {
		t.Fatal(err)
	}
	return testutil.FullGraph(t, s.Graph, neighbor.Stride)
}

// The loss on record is the reconstruction, less the weight times the information, plus the extra loss.
func TestFitExtraLoss(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 10, 8, 5)
	withAndWithout(t, func(t *testing.T, neighbors int) {
		for _, config := range []Config{{}, {Float64: true}, {
			Float64:      true,
			Neighborhood: Neighborhood{Exact: None, Weight: 0.7, HeldOutWeight: None},
			Anchors:      5,
		}} {
			config.Clusters, config.Epochs, config.Neighborhood.Neighbors = 3, 30, neighbors
			if neighbors == None {
				config.Neighborhood = Neighborhood{Neighbors: None}
			}
			plain := mustFit(t, views, config)
			config.ExtraLoss = func(net Network) (*Node, error) { // pulls H to zero
				h, err := net.H(2)
				if err != nil {
					return nil, err
				}
				return gorgonia.Mul(constantOf(net, 0.05), must(gorgonia.Mean(must(gorgonia.Square(h)))))
			}
			pulled := mustFit(t, views, config)
			checkResult(t, views, pulled)
			a, b := mat.Norm(plain.H, 2), mat.Norm(pulled.H, 2)
			if !(b < a) {
				t.Errorf("norm of H %v with the pull, %v without", b, a)
			}
			n, m := pulled.H.Dims()
			want, got := 0.05*b*b/float64(n*m), last(pulled.Loss)
			for _, part := range pulled.ViewLoss[pulled.Epochs] {
				want += part
			}
			if neighbors != None {
				c := pulled.Config()
				want -= c.Neighborhood.Weight * testutil.NeighborInformation(
					pulled.H, graphOf(t, views, config), information.DefaultTemperature,
				)
				if c.Neighborhood.HeldOutWeight > 0 {
					want -= c.Neighborhood.HeldOutWeight * testutil.HeldOutInformation(
						pulled.H, unitFeatures(t, views, pulled.Inputs()), information.DefaultPenalty,
						information.DefaultTemperature,
					)
				}
			}
			tol := 1e-5
			if config.Float64 {
				tol = 1e-12
			}
			if math.Abs(got-want) > tol*math.Abs(want) {
				t.Errorf("loss %v, want %v", got, want)
			}
		}
	})
}

// Nothing of the size of X lives on through the result. A predictor keeps nothing that grows with n, but for the stored
// samples, their neighbours and what the filter needs of them where neighbours are searched.
func TestFitReleasesData(t *testing.T) {
	const d = 300
	for name, test := range map[string]struct {
		n         int
		config    Config
		perSample int64 // bytes that a predictor may keep
	}{
		"no neighbours": {4000, Config{Neighborhood: Neighborhood{Neighbors: None}}, 0},
		"neighbours":    {3000, Config{Neighborhood: Neighborhood{Directions: 10, Steps: 2}}, 2600},
		"landmarks":     {12000, Config{Neighborhood: Neighborhood{Directions: 10, Steps: 2, Exact: None, Landmarks: 40}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := test.n
			x := make([]float32, n*d)
			views, _ := blobViews(n, 4, 1, 11, d)
			for i := range x {
				x[i] = float32(views[0].in.F64[i])
			}
			views = nil
			before := liveBytes()
			var progress [1 << 20]byte
			config := test.config
			config.Clusters, config.Epochs, config.Restarts = 4, 2, 2
			config.Progress = func(Progress) error { progress[0]++; return nil }
			c := mustFit(t, []View{DenseView(n, d, x)}, config)
			config.Progress = nil
			after := liveBytes()
			most := int64(n)*test.perSample + 1<<20
			if kept, most := after-before, most+int64(n*(16*4+2*8+8+8+8)); kept > most {
				t.Errorf("the clustering keeps %d bytes, want at most %d; X has %d", kept, most, 4*len(x))
			}
			p := c.Predictor
			runtime.KeepAlive(c)
			c = nil
			if kept := liveBytes() - before; kept > most {
				t.Errorf("the predictor keeps %d bytes, want at most %d", kept, most)
			}
			runtime.KeepAlive(p)
			runtime.KeepAlive(x)
		})
	}
}

// stoppedIn fits until a phase before the training, and returns the checkpoint.
func stoppedIn(t testing.TB, views []View, c Config, phase meter.Phase) (path string) {
	t.Helper()
	c.Checkpoint.Path = filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.Progress = func(p Progress) error {
		if p.Phase == phase.String() {
			cancel()
		}
		return nil
	}
	if _, err := fitAlone(ctx, views, c); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v: %v", phase, err)
	}
	return c.Checkpoint.Path
}

// A fit that is stopped before its first epoch goes on with the draw and the neighbours that it had found.
func TestResumePreparation(t *testing.T) {
	views, _ := blobViews(120, 3, 0.8, 30, 9, 5)
	masked, err := testutil.Masked(views, absent(120, 2, 0.3, 30))
	if err != nil {
		t.Fatal(err)
	}
	marks := Neighborhood{Exact: None, Directions: 4, Landmarks: 20}
	for name, x := range map[string]struct {
		views []View
		c     Config
	}{
		"exact":                {views, Config{}},
		"exact, masked":        {masked, Config{}},
		"landmarks":            {views, Config{Neighborhood: marks}},
		"landmarks, masked":    {masked, Config{Neighborhood: marks}},
		"landmarks in float64": {views, Config{Neighborhood: marks, Float64: true}},
		"draws":                {views, Config{FitSamples: 60, Neighborhood: marks}},
		"draws alone":          {views, paper(Config{FitSamples: 60})},
		"rotated":              {lowRankViews(90), Config{FitSamples: 80, Neighborhood: Neighborhood{Neighbors: None}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := x.c
			c.Clusters, c.Epochs, c.Restarts = 3, 4, 2
			want := mustFit(t, x.views, c)
			for _, phase := range []meter.Phase{meter.Preparation, meter.Smoothing, meter.Anchors} {
				smoothed := c.Neighborhood.Neighbors != None
				if phase == meter.Smoothing && !smoothed || phase == meter.Preparation && c.FitSamples == 0 {
					continue
				}
				path := stoppedIn(t, x.views, c, phase)
				var phases []string
				for _, again := range []bool{false, true} { // stopped again where it was stopped, it goes on all the same
					ctx, cancel := context.WithCancel(context.Background())
					got, err := Resume(ctx, x.views, path, func(c *Config) {
						c.Machine.Workers = 1
						c.Progress = func(p Progress) error {
							if phases = append(phases, p.Phase); p.Phase == phase.String() && !again {
								cancel()
							}
							return nil
						}
					})
					if cancel(); again {
						if err != nil {
							t.Fatal(err)
						}
						sameResult(t, want, got)
					}
				}
				sought := slices.Contains(phases, meter.Neighbors.String())
				if slices.Contains(phases, meter.Draws.String()) || sought != (smoothed && phase == meter.Preparation) {
					t.Errorf("stopped in %v, the fit goes on through %q", phase, slices.Compact(phases))
				}
			}
		})
	}
}
