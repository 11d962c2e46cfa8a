package largemvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/confidence"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/predict"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/unfold"
)

// fitted is a fittedNetwork.
type fitted[T kernel.Float] struct {
	// network returns the network that takes samples through the layers with a number of goroutines.
	network func(workers int) *predict.Network[T]
	intake  predict.Intake[T]
	anchors int
}

// newFitted makes the network of a predictor from its parameters.
func newFitted[T kernel.Float](p *Predictor, from predict.Intake[T], clusters *kmeans.Assigner[T]) (*fitted[T], error) {
	views, unit := make([]int, len(p.inputs)), !p.config.PlainReadOut
	for k, in := range p.inputs {
		views[k] = in.View
	}
	out := &fitted[T]{intake: from, anchors: p.config.Anchors}
	if p.config.stock() {
		params := &engine.Params{Theta: p.Theta, Rho: p.Rho, R: p.r, U: p.u}
		anchors := func(l, v int) []float64 { return p.anchors[l][v].RawMatrix().Data }
		net, err := predict.New(p.spec(), params, anchors, views, from, unit, clusters)
		if err != nil {
			return nil, err
		}
		if p.start != nil {
			net.KeepStart(cluster.NewEmbedding[T](p.start, p.config.Anchors))
		}
		out.network = func(int) *predict.Network[T] { return net }
		return out, nil
	}
	widest := 1
	for _, in := range p.inputs {
		widest = max(widest, in.Columns)
	}
	most := min(256, max(8, batchEntries/widest))
	var made sync.Mutex
	turn, nets := new(sync.Mutex), map[int]*predict.Network[T]{}
	out.network = func(workers int) *predict.Network[T] {
		made.Lock()
		defer made.Unlock()
		net := nets[workers]
		if net == nil {
			net = predict.NewOf(p.config.Anchors, most, views, from, unit, clusters, newBatches[T](p, workers, turn))
			nets[workers] = net
		}
		return net
	}
	return out, nil
}

func (f *fitted[T]) assign(ctx context.Context, r *request, p *Predictor, out *Assignments) error {
	to := &predict.Output[T]{Labels: out.Labels, Near: out.Near, Next: out.Next}
	n, ld := r.views[0].Rows, kernel.Pad(f.anchors)
	if p.asked.h {
		to.H = make([]T, n*ld)
	}
	if p.asked.trust {
		var err error
		if out.Trust, err = f.trust(ctx, r); err != nil {
			return withName(err)
		}
	}
	_, plain := f.intake.(*prepare.Rows[T])
	switch {
	case out.Novelty == nil:
	case plain:
		to.Each = func(lo, n int, s *known.Sample[T]) error {
			e := newExplainer[T](p)
			for i := range n {
				for j := range e.h {
					e.h[j] = float64(s.H[i*ld+j])
				}
				out.Novelty[lo+i] = e.unexplained(s.Smoothed, i, s.Has)
			}
			return nil
		}
	default:
		to.Unlike = out.Novelty
	}
	if err := f.run(ctx, r, to); err != nil {
		return withName(err)
	}
	if p.asked.h {
		out.H = resultMatrix(n, f.anchors, ld, to.H)
	}
	for i, x := range out.Novelty {
		out.Novelty[i] = shareBelow(p.novelty, x)
	}
	return nil
}

func (f *fitted[T]) transform(ctx context.Context, r *request) (*matrix, error) {
	n, ld := r.views[0].Rows, kernel.Pad(f.anchors)
	to := &predict.Output[T]{H: make([]T, n*ld)}
	if err := f.run(ctx, r, to); err != nil {
		return nil, withName(err)
	}
	return resultMatrix(n, f.anchors, ld, to.H), nil
}

