package largemvc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/safetensors"
)

// The metadata of a file; FORMAT.md describes the whole.
const (
	metaFormat   = "format"
	metaVersion  = "version"
	metaLibrary  = "library"
	metaConfig   = "config"
	metaTraining = "training"
	metaSeal     = "sha256"

	modelFormat   = "largemvc-model"
	formatVersion = 3
	libraryName   = "github.com/largemvc/largemvc"
)

// savedTraining is what a model file says of the training, as JSON.
type savedTraining struct {
	Samples int          `json:"samples"`
	Views   []savedView  `json:"views"`
	Inputs  []savedInput `json:"inputs"` // not in version 1, where they are the views
	Status  string       `json:"status"`
	Epochs  int          `json:"epochs"`
	Restart int          `json:"restart"`
}

type savedInput struct {
	View       int    `json:"view"`
	Preprocess string `json:"preprocess"`
	Columns    int    `json:"columns"`
}

type savedView struct {
	Name     string `json:"name"`
	Features int    `json:"features"`
}

// Save writes the predictor to a file, in the format of FORMAT.md. The file at path is replaced at once and as a whole:
// whatever interrupts Save, it holds either what it held before or all of the new model. A temporary file beside it, whose
// name ends in .tmp, may then remain.
func (p *Predictor) Save(path string) error {
	if err := writeFile(path, func(w io.Writer) error { _, err := p.WriteTo(w); return err }); err != nil {
		return fmt.Errorf("largemvc: saving the model: %w", err)
	}
	return nil
}

// WriteTo writes the predictor to w, in the format of FORMAT.md. Equal predictors give equal bytes.
func (p *Predictor) WriteTo(w io.Writer) (int64, error) {
	if p == nil || p.model == nil {
		return 0, errors.New("largemvc: the predictor is empty: Fit and Load make one")
	}
	f, err := p.file()
	if err != nil {
		return 0, err
	}
	return f.Write(w, metaSeal)
}

// Load reads a predictor that Save wrote: it predicts the same bits. A file that is truncated, was changed, is no model or
// comes from a later version of the format is an error that says so.
func Load(path string) (*Predictor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("largemvc: loading a model: %w", err)
	}
	defer f.Close()
	p, err := ReadPredictor(f)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return p, nil
}

// ReadPredictor reads a predictor that WriteTo wrote, to the end of r.
func ReadPredictor(r io.Reader) (*Predictor, error) {
	p, err := decodePredictor(r)
	if err != nil {
		return nil, fmt.Errorf("largemvc: loading a model: %w", err)
	}
	return p, nil
}

// file returns the content of the model file.
func (p *Predictor) file() (*safetensors.File, error) {
	views := make([]savedView, len(p.dims))
	for v, d := range p.dims {
		views[v] = savedView{p.names[v], d}
	}
	inputs := make([]savedInput, len(p.inputs))
	for k, in := range p.inputs {
		inputs[k] = savedInput{in.View, in.Preprocess.String(), in.Columns}
	}
	f, err := newFile(modelFormat, &p.config, savedTraining{p.samples, views, inputs, p.Status.String(), p.Epochs, p.Restart})
	if err != nil {
		return nil, err
	}
	layers, m, v := p.config.Layers, p.config.Anchors, len(p.inputs)
	add := func(t safetensors.Tensor) { f.Tensors = append(f.Tensors, t) }
	add(safetensors.Float64s("R", p.r, m, m))
	add(safetensors.Float64s("U", p.u, m, m))
	add(safetensors.Float64s("theta", p.Theta, layers))
	if p.Rho != nil {
		add(safetensors.Float64s("rho", slices.Concat(p.Rho...), layers, v))
	}
	add(safetensors.Float64s("rho_scale", p.scale, v))
	for l, layer := range p.anchors {
		if l > 0 && p.config.Variant == RMvC {
			break
		}
		for v, a := range layer {
			_, d := a.Dims()
			add(safetensors.Float64s(fmt.Sprintf("anchors.%d.%d", l, v), a.RawMatrix().Data, m, d))
		}
	}
	floats := safetensors.Float64s // for what is held in the arithmetic of the fit
	if p.config.Float == Float32 {
		floats = safetensors.Float32s
	}
	p.model.save(f, floats)
	add(floats("centroids", p.centroids, p.Clusters, m))
	add(safetensors.Ints("sizes", p.Sizes, p.Clusters))
	addLosses(f, "", p.Loss, p.ViewLoss, v)
	return f, nil
}

// newFile returns a file with the metadata that all have.
func newFile(format string, c *Config, training any) (*safetensors.File, error) {
	config, err := json.Marshal(saveConfig(c))
	if err != nil {
		return nil, err
	}
	about, err := json.Marshal(training)
	if err != nil {
		return nil, err
	}
	return &safetensors.File{Metadata: map[string]string{
		metaFormat: format, metaVersion: strconv.Itoa(formatVersion), metaLibrary: libraryName,
		metaConfig: string(config), metaTraining: string(about),
	}}, nil
}

