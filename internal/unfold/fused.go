package unfold

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/rows"
)

// fused is a network of stock modules as one op, whose inputs are all learnable nodes and whose value is the loss,
// including a term of the engine. Its work is done by internal/engine in 2L+1 passes over X a step.
//
// The loss node serves as a token of the state behind it. Read-outs (H, P, t) are ops whose only input is the token; they
// return copies, for Gorgonia's elementwise ops overwrite their operands. The derivative of a read-out adds its
// cotangent to the state and returns the scalar 0, which Gorgonia sums with the cotangent of the loss. So the gradient
// ops (token, that sum), one for each learnable node, run after all read-outs have given their cotangents: the first of
// them does the L backward passes, the others fetch.
type fused[T kernel.Float] struct {
	env      Site
	net      *engine.Net
	params   *engine.Params
	grads    *engine.Params
	scale    []float64 // ρ_lv = scale_v·ρ̃_lv
	nodes    gorgonia.Nodes
	token    *Node
	loss     *Node           // the token, with its value in memory of the CPU
	ctx      context.Context // of the run at hand
	gradient bool            // the graph has gradient ops
	ran      bool            // there was a run
	done     bool            // the backward passes of this run are done
	upstream float64         // of the loss in the backward passes that were done
	viewLoss []float64
	reads    map[string]*Node
}

// Fused is a fused network whatever its element type.
type Fused interface {
	Network
	Engine() *engine.Net
	// Within sets the context that ends the following runs.
	Within(ctx context.Context)
	// Evaluate runs the network at the nodes' values without gradients and returns the loss of every view.
	Evaluate(ctx context.Context) ([]float64, error)
	// Parameters returns the values of the last run as applied, ρ scaled.
	Parameters() *engine.Params
}

var (
	_ Fused = (*fused[float32])(nil)
	_ Fused = (*fused[float64])(nil)
)

// NewFused makes the fused op. nodes are θ_1 … θ_L, with noise ρ_11 … ρ_LV (layer by layer), R, U. The rows go into what shards
// returns, whose sums reduce adds up.
func NewFused[T kernel.Float](env Site, views []*View[T], spec engine.Spec, start Start,
	scale []float64, nodes gorgonia.Nodes, shards engine.Factory[T],
	reduce engine.Reducer) (Fused, error) {
	x := make([]rows.Matrix[T], len(views))
	var present [][]bool
	for v, w := range views {
		x[v] = w.X
		if w.Present != nil && present == nil {
			present = make([][]bool, len(views))
		}
	}
	for v := range present {
		present[v] = views[v].Present
	}
	var h0 []float64
	if start.H != nil {
		h0 = linalg.Values(start.H)
	}
	parts, err := shards(&spec, x, present, h0)
	if err != nil {
		return nil, err
	}
	if start.E != nil {
		if err := startNoise(parts, start, spec.Workers); err != nil {
			return nil, err
		}
	}
	anchors := make([][]float64, len(start.Anchors))
	for v, p := range start.Anchors {
		anchors[v] = linalg.Values(p)
	}
	net, err := engine.NewNet(spec, parts, reduce, anchors)
	if err != nil {
		return nil, err
	}
	f := &fused[T]{env: env, net: net, params: engine.NewParams(&spec), grads: engine.NewParams(&spec), scale: scale,
		nodes: nodes, ctx: context.Background(), viewLoss: make([]float64, len(views)), reads: map[string]*Node{}}
	o := &op.Operation{Label: env.Name("fused network"), Run: f.forward, Diff: op.All(len(nodes)), Grad: f.gradientNode,
		Device: true}
	if f.token, err = op.Apply(o, env.Of, nil, withPresent(o, nodes, env.Present)...); err != nil {
		return nil, err
	}
	f.loss, err = op.Landed(f.token)
	return f, err
}

// startNoise sets the initial E of the only shard of this process.
func startNoise(parts []engine.Shard, start Start, workers int) error {
	shard, ok := parts[0].(interface{ AddStartNoise([]float64) })
	if !ok || len(parts) > 1 {
		return errors.New("an initial E needs the state of all samples in the memory of the CPU")
	}
	for v := range start.E {
		shard.AddStartNoise(start.noise(workers, v))
	}
	return nil
}

func (f *fused[T]) Loss() *Node                { return f.loss }
func (f *fused[T]) Engine() *engine.Net        { return f.net }
func (f *fused[T]) Within(ctx context.Context) { f.ctx = ctx }
func (f *fused[T]) Parameters() *engine.Params { return f.params }

// load sets the parameters from the values of the nodes.
func (f *fused[T]) load(in []gorgonia.Value) error {
	flat := make([]float64, 0, len(in))
	spec := f.net.Spec()
	for i, v := range in {
		x, err := op.Elements[T](v)
		if err != nil {
			return fmt.Errorf("%s: %w", f.nodes[i].Name(), err)
		}
		switch k := i - (len(in) - 2); k {
		case 0, 1:
			dst := [][]float64{f.params.R, f.params.U}[k]
			for j, e := range x {
				dst[j] = float64(e)
			}
		default:
			flat = append(flat, float64(x[0]))
		}
	}
	copy(f.params.Theta, flat)
	flat = flat[spec.Layers:]
	for l, rho := range f.params.Rho {
		for v := range rho {
			rho[v] = f.scale[v] * flat[l*len(rho)+v]
		}
	}
	return nil
}