func (f *fitted[T]) label(ctx context.Context, r *request, lo, n int, out *labelled) error {
	rows, ld := r.views[0].Rows, kernel.Pad(f.anchors)
	to := &predict.Output[T]{
		H: make([]T, rows*ld), Labels: out.labels[lo : lo+rows], Near: make([]float64, rows), Next: make([]float64, rows),
	}
	for _, t := range out.trust {
		to.Trust = append(to.Trust, t[lo:lo+rows])
	}
	err := f.network(r.workers).Run(ctx, r.views, r.workers, to)
	out.h.add(resultMatrix(rows, f.anchors, ld, to.H), n)
	return withName(err)
}

// featureRows is the number of samples in a call of do.
const featureRows = 64

func (f *fitted[T]) features(ctx context.Context, r *request, do func(lo, n int, phi []float64) error) error {
	type memory struct {
		phi []float64
		row []T
	}
	var pool sync.Pool
	return withName(f.network(r.workers).Run(ctx, r.views, r.workers, &predict.Output[T]{
		Each: func(lo, n int, s *known.Sample[T]) error {
			width := s.Count(f.anchors)
			m, _ := pool.Get().(*memory)
			if m == nil {
				m = &memory{make([]float64, featureRows*width), make([]T, width)}
			}
			defer pool.Put(m)
			for at := 0; at < n; at += featureRows {
				some := min(featureRows, n-at)
				for i := range some {
					s.Row(at+i, f.anchors, m.phi[i*width:(i+1)*width], m.row)
				}
				if err := do(lo+at, some, m.phi[:some*width]); err != nil {
					return err
				}
			}
			return nil
		},
	}))
}

func (f *fitted[T]) trust(ctx context.Context, r *request) ([][]float64, error) {
	from, ok := f.intake.(*smooth.Transform[T])
	if !ok {
		return nil, errors.New("trust in views needs the neighbours of Config.Neighborhood, which this model was trained without")
	}
	return from.Trust(ctx, r.views, r.workers)
}

func (f *fitted[T]) save(to *safetensors.File, floats func(string, []float64, ...int) safetensors.Tensor) {
	switch from := f.intake.(type) {
	case *smooth.Transform[T]:
		from.Save(to, floats)
	case *prepare.Rows[T]:
		from.Save(to)
	}
}

// batches is nil if the network can take samples in batches elsewhere than in memory; else it says why it cannot.
func (f *fitted[T]) batches() error {
	_, err := f.network(1).Layers()
	return err
}

// run takes samples through preprocessing, layers and clusters, the layers on the device of the request, if it has one.
func (f *fitted[T]) run(ctx context.Context, r *request, to *predict.Output[T]) error {
	net := f.network(r.workers)
	on := r.on
	if on == nil || on.session == nil {
		return net.Run(ctx, r.views, r.workers, to)
	}
	layers, err := net.Layers()
	if err != nil {
		return err
	}
	spec, passes := layers.Passes()
	err = net.RunIn(ctx, device.NewFrozen[T](on.session, spec, passes), r.views, r.workers, to)
	var full *device.MemoryError
	var failed *device.FailedError
	if err == nil || on.must || !errors.As(err, &full) && !errors.As(err, &failed) {
		return err
	}
	// Nothing is lost with the device: the CPU takes these samples and all that follow.
	_ = on.session.Close()
	on.session, on.why = nil, err.Error()
	return net.Run(ctx, r.views, r.workers, to)
}

// batchEntries bounds the entries of a batch of rows that goes through the graph of a trained network.
const batchEntries = 1 << 22

// batches runs rows through the graph of a trained network with custom modules.
type batches[T kernel.Float] struct {
	net     *unfold.Frozen[T]
	present [][]bool
	turn    *sync.Mutex
}

