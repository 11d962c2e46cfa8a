package largemvc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// killed fits until an epoch of a run, as seen by the progress callback, and leaves the checkpoint that was on the disk
// then, as if the process had ended there.
func killed(t testing.TB, views []View, c Config, restart, epoch int) (path string) {
	t.Helper()
	folder := t.TempDir()
	c.Checkpoint.Path = filepath.Join(folder, "live")
	path = filepath.Join(folder, "kept")
	done := errors.New("far enough")
	c.Progress = func(e Progress) error {
		if e.Restart < restart || e.Epoch < epoch {
			return nil
		}
		b, err := os.ReadFile(c.Checkpoint.Path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(path, b, 0o644), done)
	}
	if _, err := fitAlone(context.Background(), views, c); !errors.Is(err, done) {
		t.Fatal(err)
	}
	return path
}

func mustResume(t testing.TB, views []View, path string, change func(*Config)) *Clustering {
	t.Helper()
	c, err := Resume(context.Background(), views, path, change)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResume(t *testing.T) { withAndWithout(t, testResume) }

func testResume(t *testing.T, neighbors int) {
	dims := []int{9, 5, 2}
	views, _ := blobViews(90, 3, 0.8, 30, dims...)
	masked, err := testutil.Masked(views, absent(90, 3, 0.3, 30))
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]int, 90)
	for i := range labels {
		labels[i] = i % 4
	}
	anchors := []mat.Matrix{mat.NewDense(2, 9, nil), mat.NewDense(2, 5, nil), mat.NewDense(2, 2, nil)}
	for v, d := range dims {
		for i := range 2 {
			anchors[v].(*mat.Dense).Set(i, (i+v)%d, 1)
		}
	}
	for name, x := range map[string]struct {
		views []View
		c     Config
	}{
		"default":   {views, Config{}},
		"landmarks": {masked, Config{Neighborhood: Neighborhood{Exact: None, Directions: 3}}},
		"float64": {
			views,
			Config{
				Float64: true, Represent: &SoftThreshold{Activation: SELU},
				Noise: &RowShrink{Activation: SELU}, Preprocess: PreprocessZScore,
			},
		},
		"rmvc, masked": {masked, paper(Config{Noise: &NoNoise{}, Anchor: &FixedAnchors{}})},
		"start labels": {masked, Config{Anchors: 4, StartLabels: labels}},
		"start anchors": {
			views, Config{Anchors: 2, Start: StartPoint{Anchors: anchors}, Neighborhood: Neighborhood{Neighbors: None}},
		},
		"early stop":  {views, Config{Tolerance: 5e-3, Patience: 8, Epochs: 60}},
		"rotated":     {lowRankViews(90), Config{Neighborhood: Neighborhood{Neighbors: None}}},
		"few columns": {spreadViews(90), Config{Neighborhood: Neighborhood{Neighbors: None}}},
		"restarts":    {views, Config{Restarts: 3, KMeansStarts: 1}},
		"schedule": {views, Config{Optimizer: optim.Options{
			LearningRate: 0.5, Beta2: 0.92, Epsilon: 0.01, WeightDecay: 0.15, Plateau: 1, Factor: 0.3,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := x.c
			if neighbors == None && (c.Neighborhood.Exact != 0 || c.Neighborhood.Neighbors == None) {
				return // as with neighbours
			}
			c.Clusters, c.Checkpoint.Every = 3, 4
			if c.Neighborhood.Neighbors == 0 {
				c.Neighborhood.Neighbors = neighbors
			}
			if c.Epochs == 0 {
				c.Epochs = 14
			}
			want := mustFit(t, x.views, c)
			if name == "early stop" && want.Status != Converged {
				t.Fatalf("%v after %d epochs", want.Status, want.Epochs)
			}
			at := 11
			if name == "early stop" && neighbors == None {
				at = want.Epochs - 2 // of the eight epochs without progress, some are before and some after
			}
			for restart := range max(1, c.Restarts) {
				path := killed(t, x.views, c, restart, at)
				for _, workers := range []int{1, 3} {
					got := mustResume(t, x.views, path, func(c *Config) { c.Machine.Workers, c.Checkpoint.Path = workers, "" })
					sameResult(t, want, got)
				}
			}
		})
	}
}

