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

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
)

// training is one run from a start to trained parameters.
type training[T kernel.Float] struct {
	config   *Config
	views    []View
	data     *Data
	x        []rows.Matrix[T]
	restart  int
	prepared time.Duration

	begin     *startingPoint
	net       builtModel
	cost      *gorgonia.Node
	loss      []float64
	viewLoss  [][]float64
	status    Status
	epochs    int
	done      bool // there is a state to return
	startFor  time.Duration
	trainFor  time.Duration
	durations []time.Duration
	good      [][]float64 // values of the learnable nodes at the last good loss
}

// divergence is the multiple of the first loss from which a loss counts as diverged.
const divergence = 1e4

func (t *training[T]) finalLoss() float64 { return t.loss[len(t.loss)-1] }

// run starts and trains. Its error is what Fit returns beside the state, if there is one.
func (t *training[T]) run(ctx context.Context) error {
	c := t.config
	began := time.Now()
	var err error
	if t.begin, err = start(ctx, t.x, t.views, c, c.Seed+uint64(t.restart)); err != nil {
		return err
	}
	t.startFor = time.Since(began)
	vm, err := t.build()
	if err != nil {
		return err
	}
	defer vm.Close()
	began = time.Now()
	err = t.train(ctx, vm)
	t.trainFor = time.Since(began)
	return err
}

// build makes the graph: network, loss, gradients.
func (t *training[T]) build() (gorgonia.VM, error) {
	c := t.config
	g := gorgonia.NewGraph()
	t.net = c.network(t.begin.scale)
	anchors := make([]mat.Matrix, len(t.views))
	for v, p := range t.begin.anchors {
		anchors[v] = mat.NewDense(c.Anchors, t.views[v].cols, p)
	}
	env := Env{G: g, Layers: c.Layers, Of: t.data.of, Workers: c.Workers}
	if err := t.net.Build(env, t.data, StartPoint{Anchors: anchors}); err != nil {
		return nil, err
	}
	t.cost = t.net.Loss()
	if c.ExtraLoss != nil {
		extra, err := c.ExtraLoss(t.net)
		if err != nil {
			return nil, fmt.Errorf("largemvc: extra loss: %w", err)
		}
		if t.cost, err = gorgonia.Add(t.cost, extra); err != nil {
			return nil, fmt.Errorf("largemvc: extra loss: %w", err)
		}
	}
	learn := t.net.Learnables()
	if c.Epochs == NoTraining {
		return gorgonia.NewTapeMachine(g), nil
	}
	if _, err := gorgonia.Grad(t.cost, learn...); err != nil {
		return nil, fmt.Errorf("largemvc: gradients: %w", err)
	}
	return gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(learn...)), nil
}

// train runs the epochs and the last evaluation.
func (t *training[T]) train(ctx context.Context, vm gorgonia.VM) error {
	c := t.config
	solver := &Adam{LearningRate: c.LearningRate}
	learn := gorgonia.NodesToValueGrads(t.net.Learnables())
	best, waited := math.Inf(1), 0
	began := time.Now()
	var after error // what ended the training, for the caller
	for t.epochs < c.Epochs && t.status == EpochLimit {
		epochBegan := time.Now()
		if err := t.forward(ctx, vm); err != nil {
			if stop := t.ended(ctx, err); stop != nil {
				after = stop
				break
			}
			return err
		}
		loss := t.loss[len(t.loss)-1]
		if t.diverged(loss) {
			after = &DivergedError{Epoch: t.epochs + 1, Loss: loss}
			t.status = Diverged
			break
		}
		t.keep()
		if err := solver.Step(learn); err != nil {
			return err
		}
		if err := t.net.Project(); err != nil {
			return err
		}
		vm.Reset()
		t.epochs++
		t.durations = append(t.durations, time.Since(epochBegan))
		if c.Progress != nil {
			err := c.Progress(Epoch{Restart: t.restart, Restarts: c.Restarts, Epoch: t.epochs, Epochs: c.Epochs,
				Loss: loss, ViewLoss: t.viewLoss[len(t.viewLoss)-1], Elapsed: time.Since(began)})
			if err != nil {
				t.status = Stopped
				if !errors.Is(err, ErrStop) {
					after = err
				}
			}
		}
		if c.Tolerance > 0 && t.status == EpochLimit {
			if loss < best-c.Tolerance*math.Abs(best) || math.IsInf(best, 1) {
				best, waited = loss, 0
			} else if waited++; waited >= c.Patience {
				t.status = Converged
			}
		}
	}
	return t.last(ctx, vm, after)
}

