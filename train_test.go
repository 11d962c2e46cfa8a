package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestFitRealSets(t *testing.T) {
	for _, set := range []struct {
		name     string
		clusters int
		want     float64
	}{{"msrcv1", 7, 0.85}, {"ucidigit", 10, 0.88}} {
		views, classes := realSet(t, set.name)
		for _, preset := range []Preset{Default, Paper} {
			mean := 0.0
			for seed := range uint64(5) {
				c := mustFit(t, views, Config{Clusters: set.clusters, Preset: preset, Seed: seed})
				acc, err := Accuracy(classes, c.Labels)
				if err != nil {
					t.Fatal(err)
				}
				mean += acc / 5
				checkPredict(t, views, c)
			}
			t.Logf("%s, preset %v: ACC %.4f", set.name, preset, mean)
			if mean < set.want {
				t.Errorf("%s, preset %v: mean ACC %.4f, want at least %.2f", set.name, preset, mean, set.want)
			}
		}
	}
}

// checkPredict checks that Assign and Transform give the fit's labels and H to the bit, all samples at once and, for
// some, one by one.
func checkPredict(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	ctx := context.Background()
	a, err := c.Assign(ctx, views)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Labels, c.Labels) {
		t.Error("Assign on the training samples does not give their labels")
	}
	h, err := c.Transform(ctx, views)
	if err != nil {
		t.Fatal(err)
	}
	sameMatrix(t, "H", h, c.H)
	n := views[0].rows
	for i := 0; i < n; i += 1 + n/7 {
		one := sampleViews(views, i)
		b, err := c.Assign(ctx, one)
		if err != nil {
			t.Fatal(err)
		}
		if b.Labels[0] != a.Labels[i] || b.Near[0] != a.Near[i] || b.Next[0] != a.Next[i] {
			t.Errorf("sample %d alone has label %d at %v and %v, among all %d at %v and %v",
				i, b.Labels[0], b.Near[0], b.Next[0], a.Labels[i], a.Near[i], a.Next[i])
		}
	}
}

// sampleViews are the views of sample i alone.
func sampleViews(views []View, i int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		if s := x.sparse; s != nil {
			lo, hi := s.ptr[i], s.ptr[i+1]
			if s.f32 != nil {
				out[v] = SparseView(1, x.cols, []int{0, hi - lo}, s.cols[lo:hi], s.f32[lo:hi])
			} else {
				out[v] = SparseView(1, x.cols, []int{0, hi - lo}, s.cols[lo:hi], s.f64[lo:hi])
			}
			out[v] = out[v].WithPresent([]bool{x.Has(i)})
			continue
		}
		row := make([]float64, x.cols)
		if x.Has(i) {
			x.row(i, row)
		}
		out[v] = Float64View(1, x.cols, row).WithPresent([]bool{x.Has(i)})
	}
	return out
}

// checkResult checks what must hold of every clustering without an error.
func checkResult(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	n, config := views[0].rows, c.Config()
	sizes := make([]int, c.Clusters)
	first := make([]int, c.Clusters)
	for i := len(c.Labels) - 1; i >= 0; i-- {
		sizes[c.Labels[i]]++
		first[c.Labels[i]] = i
	}
	if len(c.Labels) != n || !slices.Equal(sizes, c.Sizes) {
		t.Errorf("%d labels with the sizes %v, Sizes %v", len(c.Labels), sizes, c.Sizes)
	}
	for k := 1; k < c.Clusters; k++ {
		if sizes[k] > sizes[k-1] || (sizes[k] == sizes[k-1] && first[k] < first[k-1]) {
			t.Errorf("cluster %d has %d samples from %d on, cluster %d has %d from %d on", k-1, sizes[k-1], first[k-1], k, sizes[k], first[k])
		}
	}
	if len(c.Loss) != c.Epochs+1 || len(c.ViewLoss) != len(c.Loss) {
		t.Errorf("%d and %d losses after %d epochs", len(c.Loss), len(c.ViewLoss), c.Epochs)
	}
	rows, m := c.H.Dims()
	if rows != n || m != config.Anchors {
		t.Errorf("H is %d×%d", rows, m)
	}
	for l := 0; l <= config.Layers; l++ {
		for v, d := range c.Dims() {
			p := c.Anchors(l, v)
			if a, b := p.Dims(); a != m || b != d {
				t.Errorf("P of layer %d, view %d is %d×%d", l, v, a, b)
			}
			if l > 0 && config.Variant != RMvC && (!orthonormal(c.anchors[l][v], 1e-9) || !orthonormal(p, 1e-5)) {
				t.Errorf("P of layer %d, view %d is not orthonormal", l, v)
			}
		}
	}
	if (c.Trust != nil) != (config.Variant == Large) || (c.Rho != nil) != (config.Variant == Large) {
		t.Error("trust or ρ without noise module, or none with it")
	}
	checkPredict(t, views, c)
}