// readFile reads a file of a format, checks it and returns its configuration. training is filled in.
func readFile(r io.Reader, format string, training any) (*safetensors.File, *Config, error) {
	f, err := safetensors.Read(bufio.NewReader(r))
	if err != nil {
		return nil, nil, err
	}
	if got := f.Metadata[metaFormat]; got != format {
		return nil, nil, fmt.Errorf("the file's format is %q, want %q", got, format)
	}
	version, err := strconv.Atoi(f.Metadata[metaVersion])
	if err != nil || version < 1 {
		return nil, nil, fmt.Errorf("the file's version is %q", f.Metadata[metaVersion])
	}
	if version > formatVersion {
		return nil, nil, fmt.Errorf("the file has version %d of the format; this library reads up to version %d: a newer one is needed", version, formatVersion)
	}
	if err := f.Verify(metaSeal); err != nil {
		return nil, nil, err
	}
	var saved savedConfig
	if err := json.Unmarshal([]byte(f.Metadata[metaConfig]), &saved); err != nil {
		return nil, nil, fmt.Errorf("its configuration: %w", err)
	}
	if version == 1 { // It has neither neighbours nor another read-out.
		saved.Neighbors, saved.ReadOut = None, PlainRows.String()
	}
	if version < 3 && saved.Neighbors != None {
		saved.HeldOutWeight = None
	}
	c, err := saved.restore()
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal([]byte(f.Metadata[metaTraining]), training); err != nil {
		return nil, nil, fmt.Errorf("its training: %w", err)
	}
	return f, c, nil
}