// forward runs the graph and records the losses.
func (t *training[T]) forward(ctx context.Context, vm gorgonia.VM) error {
	t.net.fused().within(ctx)
	if err := vm.RunAll(); err != nil {
		return err
	}
	value, err := elements[T](t.cost.Value())
	if err != nil {
		return err
	}
	t.record(float64(value[0]))
	return nil
}

func (t *training[T]) record(loss float64) {
	t.loss = append(t.loss, loss)
	t.viewLoss = append(t.viewLoss, slices.Clone(t.net.fused().engineNet().Loss()))
}

// ended sorts an error of a run of the graph: cancelled and diverged ones end the training in order.
func (t *training[T]) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		t.status = Cancelled
		return context.Cause(ctx)
	}
	var inside *engine.DivergedError
	if errors.As(err, &inside) {
		t.status = Diverged
		return &DivergedError{Epoch: t.epochs + 1, Loss: math.NaN(), Err: err}
	}
	return nil
}

func (t *training[T]) diverged(loss float64) bool {
	return math.IsNaN(loss) || math.IsInf(loss, 0) || math.Abs(loss) > divergence*math.Max(math.Abs(t.loss[0]), 1e-30)
}

// keep remembers the values of the learnable nodes.
func (t *training[T]) keep() {
	nodes := t.net.Learnables()
	if t.good == nil {
		t.good = make([][]float64, len(nodes))
	}
	for i, n := range nodes {
		x := asNumbers(n.Value())
		if t.good[i] == nil {
			t.good[i] = make([]float64, x.len())
		}
		for j := range t.good[i] {
			t.good[i][j] = x.at(j)
		}
	}
}

// last brings the network to its final parameters and evaluates it there.
func (t *training[T]) last(ctx context.Context, vm gorgonia.VM, after error) error {
	switch t.status {
	case Diverged:
		if t.good == nil {
			return after
		}
		t.epochs--
		for i, n := range t.net.Learnables() {
			x := asNumbers(n.Value())
			for j, value := range t.good[i] {
				x.set(j, value)
			}
		}
		// The losses end with the last good one, which is that of the state returned.
		t.loss, t.viewLoss = t.loss[:t.epochs], t.viewLoss[:t.epochs]
	case Cancelled:
		if t.good == nil {
			return after
		}
		ctx = context.WithoutCancel(ctx)
	}
	if err := t.evaluate(ctx, vm); err != nil {
		if stop := t.ended(ctx, err); stop != nil && t.good != nil && t.status == Cancelled {
			if err := t.evaluate(context.WithoutCancel(ctx), vm); err != nil {
				return err
			}
			t.done = true
			return stop
		}
		return err
	}
	t.done = true
	return after
}

// evaluate computes H and the loss at the present parameters.
func (t *training[T]) evaluate(ctx context.Context, vm gorgonia.VM) error {
	if t.config.ExtraLoss != nil {
		vm.Reset()
		return t.forward(ctx, vm)
	}
	loss, err := t.net.fused().evaluate(ctx)
	if err != nil {
		return err
	}
	t.record(kernel.Sum(loss))
	return nil
}