func (f *fused[T]) forward(in []gorgonia.Value) (gorgonia.Value, error) {
	if err := f.load(in[:len(f.nodes)]); err != nil {
		return nil, err
	}
	f.done = false
	loss, err := f.net.Forward(f.ctx, f.params, f.gradient)
	if err != nil {
		return nil, err
	}
	f.ran = true
	copy(f.viewLoss, loss)
	return op.Scalar[T](kernel.Sum(loss) + f.net.TermValue()), nil
}

func (f *fused[T]) Evaluate(ctx context.Context) ([]float64, error) {
	in := make([]gorgonia.Value, len(f.nodes))
	for i, n := range f.nodes {
		in[i] = n.Value()
	}
	if err := f.load(in); err != nil {
		return nil, err
	}
	loss, err := f.net.Forward(ctx, f.params, false)
	f.ran = f.ran || err == nil
	copy(f.viewLoss, loss)
	return f.viewLoss, err
}

// gradientNode is the derivative of the loss by learnable node i.
func (f *fused[T]) gradientNode(i int, in gorgonia.Nodes, out, cotangent *Node) (*Node, error) {
	f.gradient = true
	shape := in[i].Shape().Clone()
	o := &op.Operation{Label: f.env.Name("gradient by %s", in[i].Name())}
	o.Run = func(values []gorgonia.Value) (gorgonia.Value, error) {
		upstream, err := op.Elements[T](values[1])
		if err != nil {
			return nil, err
		}
		if err := f.backward(float64(upstream[0])); err != nil {
			return nil, err
		}
		return f.fetch(i, shape), nil
	}
	return op.Apply(o, f.env.Of, shape, out, cotangent)
}

// backward does the backward passes of this run once.
func (f *fused[T]) backward(upstream float64) error {
	if f.done {
		if upstream != f.upstream {
			return fmt.Errorf("two cotangents of the loss in one run, %v and %v", f.upstream, upstream)
		}
		return nil
	}
	if err := f.net.Backward(f.ctx, upstream, f.grads); err != nil {
		return err
	}
	f.done, f.upstream = true, upstream
	return nil
}

// fetch returns the gradient by node i: of ρ̃ where the node is one.
func (f *fused[T]) fetch(i int, shape tensor.Shape) gorgonia.Value {
	layers, views := f.net.Spec().Layers, len(f.net.Spec().Dims)
	switch k := i - (len(f.nodes) - 2); {
	case k >= 0:
		src := [][]float64{f.grads.R, f.grads.U}[k]
		return op.Dense(kernel.Convert[T](src), shape...)
	case i < layers:
		return op.Scalar[T](f.grads.Theta[i])
	default:
		i -= layers
		return op.Scalar[T](f.scale[i%views] * f.grads.Rho[i/views][i%views])
	}
}

// readOut is an op whose value is a copy of a state, and whose cotangent goes back to that state.
func (f *fused[T]) readOut(name string, shape tensor.Shape,
	read func() ([]float64, error), push func(cotangent []float64) error) (*Node, error) {
	if n := f.reads[name]; n != nil {
		return n, nil
	}
	o := &op.Operation{Label: f.env.Name("%s", name), Diff: []bool{true}}
	o.Run = func([]gorgonia.Value) (gorgonia.Value, error) {
		x, err := read()
		if err != nil {
			return nil, err
		}
		return op.Dense(kernel.Convert[T](x), shape...), nil
	}
	o.Grad = func(_ int, _ gorgonia.Nodes, out, cotangent *Node) (*Node, error) {
		give := &op.Operation{
			Label: f.env.Name("cotangent of %s", name),
			Run: func(in []gorgonia.Value) (gorgonia.Value, error) {
				c, err := op.Elements[T](in[1])
				if err != nil {
					return nil, err
				}
				return op.Scalar[T](0), push(kernel.Float64s(c))
			},
		}
		return op.Apply(give, f.env.Of, nil, f.token, cotangent)
	}
	n, err := op.Apply(o, f.env.Of, shape, f.token)
	f.reads[name] = n
	return n, err
}

func (f *fused[T]) H(l int) (*Node, error) {
	n, m := f.env.Samples, f.env.Anchors
	return f.readOut(fmt.Sprintf("H_%d", l), tensor.Shape{n, m}, func() ([]float64, error) {
		h := make([]float64, n*m)
		return h, f.net.Read(engine.FieldH, l, 0, 0, n, h)
	}, func(c []float64) error { return f.net.AddH(l, c) })
}

func (f *fused[T]) P(l, v int) (*Node, error) {
	shape := tensor.Shape{f.env.Anchors, f.env.Dims[v]}
	return f.readOut(fmt.Sprintf("P_%d_%d", l, v), shape, func() ([]float64, error) {
		return f.net.Anchors(l, v)
	}, func(c []float64) error { f.net.AddAnchors(l, v, c); return nil })
}

func (f *fused[T]) T(l, v int) (*Node, error) {
	n := f.env.Samples
	if !f.net.Spec().Noise {
		return nil, nil
	}
	return f.readOut(fmt.Sprintf("t_%d_%d", l, v), tensor.Shape{n}, func() ([]float64, error) {
		t := make([]float64, n)
		return t, f.net.Read(engine.FieldTrust, l, v, 0, n, t)
	}, func(c []float64) error { return f.net.AddTrust(l, v, c) })
}

func (f *fused[T]) ERows(l, v, lo, hi int, dst []float64) error {
	if !f.ran {
		return ErrNotRun
	}
	return f.net.Read(engine.FieldE, l, v, lo, hi, dst)
}