// orthonormal says whether the rows of p, or its columns if those are fewer, are orthonormal.
func orthonormal(p *mat.Dense, tolerance float64) bool {
	var k mat.Dense
	if m, d := p.Dims(); m <= d {
		k.Mul(p, p.T())
	} else {
		k.Mul(p.T(), p)
	}
	n, _ := k.Dims()
	for i := range n {
		for j := range n {
			want := 0.0
			if i == j {
				want = 1
			}
			if math.Abs(k.At(i, j)-want) > tolerance {
				return false
			}
		}
	}
	return true
}

func TestFitOptions(t *testing.T) {
	dims := []int{12, 7, 2}
	views, classes := blobViews(150, 3, 0.2, 1, dims...)
	masked, err := Mask(views, absent(150, 3, 0.3, 1))
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]int, 150)
	for i := range labels {
		labels[i] = (i / 2) % 4
	}
	anchors := make([]mat.Matrix, len(dims))
	for v, d := range dims {
		x := make([]float64, 4*d)
		for i := range x {
			x[i] = math.Sin(float64(i + v))
		}
		anchors[v] = mat.NewDense(4, d, x)
	}
	configs := map[string]Config{
		"layers": {Layers: 3, Anchors: 5}, "no training": {Epochs: NoTraining},
		"unconstrained": {Signs: Unconstrained}, "one-sided": {OneSided: true}, "Lipschitz": {Lipschitz: 2},
		"unit scale": {RhoScale: UnitScale}, "detached": {DetachAnchors: true}, "start labels": {Anchors: 4, StartLabels: labels},
		"start anchors": {Anchors: 4, StartAnchors: anchors}, "one k-means start": {KMeansStarts: 1}, "one cluster": {Clusters: 1},
		"one anchor": {Anchors: 1}, "more anchors than features": {Anchors: 20}, "restarts": {Restarts: 3},
	}
	for _, v := range []Variant{Large, AMvC, RMvC} {
		for _, a := range []Activation{ReLU, SELU} {
			for _, f := range []Float{Float32, Float64} {
				configs[fmt.Sprintf("%v, %v, float%v", v, a, f)] = Config{Variant: v, Activation: a, Float: f}
			}
			configs[fmt.Sprintf("paper, %v, %v", v, a)] = Config{Variant: v, Activation: a, Preset: Paper, Reduction: Sum}
		}
	}
	for _, p := range []Preprocess{PerSample, Balanced, ZScore, UnitNorm, Raw} {
		configs["preprocessing "+p.String()] = Config{Preprocess: p}
	}
	for _, s := range []StartMethod{JointKMeans, Spectral, PerView} {
		configs["start "+s.String()] = Config{Start: s}
	}
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			if c.Clusters == 0 {
				c.Clusters = 3
			}
			if c.Epochs == 0 {
				c.Epochs = 6
			}
			given := c
			full := mustFit(t, views, c)
			checkResult(t, views, full)
			if !reflect.DeepEqual(given, c) {
				t.Error("Fit changed the configuration")
			}
			if strings.HasPrefix(name, "preprocessing") || c.Start == Spectral {
				if ari, err := ARI(classes, full.Labels); err != nil || ari < 0.9 {
					t.Errorf("ARI %v, %v", ari, err)
				}
			}
			part := mustFit(t, masked, c)
			checkResult(t, masked, part)
			if c.Epochs == NoTraining && len(full.Loss) != 1 {
				t.Errorf("%d losses without training", len(full.Loss))
			}
		})
	}
}

