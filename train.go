package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/neighbor"
)

// runState is the state of one training, from its start to its end: all that is needed to continue it to the same bits, or
// to come back to its result.
type runState struct {
	restart  int
	begin    *startingPoint
	values   [][]float64 // of the learnable nodes, after epochs steps
	good     [][]float64 // their values at the last loss, goodAt steps from the start: where a divergence goes back to
	goodAt   int
	adam     AdamState
	epochs   int       // steps done
	loss     []float64 // one more than epochs once the run is over, else as many
	viewLoss [][]float64
	status   Status
	failure  *DivergedError // where status is Diverged

	startFor, trainFor, epochFor time.Duration
}

// better says whether the run is to be kept in place of another: runs that came to their end go before those that were
// interrupted, and those before diverged ones; among equals the lower loss decides.
func (r *runState) better(other *runState) bool {
	if other == nil {
		return true
	}
	rank := func(s Status) int {
		switch {
		case s == Diverged:
			return 2
		case s.interrupted():
			return 1
		}
		return 0
	}
	if a, b := rank(r.status), rank(other.status); a != b {
		return a < b
	}
	return r.loss[len(r.loss)-1] < other.loss[len(other.loss)-1]
}

// training is a run at work.
type training[T kernel.Float] struct {
	*job[T]
	run *runState

	net       builtModel
	cost      *gorgonia.Node
	adam      *Adam
	limit     float64 // of the loss, beyond which it counts as diverged
	done      bool    // the run has a result
	durations []time.Duration
}

// divergence is the multiple of the loss of H = 0, or of the first loss, from which a loss counts as diverged.
const divergence = 1e4

// train begins or continues the run and takes it to its end. Its error is what Fit returns beside the result, if there
// is one.
func (t *training[T]) train(ctx context.Context) error {
	c, r := t.config, t.run
	began := time.Now()
	fresh := r.begin == nil
	if fresh {
		var err error
		if r.begin, err = start(ctx, t.x, t.sources, t.startGraph(), c, c.Seed+uint64(r.restart)); err != nil {
			return err
		}
	}
	r.startFor = time.Since(began)
	vm, err := t.build(c.Epochs != NoTraining)
	if err != nil {
		return err
	}
	defer vm.Close()
	if !fresh {
		r.loss, r.viewLoss = r.loss[:r.epochs], r.viewLoss[:r.epochs]
		if err := errors.Join(t.setValues(r.values), t.adam.SetState(r.adam)); err != nil {
			return err
		}
	}
	began = time.Now()
	err = t.last(ctx, vm, t.epochLoop(ctx, vm))
	r.trainFor = time.Since(began)
	if len(t.durations) > 0 {
		slices.Sort(t.durations)
		r.epochFor = t.durations[len(t.durations)/2]
	}
	return err
}