// finish clusters the representation and gathers the result.
func (t *training[T]) finish(ctx context.Context, prepare *standardiser) (*Clustering, error) {
	began := time.Now()
	c, net := t.config, t.net.fused().engineNet()
	n, m := t.data.samples, c.Anchors
	shard := net.Shards()[0].(*engine.Memory[T])
	h, ld := shard.H(c.Layers)
	out := &Clustering{
		H: resultMatrix(n, m, ld, h), Loss: t.loss, ViewLoss: t.viewLoss, Status: t.status, Epochs: t.epochs, Restart: t.restart,
		StartLabels: t.begin.labels, config: *c, dims: t.data.Dims(),
	}
	q := t.net.fused().parameters()
	out.Theta, out.r, out.u = slices.Clone(q.Theta), slices.Clone(q.R), slices.Clone(q.U)
	for _, rho := range q.Rho {
		out.Rho = append(out.Rho, slices.Clone(rho))
	}
	for l := range c.Layers + 1 {
		var layer []*mat.Dense
		for v, d := range out.dims {
			layer = append(layer, mat.NewDense(m, d, slices.Clone(net.Anchors(l, v))))
		}
		out.anchors = append(out.anchors, layer)
	}
	out.P = out.anchors[c.Layers]
	if c.Variant == Large {
		for v := range out.dims {
			trust := make([]float64, n)
			if err := net.Read(engine.FieldTrust, c.Layers, v, 0, n, trust); err != nil {
				return nil, err
			}
			out.Trust = append(out.Trust, trust)
		}
	}
	if err := clusterRepresentation[T](ctx, out, net.Spec(), q, prepare, h, ld); err != nil {
		return nil, err
	}
	slices.Sort(t.durations)
	out.Timings = Timings{Prepare: t.prepared, Start: t.startFor, Train: t.trainFor, Clusters: time.Since(began)}
	if len(t.durations) > 0 {
		out.Timings.Epoch = t.durations[len(t.durations)/2]
	}
	return out, nil
}

// clusterRepresentation runs k-means on H, numbers the clusters by size and makes the predictor.
func clusterRepresentation[T kernel.Float](ctx context.Context, out *Clustering, spec *engine.Spec, q *engine.Params, prepare *standardiser, h []T, ld int) error {
	n, m := spec.Samples, spec.Anchors
	src, err := kmeans.NewSource(kmeans.View[T]{Rows: rows.NewDense(n, m, ld, h), Weight: 1})
	if err != nil {
		return err
	}
	found, err := kmeans.Run(ctx, src, kmeans.Config{Clusters: out.config.Clusters, Starts: out.config.KMeansStarts, Seed: out.config.Seed, Workers: out.config.Workers})
	if err != nil {
		return err
	}
	out.Clusters, out.Repaired = found.Found, found.Repaired
	order := bySize(found.Labels, found.Found)
	centroids := make([]T, 0, found.Found*m)
	for _, k := range order {
		centroids = append(centroids, found.Centroids[0][k*m:(k+1)*m]...)
	}
	nearest, err := kmeans.NewAssigner(found.Found, [][]T{centroids}, []float64{1})
	if err != nil {
		return err
	}
	out.Labels = make([]int, n)
	if err := nearest.Assign(src, 0, n, out.Labels, nil, nil); err != nil {
		return err
	}
	out.Sizes = make([]int, found.Found)
	for _, l := range out.Labels {
		out.Sizes[l]++
	}
	frozen, err := engine.NewFrozen[T](*spec, q, func(l, v int) []float64 { return out.anchors[l][v].RawMatrix().Data })
	if err != nil {
		return err
	}
	out.model = &fitted[T]{spec: *spec, frozen: frozen, prepare: prepare, clusters: nearest}
	return nil
}

// bySize returns the clusters in decreasing size, equal ones in the order of their first sample.
func bySize(labels []int, clusters int) []int {
	size, first := make([]int, clusters), make([]int, clusters)
	order := make([]int, clusters)
	for k := range order {
		order[k], first[k] = k, len(labels)
	}
	for i, l := range labels {
		size[l]++
		first[l] = min(first[l], i)
	}
	slices.SortFunc(order, func(a, b int) int {
		if size[a] != size[b] {
			return size[b] - size[a]
		}
		return first[a] - first[b]
	})
	return order
}