func decodePredictor(r io.Reader) (*Predictor, error) {
	var about savedTraining
	f, c, err := readFile(r, modelFormat, &about)
	if err != nil {
		return nil, err
	}
	p := &Predictor{config: *c, samples: about.Samples, Epochs: about.Epochs, Restart: about.Restart}
	if p.Status, err = parseStatus(about.Status); err != nil {
		return nil, err
	}
	for v, view := range about.Views {
		if view.Features < 1 {
			return nil, fmt.Errorf("view %d has %d features", v, view.Features)
		}
		p.dims, p.names = append(p.dims, view.Features), append(p.names, view.Name)
	}
	if err := p.setInputs(about.Inputs); err != nil {
		return nil, err
	}
	if len(p.dims) == 0 || p.Epochs < 0 || p.Restart < 0 {
		return nil, fmt.Errorf("it has %d views, %d epochs, restart %d", len(p.dims), p.Epochs, p.Restart)
	}
	if err := c.check(p.samples, nil); err != nil {
		return nil, err
	}
	in := &tensors{file: f}
	if p.decode(in); in.err != nil {
		return nil, in.err
	}
	if c.Float == Float64 {
		err = revive[float64](p, in)
	} else {
		err = revive[float32](p, in)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// setInputs takes over what a file says of the inputs.
func (p *Predictor) setInputs(saved []savedInput) error {
	if p.config.Neighbors == None {
		for v, d := range p.dims {
			p.inputs = append(p.inputs, Input{View: v, Preprocess: p.config.Preprocess, Columns: d})
		}
		return nil
	}
	for k, s := range saved {
		kind, err := ParsePreprocess(s.Preprocess)
		if err != nil {
			return err
		}
		if s.View < 0 || s.View >= len(p.dims) || s.Columns < 1 || s.Columns > kind.width(p.dims[s.View]) {
			return fmt.Errorf("input %d has %d columns of view %d", k, s.Columns, s.View)
		}
		if slices.ContainsFunc(p.inputs, func(in Input) bool { return in.View == s.View && in.Preprocess == kind }) {
			return fmt.Errorf("view %d is twice an input in the preprocessing %v", s.View, kind)
		}
		p.inputs = append(p.inputs, Input{View: s.View, Preprocess: kind, Columns: s.Columns})
	}
	for v := range p.dims {
		if !slices.ContainsFunc(p.inputs, func(in Input) bool { return in.View == v }) {
			return fmt.Errorf("view %d is no input", v)
		}
	}
	return nil
}

// decode sets what the file's tensors hold of the network; in has the first error.
func (p *Predictor) decode(in *tensors) {
	c := &p.config
	m, v := c.Anchors, len(p.inputs)
	p.r, p.u = in.floats("R", m, m), in.floats("U", m, m)
	p.Theta = in.floats("theta", c.Layers)
	if c.Variant == Large {
		p.Rho = split(in.floats("rho", c.Layers, v), v)
	}
	p.scale = in.floats("rho_scale", v)
	for l := 0; l <= c.Layers && in.err == nil; l++ {
		if l > 0 && c.Variant == RMvC {
			p.anchors = append(p.anchors, p.anchors[0])
			continue
		}
		layer := make([]*mat.Dense, v)
		for v, is := range p.inputs {
			if a := in.floats(fmt.Sprintf("anchors.%d.%d", l, v), m, is.Columns); a != nil {
				layer[v] = mat.NewDense(m, is.Columns, a)
			}
		}
		p.anchors = append(p.anchors, layer)
	}
	if in.err == nil {
		p.P = p.anchors[c.Layers]
	}
	p.Sizes = in.ints("sizes", -1)
	p.Clusters = len(p.Sizes)
	total := 0
	for k, s := range p.Sizes {
		if s < 1 || s > p.samples-total {
			in.fail("cluster %d has %d of %d samples", k, s, p.samples)
			break
		}
		total += s
	}
	if p.Clusters > c.Clusters || (total != p.samples && in.err == nil) {
		in.fail("%d clusters of together %d samples, want at most %d of together %d", p.Clusters, total, c.Clusters, p.samples)
	}
	p.centroids = in.floats("centroids", p.Clusters, m)
	p.Loss, p.ViewLoss = in.losses("", v)
}

// standardiser reads the preprocessing of views of the given features.
func (in *tensors) standardiser(kind Preprocess, dims []int) *standardiser {
	s := &standardiser{kind: kind}
	for v, d := range dims {
		if kind == Balanced || kind == ZScore {
			s.mean = append(s.mean, in.floats(fmt.Sprintf("mean.%d", v), d))
			s.scale = append(s.scale, in.floats(fmt.Sprintf("scale.%d", v), d))
		}
	}
	return s
}

// revive makes the network of a predictor that was read, and reads what its samples go through first.
func revive[T kernel.Float](p *Predictor, in *tensors) error {
	var from intake[T]
	if p.config.Neighbors != None {
		from = readSmoothing[T](in, p)
	} else if s := in.standardiser(p.config.Preprocess, p.dims); in.err == nil {
		from = newPreparer[T](s, p.dims)
	}
	if in.err != nil {
		return in.err
	}
	clusters, err := kmeans.NewAssigner(p.Clusters, [][]T{kernel.Convert[T](p.centroids)}, []float64{1})
	if err != nil {
		return err
	}
	p.model, err = newFitted(p, from, clusters)
	return err
}

// tensors reads the tensors of a file and keeps the first error; after one, it returns nil.
type tensors struct {
	file *safetensors.File
	err  error
}

func (in *tensors) fail(format string, args ...any) {
	if in.err == nil {
		in.err = fmt.Errorf(format, args...)
	}
}

// find returns the tensor of a shape, in which −1 stands for any size.
func (in *tensors) find(name string, shape ...int) *safetensors.Tensor {
	if in.err != nil {
		return nil
	}
	t := in.file.Tensor(name)
	if t == nil {
		in.fail("the file has no %q", name)
		return nil
	}
	ok := len(shape) == len(t.Shape)
	for i := 0; ok && i < len(shape); i++ {
		ok = shape[i] < 0 || shape[i] == t.Shape[i]
	}
	if !ok {
		in.fail("%q has the shape %v, want %v", name, t.Shape, shape)
		return nil
	}
	return t
}

// floats returns the elements of a tensor, which must be finite.
func (in *tensors) floats(name string, shape ...int) []float64 {
	t := in.find(name, shape...)
	if t == nil {
		return nil
	}
	x, err := t.Float64s()
	if err != nil {
		in.fail("%w", err)
		return nil
	}
	for i, value := range x {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			in.fail("element %d of %q is %v", i, name, value)
			return nil
		}
	}
	return x
}

func (in *tensors) ints(name string, shape ...int) []int {
	t := in.find(name, shape...)
	if t == nil {
		return nil
	}
	x, err := t.Ints()
	if err != nil {
		in.fail("%w", err)
	}
	return x
}

// losses reads what addLosses wrote.
func (in *tensors) losses(prefix string, views int) (loss []float64, viewLoss [][]float64) {
	loss = in.floats(prefix+"loss", -1)
	return loss, split(in.floats(prefix+"view_loss", len(loss), views), views)
}

// addLosses adds the losses of every epoch, in all and by view.
func addLosses(f *safetensors.File, prefix string, loss []float64, viewLoss [][]float64, views int) {
	f.Tensors = append(f.Tensors, safetensors.Float64s(prefix+"loss", loss, len(loss)),
		safetensors.Float64s(prefix+"view_loss", slices.Concat(viewLoss...), len(loss), views))
}

// split cuts x into rows of d.
func split(x []float64, d int) [][]float64 {
	out := make([][]float64, len(x)/d)
	for i := range out {
		out[i] = x[i*d : (i+1)*d : (i+1)*d]
	}
	return out
}