// build makes the graph: network, loss and, for training, gradients.
func (t *training[T]) build(training bool) (gorgonia.VM, error) {
	c := t.config
	g := gorgonia.NewGraph()
	t.net = c.network(t.run.begin.scale)
	t.adam = &Adam{LearningRate: c.LearningRate}
	anchors := make([]mat.Matrix, len(t.list))
	for v, p := range t.run.begin.anchors {
		if len(p) != c.Anchors*t.data.dims[v] { // those of a checkpoint of other views
			return nil, fmt.Errorf("largemvc: start anchors of %d values for %s, want %d×%d", len(p), t.sources[v].Label(t.list[v].View), c.Anchors, t.data.dims[v])
		}
		anchors[v] = mat.NewDense(c.Anchors, t.data.dims[v], p)
	}
	env := Env{G: g, Layers: c.Layers, Of: t.data.of, Workers: c.Workers}
	if err := t.net.Build(env, t.data, StartPoint{Anchors: anchors}); err != nil {
		return nil, err
	}
	if err := t.sumLosses(); err != nil {
		return nil, err
	}
	if !training {
		return gorgonia.NewTapeMachine(g), nil
	}
	learn := t.net.Learnables()
	err := guarded(func() error {
		_, err := gorgonia.Grad(t.cost, learn...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("largemvc: gradients: %w", err)
	}
	return gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(learn...)), nil
}

// sumLosses makes the cost of the reconstruction and what is added to it.
func (t *training[T]) sumLosses() error {
	c := t.config
	t.cost = t.net.Loss()
	if t.config.hasNeighborLoss() {
		err := t.addTerm("weight of the neighbours", c.NeighborWeight, func(h *gorgonia.Node) (*gorgonia.Node, error) {
			return neighborInformation[T](c.Workers, h, t.graph, c.Temperature)
		})
		if err != nil {
			return fmt.Errorf("largemvc: neighbours in the loss: %w", err)
		}
	}
	if t.config.hasHeldOutLoss() {
		err := t.addTerm("weight of held-out prediction", c.HeldOutWeight, func(h *gorgonia.Node) (*gorgonia.Node, error) {
			return heldOutInformation(c.Workers, h, t.heldOut, c.Temperature)
		})
		if err != nil {
			return fmt.Errorf("largemvc: held-out prediction in the loss: %w", err)
		}
	}
	if c.ExtraLoss == nil {
		return nil
	}
	err := guarded(func() error {
		extra, err := c.ExtraLoss(t.net)
		if err != nil || extra == nil {
			return err
		}
		t.cost, err = gorgonia.Add(t.cost, extra)
		return err
	})
	if err != nil {
		return fmt.Errorf("largemvc: extra loss: %w", err)
	}
	if !t.cost.IsScalar() {
		return fmt.Errorf("largemvc: extra loss: its shape is %v, want a scalar", t.cost.Shape())
	}
	return nil
}

// addTerm adds a weighted term of the last H to the cost.
func (t *training[T]) addTerm(name string, weight float64, term func(h *gorgonia.Node) (*gorgonia.Node, error)) error {
	return guarded(func() error {
		h, err := t.net.H(t.config.Layers)
		if err != nil {
			return err
		}
		x, err := term(h)
		if err != nil {
			return err
		}
		if x, err = gorgonia.Mul(x, gorgonia.NewConstant(T(weight), gorgonia.WithName(name))); err != nil {
			return err
		}
		t.cost, err = gorgonia.Add(t.cost, x)
		return err
	})
}

// startGraph returns the graph by which the start is chosen; nil, for inertia alone, without the neighbours' term in the loss or
// with LowestInertia.
func (t *training[T]) startGraph() neighbor.Operator {
	if !t.config.hasNeighborLoss() || t.config.LowestInertia {
		return nil
	}
	return t.graph
}

// sharedReadOut is the number of samples up to which the clusters of H are chosen by neighbours. The choice takes as long as that
// of the start; on mnist3v, of 60,000 samples, it changed a tenth of a point.
const sharedReadOut = 5000

// readOutGraph returns the graph by which the clusters of H are chosen, nil for inertia alone: also if H was not trained at all,
// where the choice can be much worse than by inertia.
func (t *training[T]) readOutGraph() neighbor.Operator {
	if t.run.epochs == 0 || t.data.samples > sharedReadOut {
		return nil
	}
	return t.startGraph()
}

// hasNeighborLoss says whether the loss has the term of Config.NeighborWeight. A single anchor has no information.
func (c *Config) hasNeighborLoss() bool {
	return c.Neighbors != None && c.NeighborWeight > 0 && c.Anchors > 1
}

// hasHeldOutLoss says whether the loss has the term of Config.HeldOutWeight. A single anchor has no information.
func (c *Config) hasHeldOutLoss() bool {
	return c.Neighbors != None && c.HeldOutWeight > 0 && c.Anchors > 1
}

// hasExtra says whether the loss is more than the reconstruction.
func (c *Config) hasExtra() bool {
	return c.ExtraLoss != nil || c.hasNeighborLoss() || c.hasHeldOutLoss()
}

// guarded runs f, which builds a graph, and turns a panic of Gorgonia into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// epochLoop runs the epochs that are left. It returns what the caller of Fit is to know of the end.
func (t *training[T]) epochLoop(ctx context.Context, vm gorgonia.VM) error {
	c, r := t.config, t.run
	learn := gorgonia.NodesToValueGrads(t.net.Learnables())
	t.limit = divergence * t.lossOfNothing()
	r.status = EpochLimit
	patience := patience{tolerance: c.Tolerance, limit: c.Patience}
	for _, loss := range r.loss {
		if patience.over(loss) {
			r.status = Converged
		}
	}
	began := time.Now()
	for r.epochs < c.Epochs && r.status == EpochLimit {
		epochBegan := time.Now()
		if err := t.forward(ctx, vm); err != nil {
			return t.ended(ctx, err)
		}
		loss := r.loss[len(r.loss)-1]
		if !(math.Abs(loss) <= max(t.limit, divergence*math.Abs(r.loss[0]))) { // NaN too
			r.status = Diverged
			return &DivergedError{Epoch: r.epochs + 1, Loss: loss}
		}
		r.good, r.goodAt = t.values(r.good), r.epochs
		if err := t.adam.Step(learn); err != nil {
			return err
		}
		if err := t.net.Project(); err != nil {
			return err
		}
		if name := t.notFinite(); name != "" {
			r.status = Diverged
			return &DivergedError{Epoch: r.epochs + 1, Loss: loss, Err: fmt.Errorf("%s is not finite after the step", name)}
		}
		vm.Reset()
		r.epochs++
		t.durations = append(t.durations, time.Since(epochBegan))
		if patience.over(loss) {
			r.status = Converged
		}
		if c.Progress != nil {
			err := c.Progress(Epoch{Restart: r.restart, Restarts: c.Restarts, Epoch: r.epochs, Epochs: c.Epochs,
				Loss: loss, ViewLoss: r.viewLoss[len(r.viewLoss)-1], Elapsed: time.Since(began)})
			if err != nil {
				r.status = Stopped
				if errors.Is(err, ErrStop) {
					return nil
				}
				return err
			}
		}
		if t.saver.due(r.epochs) && r.status == EpochLimit {
			t.snapshot()
			if err := t.saver.duringRun(r, t.best); err != nil {
				r.status = Stopped
				return err
			}
		}
	}
	return nil
}

// patience is the early stop.
type patience struct {
	tolerance float64
	limit     int
	best      float64
	waited    int
	begun     bool
}

// over takes the next loss and says whether the training has made no progress for long enough.
func (p *patience) over(loss float64) bool {
	if !p.begun || loss < p.best-p.tolerance*math.Abs(p.best) {
		p.best, p.waited, p.begun = loss, 0, true
		return false
	}
	p.waited++
	return p.tolerance > 0 && p.waited >= p.limit
}

// forward runs the graph, gradients included, and records the losses.
func (t *training[T]) forward(ctx context.Context, vm gorgonia.VM) error {
	t.net.fused().within(ctx)
	if err := vm.RunAll(); err != nil {
		// Gorgonia's error says where, not why; what the op returned is inside.
		var at interface{ Err() error }
		if errors.As(err, &at) {
			err = at.Err()
		}
		return fmt.Errorf("largemvc: epoch %d: %w", t.run.epochs+1, err)
	}
	return t.record()
}

// record appends the losses of the last run of the network.
func (t *training[T]) record() error {
	parts := slices.Clone(t.net.fused().engineNet().Loss())
	total := kernel.Sum(parts)
	if t.config.hasExtra() {
		value, err := op.Elements[T](t.cost.Value())
		if err != nil {
			return err
		}
		total = float64(value[0])
	}
	t.run.loss, t.run.viewLoss = append(t.run.loss, total), append(t.run.viewLoss, parts)
	return nil
}

// ended sorts an error of a run of the graph and sets the status: cancelled and diverged ones end the training in order.
func (t *training[T]) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		t.run.status = Cancelled
		return ctx.Err()
	}
	var inside *engine.DivergedError
	if errors.As(err, &inside) {
		t.run.status = Diverged
		return &DivergedError{Epoch: t.run.epochs + 1, Loss: math.NaN(), Err: inside}
	}
	return err
}