// What was found in the preparation belongs to its data and settings.
func TestResumePreparationRefuses(t *testing.T) {
	views, _ := blobViews(120, 3, 0.8, 30, 9, 5)
	others, _ := blobViews(120, 3, 0.8, 31, 9, 5)
	path := stoppedIn(t, views, Config{Clusters: 3}, meter.Smoothing)
	for want, x := range map[string]struct {
		views  []View
		change func(*Config)
	}{
		"differ from those of the training": {others, nil},
		"Seed was 0 and is 1 now":           {views, func(c *Config) { c.Seed = 1 }},
	} {
		if _, err := Resume(context.Background(), x.views, path, x.change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An early stop that is given to a training that goes on counts the epochs before.
func TestResumeWithAnotherEarlyStop(t *testing.T) {
	views, _ := blobViews(90, 3, 0.8, 30, 9, 5)
	c := paper(Config{Clusters: 3, Epochs: 20, Checkpoint: Checkpoint{Every: 4}})
	path := killed(t, views, c, 0, 11)
	got := mustResume(t, views, path, func(c *Config) {
		c.Tolerance, c.Patience, c.Checkpoint.Path = 0.99, 3, ""
	})
	if got.Status != Converged || got.Epochs != 8 {
		t.Errorf("%v after %d epochs, want %v after 8", got.Status, got.Epochs, Converged)
	}
}

// Whatever interrupts a training, the checkpoint goes on from there; what is over gives its result again, and trains on
// where more epochs are asked for.
func TestResumeAfterInterruption(t *testing.T) { withAndWithout(t, testResumeAfterInterruption) }

func testResumeAfterInterruption(t *testing.T, neighbors int) {
	views, _ := blobViews(80, 3, 0.8, 31, 8, 5)
	config := Config{Clusters: 3, Epochs: 20, Checkpoint: Checkpoint{Every: 7}, Neighborhood: Neighborhood{Neighbors: neighbors}}
	want := mustFit(t, views, config)
	path := filepath.Join(t.TempDir(), "checkpoint")
	config.Checkpoint.Path = path
	for _, stop := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.Background())
		interrupt := func(at int) func(*Config) {
			return func(c *Config) {
				c.Progress = func(e Progress) error {
					if e.Epoch != at {
						return nil
					}
					if stop {
						return ErrStop
					}
					cancel()
					return nil
				}
			}
		}
		c := config
		interrupt(5)(&c)
		first, err := fitAlone(ctx, views, c)
		if stop != (err == nil) || first.Epochs != 5 || !first.Status.Early() {
			t.Fatalf("%v after %d epochs: %v", first.Status, first.Epochs, err)
		}
		ctx, cancel = context.WithCancel(context.Background())
		second, err := Resume(ctx, views, path, interrupt(17))
		if stop != (err == nil) || second.Epochs != 17 || !slices.Equal(second.Loss[:17], want.Loss[:17]) {
			t.Fatalf("%v after %d epochs: %v", second.Status, second.Epochs, err)
		}
		cancel()
		if third, err := Resume(ctx, views, path, nil); third != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("resumed with a cancelled context: %v, %v", third, err)
		}
		sameResult(t, want, mustResume(t, views, path, nil))
		sameResult(t, want, mustResume(t, views, path, nil)) // it is over
	}
	config.Checkpoint.Path, config.Epochs = "", 33
	longer := mustFit(t, views, config)
	sameResult(t, longer, mustResume(t, views, path, func(c *Config) { c.Epochs = 33 }))
	sameResult(t, longer, mustResume(t, views, path, nil))
}

