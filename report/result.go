package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/score"
)

// result holds what a page needs, from a fit or from a model that labelled samples. Only this file reads the library's results.
type result struct {
	predicted bool // the samples are not, or not known to be, those of the training

	labels    []int
	h         mat.Matrix
	judged    judged
	centroids *mat.Dense
	unit      bool // k-means clustered the rows of h at norm 1

	views     []string // names, for readers
	dims      []int
	trained   int // samples of the training
	anchors   int
	loss      []float64
	viewLoss  [][]float64
	inputs    []string // names of the terms in viewLoss
	status    string
	finished  bool // the training came to its end
	epochs    int
	asked     int // clusters asked for
	seed      uint64
	restart   int
	restarts  int
	repaired  int
	timings   []Fact
	settings  []Fact
	structure score.Structure
	predictor *largemvc.Predictor
}

// judged holds the judgement of each sample; nil: there is none.
type judged struct {
	confidence, remoteness []float64
	outlier                []bool
	trust                  [][]float64 // in each view
	novelty                []float64   // of samples that a model labels
}

func ofClustering(c *largemvc.Clustering) (*result, error) {
	if c == nil || c.Predictor == nil || c.H == nil || len(c.Labels) == 0 {
		return nil, errors.New("report: the clustering is empty: Fit makes one")
	}
	r := ofPredictor(c.Predictor)
	r.labels, r.h, r.repaired, r.structure = c.Labels, c.H, c.Repaired, c.Structure
	r.judged = judged{
		confidence: c.Confidence, remoteness: c.Remoteness, outlier: c.Outlier, trust: trustOfViews(c.Predictor, c.Trust),
	}
	t := c.Timings
	for _, x := range []struct {
		name string
		time time.Duration
	}{
		{"checks and preparation", t.Prepare}, {"first anchors", t.Start}, {"training", t.Train}, {"one epoch (median)", t.Epoch},
		{"clusters and model", t.Clusters}, {"structure", t.Structure}, {"whole fit", t.Total},
	} {
		if x.time > 0 {
			r.timings = append(r.timings, Fact{x.name, seconds(x.time)})
		}
	}
	return r, nil
}

// ofPredictions labels samples with a model.
func ofPredictions(ctx context.Context, p *largemvc.Predictor, views []largemvc.View) (*result, error) {
	if p == nil || p.Clusters == 0 {
		return nil, errors.New("report: the predictor is empty: Fit and Load make one")
	}
	r := ofPredictor(p)
	r.predicted = true
	began := time.Now()
	h, err := p.Transform(ctx, views)
	if err != nil {
		return nil, err
	}
	a, err := p.Assign(ctx, views)
	if err != nil {
		return nil, err
	}
	r.h, r.labels, r.judged.confidence, r.judged.novelty = h, a.Labels, a.Confidence, a.Novelty
	r.timings = []Fact{{"predicting", seconds(time.Since(began))}}
	return r, nil
}

// beyond returns the losses less null, the loss if nothing is learned.
func beyond(loss []float64, null float64) []float64 {
	out := slices.Clone(loss)
	for i := range out {
		out[i] -= null
	}
	return out
}

func ofPredictor(p *largemvc.Predictor) *result {
	c := p.Config()
	r := &result{
		centroids: p.Centroids(), unit: !c.PlainReadOut, dims: p.Dims(), trained: p.Samples(),
		anchors: c.Anchors,
		loss:    beyond(p.Loss, p.NullLoss), viewLoss: p.ViewLoss, status: p.Status.String(), epochs: p.Epochs,
		asked: c.Clusters, seed: c.Seed, restart: p.Restart, restarts: c.Restarts, predictor: p,
	}
	r.finished = p.Status == largemvc.EpochLimit || p.Status == largemvc.Converged
	for v, name := range p.ViewNames() {
		if name == "" {
			name = fmt.Sprintf("view %d", v)
		}
		r.views = append(r.views, name)
	}
	for _, in := range p.Inputs() {
		r.inputs = append(r.inputs, fmt.Sprintf("%s, %v", r.views[in.View], in.Preprocess))
	}
	r.settings = settings(reflect.ValueOf(c), "")
	return r
}

// trustOfViews returns the mean trust of the inputs of each view, nil without trust.
func trustOfViews(p *largemvc.Predictor, trust [][]float64) [][]float64 {
	inputs := p.Inputs()
	if len(trust) == 0 || len(trust) != len(inputs) {
		return nil
	}
	out := make([][]float64, len(p.Dims()))
	count := make([]float64, len(out))
	for _, in := range inputs {
		count[in.View]++
	}
	for k, in := range inputs {
		if out[in.View] == nil {
			out[in.View] = make([]float64, len(trust[k]))
		}
		for i, t := range trust[k] {
			out[in.View][i] += t / count[in.View]
		}
	}
	for _, t := range out {
		if t == nil { // a view that is no input, for it is constant
			return nil
		}
	}
	return out
}

// settings lists the fields of a configuration that can be printed.
func settings(c reflect.Value, prefix string) []Fact {
	var out []Fact
	for i := range c.NumField() {
		f, x := c.Type().Field(i), c.Field(i)
		if !f.IsExported() {
			continue
		}
		name := prefix + f.Name
		for (x.Kind() == reflect.Interface || x.Kind() == reflect.Pointer) && !x.IsNil() {
			if _, ok := x.Interface().(fmt.Stringer); ok {
				break
			}
			x = x.Elem()
		}
		switch x.Kind() {
		case reflect.Func, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Chan:
			if _, ok := x.Interface().(fmt.Stringer); !ok || x.IsNil() {
				continue
			}
		case reflect.Struct:
			if _, ok := x.Interface().(fmt.Stringer); !ok {
				if f.Type.Kind() == reflect.Interface {
					out = append(out, Fact{name, x.Type().Name()})
				}
				out = append(out, settings(x, name+".")...)
				continue
			}
		}
		text := fmt.Sprint(x.Interface())
		if text == "-1" {
			text = "none"
		}
		if text != "" {
			out = append(out, Fact{name, text})
		}
	}
	return out
}

func (r *result) samples() int { return len(r.labels) }

// clusters returns the number of clusters that were found.
func (r *result) clusters() int {
	k, _ := r.centroids.Dims()
	return k
}

// row writes sample i, in the space of the clusters, to dst, which has as many entries as there are anchors.
func (r *result) row(dst []float64, i int) {
	square := 0.0
	for j := range dst {
		dst[j] = r.h.At(i, j)
		square += dst[j] * dst[j]
	}
	if norm := math.Sqrt(square); r.unit && norm > 0 {
		for j := range dst {
			dst[j] /= norm
		}
	}
}

func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0.0095:
		return fmt.Sprintf("%.2g ms", 1000*s)
	case s < 1:
		return fmt.Sprintf("%.0f ms", 1000*s)
	case s < 60:
		return fmt.Sprintf("%.1f s", s)
	}
	return d.Round(time.Second).String()
}
