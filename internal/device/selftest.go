package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/neighbor"
)

// Check is one result of a selftest.
type Check struct {
	What    string
	Off     float64 // the error, relative to the norm of the result in float64 on the CPU; NaN: only the time was measured
	Allowed float64
	Seconds float64 // 0: it was not timed
	CPU     float64 // seconds on the CPU, or the error of the CPU in the type of the device
}

// OK reports whether the error is allowed.
func (c *Check) OK() bool { return !(c.Off > c.Allowed) && !math.IsInf(c.Off, 0) }

// trial is a network of a selftest.
type trial struct {
	samples, anchors int
	dims             []int
}

func (t *trial) features() (total int) {
	for _, d := range t.dims {
		total += d
	}
	return total
}

// trials are one with odd sizes, one with the fewest rows for tensor cores, and two whose times README.md lists.
var trials = []trial{
	{77, 7, []int{40, 3}}, {5000, 20, []int{130, 64}}, {60_000, 10, []int{784, 392, 160}},
	{195_537, 100, []int{944, 576, 512, 640}},
}

// selftestRounds is the number of timed epochs, after one untimed epoch.
const selftestRounds = 5

// Selftest compares networks, and the products of the stages around them, on the device and on the CPU, in trials of at most the
// given number of samples, and measures times. It calls tell with every result.
func Selftest(ctx context.Context, drv Driver, most int, tell func(Check) error) error {
	for i, t := range trials {
		if i > 0 && t.samples > most {
			break
		}
		if err := t.run(ctx, drv, tell); err != nil {
			return fmt.Errorf("%d × %d in %d views, %d anchors: %w", t.samples, t.features(), len(t.dims), t.anchors, err)
		}
	}
	return nil
}

// trialNetwork is the network of a trial and its data.
type trialNetwork struct {
	*trial
	spec  engine.Spec
	x     [][]float32
	start [][]float64
	q     *engine.Params
}

// network makes the network and its data from one seed.
func (t *trial) network() (*trialNetwork, error) {
	net := &trialNetwork{trial: t, spec: engine.Spec{
		Samples: t.samples, Dims: t.dims, Anchors: t.anchors, Layers: 2, Noise: true, Anchored: true,
	}}
	rng := rand.New(rand.NewPCG(uint64(t.samples), 1))
	for _, d := range t.dims {
		centres, sums := make([]float32, t.anchors*d), make([]float64, t.anchors*d)
		for j := range centres {
			centres[j] = float32(2 * rng.NormFloat64())
		}
		xv := make([]float32, t.samples*d)
		for i := range t.samples {
			at := i % t.anchors * d
			for j := range d {
				xv[i*d+j] = centres[at+j] + float32(rng.NormFloat64())
			}
			kernel.AddTo(sums[at:at+d], xv[i*d:(i+1)*d])
		}
		var polar linalg.Polar
		p := make([]float64, t.anchors*d)
		if err := polar.Factor(t.anchors, d, sums, p); err != nil {
			return nil, err
		}
		net.x, net.start = append(net.x, xv), append(net.start, p)
		net.spec.LossWeights = append(net.spec.LossWeights, 1/(float64(t.samples)*float64(d)))
	}
	q := engine.NewParams(&net.spec)
	for l := range q.Theta {
		q.Theta[l] = 0.05
		for v, d := range t.dims {
			q.Rho[l][v] = math.Sqrt(float64(d))
		}
	}
	for j := range t.anchors {
		q.R[j*(t.anchors+1)], q.U[j*(t.anchors+1)] = 0.4, 0.6
	}
	net.q = q
	return net, nil
}

// run compares an epoch of the network on the device with one on the CPU, and then the products of the stages.
func (t *trial) run(ctx context.Context, drv Driver, tell func(Check) error) error {
	net, err := t.network()
	if err != nil {
		return err
	}
	exact, _, err := net.epoch(ctx, 0, onHost[float64])
	if err != nil {
		return err
	}
	here, cpu, err := net.epoch(ctx, 1, onHost[float32])
	if err != nil {
		return err
	}
	size := fmt.Sprintf("%d × %d, m = %d", t.samples, t.features(), t.anchors)
	got, seconds, err := net.epoch(ctx, selftestRounds, onDriver[float32](drv))
	if err != nil {
		return err
	}
	for i, name := range outcomes {
		own := offBy(here[i], exact[i])
		c := Check{What: size + ", float32: " + name, Off: offBy(got[i], exact[i]), Allowed: max(1e-5, 3*own), CPU: own}
		if err := tell(c); err != nil {
			return err
		}
	}
	if err := tell(Check{What: size + ", float32: seconds an epoch", Off: math.NaN(), Seconds: seconds, CPU: cpu}); err != nil {
		return err
	}
	if t.samples > fewRows { // Only large trials test products by halves and sums of many rows.
		return nil
	}
	if got, _, err = net.epoch(ctx, 0, onDriver[float64](drv)); err != nil {
		return err
	}
	for i, name := range outcomes {
		if err := tell(Check{What: size + ", float64: " + name, Off: offBy(got[i], exact[i]), Allowed: 1e-9}); err != nil {
			return err
		}
	}
	return t.stages(ctx, drv, net.x, size, tell)
}

