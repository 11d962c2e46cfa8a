package largemvc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/inputs"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/train"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/machine"
)

// lossNetwork is a network with its loss, ready to run. Training changes the values of its nodes alone.
type lossNetwork[T kernel.Float] struct {
	in      *prepared[T]
	config  *Config
	model   *Model[Represent, Noise, Anchor]
	fused   unfold.Fused // of stock modules, else nil
	reads   *readOuts    // of other modules, else nil
	cost    *gorgonia.Node
	adam    *unfold.Adam
	solver  gorgonia.Solver // of the caller, nil: adam
	machine gorgonia.VM

	last     float64 // loss of the last run
	steps    int     // of the optimiser
	onDevice bool    // the rows were on a device and are released
}

// newNetwork makes the graph: network, loss and, for training, gradients and a place on the device of the fit, if there is one.
func newNetwork[T kernel.Float](in *prepared[T], c *Config, r *train.Run, training bool) (*lossNetwork[T], error) {
	if in.device == nil || !training {
		return newNetworkOn(in, c, r, training, nil)
	}
	t, err := newNetworkOn(in, c, r, training, in.device)
	if err == nil || in.device.Leave(err) != nil {
		return t, err
	}
	return newNetworkOn(in, c, r, training, nil)
}

// gradMutex guards gorgonia.Grad: all graphs share one constant 1, and the first Grad writes its hash.
var gradMutex sync.Mutex

