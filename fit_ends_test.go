package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestFitCancel(t *testing.T) { withAndWithout(t, testFitCancel) }

func testFitCancel(t *testing.T, neighbors int) {
	views, _ := blobViews(600, 3, 0.5, 5, 20, 10)
	config := Config{Clusters: 3, Epochs: 50, Neighborhood: Neighborhood{Neighbors: neighbors}}
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
			c.Progress = func(e Progress) error {
				if !e.Training() {
					return nil
				}
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
	c.Tolerance, c.Patience = 1e-5, 0
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
			LearningRate: 1e30, Represent: &SoftThreshold{Unconstrained: true},
			Noise: &RowShrink{Unconstrained: true},
		},
		"largest rate": {LearningRate: 1e308, Float64: true},
		"rate, RMvC":   {LearningRate: 1e25, Noise: &NoNoise{}, Anchor: &FixedAnchors{}},
		"rate, SELU": {
			LearningRate: 1e30, Represent: &SoftThreshold{Activation: SELU},
			Noise: &RowShrink{Activation: SELU}, Float64: true,
		},
		"extra loss":     {ExtraLoss: exploding, LearningRate: 1},
		"several starts": {LearningRate: 1e30, Restarts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c.Clusters, c.Epochs, c.Neighborhood.Neighbors = 3, 50, neighbors
			got, err := Fit(context.Background(), views, c)
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
		c := Config{
			Clusters: 3, Neighborhood: Neighborhood{Neighbors: neighbors},
			ExtraLoss: func(net Network) (*Node, error) {
				return gorgonia.Log(must(gorgonia.Neg(must(gorgonia.Square(net.Learnables()[0])))))
			},
		}
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
	got, err := Fit(context.Background(), views, c)
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
