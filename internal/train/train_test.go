package train

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/checkpoint"
	"github.com/largemvc/largemvc/internal/cluster"
)

// parabola is the loss (x − at)² + above of one parameter, by steps along the gradient.
type parabola struct {
	x, at, above, rate float64
	gradient           float64
	log                *[]string
	lasting            bool
	failAt             int // the evaluation, counted from 1, that meets a number that is not finite; 0: none
	seen               int
}

func (p *parabola) loss() (Loss, error) {
	if p.seen++; p.seen == p.failAt {
		return Loss{}, &NotFiniteError{errors.New("x is NaN")}
	}
	d := p.x - p.at
	return Loss{d*d + p.above, []float64{d * d}}, nil
}

func (p *parabola) Forward(ctx context.Context, _ int) (Loss, error) {
	p.gradient = 2 * (p.x - p.at)
	if ctx.Err() != nil {
		return Loss{}, ctx.Err()
	}
	return p.loss()
}

func (p *parabola) Evaluate(ctx context.Context) (Loss, error) {
	if ctx.Err() != nil {
		return Loss{}, ctx.Err()
	}
	return p.loss()
}

func (p *parabola) Step() error {
	if p.x -= p.rate * p.gradient; math.IsInf(p.x, 0) {
		return &NotFiniteError{errors.New("x is not finite after the step")}
	}
	return nil
}

func (p *parabola) Values(dst [][]float64) [][]float64 {
	if dst == nil {
		dst = [][]float64{{0}}
	}
	dst[0][0] = p.x
	return dst
}

func (p *parabola) SetValues(x [][]float64) error { p.x = x[0][0]; return nil }
func (p *parabola) Names() []string               { return []string{"x"} }
func (p *parabola) Adam() adam.State              { return adam.State{} }
func (p *parabola) Agree(stop error) error        { return stop }
func (p *parabola) NullLoss() float64             { return 1 }
func (p *parabola) Release()                      { *p.log = append(*p.log, "release") }
func (p *parabola) Close() error                  { *p.log = append(*p.log, "close"); return nil }
func (p *parabola) Lasting() bool                 { return p.lasting }

// toy makes a parabola for every restart: they end at above[restart].
type toy struct {
	above   []float64
	rate    float64
	lasting bool
	failAt  int
	log     []string
}

func (t *toy) Begin(_ context.Context, r *Run) (*parabola, error) {
	t.log = append(t.log, "begin")
	p := &parabola{x: 3, above: t.above[r.Restart], rate: t.rate, log: &t.log, lasting: t.lasting, failAt: t.failAt}
	if r.Begin = (&cluster.Point{}); r.Values != nil {
		r.Loss, r.ViewLoss = r.Loss[:r.Epochs], r.ViewLoss[:r.Epochs]
		return p, p.SetValues(r.Values)
	}
	return p, nil
}

func (t *toy) Restore(r *Run) (*parabola, error) {
	t.log = append(t.log, "restore")
	p := &parabola{above: t.above[r.Restart], log: &t.log}
	return p, p.SetValues(r.Values)
}

var errEnough = errors.New("enough")

