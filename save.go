package largemvc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/machine"
)

const modelFormat = "largemvc-model"

// savedTraining describes the training in a model file, as JSON.
type savedTraining struct {
	Samples int          `json:"samples"`
	Views   []savedView  `json:"views"`
	Inputs  []savedInput `json:"inputs"`
	Status  string       `json:"status"`
	Epochs  int          `json:"epochs"`
	Restart int          `json:"restart"`
	Null    float64      `json:"null_loss"`
	Ran     machine.Ran  `json:"ran"`
	Kept    bool         `json:"kept,omitempty"` // the start has given the clusters; its directions are among the tensors

	ClassNames []string      `json:"class_names,omitempty"` // by known labels
	Learned    [][]savedNode `json:"learned,omitempty"`     // of each module, where not all are from this package
	Tensors    []string      `json:"tensors,omitempty"`     // names of all: a lost one must not pass for one that never was
}

type savedNode struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"` // empty for a scalar
}

type savedInput struct {
	View       int     `json:"view"`
	Preprocess string  `json:"preprocess"`
	Columns    int     `json:"columns"`
	Length     float64 `json:"length,omitempty"` // the further column of few features
}

type savedView struct {
	Name     string `json:"name"`
	Features int    `json:"features"`
	Prepared string `json:"prepared,omitempty"` // how the values were changed; its numbers are among the tensors
}

// Save writes the predictor to a file, in the format of docs/format.md. It replaces the file at path at once: after an
// interruption the file has its old content or the whole new model, and a temporary file that ends in .tmp may remain beside it.
func (p *Predictor) Save(path string) error {
	if err := file.Replace(path, func(w io.Writer) error { _, err := p.WriteTo(w); return err }); err != nil {
		return fmt.Errorf("largemvc: saving the model: %w", err)
	}
	return nil
}

// WriteTo writes the predictor to w, in the format of docs/format.md. Equal predictors give equal bytes.
func (p *Predictor) WriteTo(w io.Writer) (int64, error) {
	if p == nil || p.model == nil {
		return 0, errors.New("largemvc: the predictor is empty: Fit and Load make one")
	}
	if p.unfit != nil {
		return 0, fmt.Errorf("largemvc: the modules take no new samples: %w", p.unfit)
	}
	if parallel.Nil(w) {
		return 0, errors.New("largemvc: the writer is nil")
	}
	f, err := p.file()
	if err != nil {
		return 0, err
	}
	return f.Write(w, file.Seal)
}

// Load reads a predictor that Save wrote. It predicts the same bits. If the file is truncated, changed, not a model or of a
// later version of the format, Load returns an error of package saved, for errors.Is.
//
// If the model has custom modules, give Load a pointer to a module of each of their types, with the settings of the training.
// Load initialises them and sets their learned values. It returns an error that names the module if one is missing, of
// another type, or makes other learnable nodes.
func Load(path string, modules ...Module) (*Predictor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("largemvc: loading a model: %w", err)
	}
	defer f.Close()
	p, err := ReadPredictor(f, modules...)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return p, nil
}

// ReadPredictor reads a predictor that WriteTo wrote, to the end of r. See Load for modules and errors.
func ReadPredictor(r io.Reader, modules ...Module) (*Predictor, error) {
	if parallel.Nil(r) {
		return nil, errors.New("largemvc: loading a model: the reader is nil")
	}
	p, err := decodePredictor(r, modules)
	if err != nil {
		return nil, fmt.Errorf("largemvc: loading a model: %w", err)
	}
	return p, nil
}

// file returns the content of the model file.
func (p *Predictor) file() (*safetensors.File, error) {
	config, err := saveConfig(&p.config)
	if err != nil {
		return nil, err
	}
	f := &safetensors.File{}
	p.addNetwork(f)
	floats := safetensors.Float64s // for values in the arithmetic of the fit
	if !p.config.Float64 {
		floats = safetensors.Float32s
	}
	p.model.save(f, floats)
	if err := p.saveViews(f); err != nil {
		return nil, err
	}
	p.saveStart(f)
	p.saveConfidence(f)
	p.saveClasses(f)
	f.Tensors = append(f.Tensors, floats("centroids", p.centroids, p.Clusters, p.config.Anchors),
		safetensors.Ints("sizes", p.Sizes, p.Clusters))
	p.saveNovelty(f)
	file.AddLosses(f, "", p.Loss, p.ViewLoss, len(p.inputs))
	whole, err := file.New(modelFormat, config, p.about(f.Tensors))
	if err != nil {
		return nil, err
	}
	whole.Tensors = f.Tensors
	return whole, nil
}