func onHost[T kernel.Float](net *trialNetwork) (engine.Shard, error) {
	return engine.NewMemory(&net.spec, 0, dense[T](net.trial, net.x), nil, nil, true)
}

func onDriver[T kernel.Float](drv Driver) func(*trialNetwork) (engine.Shard, error) {
	return func(net *trialNetwork) (engine.Shard, error) {
		return New(drv, &net.spec, dense[T](net.trial, net.x), nil, nil, true)
	}
}

// outcomes are the compared results of an epoch.
var outcomes = []string{"loss", "H", "anchors", "gradients"}

// begin returns the network on a shard, and a function that computes an epoch with the gradients g.
func (t *trialNetwork) begin(
	ctx context.Context, g *engine.Params, shard func(*trialNetwork) (engine.Shard, error),
) (*engine.Net, func() error, error) {
	s, err := shard(t)
	if err != nil {
		return nil, nil, err
	}
	net, err := engine.NewNet(t.spec, []engine.Shard{s}, engine.InOrder{}, t.start)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return net, func() error {
		if _, err := net.Forward(ctx, t.q, true); err != nil {
			return err
		}
		return net.Backward(ctx, 1, g)
	}, nil
}

// epoch returns the outcomes of an epoch, and the median time of further epochs.
func (t *trialNetwork) epoch(
	ctx context.Context, rounds int, shard func(*trialNetwork) (engine.Shard, error),
) (out [][]float64, seconds float64, err error) {
	spec, g := &t.spec, engine.NewParams(&t.spec)
	net, epoch, err := t.begin(ctx, g, shard)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if closing := net.Close(); err == nil {
			err = closing
		}
	}()
	if err := epoch(); err != nil {
		return nil, 0, err
	}
	h := make([]float64, spec.Samples*spec.Anchors)
	if err := net.Read(engine.FieldH, spec.Layers, 0, 0, spec.Samples, h); err != nil {
		return nil, 0, err
	}
	var anchors []float64
	for v := range spec.Dims {
		p, err := net.Anchors(spec.Layers, v)
		if err != nil {
			return nil, 0, err
		}
		anchors = append(anchors, p...)
	}
	gradients := slices.Concat(g.Theta, g.R, g.U)
	for _, rho := range g.Rho {
		gradients = append(gradients, rho...)
	}
	out = [][]float64{slices.Clone(net.Loss()), h, anchors, gradients}
	times := make([]float64, 0, rounds)
	for range rounds {
		began := time.Now()
		if err := epoch(); err != nil {
			return nil, 0, err
		}
		times = append(times, time.Since(began).Seconds())
	}
	if rounds > 0 {
		slices.Sort(times)
		seconds = times[rounds/2]
	}
	return out, seconds, nil
}

// stages compares the products of the stages around the network.
func (t *trial) stages(ctx context.Context, drv Driver, x [][]float32, size string, tell func(Check) error) error {
	const k = 5
	n := t.samples
	r, err := NewRows(drv, dense[float32](t, x), nil, rows.Use{Columns: k, Keep: 1, Sums: true})
	if err != nil {
		return err
	}
	want := t.products(x, k)
	got := make([]float32, n*k)
	if err := r.Project(ctx, want.b, k, got, k); err != nil {
		return err
	}
	gram, err := r.GramTimes(ctx, want.g, k)
	if err != nil {
		return err
	}
	columns, bias := make([][]float32, len(want.b)), make([]float64, len(want.b)*k)
	for v, b := range want.b {
		columns[v] = kernel.Convert[float32](b)
	}
	column, score, err := r.Nearest(ctx, columns, bias, 1, -1)
	if err != nil {
		return err
	}
	smoothed, err := t.smoothed(ctx, drv, x)
	if err != nil {
		return err
	}
	for _, c := range []Check{
		{What: size + ": smoothing", Off: smoothed, Allowed: 1e-5},
		{What: size + ": projection", Off: offBy(kernel.Float64s(got), want.y), Allowed: 1e-5},
		{What: size + ": Gram times matrix", Off: offBy(gram, want.sums), Allowed: 1e-5},
		{What: size + ": nearest columns, share of others", Off: want.wrongColumns(column, score) / float64(n)},
	} {
		if err := tell(c); err != nil {
			return err
		}
	}
	return r.Close()
}

