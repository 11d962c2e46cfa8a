package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/checkpoint"
	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/internal/view"
)

// trainRuns trains every restart that is left and returns the best run with its network. Its error is what Fit returns
// beside the result, if there is one.
func trainRuns[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, saver *saver, from *resumed,
) (*lossNetwork[T], *runState, error) {
	if from == nil {
		from = &resumed{}
	}
	if err := from.relabel(ctx, c, func(restart int) ([]int, error) {
		begin, err := beginAt(ctx, in, c, restart)
		if err != nil {
			return nil, err
		}
		return begin.Labels, nil
	}); err != nil {
		return nil, nil, err
	}
	s := &series[T]{in: in, config: c, saver: saver, best: from.best}
	var ended error // what ended the last run before its end
	over := false
	for k := from.next; k < c.Restarts && ended == nil && !over; k++ {
		r := &runState{Run: checkpoint.Run{Restart: k}}
		if from.current != nil && from.current.Restart == k {
			r = from.current
		}
		over, ended = s.restart(ctx, r)
	}
	best := s.best
	switch {
	case best == nil && ended == nil:
		return nil, nil, s.failure
	case best == nil:
		return nil, nil, ended
	case best.failure != nil:
		ended = joined(best.failure, ended)
	}
	if s.kept == nil {
		var err error
		if s.kept, err = restore(context.WithoutCancel(ctx), in, c, best); err != nil {
			return nil, nil, joined(ended, err)
		}
	}
	return s.kept, best, ended
}

// series are the restarts of a fit.
type series[T kernel.Float] struct {
	in     *prepared[T]
	config *Config
	saver  *saver

	best    *runState       // of the restarts that are over, nil if there is none
	kept    *lossNetwork[T] // of the best run, if that is the last one
	failure *DivergedError  // of the last run that diverged
}

// restart does what is left of a run and keeps the run if it is the best so far. over says that the fit was interrupted.
func (s *series[T]) restart(ctx context.Context, r *runState) (over bool, ended error) {
	s.kept = nil // Its memory is free for this restart.
	var net *lossNetwork[T]
	done := r.status == Diverged && r.Values != nil // a checkpoint has its end
	if !done {
		var save func() error
		if s.saver != nil {
			save = func() error { return s.saver.duringRun(r, s.best) }
		}
		net, ended = trainRun(ctx, s.in, s.config, r, save)
		var failed *DivergedError
		if errors.As(ended, &failed) {
			r.failure, s.failure, ended = failed, failed, r.halt
		}
		done, over = net != nil, r.interruption().interrupted()
	}
	before := s.best
	if done && r.better(before) {
		s.best = r
		if net != nil && !net.onDevice { // New samples are labelled on the CPU, and so are these.
			s.kept = net
		}
	}
	if done || ended == nil || over { // else the last that is known of the run is on the disk
		ended = joined(ended, s.saver.afterRestart(r, before, s.best))
	}
	return over, ended
}

// lossNetwork is a network with its loss, ready to run. Training changes the values of its nodes alone.
type lossNetwork[T kernel.Float] struct {
	in      *prepared[T]
	config  *Config
	model   *Model[Represent, Noise, Anchor]
	fused   unfold.Fused // of stock modules, else nil
	reads   *readOuts    // of other modules, else nil
	cost    *gorgonia.Node
	adam    *unfold.Adam
	machine gorgonia.VM

	onDevice bool // its rows were on a device, which has given them back
}

// divergence is the multiple of the loss of H = 0, or of the first loss, from which a loss counts as diverged.
const divergence = 1e4

// beginAt finds the anchors with which a restart begins.
func beginAt[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, restart int) (*cluster.Point, error) {
	start := startOf(c, in, c.Seed+uint64(restart))
	start.Device, start.Labels = in.device.Rows(), view.Along(in.order, start.Labels)
	begin, err := cluster.FirstAnchors(ctx, in.x, in.startRows, in.sources, start)
	return begin, withName(err)
}