// about returns what the model file says of the training, with the names of all its tensors.
func (p *Predictor) about(tensors []safetensors.Tensor) savedTraining {
	about := savedTraining{
		Samples: p.samples, Views: []savedView{}, Inputs: []savedInput{}, Status: p.Status.String(), Epochs: p.Epochs,
		Restart: p.Restart, Null: p.NullLoss, Ran: p.Ran, Kept: p.Kept, ClassNames: p.ClassNames,
	}
	for v, d := range p.dims {
		about.Views = append(about.Views, savedView{p.names[v], d, p.prepared[v].About})
	}
	for _, in := range p.inputs {
		about.Inputs = append(about.Inputs, savedInput{in.View, in.Preprocess.String(), in.Columns, in.Length})
	}
	for _, t := range tensors {
		about.Tensors = append(about.Tensors, t.Name)
	}
	if p.config.stock() {
		return about
	}
	for _, list := range p.learned {
		nodes := []savedNode{}
		for _, l := range list {
			nodes = append(nodes, savedNode{l.name, append([]int{}, l.shape...)})
		}
		about.Learned = append(about.Learned, nodes)
	}
	return about
}

// addNetwork appends the learned values and the anchors of every layer.
func (p *Predictor) addNetwork(f *safetensors.File) {
	layers, m, v := p.config.Layers, p.config.Anchors, len(p.inputs)
	add := func(t safetensors.Tensor) { f.Tensors = append(f.Tensors, t) }
	if p.config.stock() {
		add(safetensors.Float64s("R", p.r, m, m))
		add(safetensors.Float64s("U", p.u, m, m))
		add(safetensors.Float64s("theta", p.Theta, layers))
		if p.Rho != nil {
			add(safetensors.Float64s("rho", slices.Concat(p.Rho...), layers, v))
		}
	} else {
		for i, list := range p.learned {
			for k, l := range list {
				add(safetensors.Float64s(learnedTensor(i, k), l.values, len(l.values)))
			}
		}
	}
	for l, layer := range p.anchors {
		if l > 0 && p.config.fixedAnchors() {
			break
		}
		for v, a := range layer {
			_, d := a.Dims()
			add(safetensors.Float64s(fmt.Sprintf("anchors.%d.%d", l, v), a.RawMatrix().Data, m, d))
		}
	}
}

func decodePredictor(r io.Reader, modules []Module) (*Predictor, error) {
	f, err := file.Read(r, modelFormat)
	if err != nil {
		return nil, err
	}
	p, types, nodes, err := describedPredictor(f)
	if err != nil {
		return nil, file.Damaged(err)
	}
	if err := types.take(&p.config, modules); err != nil {
		return nil, err
	}
	in := &file.Tensors{File: f}
	if p.decode(in, nodes); in.Err != nil {
		return nil, file.Damaged(in.Err)
	}
	if !p.config.stock() {
		if err := p.fill(p.config.modules()); err != nil {
			return nil, err
		}
	}
	if p.config.Float64 {
		err = revive[float64](p, in)
	} else {
		err = revive[float32](p, in)
	}
	if err != nil {
		return nil, file.Damaged(err)
	}
	return p, nil
}

// describedPredictor returns what the metadata of a file say of a predictor: it has no values yet, and lacks the
// modules of the types that are returned. The nodes are the learnable ones of a network that has such modules.
func describedPredictor(f *safetensors.File) (*Predictor, foreign, [][]savedNode, error) {
	fail := func(err error) (*Predictor, foreign, [][]savedNode, error) { return nil, foreign{}, nil, err }
	c, types, err := readConfig([]byte(f.Metadata[file.MetaConfig]))
	if err != nil {
		return fail(err)
	}
	var about savedTraining
	if err := json.Unmarshal([]byte(f.Metadata[file.MetaTraining]), &about); err != nil {
		return fail(fmt.Errorf("its training: %w", err))
	}
	for _, name := range about.Tensors {
		if f.Tensor(name) == nil {
			return fail(fmt.Errorf("the file has no %q", name))
		}
	}
	p := &Predictor{
		config: *c, trainedViews: trainedViews{samples: about.Samples},
		Epochs: about.Epochs, Restart: about.Restart, NullLoss: about.Null, Ran: about.Ran,
	}
	if err := p.Status.UnmarshalText([]byte(about.Status)); err != nil {
		return fail(err)
	}
	for v, view := range about.Views {
		if view.Features < 1 {
			return fail(fmt.Errorf("view %d has %d features", v, view.Features))
		}
		p.addView(view.Features, view.Name, view.Prepared)
	}
	p.Kept, p.ClassNames = about.Kept, about.ClassNames
	if err := p.setInputs(about.Inputs); err != nil {
		return fail(err)
	}
	if shrink, ok := c.Noise.(*RowShrink); ok {
		if err := shrink.checkScales(len(p.inputs)); err != nil {
			return fail(err)
		}
	}
	if len(p.dims) == 0 || p.Epochs < 0 || p.Restart < 0 {
		return fail(fmt.Errorf("it has %d views, %d epochs, restart %d", len(p.dims), p.Epochs, p.Restart))
	}
	checked := *c
	checked.Optimizer = c.Optimizer.WithDefaults() // it is zero after a training by a Solver
	return p, types, about.Learned, checkConfig(&checked, p.samples, nil)
}

