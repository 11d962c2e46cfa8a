package main

import (
	"context"
	_ "embed" // of the scripts
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

//go:embed sklearn_child.py
var sklearnScript string

//go:embed torch_fit.py
var torchFitScript string

// peer is a method in Python.
type peer struct {
	name string
	run  func(file string, seed int) (*outcome, error)
}

// torchLayers and torchEpochs are the values of the paper preset in PyTorch.
const torchLayers, torchEpochs = 2, 100

// inPython returns the methods that the given Python can run, with the versions of their packages, and reports the others.
func (m *methods) inPython(dir string) (out []peer, versions string, err error) {
	has := func(what, module string) bool {
		program := fmt.Sprintf("import numpy, %s; print(%[1]s.__version__, end='')", module)
		version, err := exec.Command(m.python, "-c", program).Output()
		if err != nil {
			fmt.Fprintf(os.Stderr, "compare: %s cannot import numpy and %s: no rows of %s\n", m.python, module, what)
			return false
		}
		versions += fmt.Sprintf(", %s %s", what, version)
		return true
	}
	if has("scikit-learn", "sklearn") {
		path, err := writeScript(dir, "sklearn_child.py", sklearnScript)
		if err != nil {
			return nil, "", err
		}
		for _, name := range []string{"KMeans", "MiniBatchKMeans"} {
			for _, rows := range []string{"z-scored", "unit rows"} {
				out = append(out, peer{"sklearn " + name + ", " + rows, func(file string, seed int) (*outcome, error) {
					return m.sklearn(path, file, name, rows, seed)
				}})
			}
		}
	}
	if has("PyTorch", "torch") {
		path, err := writeScript(dir, "torch_fit.py", torchFitScript)
		if err != nil {
			return nil, "", err
		}
		out = append(out, peer{"PyTorch, literal network", func(file string, _ int) (*outcome, error) {
			return m.torch(dir, path, file)
		}})
	}
	return out, versions, nil
}

// openSet reads a set with its classes.
func openSet(file string) (set *dataset.Set, classes int, err error) {
	if set, err = dataset.Open(context.Background(), []string{file}, dataset.Options{Float: 32, MaxBytes: 16 << 30}); err != nil {
		return nil, 0, err
	}
	classes, err = classesOf(set, file)
	return set, classes, err
}

func (m *methods) sklearn(script, file, name, rows string, seed int) (*outcome, error) {
	set, clusters, err := openSet(file)
	if err != nil {
		return nil, err
	}
	o, labels := &outcome{}, make([]int, len(set.Labels))
	to := []any{&o.seconds, &o.mib}
	for i := range labels {
		to = append(to, &labels[i])
	}
	args := []string{script, file, strconv.Itoa(clusters), name, rows, strconv.Itoa(seed)}
	if err := o.read(exec.Command(m.python, args...), to...); err != nil {
		return nil, err
	}
	scores, err := largemvc.Evaluate(set.Labels, labels)
	o.accuracy, o.nmi = scores.ACC, scores.NMI
	return o, err
}

// torch fits the literal network from the initial anchors of this library, whose time is not counted, and clusters its
// representation like the paper preset.
func (m *methods) torch(dir, script, file string) (*outcome, error) {
	set, clusters, err := openSet(file)
	if err != nil {
		return nil, err
	}
	config := presets.Paper.Of(largemvc.Config{Clusters: clusters, Epochs: 1})
	start, err := largemvc.Fit(context.Background(), viewsOf(set), config)
	if err != nil {
		return nil, err
	}
	var anchors []dataset.Array
	for v := range set.Views {
		p := start.Predictor.Anchors(0, v)
		r, c := p.Dims()
		anchors = append(anchors, dataset.Array{Name: fmt.Sprintf("P%d", v), Shape: []int{r, c}, Data: p.RawMatrix().Data})
	}
	from, to := filepath.Join(dir, "anchors.npz"), filepath.Join(dir, "representation.npy")
	if err := dataset.WriteNPZ(from, false, anchors...); err != nil {
		return nil, err
	}
	o, done := &outcome{accuracy: math.NaN(), nmi: math.NaN()}, 0
	c := exec.Command(m.python, script, file, from, strconv.Itoa(torchLayers), strconv.Itoa(torchEpochs), fmt.Sprint(m.limit.Seconds()), to)
	c.Env = work.PythonEnv()
	err = o.read(c, &o.seconds, &done, &o.mib)
	if err != nil {
		return nil, err
	}
	if done < torchEpochs {
		o.note = fmt.Sprintf(" (%d epochs, by proportion from %d)", torchEpochs, done)
		o.processor *= float64(torchEpochs) / float64(done)
		return o, nil
	}
	o.note = fmt.Sprintf(" (%d epochs)", done)
	h, err := dataset.Open(context.Background(), []string{to}, dataset.Options{NoLabels: true, Float: 64})
	if err != nil {
		return nil, err
	}
	x := h.Views[0]
	rows := mat.NewDense(x.Rows, x.Cols, x.Float64)
	r, err := largemvc.KMeans(context.Background(), rows, largemvc.KMeansConfig{Clusters: clusters})
	if err != nil {
		return nil, err
	}
	scores, err := largemvc.Evaluate(set.Labels, r.Labels)
	o.accuracy, o.nmi = scores.ACC, scores.NMI
	return o, err
}