// A training that is asked to end writes the state after its last epoch at once, while the epoch that runs goes on, however long
// that takes; one that is asked to end in its first epoch writes its start, which is not searched again.
func TestCheckpointAtOnce(t *testing.T) { withAndWithout(t, testCheckpointAtOnce) }

func testCheckpointAtOnce(t *testing.T, neighbors int) {
	views, _ := blobViews(80, 3, 0.8, 31, 8, 5)
	config := Config{Clusters: 3, Epochs: 9, Restarts: 2, Neighborhood: Neighborhood{Neighbors: neighbors}}
	want := mustFit(t, views, config)
	for _, at := range [][2]int{{0, 1}, {0, 6}, {1, 1}, {1, 9}} {
		ctx, cancel := context.WithCancel(context.Background())
		path := filepath.Join(t.TempDir(), "state")
		killed := path + " when it was killed"
		c := config
		c.Checkpoint = Checkpoint{Path: path, Every: 1000}
		c.Progress = func(e Progress) error { // in which the epoch has not ended yet
			if [2]int{e.Restart, e.Epoch} != at || !e.Training() {
				return nil
			}
			began := readCheckpoint(t, path)
			if s := began.state; s.Current == nil || s.Next != at[0] || s.Current.Epochs > 0 {
				t.Errorf("%v: the start of the run is not on the disk: %+v", at, s)
			}
			cancel()
			for wait := 0; wait < 1000 && at[1] > 1 && readCheckpoint(t, path).state.Current.Epochs != at[1]-1; wait++ {
				time.Sleep(10 * time.Millisecond)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(killed, b, 0o600)
		}
		if _, err := fitAlone(ctx, views, c); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if s := readCheckpoint(t, killed).state; s.Next != at[0] || s.Current.Epochs != at[1]-1 {
			t.Errorf("%v: the state is of run %d after %d epochs", at, s.Next, s.Current.Epochs)
		}
		for _, from := range []string{killed, path} {
			searched := -1
			sameResult(t, want, mustResume(t, views, from, func(c *Config) {
				c.Progress = func(e Progress) error {
					if e.Phase == meter.Anchors.String() {
						searched = max(searched, e.Restart)
					}
					return nil
				}
			}))
			if at[0] == 1 && searched >= 0 || searched == 0 {
				t.Errorf("%v: the start of run %d is searched again", at, searched)
			}
		}
	}
}

// Rank 0 of several writes the state at once too, though another rank is in the midst of its epoch and hears nothing.
func TestCheckpointAtOnceOnRanks(t *testing.T) {
	const n, half, at = 2048, 1024, 4
	views, _ := blobViews(n, 3, 0.8, 31, 8, 5)
	config := paper(Config{Clusters: 3, Epochs: 7})
	want := mustFit(t, views, config)
	path, killed := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "killed")
	var ranks sync.WaitGroup
	for rank, world := range comm.Local(2) {
		ctx, cancel := context.WithCancel(context.Background())
		c := config
		c.Checkpoint, c.Machine.Comm = Checkpoint{Path: path, Every: 1000}, world
		c.Progress = func(e Progress) error {
			if rank == 0 && e.Epoch == at-1 {
				time.AfterFunc(100*time.Millisecond, cancel) // while it waits for rank 1
			}
			for wait := 0; rank == 1 && e.Epoch == at && wait < 1000; wait++ {
				if s := readCheckpoint(t, path).state.Current; s.Epochs > 0 {
					b, err := os.ReadFile(path)
					return errors.Join(err, os.WriteFile(killed, b, 0o600))
				}
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
		ranks.Go(func() {
			samples, own := make([]int, half), make([]View, len(views))
			for i := range samples {
				samples[i] = rank*half + i
			}
			for v := range own {
				own[v] = views[v].Take(samples)
			}
			if _, err := fitAlone(ctx, own, c); err == nil {
				t.Error("no error")
			}
		})
	}
	ranks.Wait()
	if s := readCheckpoint(t, killed).state.Current; s.Epochs < at-2 || s.Epochs >= at {
		t.Errorf("the state is after %d epochs", s.Epochs)
	}
	for _, from := range []string{killed, path} {
		got := mustResume(t, views, from, nil)
		samePredictor(t, want.Predictor, got.Predictor)
		if !slices.Equal(got.Labels, want.Labels) {
			t.Error("labels differ")
		}
	}
}

// Ranks that search neighbours among all samples keep the graph.
func TestResumePreparationOnRanks(t *testing.T) {
	const n, half = 1100, 1024
	views, _ := blobViews(n, 3, 0.8, 31, 8, 5)
	want := mustFit(t, views, Config{Clusters: 3, Epochs: 3})
	path, folder := filepath.Join(t.TempDir(), "state"), t.TempDir()
	killed := [2]string{filepath.Join(folder, "0"), filepath.Join(folder, "1")}
	var ranks sync.WaitGroup
	for rank, world := range comm.Local(2) {
		ctx, cancel := context.WithCancel(context.Background())
		c := Config{Clusters: 3, Epochs: 3, Checkpoint: Checkpoint{Path: path}, Machine: machine.Options{Comm: world}}
		c.Progress = func(e Progress) error {
			if e.Phase != meter.Smoothing.String() {
				return nil
			}
			cancel()
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(killed[rank], b, 0o600))
		}
		samples := [][]int{upTo(n)[:half], upTo(n)[half:]}[rank]
		own := []View{views[0].Take(samples), views[1].Take(samples)}
		ranks.Go(func() {
			if _, err := fitAlone(ctx, own, c); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	ranks.Wait()
	sameResult(t, want, mustResume(t, views, killed[0], func(c *Config) {
		c.Progress = func(e Progress) error {
			if e.Phase == meter.Neighbors.String() {
				t.Error("the neighbours are sought again")
			}
			return nil
		}
	}))
}

// readCheckpoint returns what the file at path holds.
func readCheckpoint(t *testing.T, path string) *resumed {
	t.Helper()
	saved, err := readResumed(path)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func TestResumeDiverged(t *testing.T) { withAndWithout(t, testResumeDiverged) }

func testResumeDiverged(t *testing.T, neighbors int) {
	views, _ := blobViews(60, 3, 0.8, 32, 6, 4)
	path := filepath.Join(t.TempDir(), "checkpoint")
	config := Config{
		Clusters: 3, Epochs: 30, Optimizer: optim.Options{LearningRate: 1}, Neighborhood: Neighborhood{Neighbors: neighbors},
		ExtraLoss: exploding, Checkpoint: Checkpoint{Path: path, Every: 1},
	}
	want, err := fitAlone(context.Background(), views, config)
	var diverged, again *DivergedError
	if !errors.As(err, &diverged) {
		t.Fatal(err)
	}
	got, err := Resume(context.Background(), views, path, func(c *Config) { c.ExtraLoss = exploding })
	if !errors.As(err, &again) || again.Epoch != diverged.Epoch || again.Error() != diverged.Error() {
		t.Fatalf("%v, want %v", err, diverged)
	}
	sameResult(t, want, got)
	// One that is stopped at the step that diverges says so, and is over.
	bad := want.Epochs + 1
	config.Progress = func(e Progress) error {
		if e.Epoch == bad {
			return ErrStop
		}
		return nil
	}
	got, err = fitAlone(context.Background(), views, config)
	if !errors.As(err, &again) || again.Epoch != bad || again.Loss != diverged.Loss {
		t.Fatalf("%v, want that of %v", err, diverged)
	}
	sameResult(t, want, got)
	got, err = Resume(context.Background(), views, path, func(c *Config) { c.ExtraLoss = exploding })
	if !errors.As(err, &again) || again.Epoch != bad {
		t.Fatal(err)
	}
	sameResult(t, want, got)
	// One that had not been seen to diverge goes back to the same state.
	var (
		mu    sync.Mutex // goroutines of the fit look, more than one at a time
		state []byte
		seen  = filepath.Join(t.TempDir(), "seen")
	)
	config.Progress = nil
	ctx := &watchedContext{context.Background(), func() {
		mu.Lock()
		defer mu.Unlock()
		if state != nil {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil || os.WriteFile(seen, b, 0o600) != nil {
			return
		}
		if saved, err := readResumed(seen); err == nil && saved.state.Current != nil && saved.state.Current.Epochs == bad {
			state = b
		}
	}}
	if _, err := fitAlone(ctx, views, config); !errors.As(err, &again) || state == nil {
		t.Fatalf("%v, a state of %d bytes", err, len(state))
	}
	if err := os.WriteFile(path, state, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err = Resume(context.Background(), views, path, func(c *Config) { c.ExtraLoss = exploding })
	if !errors.As(err, &again) || again.Error() != diverged.Error() {
		t.Fatal(err)
	}
	sameResult(t, want, got)
}

// watchedContext calls see whenever a fit without progress asks whether it is done, from any of its goroutines.
type watchedContext struct {
	context.Context
	see func()
}

func (c *watchedContext) Err() error {
	c.see()
	return c.Context.Err()
}

func TestResumeExtraLoss(t *testing.T) { withAndWithout(t, testResumeExtraLoss) }

func testResumeExtraLoss(t *testing.T, neighbors int) {
	views, _ := blobViews(60, 3, 0.8, 33, 6, 4)
	extra := func(net Network) (*Node, error) {
		h, err := net.H(1)
		if err != nil {
			return nil, err
		}
		return gorgonia.Mul(constantOf(net, 0.1), must(gorgonia.Mean(must(gorgonia.Square(h)))))
	}
	config := Config{
		Clusters: 3, Epochs: 12, ExtraLoss: extra, Checkpoint: Checkpoint{Every: 5},
		Neighborhood: Neighborhood{Neighbors: neighbors},
	}
	want := mustFit(t, views, config)
	path := killed(t, views, config, 0, 8)
	if _, err := Resume(context.Background(), views, path, nil); err == nil || !strings.Contains(err.Error(), "ExtraLoss") {
		t.Errorf("without the extra loss: %v", err)
	}
	sameResult(t, want, mustResume(t, views, path, func(c *Config) { c.ExtraLoss = extra }))
}

func TestResumeRefuses(t *testing.T) {
	x, _ := blobs(50, 3, 0.8, 34, 6, 4)
	views := float64Views(x, 6, 4)
	config := Config{Clusters: 3, Epochs: 10, Checkpoint: Checkpoint{Every: 2}}
	path := killed(t, views, config, 0, 5)
	changed := slices.Clone(x[1])
	changed[77]++
	mask := slices.Repeat([]bool{true}, 50)
	mask[3] = false
	sparse := SparseView(50, 4, make([]int, 51), nil, []float64{})
	for name, v := range map[string][]View{
		"fewer views":   views[:1],
		"fewer samples": float64Views([][]float64{x[0][:49*6], x[1][:49*4]}, 6, 4),
		"other columns": {DenseView(100, 3, x[0])},
		"exchanged":     {views[1], views[0]},
		"a value":       {views[0], DenseView(50, 4, changed)},
		"a mask":        {views[0], views[1].WithPresent(mask)},
		"sparse":        {views[0], sparse},
	} {
		if c, err := Resume(context.Background(), v, path, nil); c != nil || err == nil ||
			!strings.HasPrefix(err.Error(), "largemvc: ") {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	for name, change := range map[string]func(*Config){
		"Clusters":           func(c *Config) { c.Clusters = 2 },
		"LearningRate":       func(c *Config) { c.Optimizer.LearningRate = 0.5 },
		"Seed":               func(c *Config) { c.Seed++ },
		"Float64":            func(c *Config) { c.Float64 = true },
		"Noise":              func(c *Config) { c.Noise = &NoNoise{} },
		"Neighbors":          func(c *Config) { c.Neighborhood.Neighbors = 7 },
		"Neighborhood.Steps": func(c *Config) { c.Neighborhood.Steps = None },
		"Restarts":           func(c *Config) { c.Restarts = 2 },
		"StartLabels":        func(c *Config) { c.StartLabels = make([]int, 50) },
		"ExtraLoss":          func(c *Config) { c.ExtraLoss = exploding },
		"Workers":            func(c *Config) { c.Machine.Workers = -1 },
		"Epochs":             func(c *Config) { c.Epochs = 9 },
	} {
		if c, err := Resume(context.Background(), views, path, change); c != nil || err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s changed: %v, %v", name, c, err)
		}
	}
	restarts := config
	restarts.Restarts = 2
	if _, err := Resume(
		context.Background(), views, killed(t, views, restarts, 1, 5), func(c *Config) { c.Epochs = 11 },
	); err == nil ||
		!strings.Contains(err.Error(), "Epochs") {
		t.Errorf("more epochs with restarts: %v", err)
	}
	if _, err := Resume(context.Background(), views, path+"x", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	model := filepath.Join(t.TempDir(), "model")
	if err := mustFit(t, views, config).Save(model); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(context.Background(), views, model, nil); err == nil ||
		!strings.Contains(err.Error(), "is a model of largemvc, not a checkpoint") {
		t.Errorf("from a model: %v", err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "is a checkpoint of a training of largemvc") {
		t.Errorf("a checkpoint as model: %v", err)
	}
	// It can still be used.
	sameResult(t, mustFit(t, views, config), mustResume(t, views, path, func(c *Config) { c.Checkpoint.Path = "" }))
}

func TestCheckpointCannotBeWritten(t *testing.T) {
	views, _ := blobViews(50, 3, 0.8, 35, 6, 4)
	folder := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	config := Config{
		Clusters: 3, Epochs: 10, Checkpoint: Checkpoint{Every: 4, Path: filepath.Join(folder, "x")},
		Progress: func(e Progress) error {
			if !e.Training() {
				return nil
			}
			return os.RemoveAll(folder)
		},
	}
	progress := config.Progress
	config.Progress = func(e Progress) error {
		if e.Phase != "checks" {
			t.Errorf("there was work: %v", e.Phase)
		}
		return nil
	}
	for name, path := range map[string]string{"is not a file": folder, "not a folder": filepath.Join(os.Args[0], "x")} {
		config.Checkpoint.Path = path
		if got, err := fitAlone(context.Background(), views, config); got != nil || err == nil ||
			!strings.HasPrefix(err.Error(), "largemvc: checkpoint: ") ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	config.Checkpoint.Path, config.Progress = filepath.Join(folder, "x"), progress
	got, err := fitAlone(context.Background(), views, config)
	if !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), "\n") > 0 || got == nil || got.Status != Stopped ||
		got.Epochs != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	checkResult(t, views, got)
}

// A training whose gradient is not finite leaves a checkpoint that can be read, though the moments of its step are not finite.
func TestResumeAfterGradientThatIsNotFinite(t *testing.T) {
	views, _ := blobViews(60, 3, 0.8, 32, 6, 4)
	path := filepath.Join(t.TempDir(), "checkpoint")
	steep := func(net Network) (*Node, error) { // a root at 0, whose slope is infinite
		return gorgonia.Sqrt(must(gorgonia.Sub(net.Learnables()[0], constantOf(net, 0.01))))
	}
	config := paper(Config{Clusters: 3, Epochs: 3, ExtraLoss: steep, Checkpoint: Checkpoint{Path: path}})
	want, err := fitAlone(context.Background(), views, config)
	var diverged, again *DivergedError
	if !errors.As(err, &diverged) || want == nil {
		t.Fatal(err)
	}
	got, err := Resume(context.Background(), views, path, func(c *Config) { c.ExtraLoss = steep })
	if !errors.As(err, &again) || again.Error() != diverged.Error() {
		t.Fatalf("%v, want %v", err, diverged)
	}
	sameResult(t, want, got)
}