// largestLength bounds the additional column of an input of few features. Its size is about the root of their number.
const largestLength = 1e6

// setInputs sets the inputs as in the file.
func (p *Predictor) setInputs(saved []savedInput) error {
	if p.config.Neighborhood.Neighbors == None {
		for v, d := range p.dims {
			p.inputs = append(p.inputs, Input{View: v, Preprocess: p.config.Preprocess, Columns: d})
		}
		return nil
	}
	for k, s := range saved {
		var kind Preprocess
		if err := kind.UnmarshalText([]byte(s.Preprocess)); err != nil {
			return err
		}
		if s.View < 0 || s.View >= len(p.dims) {
			return fmt.Errorf("input %d is of view %d, of %d", k, s.View, len(p.dims))
		}
		if s.Columns < 1 || s.Columns > prepare.Width(p.dims[s.View], s.Length) || !(s.Length >= 0) || s.Length > largestLength {
			return fmt.Errorf("input %d has %d columns of view %d, and the length %g", k, s.Columns, s.View, s.Length)
		}
		if slices.ContainsFunc(p.inputs, func(in Input) bool { return in.View == s.View && in.Preprocess == kind }) {
			return fmt.Errorf("view %d is twice an input in the preprocessing %v", s.View, kind)
		}
		p.inputs = append(p.inputs, Input{View: s.View, Preprocess: kind, Columns: s.Columns, Length: s.Length})
	}
	for v := range p.dims {
		if !slices.ContainsFunc(p.inputs, func(in Input) bool { return in.View == v }) {
			return fmt.Errorf("view %d is not an input", v)
		}
	}
	return nil
}

// learnedTensor is the name of the tensor with the value of learnable node k of a module.
func learnedTensor(module, k int) string { return fmt.Sprintf("learned.%d.%d", module, k) }

// decodeLearned reads the values of learnable nodes; in has the first error.
func (p *Predictor) decodeLearned(in *file.Tensors, nodes [][]savedNode) {
	var values [3][]learned
	if len(nodes) != len(values) {
		in.Fail("it has learnable nodes of %d modules, want %d", len(nodes), len(values))
		return
	}
	for i, list := range nodes {
		for k, n := range list {
			size := 1
			for _, s := range n.Shape {
				if s < 1 || size > math.MaxInt32/s {
					in.Fail("the learnable node %q has the shape %v", n.Name, n.Shape)
					return
				}
				size *= s
			}
			values[i] = append(values[i], learned{n.Name, n.Shape, in.Floats(learnedTensor(i, k), size)})
		}
	}
	if in.Err == nil {
		p.setLearned(values)
	}
}