// run trains with a few defaults.
func run(t *testing.T, p *toy, o Options, s State) *Outcome[*parabola] {
	t.Helper()
	o.Epochs, o.Restarts = cmp.Or(o.Epochs, 10), len(p.above)
	out, err := Restarts(context.Background(), p, o, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRestartsKeepsTheLowestLoss(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		p := &toy{above: []float64{2, 1, 3}, rate: 0.25, lasting: lasting}
		out := run(t, p, Options{}, State{})
		if out.Run.Restart != 1 || out.Ended != nil || out.Run.Status != EpochLimit || len(out.Run.Loss) != 11 {
			t.Errorf("restart %d, %v, %v, losses %v", out.Run.Restart, out.Ended, out.Run.Status, out.Run.Loss)
		}
		if want := 3 * math.Pow(0.5, 10); math.Abs(out.Network.x-want) > 1e-12 {
			t.Errorf("x is %v, want %v", out.Network.x, want)
		}
		// The best run is not the last, so that its network is made again.
		if !slices.Contains(p.log, "restore") {
			t.Errorf("calls %v", p.log)
		}
	}
	p := &toy{above: []float64{2, 1}, rate: 0.25, lasting: true}
	if run(t, p, Options{}, State{}); slices.Contains(p.log, "restore") {
		t.Errorf("calls %v, though the last run is the best", p.log)
	}
}

// A state of which all restarts are over, and none has a result, is an error.
func TestNothingLeft(t *testing.T) {
	out, err := Restarts(context.Background(), &toy{}, Options{Epochs: 5, Restarts: 2}, State{Next: 2})
	if out != nil || err == nil || !strings.Contains(err.Error(), "no restart is left after 2 of 2") {
		t.Errorf("%v, %v", out, err)
	}
}

func TestEarlyStop(t *testing.T) {
	o := Options{Epochs: 100, Tolerance: 0.01, Patience: 3}
	out := run(t, &toy{above: []float64{1}, rate: 0.25, lasting: true}, o, State{})
	if r := out.Run; r.Status != Converged || r.Epochs != 9 {
		t.Errorf("%v after %d epochs: %v", r.Status, r.Epochs, r.Loss)
	}
}

// A training that goes on from any of its checkpoints has the values and losses of one that was never interrupted.
func TestResume(t *testing.T) {
	make := func() *toy { return &toy{above: []float64{2, 1}, rate: 0.1, lasting: true} }
	want := run(t, make(), Options{Epochs: 7}, State{})
	var states []State
	clone := func(r *Run) *Run { // as a file does
		if r == nil {
			return nil
		}
		saved := *r.Saved()
		saved.Values = [][]float64{slices.Clone(saved.Values[0])}
		if saved.Good != nil { // of a run that has begun
			saved.Good = [][]float64{slices.Clone(saved.Good[0])}
		}
		saved.Loss, saved.ViewLoss = slices.Clone(saved.Loss), slices.Clone(saved.ViewLoss)
		out, err := Restored(&saved)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	o := Options{Epochs: 7, SaveEvery: 2, Save: func(s State) error {
		states = append(states, State{s.Next, clone(s.Current), clone(s.Best)})
		return nil
	}}
	var kept []State // of the other epochs, which the training must not change afterwards
	o.Keep = func(s State) { kept = append(kept, s) }
	run(t, make(), o, State{})
	if len(kept) != 8 { // after epochs 1, 3, 5 and 7 of each run
		t.Fatalf("%d states kept", len(kept))
	}
	if len(states) != 10 { // one before each run, three in it and one at its end
		t.Fatalf("%d states", len(states))
	}
	for k, next := range []int{0, 0, 0, 0, 1, 1, 1, 1, 1, 2} {
		if s := states[k]; s.Next != next || (s.Current == nil) != (k%5 == 4) {
			t.Errorf("state %d goes on with restart %d, begun %v", k, s.Next, s.Current != nil)
		}
	}
	for k, s := range append(states, kept...) {
		got := run(t, make(), Options{Epochs: 7}, s)
		if got.Network.x != want.Network.x || !slices.Equal(got.Run.Loss, want.Run.Loss) || got.Run.Restart != want.Run.Restart {
			t.Errorf("from state %d: x %v, losses %v, want %v, %v",
				k, got.Network.x, got.Run.Loss, want.Network.x, want.Run.Loss)
		}
	}
}

// A run that diverges gives its last good state with the failure; there is none where the first loss is not finite.
func TestDivergence(t *testing.T) {
	p := &toy{above: []float64{1}, rate: 50, lasting: true}
	out := run(t, p, Options{}, State{})
	if failed := out.Run.Failure; failed == nil || out.Run.Status != Diverged || failed.Epoch != 3 || out.Ended != nil {
		t.Fatalf("%v, status %v, ended %v", failed, out.Run.Status, out.Ended)
	}
	if out.Network.x != 3*99*-1 || out.Run.Epochs != 1 || len(out.Run.Loss) != 2 {
		t.Errorf("x %v after %d epochs, losses %v", out.Network.x, out.Run.Epochs, out.Run.Loss)
	}
	p = &toy{above: []float64{1}, rate: 0.1, failAt: 1}
	failed := (*Failure)(nil)
	if _, err := Restarts(context.Background(), p, Options{Epochs: 5, Restarts: 1}, State{}); !errors.As(err, &failed) ||
		failed.Epoch != 1 || failed.Err.Error() != "x is NaN" {
		t.Error(err)
	}
	p = &toy{above: []float64{1}, rate: 0.1, failAt: 6, lasting: true} // the evaluation after the last step
	out = run(t, p, Options{Epochs: 10}, State{})
	if failed := out.Run.Failure; failed == nil || failed.Epoch != 6 || out.Run.Epochs != 4 {
		t.Errorf("%v after %d epochs", failed, out.Run.Epochs)
	}
}

// The callback's error ends the training with the state at that epoch; Options.Stop ends it in order, and all restarts with it.
func TestProgressEnds(t *testing.T) {
	stop := errors.New("stop")
	for _, end := range []error{stop, errEnough} {
		p := &toy{above: []float64{2, 1}, rate: 0.1, lasting: true}
		out := run(t, p, Options{Stop: stop, Progress: func(r *Run, l Loss, _ time.Duration) error {
			if r.Epochs == 4 {
				return end
			}
			return nil
		}}, State{})
		want := end
		if end == stop {
			want = nil
		}
		if r := out.Run; out.Ended != want || r.Status != Stopped || r.Epochs != 4 || r.Restart != 0 || len(r.Loss) != 5 {
			t.Errorf("%v: %v, %v after %d epochs of run %d", end, out.Ended, r.Status, r.Epochs, r.Restart)
		}
	}
}

// A context that ends gives the state there with its error, and nothing before the first epoch has ended.
func TestCancel(t *testing.T) {
	for _, at := range []int{0, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		if at == 0 {
			cancel()
		}
		p := &toy{above: []float64{1}, rate: 0.1, lasting: true}
		out, err := Restarts(ctx, p, Options{Epochs: 10, Restarts: 1, Progress: func(r *Run, _ Loss, _ time.Duration) error {
			if r.Epochs == at {
				cancel()
			}
			return nil
		}}, State{})
		switch {
		case at == 0 && (out != nil || !errors.Is(err, context.Canceled)):
			t.Errorf("%v, result %v", err, out != nil)
		case at > 0 && (err != nil || out.Ended != context.Canceled || out.Run.Status != Cancelled || out.Run.Epochs != at):
			t.Errorf("%v, %+v", err, out)
		}
		cancel()
	}
}

func TestBetter(t *testing.T) {
	with := func(s Status, loss float64) *Run { return &Run{Run: checkpoint.Run{Loss: []float64{loss}}, Status: s} }
	order := []*Run{
		with(EpochLimit, 1), with(Converged, 2), with(Stopped, 0.1), with(Cancelled, 0.2), with(Diverged, 0.01),
		with(Stopped, math.NaN()),
	}
	for i, a := range order {
		if !a.better(nil) {
			t.Errorf("run %d is not better than none", i)
		}
		for _, b := range order[i+1:] {
			if b.better(a) {
				t.Errorf("%v with loss %v goes before %v with %v", b.Status, b.Loss, a.Status, a.Loss)
			}
		}
	}
}

func TestRestored(t *testing.T) {
	if _, err := Restored(&checkpoint.Run{Status: "asleep"}); err == nil {
		t.Error("a status that does not exist is read")
	}
	r := &Run{Status: Diverged, Failure: &Failure{Epoch: 3, Loss: 7, Err: errors.New("why")}}
	r.Run.Adam.Steps = 5
	got, err := Restored(r.Saved())
	if err != nil || got.Status != Diverged || got.Failure.Error() != r.Failure.Error() || got.Run.Adam.Steps != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