// lossOfNothing is the loss of H = 0, Σ_v w_v‖X_v‖²: the scale of what a loss can be.
func (t *training[T]) lossOfNothing() float64 {
	views := viewsOf[T](t.data)
	total := 0.0
	for v, weight := range lossWeights(t.config.Reduction, views) {
		total += weight * kernel.Sum(views[v].norms)
	}
	return total
}

// values copies the values of the learnable nodes to dst, which it makes if it is nil.
func (t *training[T]) values(dst [][]float64) [][]float64 {
	nodes := t.net.Learnables()
	if dst == nil {
		dst = make([][]float64, len(nodes))
	}
	for i, n := range nodes {
		x := op.EntriesOf(n.Value())
		dst[i] = slices.Grow(dst[i][:0], x.Len())[:x.Len()]
		for j := range dst[i] {
			dst[i][j] = x.At(j)
		}
	}
	return dst
}

// setValues gives the learnable nodes the values that values returned.
func (t *training[T]) setValues(src [][]float64) error {
	nodes := t.net.Learnables()
	if len(src) != len(nodes) {
		return fmt.Errorf("largemvc: values of %d learnable nodes, the network has %d", len(src), len(nodes))
	}
	for i, n := range nodes {
		x := op.EntriesOf(n.Value())
		if x.Len() != len(src[i]) {
			return fmt.Errorf("largemvc: %d values for %s, it has %d", len(src[i]), n.Name(), x.Len())
		}
		for j, value := range src[i] {
			x.Set(j, value)
		}
	}
	return nil
}