func TestFitLossFalls(t *testing.T) {
	views, _ := blobViews(120, 4, 0.5, 2, 15, 9)
	c := mustFit(t, views, Config{Clusters: 4, Float: Float64})
	if first, last := c.Loss[0], c.Loss[len(c.Loss)-1]; !(last < first) || c.Status != EpochLimit || c.Status.Early() {
		t.Errorf("loss from %v to %v, %v", first, last, c.Status)
	}
	for e, parts := range c.ViewLoss {
		if sum := parts[0] + parts[1]; math.Abs(sum-c.Loss[e]) > 1e-12*sum {
			t.Errorf("epoch %d: loss %v, by view %v", e, c.Loss[e], parts)
		}
	}
	if c.Timings.Total <= 0 || c.Timings.Train <= 0 || c.Timings.Epoch <= 0 || c.Timings.Train > c.Timings.Total {
		t.Errorf("timings %+v", c.Timings)
	}
}

// A mask that leaves out nothing, and views in any holder, give the same bits.
func TestFitSameBits(t *testing.T) {
	dims := []int{10, 6}
	x, _ := blobs(90, 3, 0.4, 3, dims...)
	for v := range x {
		for i := range x[v] {
			x[v][i] = float64(float32(x[v][i])) // exact in both types
		}
	}
	views := float64Views(x, dims...)
	config := Config{Clusters: 3, Epochs: 8}
	want := mustFit(t, views, config)
	holders := map[string][]View{"a full mask": nil, "matrices": nil, "strided matrices": nil, "float32": nil, "named": nil}
	for v, d := range dims {
		wide := mat.NewDense(90, d+3, nil)
		single := make([]float32, len(x[v]))
		for i, value := range x[v] {
			wide.Set(i/d, i%d, value)
			single[i] = float32(value)
		}
		full := slices.Repeat([]bool{true}, 90)
		holders["a full mask"] = append(holders["a full mask"], views[v].WithPresent(full))
		holders["matrices"] = append(holders["matrices"], MatrixView(mat.NewDense(90, d, slices.Clone(x[v]))))
		holders["strided matrices"] = append(holders["strided matrices"], MatrixView(wide.Slice(0, 90, 0, d)))
		holders["float32"] = append(holders["float32"], Float32View(90, d, single))
		holders["named"] = append(holders["named"], views[v].Named("x"))
	}
	for name, other := range holders {
		t.Run(name, func(t *testing.T) {
			got := mustFit(t, other, config)
			got.names = want.names
			sameResult(t, want, got)
		})
	}
	t.Run("overwritten", func(t *testing.T) {
		var own []View
		for v, d := range dims {
			own = append(own, Float64View(90, d, slices.Clone(x[v])))
		}
		c := config
		c.Float = Float64
		want := mustFit(t, views, c)
		c.Overwrite = true
		got := mustFit(t, own, c)
		sameResult(t, want, got)
	})
}

func TestFitDeterminism(t *testing.T) {
	dims := []int{20, 9, 3}
	views, _ := blobViews(1400, 5, 1, 4, dims...)
	masked, err := Mask(views, absent(1400, 3, 0.3, 4))
	if err != nil {
		t.Fatal(err)
	}
	for name, views := range map[string][]View{"complete": views, "masked": masked} {
		for _, c := range []Config{{}, {Start: Spectral, Preprocess: Balanced, Activation: SELU, Float: Float64, Anchors: 7}} {
			c.Clusters, c.Epochs, c.Workers = 5, 4, 1
			want := mustFit(t, views, c)
			checkPredict(t, views, want)
			for _, workers := range []int{2, 5} {
				t.Run(fmt.Sprintf("%s, start %v, %d workers", name, c.Start, workers), func(t *testing.T) {
					c.Workers = workers
					sameResult(t, want, mustFit(t, views, c))
				})
			}
			t.Run(fmt.Sprintf("%s, start %v, GOMAXPROCS", name, c.Start), func(t *testing.T) {
				c.Workers = 0
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
				sameResult(t, want, mustFit(t, views, c))
				runtime.GOMAXPROCS(1)
				sameResult(t, want, mustFit(t, views, c))
			})
		}
	}
}