// newBatches makes graphs of copies of a predictor's modules; workers is the number of goroutines of an operation. Graphs with
// the same turn are built and run one at a time, because the copies can share memory through pointers.
func newBatches[T kernel.Float](p *Predictor, workers int, turn *sync.Mutex) predict.NewRunner[T] {
	return func(room int, present [][]bool) (predict.Runner[T], error) {
		turn.Lock()
		defer turn.Unlock()
		e := Env(unfold.FrozenSite(unfold.Site(p.site(room, workers)), room))
		soft, noise := copied(p.config.Represent), copied(p.config.Noise)
		out := &batches[T]{present: present, turn: turn}
		err := guarded(func() error {
			for i, m := range []Module{soft, noise} {
				if err := m.Init(e); err != nil {
					return err
				}
				if err := learn(e.Prefix, i, m.Learnables(), p.learned[i]); err != nil {
					return err
				}
			}
			modules := unfold.Modules{
				Represent: soft, Noise: noise, CopyForRepresent: !stock(soft), CopyForNoise: !stock(noise),
			}
			modules.Encoder, _ = soft.(Encoder)
			if _, ok := noise.(*NoNoise); ok {
				modules.Noise = nil
			}
			var err error
			out.net, err = unfold.NewFrozen[T](unfold.Site(e), p.anchors, modules)
			return err
		})
		if err != nil {
			return nil, withName(err)
		}
		return out, nil
	}
}

func (b *batches[T]) Use(k, n int, x rows.Matrix[T]) { b.net.Use(k, n, x, b.present[k]) }

func (b *batches[T]) Run(int) error {
	b.turn.Lock()
	defer b.turn.Unlock()
	return b.net.Run()
}

func (b *batches[T]) H() []T          { return b.net.H() }
func (b *batches[T]) Trust(k int) []T { return b.net.Trust(k) }

// site returns the Env of a network over some samples for the inputs of a predictor, in a graph of its own.
func (p *Predictor) site(samples, workers int) Env {
	e := Env{
		G: gorgonia.NewGraph(), Prefix: defaultPrefix, Layers: p.config.Layers, Views: len(p.inputs), Anchors: p.config.Anchors,
		Samples: samples, Of: tensor.Float32, Workers: workers, Seed: p.config.Seed,
	}
	if p.config.Float64 {
		e.Of = tensor.Float64
	}
	for _, in := range p.inputs {
		e.Dims = append(e.Dims, in.Columns)
	}
	return e
}

// fill initialises modules in a graph of their own and gives their learnable nodes the trained values.
func (p *Predictor) fill(modules [3]Module) error {
	e := p.site(1, 1)
	return guarded(func() error {
		for i, m := range modules {
			if err := m.Init(e); err != nil {
				return err
			}
			if err := learn(e.Prefix, i, m.Learnables(), p.learned[i]); err != nil {
				return err
			}
		}
		return checkLearnables(e.G, e.Prefix, e.Of, nodesOf(modules))
	})
}

// revive makes the network of a predictor that was read, and reads what its samples go through first.
func revive[T kernel.Float](p *Predictor, in *file.Tensors) error {
	var from predict.Intake[T]
	if p.config.Neighborhood.Neighbors != None {
		o := smoothOptions(&p.config, nil)
		from = smooth.Read[T](in, o, preparedInputs(p.inputs), p.dims, p.samples, p.config.Anchors)
	} else if s := prepare.Read(in, prepare.Kind(p.config.Preprocess), p.dims); in.Err == nil {
		from = prepare.NewRows[T](s, p.dims)
	}
	if in.Err != nil {
		return in.Err
	}
	clusters, err := kmeans.NewAssigner(p.Clusters, [][]T{kernel.Convert[T](p.centroids)}, []float64{1})
	if err != nil {
		return err
	}
	p.model, err = newFitted(p, from, clusters)
	return err
}

// featureCount returns the number of features of a sample.
func (p *Predictor) featureCount() int { return known.Features(p.inputColumns(), p.config.Anchors) }

// The tensors of the classes, see docs/format.md.
const classesName, classWeightsName, classChanceName = "classes", "class_weights", "class_chance"

// saveClasses appends what gives samples their classes.
func (p *Predictor) saveClasses(f *safetensors.File) {
	k := p.classes
	if k == nil {
		return
	}
	raw := k.Weights.RawMatrix()
	f.Tensors = append(f.Tensors, safetensors.Ints(classesName, k.Seen, len(k.Seen)),
		safetensors.Float64s(classWeightsName, raw.Data, raw.Rows, raw.Cols))
	if k.Chance != nil {
		f.Tensors = append(f.Tensors, safetensors.Float64s(classChanceName, []float64{k.Chance.Offset, k.Chance.Slope}, 2))
	}
}