// trainRun begins or continues a run and takes it to its end. It returns the network there, nil if the run has no result, and
// what Fit is to return beside it. save writes a checkpoint of the run; nil: there are none.
func trainRun[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, r *runState, save func() error,
) (_ *lossNetwork[T], err error) {
	began := time.Now()
	fresh := r.Values == nil
	if r.Begin == nil {
		if err := meterOf(ctx).enter(phaseAnchors, r.Restart); err != nil {
			return nil, err
		}
		if r.Begin, err = beginAt(ctx, in, c, r.Restart); err != nil {
			return nil, err
		}
		if shrink, ok := c.Noise.(*RowShrink); ok && shrink.Scale != nil {
			r.Begin.Scale = slices.Clone(shrink.Scale)
		}
	}
	var encoder []learned
	if _, ok := c.Represent.(Encoder); ok && fresh {
		var err error
		if encoder, err = encodeStart(ctx, in, c, r); err != nil {
			return nil, err
		}
	}
	collect(in.sources)
	r.startFor = time.Since(began)
	t, err := newNetwork(in, c, r, c.Epochs != None)
	if err != nil {
		return nil, err
	}
	defer t.machine.Close()
	if t.onDevice {
		defer func() {
			if closing := t.fused.Engine().Close(); err == nil {
				err = closing
			}
		}()
	}
	if encoder != nil {
		if err := learn(defaultPrefix, 0, t.model.Represent.Learnables(), encoder); err != nil {
			return nil, withName(err)
		}
	}
	if !fresh {
		r.Loss, r.ViewLoss = r.Loss[:r.Epochs], r.ViewLoss[:r.Epochs]
		if err := errors.Join(t.checkNames(r), t.setValues(r.Values), t.adam.SetState(r.Adam)); err != nil {
			return nil, err
		}
	}
	began = time.Now()
	if err := meterOf(ctx).enter(phaseTraining, r.Restart); err != nil {
		return nil, err
	}
	done, err := t.last(ctx, r, t.epochs(ctx, r, save))
	if done {
		t.rest()
		collect(in.sources)
	}
	r.trainFor += time.Since(began)
	if !done {
		return nil, err
	}
	return t, err
}

// rest lets go of what no network needs that does not run any more.
func (t *lossNetwork[T]) rest() {
	if t.fused != nil {
		t.fused.Engine().Rest()
	}
}

// restore returns the network at the end of a run that is over.
func restore[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, r *runState) (*lossNetwork[T], error) {
	t, err := newNetwork(in, c, r, false)
	if err != nil {
		return nil, err
	}
	defer t.machine.Close()
	if err := errors.Join(t.checkNames(r), t.setValues(r.Values)); err != nil {
		return nil, err
	}
	err = t.evaluate(ctx, &runState{})
	t.rest()
	return t, err
}

// newNetwork makes the graph: network, loss and, for training, gradients and a place on the device of the fit, if there is one.
func newNetwork[T kernel.Float](in *prepared[T], c *Config, r *runState, training bool) (*lossNetwork[T], error) {
	if in.device == nil || !training {
		return newNetworkOn(in, c, r, training, nil)
	}
	t, err := newNetworkOn(in, c, r, training, in.device)
	if err == nil || in.device.Leave(err) != nil {
		return t, err
	}
	return newNetworkOn(in, c, r, training, nil)
}