func TestFitCancel(t *testing.T) {
	views, _ := blobViews(600, 3, 0.5, 5, 20, 10)
	config := Config{Clusters: 3, Epochs: 50}
	why := errors.New("the reason")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	c, err := Fit(ctx, views, config)
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
			c.Progress = func(e Epoch) error {
				if calls++; e.Epoch == at {
					cancel(why)
				}
				return nil
			}
			got, err := Fit(ctx, views, c)
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
		_, err := Fit(ctx, views, config)
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

func TestFitStops(t *testing.T) {
	views, _ := blobViews(100, 3, 0.5, 6, 12, 8)
	config := Config{Clusters: 3, Epochs: 40}
	full := mustFit(t, views, config)
	own := errors.New("enough")
	for _, end := range []error{ErrStop, own, fmt.Errorf("wrapped: %w", ErrStop)} {
		var seen []Epoch
		c := config
		c.Progress = func(e Epoch) error {
			seen = append(seen, e)
			if e.Epoch == 5 {
				return end
			}
			return nil
		}
		got, err := Fit(context.Background(), views, c)
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
			if e.Epoch != i+1 || e.Epochs != 40 || e.Restart != 0 || e.Restarts != 1 || e.Loss != full.Loss[i] || len(e.ViewLoss) != 2 || e.Elapsed <= 0 {
				t.Errorf("epoch %d: %+v", i, e)
			}
		}
	}
	c := config
	c.Epochs, c.Tolerance, c.Patience = 2000, 0.5, 3
	if got := mustFit(t, views, c); got.Status != Converged || got.Epochs != 4 {
		t.Errorf("%v after %d epochs, want it to wait for 3 after the first", got.Status, got.Epochs)
	}
	c.Tolerance, c.Patience = 1e-5, 0
	got := mustFit(t, views, c)
	if got.Status != Converged || got.Epochs >= 2000 || got.Epochs < 20 || got.Config().Patience != 5 {
		t.Errorf("%v after %d epochs, patience %d", got.Status, got.Epochs, got.Config().Patience)
	}
	checkResult(t, views, got)
}

// exploding is a loss of −1e6·Σθ² that grows with the steps.
func exploding(net Network) (*Node, error) {
	theta := net.Learnables()[0]
	return gorgonia.Mul(constantOf(net, -1e9), must(gorgonia.Square(theta)))
}