// notFinite returns the name of a learnable node with a NaN or an infinity, "" if there is none.
func (t *training[T]) notFinite() string {
	for _, n := range t.net.Learnables() {
		x := op.EntriesOf(n.Value())
		for j := range x.Len() {
			if math.IsNaN(x.At(j)) || math.IsInf(x.At(j), 0) {
				return n.Name()
			}
		}
	}
	return ""
}

// snapshot copies what changes in training to the run.
func (t *training[T]) snapshot() {
	t.run.values, t.run.adam = t.values(nil), t.adam.State()
}

// last brings the network to its final parameters and evaluates it there. after is what ended the epochs, if anything
// did; it is returned unless something worse happens.
func (t *training[T]) last(ctx context.Context, vm gorgonia.VM, after error) error {
	r := t.run
	switch {
	case r.status == Diverged && r.good != nil:
		// The losses end with the last good one, which is that of the state returned.
		r.epochs, r.loss, r.viewLoss = r.goodAt, r.loss[:r.goodAt], r.viewLoss[:r.goodAt]
		if err := t.setValues(r.good); err != nil {
			return err
		}
	case r.status == Diverged, r.status == EpochLimit && after != nil:
		return after
	case r.status == Cancelled && r.epochs == 0:
		return after
	}
	t.snapshot()
	err := t.evaluate(ctx, vm)
	if err != nil && ctx.Err() != nil && r.epochs > 0 {
		if r.status == EpochLimit || r.status == Converged {
			r.status, after = Cancelled, ctx.Err()
		}
		err = t.evaluate(context.WithoutCancel(ctx), vm)
	}
	if err != nil {
		return t.ended(ctx, err)
	}
	t.done = true
	return after
}

// evaluate computes H and the loss at the present parameters.
func (t *training[T]) evaluate(ctx context.Context, vm gorgonia.VM) error {
	if t.config.hasExtra() {
		vm.Reset()
		return t.forward(ctx, vm)
	}
	if _, err := t.net.fused().evaluate(ctx); err != nil {
		return err
	}
	return t.record()
}

// restore brings the network to the end of a run that is over.
func (t *training[T]) restore(ctx context.Context) error {
	vm, err := t.build(false)
	if err != nil {
		return err
	}
	defer vm.Close()
	if err := t.setValues(t.run.values); err != nil {
		return err
	}
	loss, viewLoss := t.run.loss, t.run.viewLoss
	err = t.evaluate(ctx, vm)
	t.run.loss, t.run.viewLoss = loss, viewLoss
	return err
}