// decode sets what the file's tensors hold of the network; in has the first error.
func (p *Predictor) decode(in *file.Tensors, nodes [][]savedNode) {
	c := &p.config
	m, v := c.Anchors, len(p.inputs)
	if c.stock() {
		p.r, p.u = in.Floats("R", m, m), in.Floats("U", m, m)
		p.Theta = in.Floats("theta", c.Layers)
		if !c.noiseless() {
			p.Rho = file.Split(in.Floats("rho", c.Layers, v), v)
		}
		p.nameLearned()
	} else {
		p.decodeLearned(in, nodes)
	}
	_, encoded := c.Represent.(Encoder)
	for l := 0; l <= c.Layers && in.Err == nil; l++ {
		if l > 0 && c.fixedAnchors() {
			p.anchors = append(p.anchors, p.anchors[0])
			continue
		}
		layer := make([]*mat.Dense, v)
		for v, is := range p.inputs {
			columns := is.Columns
			if encoded {
				columns = -1
			}
			if a := in.Floats(fmt.Sprintf("anchors.%d.%d", l, v), m, columns); len(a) >= m {
				layer[v] = mat.NewDense(m, len(a)/m, a)
			} else {
				in.Fail("the anchors of layer %d and input %d have no columns", l, v)
			}
		}
		p.anchors = append(p.anchors, layer)
	}
	if in.Err == nil {
		p.P = p.anchors[c.Layers]
	}
	p.Sizes = in.Ints("sizes", -1)
	p.Clusters = len(p.Sizes)
	total := 0
	for k, s := range p.Sizes {
		if s < 1 || s > p.samples-total {
			in.Fail("cluster %d has %d of %d samples", k, s, p.samples)
			break
		}
		total += s
	}
	if p.Clusters > c.Clusters || (total != p.samples && in.Err == nil) {
		in.Fail("%d clusters of together %d samples, want at most %d of together %d", p.Clusters, total, c.Clusters, p.samples)
	}
	p.centroids = in.Floats("centroids", p.Clusters, m)
	p.decodeStart(in)
	p.decodeNovelty(in)
	p.decodeConfidence(in)
	p.decodeClasses(in)
	p.Loss, p.ViewLoss = in.Losses("", v)
	p.decodeViews(in)
}

// startDirections is the name of the tensor with the directions of input k in which a start that is kept was clustered.
func startDirections(k int) string { return fmt.Sprintf("start_directions.%d", k) }

// decodeStart reads where a start that is kept was clustered; in has the first error.
func (p *Predictor) decodeStart(in *file.Tensors) {
	if !p.Kept {
		return
	}
	if !p.config.mayKeep() {
		in.Fail("its start is kept, which its configuration does not permit")
		return
	}
	b := &spectral.Basis{S: in.Floats("start_singular_values", -1)}
	for k, is := range p.inputs {
		b.Dims = append(b.Dims, is.Columns)
		b.V = append(b.V, in.Floats(startDirections(k), len(b.S), is.Columns))
	}
	if len(b.S) < 1 || len(b.S) > p.config.Anchors {
		in.Fail("its start has %d directions for %d anchors", len(b.S), p.config.Anchors)
	}
	p.start = b
}

// saveStart appends where a start that is kept was clustered.
func (p *Predictor) saveStart(f *safetensors.File) {
	if p.start == nil {
		return
	}
	for k, v := range p.start.V {
		f.Tensors = append(f.Tensors, safetensors.Float64s(startDirections(k), v, len(p.start.S), p.start.Dims[k]))
	}
	f.Tensors = append(f.Tensors, safetensors.Float64s("start_singular_values", p.start.S, len(p.start.S)))
}

// setLearned sets the learned values. It also sets the fields of stock modules.
func (p *Predictor) setLearned(values [3][]learned) {
	p.learned = values
	find := func(i int, format string, args ...any) []float64 {
		name := fmt.Sprintf(format, args...)
		for _, l := range values[i] {
			if l.name == name {
				return l.values
			}
		}
		return nil
	}
	scalar := func(x []float64) float64 {
		if len(x) != 1 {
			return math.NaN()
		}
		return x[0]
	}
	if _, ok := p.config.Represent.(*SoftThreshold); ok {
		p.r, p.u = find(0, "R"), find(0, "U")
		for l := range p.config.Layers {
			p.Theta = append(p.Theta, scalar(find(0, "theta_%d", l+1)))
		}
	}
	if shrink, ok := p.config.Noise.(*RowShrink); ok {
		for l := range p.config.Layers {
			rho := make([]float64, len(p.inputs))
			for v := range rho {
				rho[v] = shrink.scale(v) * scalar(find(1, "rho_%d_%d", l+1, v))
			}
			p.Rho = append(p.Rho, rho)
		}
	}
}

// nameLearned sets the learned values of stock modules by their names, from the parameters that a file has.
func (p *Predictor) nameLearned() {
	m := p.config.Anchors
	var soft, noise []learned
	for l, theta := range p.Theta {
		soft = append(soft, learned{fmt.Sprintf("theta_%d", l+1), nil, []float64{theta}})
	}
	soft = append(soft, learned{"R", []int{m, m}, p.r}, learned{"U", []int{m, m}, p.u})
	unit, _ := p.config.Noise.(*RowShrink)
	for l, layer := range p.Rho {
		for v, rho := range layer {
			noise = append(noise, learned{fmt.Sprintf("rho_%d_%d", l+1, v), nil, []float64{rho / unit.scale(v)}})
		}
	}
	p.learned = [3][]learned{soft, noise, nil}
}