func newNetworkOn[T kernel.Float](
	in *prepared[T], c *Config, r *train.Run, training bool, on *device.Session,
) (_ *lossNetwork[T], err error) {
	g, begin := gorgonia.NewGraph(), r.Begin
	t := &lossNetwork[T]{
		in: in, config: c, model: newModel(c), adam: &unfold.Adam{Options: c.Optimizer}, steps: r.Epochs,
	}
	data := in.data
	_, encoded := c.Represent.(Encoder)
	anchors := make([]mat.Matrix, len(in.List))
	for v, p := range begin.Anchors {
		columns := data.dims[v]
		if encoded {
			columns = max(1, len(p)/c.Anchors)
		}
		if len(p) != c.Anchors*columns { // the checkpoint is of other views
			return nil, fmt.Errorf(
				"largemvc: the first anchors of %s have %d values, want %d×%d",
				in.Sources[v].Label(in.List[v].View), len(p), c.Anchors, columns,
			)
		}
		anchors[v] = mat.NewDense(c.Anchors, columns, p)
	}
	env := Env{G: g, Layers: c.Layers, Of: data.of, Workers: c.Machine.Workers, Seed: c.Seed + uint64(r.Restart)}
	t.model.device, t.model.idle, t.model.again = on, in.Idle, in.again
	if err := t.model.Build(env, data, StartPoint{anchors, c.Start.H, c.Start.E}); err != nil {
		return nil, err
	}
	t.fused, t.onDevice = t.model.fused(), on.Trains()
	defer func() {
		if err != nil && t.onDevice {
			err = errors.Join(err, t.fused.Engine().Close())
		}
	}()
	if t.cost, err = in.terms(c).add(t.model); err != nil {
		return nil, err
	}
	if t.fused == nil {
		var err error
		if t.reads, err = readModel(t.model); err != nil {
			return nil, err
		}
	}
	refused := t.refused(on)
	learn := t.model.Learnables()
	if !training || len(learn) == 0 {
		var err error
		t.machine, err = op.NewMachine(g, refused)
		return t, withName(err)
	}
	if t.solver, err = solverOf(c); err != nil {
		return nil, err
	}
	var grads gorgonia.Nodes
	err = guarded(func() (err error) {
		gradMutex.Lock()
		defer gradMutex.Unlock()
		grads, err = gorgonia.Grad(t.cost, learn...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("largemvc: gradients: %w", err)
	}
	t.machine, err = op.NewTraining(g, refused, learn, grads)
	return t, withName(err)
}

// solverOf returns a new solver of the caller, nil if there is none.
func solverOf(c *Config) (s gorgonia.Solver, err error) {
	if c.Optimizer.Solver == nil {
		return nil, nil
	}
	err = guarded(func() error {
		if s = c.Optimizer.Solver(); s == nil {
			return errors.New("it made no solver")
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("largemvc: Optimizer.Solver: %w", err)
	}
	return s, err
}

// refused returns the function that takes the reason if Gorgonia's own operations cannot run on the device. It is nil if they are
// for the CPU.
func (t *lossNetwork[T]) refused(on *device.Session) func(error) error {
	switch {
	case t.onDevice:
		return on.Note
	case t.fused == nil && t.config.Machine.Device == machine.CUDA: // custom modules, in a build that openDevice has looked at
		return func(err error) error { return err }
	}
	return nil
}

// readOuts holds the nodes with copies of the results of a network with custom modules.
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

// Forward runs the graph, gradients included, and returns the loss.
func (t *lossNetwork[T]) Forward(ctx context.Context, epoch int) (train.Loss, error) {
	if t.fused != nil {
		t.fused.Within(ctx)
	} else if err := ctx.Err(); err != nil {
		return train.Loss{}, err
	}
	if err := unfold.Run(t.machine); err != nil {
		return train.Loss{}, notFinite(fmt.Errorf("largemvc: epoch %d: %w", epoch, err))
	}
	return t.loss()
}

// Evaluate computes H and the loss at the present parameters.
func (t *lossNetwork[T]) Evaluate(ctx context.Context) (train.Loss, error) {
	if t.fused == nil || addsNodes(t.config) {
		t.machine.Reset()
		return t.Forward(ctx, t.steps+1)
	}
	if _, err := t.fused.Evaluate(ctx); err != nil {
		return train.Loss{}, notFinite(err)
	}
	return t.loss()
}

// loss returns the losses of the last run of the network.
func (t *lossNetwork[T]) loss() (train.Loss, error) {
	var out train.Loss
	if t.fused != nil {
		out.Views = slices.Clone(t.fused.Engine().Loss())
		out.Total = kernel.Sum(out.Views) + t.fused.Engine().TermValue()
	} else {
		out.Views = slices.Clone(t.reads.net.ViewLoss())
	}
	if t.fused == nil || addsNodes(t.config) {
		value, err := op.Elements[T](t.cost.Value())
		if err != nil {
			return out, err
		}
		out.Total = float64(value[0])
	}
	t.last = out.Total
	return out, nil
}

// notFinite marks an error of a run of the graph for a number inside the network that is not finite.
func notFinite(err error) error {
	var inside *engine.DivergedError
	var entry *linalg.NotFiniteError // of an op of custom modules
	switch {
	case errors.As(err, &inside):
		return &train.NotFiniteError{Err: inside}
	case errors.As(err, &entry):
		return &train.NotFiniteError{Err: entry}
	}
	return err
}

// Step is one of the optimizer, with the projection to the parameters' ranges.
func (t *lossNetwork[T]) Step() error {
	values := gorgonia.NodesToValueGrads(t.model.Learnables())
	if t.solver == nil {
		t.adam.Schedule(t.last)
		if err := t.adam.Step(values); err != nil {
			return err
		}
	} else if err := guarded(func() error { return stepBy(t.solver, values) }); err != nil {
		return fmt.Errorf("largemvc: Optimizer.Solver: %w", err)
	}
	t.steps++
	if err := t.model.Project(); err != nil {
		return err
	}
	if name := t.notFinite(); name != "" {
		return &train.NotFiniteError{Err: fmt.Errorf("%s is not finite after the step", name)}
	}
	t.machine.Reset()
	return nil
}

// stepBy makes a step of a solver and sets the gradients to zero, to which the next run adds its own.
func stepBy(s gorgonia.Solver, values []gorgonia.ValueGrad) error {
	if err := s.Step(values); err != nil {
		return err
	}
	for _, v := range values {
		gradient, err := v.Grad()
		if err != nil {
			return err
		}
		g := op.EntriesOf(gradient)
		for j := range g.Len() {
			g.Set(j, 0)
		}
	}
	return nil
}

// NullLoss is the loss of H = 0, Σ_v w_v‖X_v‖²: the scale of what a loss can be.
func (t *lossNetwork[T]) NullLoss() float64 {
	total := 0.0
	for v, weight := range t.config.Reduction.weights(t.in.data) {
		total += weight * t.in.data.squares[v]
	}
	return total
}

// Release gives back the memory that only training needs.
func (t *lossNetwork[T]) Release() {
	if t.fused != nil {
		t.fused.Engine().Rest()
	}
	inputs.Collect(t.in.Sources)
}

// Close ends the training.
func (t *lossNetwork[T]) Close() error {
	t.machine.Close()
	if !t.onDevice {
		return nil
	}
	return t.fused.Engine().Close()
}

// Lasting says whether the network is of use after Close: the CPU labels the samples of the training, as it labels new ones.
func (t *lossNetwork[T]) Lasting() bool { return !t.onDevice }

// Adam returns the state of the optimizer.
func (t *lossNetwork[T]) Adam() adam.State { return t.adam.State() }

// Values copies the values of the learnable nodes to dst. If dst is nil, Values allocates it.
func (t *lossNetwork[T]) Values(dst [][]float64) [][]float64 {
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

// SetValues gives the learnable nodes the values that Values returned.
func (t *lossNetwork[T]) SetValues(src [][]float64) error {
	nodes := t.model.Learnables()
	if len(src) != len(nodes) {
		return fmt.Errorf("largemvc: there are values for %d learnable nodes, the network has %d", len(src), len(nodes))
	}
	for i, n := range nodes {
		x := op.EntriesOf(n.Value())
		if x.Len() != len(src[i]) {
			return fmt.Errorf("largemvc: the learnable node %s has %d values, want %d", n.Name(), len(src[i]), x.Len())
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

// Names returns the names of the learnable nodes.
func (t *lossNetwork[T]) Names() []string {
	var out []string
	for _, n := range t.model.learn {
		out = append(out, learnedName(defaultPrefix, n))
	}
	return out
}

// goOn sets the values of the network to the values of a resumed run. The names of the learnable nodes must be equal.
func (t *lossNetwork[T]) goOn(r *train.Run) error {
	if names := t.Names(); r.Names != nil && !slices.Equal(r.Names, names) {
		return fmt.Errorf("largemvc: the modules make the learnable nodes %q, in the training they made %q", names, r.Names)
	}
	return t.SetValues(r.Values)
}

// newModel returns the model that the configuration describes, with modules of its own, not built yet.
func newModel(c *Config) *Model[Represent, Noise, Anchor] {
	return &Model[Represent, Noise, Anchor]{
		Represent: copied(c.Represent), Noise: copied(c.Noise), Anchor: copied(c.Anchor), Reduction: c.Reduction,
		PerModule: c.Machine.PerModule,
	}
}

// Agree returns, on all ranks, what the progress callback of any of them says after an epoch, and an error if they do not have
// the same parameters.
func (t *lossNetwork[T]) Agree(stop error) error {
	team := t.in.data.team
	if team == nil {
		return stop
	}
	h := fnv.New64a()
	for _, x := range t.Values(nil) {
		_ = binary.Write(h, binary.LittleEndian, x) // a hash has no errors
	}
	err := team.AgreeOn("the end of an epoch", h.Sum64(), stop)
	var other *ranks.Error
	if stop == nil && errors.As(err, &other) && "largemvc: "+other.Text == ErrStop.Error() {
		return ErrStop
	}
	return withName(err)
}