func TestFitDiverges(t *testing.T) {
	views, _ := blobViews(100, 3, 0.5, 7, 12, 8)
	for name, c := range map[string]Config{
		"rate":           {LearningRate: 1e30, Signs: Unconstrained},
		"largest rate":   {LearningRate: 1e308, Float: Float64},
		"rate, RMvC":     {LearningRate: 1e25, Variant: RMvC},
		"rate, SELU":     {LearningRate: 1e30, Activation: SELU, Float: Float64},
		"extra loss":     {ExtraLoss: exploding, LearningRate: 1},
		"several starts": {LearningRate: 1e30, Restarts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c.Clusters, c.Epochs, c.Rotate = 3, 50, RotateNever // which otherwise depends on the other two
			got, err := Fit(context.Background(), views, c)
			var diverged *DivergedError
			if !errors.As(err, &diverged) || got == nil {
				t.Fatalf("%v, %v", got, err)
			}
			if got.Status != Diverged || diverged.Epoch <= got.Epochs || !strings.Contains(err.Error(), fmt.Sprintf("epoch %d", diverged.Epoch)) {
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
				c.Epochs = NoTraining
			}
			before, err := Fit(context.Background(), views, c)
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
		c := Config{Clusters: 3, ExtraLoss: func(net Network) (*Node, error) {
			return gorgonia.Log(must(gorgonia.Neg(must(gorgonia.Square(net.Learnables()[0])))))
		}}
		got, err := Fit(context.Background(), views, c)
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
	c := mustFit(t, []View{Float64View(20, 3, x)}, Config{Clusters: 2, Preprocess: Raw, Theta0: 1e-9, Float: Float64})
	if c.Status != EpochLimit || c.Loss[0] > 1e-15 {
		t.Errorf("%v, losses from %v", c.Status, c.Loss[0])
	}
}

func TestFitRestarts(t *testing.T) {
	views, _ := blobViews(200, 6, 1.5, 8, 10, 6)
	config := Config{Clusters: 6, Epochs: 10, KMeansStarts: 1, Seed: 3, Rotate: RotateNever}
	var singles []*Clustering
	lowest := 0
	for r := range 4 {
		c := config
		c.Seed += uint64(r)
		singles = append(singles, mustFit(t, views, c))
		if last(singles[r].Loss) < last(singles[lowest].Loss) {
			lowest = r
		}
	}
	if lowest == 0 {
		t.Fatal("the first run is the best: the test shows nothing")
	}
	config.Restarts = 4
	best := mustFit(t, views, config)
	if best.Restart != lowest || !slices.Equal(best.Loss, singles[lowest].Loss) {
		t.Errorf("kept run %d with losses to %v, want %d with %v", best.Restart, last(best.Loss), lowest, last(singles[lowest].Loss))
	}
	sameMatrix(t, "H", best.H, singles[lowest].H)
	checkResult(t, views, best)

	// A run that is interrupted gives way to those that ended before it.
	ctx, cancel := context.WithCancel(context.Background())
	config.Progress = func(e Epoch) error {
		if e.Restart == 3 && e.Epoch == 4 {
			cancel()
		}
		return nil
	}
	got, err := Fit(ctx, views, config)
	if !errors.Is(err, context.Canceled) || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	if got.Status != EpochLimit || got.Restart == 3 || got.Epochs != 10 {
		t.Errorf("%v after %d epochs in run %d", got.Status, got.Epochs, got.Restart)
	}
	checkResult(t, views, got)
}

// A run that diverges leaves the field to the others.
func TestFitRestartDiverges(t *testing.T) {
	views, _ := blobViews(80, 3, 0.5, 12, 10, 6)
	for bad := range 3 {
		runs := 0
		config := Config{Clusters: 3, Epochs: 20, LearningRate: 0.5, Restarts: 3, Rotate: RotateNever, ExtraLoss: func(net Network) (*Node, error) {
			if runs++; runs == bad+1 {
				return exploding(net)
			}
			return gorgonia.HadamardProd(constantOf(net, 0), net.Learnables()[0])
		}}
		got, err := Fit(context.Background(), views, config)
		if err != nil || got.Restart == bad || got.Status != EpochLimit || got.Epochs != 20 || runs < 3 {
			t.Errorf("run %d diverges: kept run %d of %d, %v after %d epochs: %v", bad, got.Restart, runs, got.Status, got.Epochs, err)
		}
		checkResult(t, views, got)
	}
}

func TestFitDegenerate(t *testing.T) {
	few := make([]float64, 30*4) // three distinct rows
	for i := range few {
		few[i] = float64((i / 4 % 3) * (i%4 + 1) * (i % 4))
	}
	for _, x := range []struct {
		name         string
		views        func() []View
		c            Config
		found        int
		sizes        []int
		alsoNonempty bool
	}{
		{name: "fewer distinct rows than clusters", c: Config{Clusters: 5, Preprocess: Raw}, found: 3, sizes: []int{10, 10, 10},
			views: func() []View { return []View{Float64View(30, 4, few)} }},
		{name: "one sample", c: Config{Clusters: 1}, found: 1, sizes: []int{1},
			views: func() []View { v, _ := blobViews(1, 1, 1, 1, 5, 3); return v }},
		{name: "as many clusters as samples", c: Config{Clusters: 6}, found: 6, sizes: []int{1, 1, 1, 1, 1, 1},
			views: func() []View { v, _ := blobViews(6, 6, 1, 1, 8, 9); return v }},
		{name: "two samples", c: Config{Clusters: 2}, found: 2, sizes: []int{1, 1},
			views: func() []View { v, _ := blobViews(2, 2, 1, 1, 8, 2); return v }},
		{name: "one feature", c: Config{Clusters: 2, Preprocess: Balanced}, found: 2, sizes: []int{5, 5},
			views: func() []View { v, _ := blobViews(10, 2, 0.01, 1, 1); return v }},
	} {
		for _, variant := range []Variant{Large, AMvC, RMvC} {
			t.Run(fmt.Sprintf("%s, %v", x.name, variant), func(t *testing.T) {
				x.c.Variant, x.c.Epochs = variant, 10
				got := mustFit(t, x.views(), x.c)
				if got.Clusters != x.found || !slices.Equal(got.Sizes, x.sizes) {
					t.Errorf("%d clusters of sizes %v, want %v", got.Clusters, got.Sizes, x.sizes)
				}
				checkResult(t, x.views(), got)
			})
		}
	}
}

func TestFitErrors(t *testing.T) {
	good, _ := blobViews(10, 2, 1, 9, 4, 3)
	values := func(change map[int]float64) View {
		x, _ := blobs(10, 2, 1, 9, 4)
		for i, value := range change {
			x[0][i] = value
		}
		return Float64View(10, 4, x[0]).Named("pixels")
	}
	mask := slices.Repeat([]bool{true}, 10)
	mask[7] = false
	two := Config{Clusters: 2}
	nan := math.NaN()
	for name, x := range map[string]struct {
		views  []View
		config Config
		want   []string
	}{
		"no views":        {nil, two, []string{"no views"}},
		"zero view":       {[]View{{}}, two, []string{"view 0"}},
		"nil matrix":      {[]View{MatrixView(nil)}, two, []string{"view 0", "nil"}},
		"short slice":     {[]View{good[0], Float32View(10, 3, make([]float32, 29))}, two, []string{"view 1", "29"}},
		"no samples":      {[]View{Float64View(0, 3, nil)}, two, []string{"view 0"}},
		"no features":     {[]View{Float64View(10, 0, nil)}, two, []string{"view 0"}},
		"different n":     {[]View{good[0], Float64View(2, 2, make([]float64, 4))}, two, []string{"view 1", "2 samples", "10"}},
		"NaN":             {[]View{good[1], values(map[int]float64{4*6 + 2: nan})}, two, []string{"view 1 (pixels)", "NaN", "row 6", "column 2"}},
		"infinity":        {[]View{values(map[int]float64{4*3 + 1: math.Inf(-1)})}, two, []string{"view 0 (pixels)", "-Inf", "row 3", "column 1"}},
		"huge":            {[]View{values(map[int]float64{5: 1e308, 6: 1e308})}, two, []string{"view 0", "row 1"}},
		"short mask":      {[]View{good[0].WithPresent(mask[:9])}, two, []string{"view 0", "9", "10"}},
		"sample left out": {[]View{good[0].WithPresent(mask), good[1].WithPresent(mask)}, two, []string{"sample 7"}},
		"view left out":   {[]View{good[0], good[1].WithPresent(make([]bool, 10))}, two, []string{"view 1"}},
		"zeros":           {[]View{good[0], Float64View(10, 3, make([]float64, 30))}, two, []string{"view 1"}},
		"zeros, raw":      {[]View{Float64View(10, 3, make([]float64, 30))}, Config{Clusters: 2, Preprocess: Raw}, []string{"view 0"}},
		"constant":        {[]View{Float64View(10, 3, slices.Repeat([]float64{4}, 30))}, Config{Clusters: 2, Preprocess: ZScore}, []string{"view 0"}},

		"no clusters":        {good, Config{}, []string{"Clusters is 0", "10"}},
		"too many clusters":  {good, Config{Clusters: 11}, []string{"Clusters is 11", "10"}},
		"too many anchors":   {good, Config{Clusters: 2, Anchors: 11}, []string{"Anchors is 11", "10"}},
		"negative anchors":   {good, Config{Clusters: 2, Anchors: -1}, []string{"Anchors is -1"}},
		"layers":             {good, Config{Clusters: 2, Layers: -1}, []string{"Layers is -1"}},
		"epochs":             {good, Config{Clusters: 2, Epochs: -2}, []string{"Epochs is -2"}},
		"rate":               {good, Config{Clusters: 2, LearningRate: -1}, []string{"LearningRate is -1"}},
		"rate is NaN":        {good, Config{Clusters: 2, LearningRate: nan}, []string{"LearningRate is NaN"}},
		"Lipschitz":          {good, Config{Clusters: 2, Lipschitz: -1}, []string{"Lipschitz is -1"}},
		"small Lipschitz":    {good, Config{Clusters: 2, Lipschitz: 0.5}, []string{"0.5"}},
		"rho":                {good, Config{Clusters: 2, Rho0: math.Inf(1)}, []string{"Rho0 is +Inf"}},
		"tolerance":          {good, Config{Clusters: 2, Tolerance: -1}, []string{"Tolerance is -1"}},
		"patience":           {good, Config{Clusters: 2, Patience: -1}, []string{"Patience is -1"}},
		"workers":            {good, Config{Clusters: 2, Workers: -1}, []string{"Workers is -1"}},
		"restarts":           {good, Config{Clusters: 2, Restarts: -1}, []string{"Restarts is -1"}},
		"k-means starts":     {good, Config{Clusters: 2, KMeansStarts: -1}, []string{"KMeansStarts is -1"}},
		"checkpoint every":   {good, Config{Clusters: 2, CheckpointEvery: -1}, []string{"CheckpointEvery is -1"}},
		"variant":            {good, Config{Clusters: 2, Variant: 9}, []string{"Variant is 9"}},
		"activation":         {good, Config{Clusters: 2, Activation: 9}, []string{"Activation is 9"}},
		"float":              {good, Config{Clusters: 2, Float: -1}, []string{"Float is -1"}},
		"several":            {good, Config{Clusters: 99, Start: 7, Signs: 8}, []string{"Clusters is 99", "Start is 7", "Signs is 8"}},
		"both starts":        {good, Config{Clusters: 1, StartLabels: make([]int, 10), StartAnchors: make([]mat.Matrix, 2)}, []string{"exclude"}},
		"few start labels":   {good, Config{Clusters: 2, StartLabels: make([]int, 9)}, []string{"9 StartLabels", "10"}},
		"wrong start label":  {good, Config{Clusters: 2, StartLabels: []int{0, 0, 0, 2, 0, 0, 0, 0, 0, 0}}, []string{"StartLabels[3] is 2"}},
		"few start anchors":  {good, Config{Clusters: 2, StartAnchors: []mat.Matrix{mat.NewDense(2, 4, nil)}}, []string{"1 views, want 2"}},
		"start anchors' d":   {good, Config{Clusters: 2, StartAnchors: []mat.Matrix{mat.NewDense(2, 4, nil), mat.NewDense(2, 4, nil)}}, []string{"view 1", "2×4", "2×3"}},
		"start anchors' NaN": {good[:1], Config{Clusters: 1, StartAnchors: []mat.Matrix{mat.NewDense(1, 4, []float64{0, nan, 0, 0})}}, []string{"view 0", "NaN", "row 0, column 1"}},
		"nil start anchors":  {good[:1], Config{Clusters: 1, StartAnchors: []mat.Matrix{nil}}, []string{"StartAnchors", "view 0"}},

		"extra loss fails": {good, Config{Clusters: 2, ExtraLoss: func(Network) (*Node, error) { return nil, errors.New("no idea") }}, []string{"extra loss", "no idea"}},
		"extra loss panics": {good, Config{Clusters: 2, ExtraLoss: func(net Network) (*Node, error) {
			return must(gorgonia.Mul(must(net.H(1)), must(net.H(2)))), nil
		}}, []string{"extra loss"}},
		"extra loss of n×m": {good, Config{Clusters: 2, ExtraLoss: func(net Network) (*Node, error) { return net.H(1) }}, []string{"extra loss"}},
		"checkpoint folder": {good, Config{Clusters: 2, Checkpoint: "no/such/folder/file"}, []string{"checkpoint", "no/such/folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fit(context.Background(), x.views, x.config)
			if got != nil || err == nil {
				t.Fatalf("%v, %v", got, err)
			}
			for _, part := range append(x.want, "largemvc: ") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if labels, again := FitPredict(context.Background(), x.views, x.config); labels != nil || again == nil {
				t.Errorf("FitPredict: %v, %v", labels, again)
			}
		})
	}
}

func TestFitExtraLoss(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 10, 8, 5)
	for _, f := range []Float{Float32, Float64} {
		config := Config{Clusters: 3, Epochs: 30, Float: f}
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
		want := pulled.ViewLoss[30][0] + pulled.ViewLoss[30][1] + 0.05*b*b/float64(n*m)
		if got := last(pulled.Loss); math.Abs(got-want) > 1e-5*want {
			t.Errorf("loss %v, want %v", got, want)
		}
	}
}

// Nothing of the size of X lives on through the result.
func TestFitReleasesData(t *testing.T) {
	const n, d = 4000, 300
	x := make([]float32, n*d)
	views, _ := blobViews(n, 4, 1, 11, d)
	for i := range x {
		x[i] = float32(views[0].f64[i])
	}
	views = nil
	before := liveBytes()
	var progress [1 << 20]byte
	c := mustFit(t, []View{Float32View(n, d, x)}, Config{Clusters: 4, Epochs: 2, Restarts: 2, Progress: func(Epoch) error { progress[0]++; return nil }})
	after := liveBytes()
	if kept, most := after-before, int64(n*(16*4+8+8+8+8)+1<<20); kept > most {
		t.Errorf("the clustering keeps %d bytes, want at most %d; X has %d", kept, most, 4*len(x))
	}
	p := c.Predictor
	runtime.KeepAlive(c)
	c = nil
	if kept := liveBytes() - before; kept > 1<<20 {
		t.Errorf("the predictor keeps %d bytes", kept)
	}
	runtime.KeepAlive(p)
	runtime.KeepAlive(x)
}