// decodeClasses reads what gives samples their classes, if a file has it; in has the first error.
func (p *Predictor) decodeClasses(in *file.Tensors) {
	if !in.Has(classesName) {
		return
	}
	seen := in.Ints(classesName, -1)
	rise := slices.IsSorted(seen) && len(slices.Compact(slices.Clone(seen))) == len(seen)
	if in.Err == nil && (len(seen) < 2 || seen[0] < 0 || !rise) {
		in.Fail("the classes are %v, want at least two increasing numbers of classes", seen)
	}
	if in.Err == nil && p.config.Neighborhood.Neighbors == None {
		in.Fail("it has classes, which need neighbours")
	}
	weights := in.Floats(classWeightsName, p.featureCount(), len(seen))
	var chance *known.Chance
	if in.Has(classChanceName) {
		if x := in.Floats(classChanceName, 2); in.Err == nil {
			chance = &known.Chance{Offset: x[0], Slope: x[1]}
		}
	}
	if in.Err == nil {
		p.classes = known.NewClassifier(seen, mat.NewDense(p.featureCount(), len(seen), weights), chance)
	}
}

// saveViews appends the names of features and the numbers of preparations.
func (t *trainedViews) saveViews(f *safetensors.File) error {
	for v, names := range t.features {
		if names == nil {
			continue
		}
		if err := file.AddTexts(f, fmt.Sprintf("features.%d", v), names); err != nil {
			return err
		}
	}
	for v, x := range t.prepared {
		if len(x.Numbers) > 0 {
			f.Tensors = append(f.Tensors, safetensors.Float64s(fmt.Sprintf("prepared.%d", v), x.Numbers, len(x.Numbers)))
		}
	}
	return nil
}

// decodeViews is the inverse of saveViews; in has the first error.
func (t *trainedViews) decodeViews(in *file.Tensors) {
	for v, d := range t.dims {
		t.features = append(t.features, in.Texts(fmt.Sprintf("features.%d", v), d))
		if name := fmt.Sprintf("prepared.%d", v); in.File.Tensor(name) != nil {
			t.prepared[v].Numbers = in.Floats(name, -1)
		}
	}
}

func (p *Predictor) saveNovelty(f *safetensors.File) {
	if p.hasNovelty() {
		f.Tensors = append(f.Tensors, safetensors.Float64s("novelty", p.novelty, len(p.novelty)))
	}
}

func (p *Predictor) decodeNovelty(in *file.Tensors) {
	if !p.hasNovelty() {
		return
	}
	p.novelty = in.Floats("novelty", noveltySteps+1)
	if in.Err == nil && !slices.IsSorted(p.novelty) {
		in.Fail("the quantiles of novelty do not rise")
	}
}

// saveConfidence appends the curve of confidence, if there is one.
func (p *Predictor) saveConfidence(f *safetensors.File) {
	if c := p.curve; c != nil {
		f.Tensors = append(f.Tensors, safetensors.Float64s("confidence", []float64{c.Chance, c.Intercept, c.Slope, c.Gain}, 4))
	}
}

// decodeConfidence reads the curve of confidence, if the file has one; in has the first error.
func (p *Predictor) decodeConfidence(in *file.Tensors) {
	if in.File.Tensor("confidence") == nil {
		return
	}
	x := in.Floats("confidence", 4)
	if in.Err != nil {
		return
	}
	p.curve = &confidence.Curve{Chance: x[0], Intercept: x[1], Slope: x[2], Gain: x[3]}
	if c := p.curve; !(c.Chance >= 0 && c.Chance < 1 && c.Slope >= 0 && c.Gain >= 1) {
		in.Fail("its curve of confidence is %v", x)
	}
}