func newNetworkOn[T kernel.Float](
	in *prepared[T], c *Config, r *runState, training bool, on *device.Session,
) (_ *lossNetwork[T], err error) {
	g, begin := gorgonia.NewGraph(), r.Begin
	t := &lossNetwork[T]{
		in: in, config: c, model: c.network(begin.Scale), adam: &unfold.Adam{LearningRate: c.LearningRate},
	}
	data := in.data
	_, encoded := c.Represent.(Encoder)
	anchors := make([]mat.Matrix, len(in.list))
	for v, p := range begin.Anchors {
		columns := data.dims[v]
		if encoded {
			columns = max(1, len(p)/c.Anchors)
		}
		if len(p) != c.Anchors*columns { // those of a checkpoint of other views
			return nil, fmt.Errorf(
				"largemvc: start anchors of %d values for %s, want %d×%d",
				len(p), in.sources[v].Label(in.list[v].View), c.Anchors, columns,
			)
		}
		anchors[v] = mat.NewDense(c.Anchors, columns, p)
	}
	env := Env{G: g, Layers: c.Layers, Of: data.of, Workers: c.Machine.Workers, Seed: c.Seed + uint64(r.Restart)}
	t.model.device, t.model.idle, t.model.again = on, in.idle, in.again
	if err := t.model.Build(env, data, StartPoint{Anchors: anchors}); err != nil {
		return nil, err
	}
	t.fused, t.onDevice = t.model.fused(), on.Trains()
	defer func() {
		if err != nil && t.onDevice {
			err = errors.Join(err, t.fused.Engine().Close())
		}
	}()
	if err := t.sumLosses(); err != nil {
		return nil, err
	}
	if t.fused == nil {
		var err error
		if t.reads, err = readModel(t.model); err != nil {
			return nil, err
		}
	}
	learn := t.model.Learnables()
	if !training || len(learn) == 0 {
		var err error
		t.machine, err = op.NewMachine(g)
		return t, withName(err)
	}
	var grads gorgonia.Nodes
	err = guarded(func() (err error) {
		grads, err = gorgonia.Grad(t.cost, learn...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("largemvc: gradients: %w", err)
	}
	t.machine, err = op.NewTraining(g, learn, grads)
	return t, withName(err)
}

// readOuts are nodes with copies of what is wanted of a network of other modules than the stock ones.
type readOuts struct {
	h       *gorgonia.Node     // of the last layer
	anchors [][]*gorgonia.Node // per layer from 0 and view
	trust   []*gorgonia.Node   // of the last layer, per view; nil where E = 0
	net     unfold.PerModule
}

func readModel(m *Model[Represent, Noise, Anchor]) (*readOuts, error) {
	r := &readOuts{}
	var ok bool
	if r.net, ok = m.net.(unfold.PerModule); !ok {
		return nil, fmt.Errorf("largemvc: a network of type %T", m.net)
	}
	r.net.ReadApart() // an op of the ExtraLoss may overwrite what it was given
	var err error
	if r.h, err = m.H(m.env.Layers); err != nil {
		return nil, err
	}
	for l := range m.env.Layers + 1 {
		layer := make([]*gorgonia.Node, m.env.Views)
		for v := range layer {
			if layer[v], err = m.P(l, v); err != nil {
				return nil, err
			}
		}
		r.anchors = append(r.anchors, layer)
	}
	for v := range m.env.Views {
		t, err := r.net.T(m.env.Layers, v)
		if err != nil {
			return nil, fmt.Errorf("largemvc: %w", err)
		}
		r.trust = append(r.trust, t)
	}
	return r, nil
}

// noise says whether any view has a trust.
func (r *readOuts) noise() bool {
	return slices.ContainsFunc(r.trust, func(n *gorgonia.Node) bool { return n != nil })
}

// epochs runs the epochs that are left. It returns what the caller of Fit is to know of the end.
func (t *lossNetwork[T]) epochs(ctx context.Context, r *runState, save func() error) error {
	c := t.config
	learn := gorgonia.NodesToValueGrads(t.model.Learnables())
	limit := divergence * t.lossOfNothing()
	r.status = EpochLimit
	patience := patience{tolerance: c.EarlyStop.Tolerance, limit: c.EarlyStop.Patience}
	for _, loss := range r.Loss {
		if patience.over(loss) {
			r.status = Converged
		}
	}
	began := time.Now()
	for r.Epochs < c.Epochs && r.status == EpochLimit {
		epochBegan := time.Now()
		if err := t.forward(ctx, r); err != nil {
			return r.ended(ctx, err)
		}
		loss := r.Loss[len(r.Loss)-1]
		if !usable(loss, r.Loss[0], limit) {
			r.status = Diverged
			return &DivergedError{Epoch: r.Epochs + 1, Loss: loss}
		}
		r.Good, r.GoodAt = t.values(r.Good), r.Epochs
		if err := t.adam.Step(learn); err != nil {
			return err
		}
		if err := t.model.Project(); err != nil {
			return err
		}
		if name := t.notFinite(); name != "" {
			r.status = Diverged
			return &DivergedError{Epoch: r.Epochs + 1, Loss: loss, Err: fmt.Errorf("%s is not finite after the step", name)}
		}
		t.machine.Reset()
		r.Epochs++
		r.durations = append(r.durations, time.Since(epochBegan))
		if patience.over(loss) {
			r.status = Converged
		}
		var stop error
		if c.Progress != nil {
			stop = c.Progress(Epoch{
				Phase: phaseTraining.String(), Done: r.Epochs, Total: c.Epochs, Left: meterOf(ctx).epochDone(r, c),
				Restart: r.Restart, Restarts: c.Restarts, Epoch: r.Epochs, Epochs: c.Epochs,
				Loss: loss, ViewLoss: r.ViewLoss[len(r.ViewLoss)-1], Elapsed: time.Since(began),
			})
		}
		if stop = t.agreed(stop); stop != nil {
			if r.status = Stopped; errors.Is(stop, ErrStop) {
				return nil
			}
			return r.ended(ctx, stop)
		}
		if save != nil && r.status == EpochLimit && r.Epochs%c.Checkpoint.Every == 0 && r.Epochs < c.Epochs {
			t.snapshot(r)
			if err := save(); err != nil {
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
func (t *lossNetwork[T]) forward(ctx context.Context, r *runState) error {
	if t.fused != nil {
		t.fused.Within(ctx)
	} else if err := ctx.Err(); err != nil {
		return err
	}
	if err := unfold.Run(t.machine); err != nil {
		return fmt.Errorf("largemvc: epoch %d: %w", r.Epochs+1, err)
	}
	return t.record(r)
}

// record appends the losses of the last run of the network.
func (t *lossNetwork[T]) record(r *runState) error {
	var parts []float64
	total := 0.0
	if t.fused != nil {
		parts = slices.Clone(t.fused.Engine().Loss())
		total = kernel.Sum(parts) + t.fused.Engine().TermValue()
	} else {
		parts = slices.Clone(t.reads.net.ViewLoss())
	}
	if t.fused == nil || t.config.ExtraLoss != nil {
		value, err := op.Elements[T](t.cost.Value())
		if err != nil {
			return err
		}
		total = float64(value[0])
	}
	r.Loss, r.ViewLoss = append(r.Loss, total), append(r.ViewLoss, parts)
	return nil
}

// lossOfNothing is the loss of H = 0, Σ_v w_v‖X_v‖²: the scale of what a loss can be.
func (t *lossNetwork[T]) lossOfNothing() float64 {
	total := 0.0
	for v, weight := range t.config.Reduction.weights(t.in.data) {
		total += weight * t.in.data.squares[v]
	}
	return total
}

// values copies the values of the learnable nodes to dst, which it makes if it is nil.
func (t *lossNetwork[T]) values(dst [][]float64) [][]float64 {
	nodes := t.model.Learnables()
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
func (t *lossNetwork[T]) setValues(src [][]float64) error {
	nodes := t.model.Learnables()
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
func (t *lossNetwork[T]) notFinite() string {
	for _, n := range t.model.Learnables() {
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
func (t *lossNetwork[T]) snapshot(r *runState) {
	r.Values, r.Adam = t.values(nil), t.adam.State()
	r.Names = t.names()
}

// names are those of the learnable nodes.
func (t *lossNetwork[T]) names() []string {
	var out []string
	for _, n := range t.model.learn {
		out = append(out, learnedName(defaultPrefix, n))
	}
	return out
}

// checkNames refuses a network whose learnable nodes are not those of a run that goes on. Earlier files have no names.
func (t *lossNetwork[T]) checkNames(r *runState) error {
	if names := t.names(); r.Names != nil && !slices.Equal(r.Names, names) {
		return fmt.Errorf("largemvc: the modules make the learnable nodes %q, in the training they made %q", names, r.Names)
	}
	return nil
}

// last brings the network to its final parameters and evaluates it there. after is what ended the epochs, if anything
// did; it is returned unless something worse happens. done says whether the run has a result.
func (t *lossNetwork[T]) last(ctx context.Context, r *runState, after error) (done bool, err error) {
	switch {
	case r.status == Diverged && r.Good != nil:
		if err := t.goBack(r); err != nil {
			return false, err
		}
	case r.status == Diverged, r.status == EpochLimit && after != nil:
		return false, after
	case r.status == Cancelled && r.Epochs == 0:
		return false, after
	}
	t.snapshot(r)
	after, err = t.assess(ctx, r, after)
	if failed := t.failedStep(r, err); failed != nil {
		if r.status.interrupted() {
			r.halted, r.halt = r.status, after
		}
		if r.status, after = Diverged, failed; r.Good == nil {
			return false, failed
		}
		if err := t.goBack(r); err != nil {
			return false, err
		}
		t.snapshot(r)
		after, err = t.assess(ctx, r, after)
	}
	if err != nil {
		return false, r.ended(ctx, err)
	}
	return true, after
}

// goBack gives a run that diverged the last good state. The losses end with the last good one, which is that of this state.
func (t *lossNetwork[T]) goBack(r *runState) error {
	r.Epochs, r.Loss, r.ViewLoss = r.GoodAt, r.Loss[:r.GoodAt], r.ViewLoss[:r.GoodAt]
	return t.setValues(r.Good)
}

// failedStep says how the last step of a run has diverged, by the evaluation after it and its error; nil: it has not. No other
// epoch follows that would see it.
func (t *lossNetwork[T]) failedStep(r *runState, err error) *DivergedError {
	if r.status == Diverged || r.Epochs == 0 {
		return nil
	}
	if err != nil {
		if inside := divergedInside(err); inside != nil {
			return &DivergedError{Epoch: r.Epochs, Loss: math.NaN(), Err: inside}
		}
		return nil
	}
	if loss := last(r.Loss); !usable(loss, r.Loss[0], divergence*t.lossOfNothing()) {
		return &DivergedError{Epoch: r.Epochs, Loss: loss}
	}
	return nil
}

// usable says whether a loss has not diverged, in a training with this first loss. limit is that of H = 0, times divergence.
func usable(loss, first, limit float64) bool {
	return math.Abs(loss) <= max(limit, divergence*math.Abs(first)) // not NaN
}

// assess evaluates the network at the end of a run, to the end though the context be cancelled where there is something to
// lose, and returns what is to be said of the end then.
func (t *lossNetwork[T]) assess(ctx context.Context, r *runState, after error) (of, err error) {
	err = t.evaluate(ctx, r)
	if err != nil && ctx.Err() != nil && (r.Epochs > 0 || r.halted.interrupted()) {
		if r.status == EpochLimit || r.status == Converged {
			r.status, after = Cancelled, ctx.Err()
		}
		err = t.evaluate(context.WithoutCancel(ctx), r)
	}
	return after, err
}

// evaluate computes H and the loss at the present parameters.
func (t *lossNetwork[T]) evaluate(ctx context.Context, r *runState) error {
	if t.fused == nil || t.config.ExtraLoss != nil {
		t.machine.Reset()
		return t.forward(ctx, r)
	}
	if _, err := t.fused.Evaluate(ctx); err != nil {
		return err
	}
	return t.record(r)
}

// median returns the middle of some durations, 0 of none.
func median(x []time.Duration) time.Duration {
	if len(x) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(x))[len(x)/2]
}

// network returns the model that the configuration describes, with modules of its own, not built yet.
func (c *Config) network(rhoScale []float64) *Model[Represent, Noise, Anchor] {
	m := &Model[Represent, Noise, Anchor]{
		Represent: copied(c.Represent), Noise: copied(c.Noise), Anchor: copied(c.Anchor), Reduction: c.Reduction,
	}
	if shrink, ok := m.Noise.(*RowShrink); ok {
		shrink.Scale = rhoScale
	}
	return m
}