// smoothed returns the error of rows that are smoothed along two atoms of each sample.
func (t *trial) smoothed(ctx context.Context, drv Driver, x [][]float32) (float64, error) {
	const atoms, steps = 7, 13
	n := t.samples
	begin, columns, weights := make([]int, n+1), make([]int32, 0, 2*n), make([]float64, 0, 2*n)
	weight := math.Sqrt(1.5 / float64(n)) // so that the largest eigenvalue is near 1
	for i := range n {
		a := i % (atoms - 1)
		begin[i+1], columns = 2*(i+1), append(columns, int32(a), int32(a+1))
		weights = append(weights, weight, weight)
	}
	links, err := neighbor.NewLinks(n, atoms, begin, columns, weights)
	if err != nil {
		return 0, err
	}
	op, err := neighbor.NewFactor(links)
	if err != nil {
		return 0, err
	}
	session := NewSession(drv, true)
	var got []neighbor.Block[float32]
	var want []neighbor.Block[float64]
	for v, d := range t.dims {
		got = append(got, neighbor.Block[float32]{X: slices.Clone(x[v]), Ld: d, Cols: d, Device: session})
		want = append(want, neighbor.Block[float64]{X: kernel.Float64s(x[v]), Ld: d, Cols: d})
	}
	if _, err := neighbor.Smooth(ctx, op, want, steps, 0); err != nil {
		return 0, err
	}
	if _, err := neighbor.Smooth(ctx, op, got, steps, 0); err != nil {
		return 0, err
	}
	off := 0.0
	for v := range want {
		off = max(off, offBy(kernel.Float64s(got[v].X), want[v].X))
	}
	return off, nil
}

// products holds the products of the stages, computed on the CPU: X is all views side by side, G its first k rows.
type products struct {
	k    int
	g, y []float64   // G, and X·Gᵀ
	b    [][]float64 // G by views
	sums []float64   // G·Xᵀ·X
}

func (t *trial) products(x [][]float32, k int) products {
	n, total := t.samples, t.features()
	joint := make([]float64, n*total) // the views side by side
	for i, at := 0, 0; i < n; i++ {
		for v, d := range t.dims {
			copy(joint[at:], kernel.Float64s(x[v][i*d:(i+1)*d]))
			at += d
		}
	}
	out := products{
		k: k, g: joint[:k*total], b: make([][]float64, len(t.dims)), y: make([]float64, n*k), sums: make([]float64, k*total),
	}
	from := 0
	for v, d := range t.dims {
		for j := range k {
			out.b[v] = append(out.b[v], out.g[j*total+from:j*total+from+d]...)
		}
		from += d
	}
	for i := range n {
		row := joint[i*total : (i+1)*total]
		for j := range k {
			for p, e := range row {
				out.y[i*k+j] += out.g[j*total+p] * e
			}
			for p, e := range row {
				out.sums[j*total+p] += out.y[i*k+j] * e
			}
		}
	}
	return out
}

// wrongColumns counts the samples whose nearest column, by the lowest product, differs or has another score.
func (w *products) wrongColumns(column []int32, score []float64) (wrong float64) {
	for i, j := range column {
		least := slices.Min(w.y[i*w.k : (i+1)*w.k])
		most := 1e-4 * math.Abs(least)
		if j < 0 || math.Abs(w.y[i*w.k+int(j)]-least) > most || math.Abs(score[i]-least) > most {
			wrong++
		}
	}
	return wrong
}

// offBy is ‖a − b‖/‖b‖.
func offBy(a, b []float64) float64 {
	off, norm := 0.0, 0.0
	for i, x := range b {
		if math.IsNaN(a[i]) {
			return math.Inf(1)
		}
		off, norm = off+(a[i]-x)*(a[i]-x), norm+x*x
	}
	return math.Sqrt(off) / max(math.Sqrt(norm), math.SmallestNonzeroFloat64)
}

func dense[T kernel.Float](t *trial, x [][]float32) []rows.Matrix[T] {
	out := make([]rows.Matrix[T], len(x))
	for v, d := range t.dims {
		own, ok := any(x[v]).([]T)
		if !ok {
			own = kernel.Convert[T](kernel.Float64s(x[v]))
		}
		out[v] = rows.NewDense(t.samples, d, d, own)
	}
	return out
}
