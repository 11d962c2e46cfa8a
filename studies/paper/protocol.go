package main

import (
	"context"
	_ "embed" // of the published network
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/optim"
	"github.com/largemvc/largemvc/studies/internal/baseline"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/work"
)

//go:embed published.py
var publishedCode string

// course has the scores of a network along its training, the start first, in per cent.
type course struct {
	Epochs      []int
	ACC, Purity []float64
}

// picked is the place of the epoch that labels pick by majority-mapped purity, the first of equal ones.
func (c course) picked() int {
	best := 0
	for i, p := range c.Purity {
		if p > c.Purity[best] {
			best = i
		}
	}
	return best
}

// protocolEpochs are the epochs of the library's own networks from which labels pick.
var protocolEpochs = []int{0, 1, 2, 5, 10, 20, 30, 50, 75, 100}

// protocol measures how much of a figure is the protocol of the published code: majority-mapped purity at the epoch that labels
// pick, in place of one-to-one accuracy at the last epoch.
func protocol(ctx context.Context, s *study) error {
	defer func(all []*sets.Set) { s.sets = all }(s.sets)
	narrow := s.leaveNarrow()
	if len(s.sets) == 0 {
		return fmt.Errorf("the start of the published code needs as many features as clusters in every view: %s", narrow)
	}
	networks := []network{
		{"default preset", presetCourse(largemvc.Config{})},
		{"paper preset", presetCourse(presets.Paper.Of(largemvc.Config{}))},
		{"paper's network, optimiser and start of the published code, E = 0", authorsOptimiser(func() largemvc.Represent {
			return &largemvc.SoftThreshold{Fixed: true}
		})},
		{"the same, E = X − H·P", authorsOptimiser(func() largemvc.Represent {
			return &residual{largemvc.SoftThreshold{Fixed: true}}
		})},
		{"network of the published code", publishedNetwork},
	}
	g := tables.Grid{Name: "protocol", Plain: true, Header: []string{"network", "figure", "mean"}}
	for _, d := range s.sets {
		g.Header = append(g.Header, d.Name)
	}
	notes := "The paper's figures are purities at epochs that labels pick. What this alone adds to the accuracy at the last " +
		"epoch is the difference between the second and the last row of a network. "
	left, err := s.each(ctx, networks, func(name string, got [][]course) {
		for _, figure := range figures {
			line := meanLine(name, got, figure.of)
			line.Cells = slices.Insert(line.Cells, 0, tables.Cell{Text: figure.name})
			g.Rows = append(g.Rows, line)
		}
	})
	if err != nil {
		return err
	}
	if notes += left; narrow != "" {
		notes += "Left out, because the published start needs as many features in every view as there are clusters: " + narrow + "."
	}
	return s.publish(page{
		name: "protocol", title: "The published protocol", caption: "The published code prints, under the name ACC, " +
			"majority-mapped purity at the epoch at which labels make it largest. The rows go from the honest figure to that " +
			"one: one-to-one accuracy of the start and of the last epoch, of the epoch that labels pick, and the purity there. " +
			"Labels pick the epoch with the largest purity, so ACC there can be lower than at the last epoch. " +
			fmt.Sprintf("They pick from the epochs %v, of the published network from all. ", protocolEpochs) + "The third " +
			"network is the paper's in this library, begun at a k-means Z of the first left singular vectors and trained by Adam " +
			"with the learning rate 0.05, β 0.9 and 0.92, ε 0.01, weight decay 0.15 and fixed thresholds 0.01 and 0.001; the " +
			"rate falls to 0.3 of itself when the loss has not fallen for 15 epochs. The fourth has the published code's first " +
			"noise too, E = X − H·P at H = Z: its first layer sees Z in place of the views. The last is " +
			"`studies/paper/published.py`. Scores of these three are means of ten k-means on H with one start, as the published " +
			"code has it.",
		notes: notes, tables: []tables.Grid{g},
	})
}

// leaveNarrow leaves out the sets with a view of fewer features than clusters, and returns their names.
func (s *study) leaveNarrow() string {
	isNarrow := func(d *sets.Set) bool {
		return slices.ContainsFunc(d.Values, func(m sets.Matrix) bool { return m.D < d.Classes })
	}
	var wide, narrow []*sets.Set
	for _, d := range s.sets {
		if isNarrow(d) {
			narrow = append(narrow, d)
		} else {
			wide = append(wide, d)
		}
	}
	s.sets = wide
	return sets.Names(narrow)
}

// figures are the rows of a network.
var figures = []struct {
	name string
	of   func(course) float64
}{
	{"ACC, start", func(c course) float64 { return c.ACC[0] }},
	{"**ACC, last epoch**", func(c course) float64 { return c.ACC[len(c.ACC)-1] }},
	{"ACC, epoch that labels pick", func(c course) float64 { return c.ACC[c.picked()] }},
	{"purity there: the published “ACC”", func(c course) float64 { return c.Purity[c.picked()] }},
}

// network is a way to get the scores of a draw along a training.
type network struct {
	name string
	run  func(ctx context.Context, s *study, d *sets.Set, draw int) (course, error)
}

// each hands over the scores of every network, and says which were left out for want of Python.
func (s *study) each(ctx context.Context, networks []network, to func(name string, got [][]course)) (left string, err error) {
	for _, k := range networks {
		got, err := eachDraw(ctx, s, k.name, k.run)
		switch {
		case errors.Is(err, exec.ErrNotFound) || errors.Is(err, errPython):
			left += fmt.Sprintf("Left out: %s (%v). ", k.name, err)
		case err != nil:
			return "", err
		default:
			to(k.name, got)
		}
	}
	return left, nil
}

// add appends the scores of labels after an epoch.
func (c *course) add(epoch int, d *sets.Set, labels ...[]int) error {
	acc, purity := 0.0, 0.0
	for _, l := range labels {
		e, err := largemvc.Evaluate(d.Labels, l)
		if err != nil {
			return err
		}
		acc, purity = acc+100*e.ACC/float64(len(labels)), purity+100*e.Purity/float64(len(labels))
	}
	c.Epochs, c.ACC, c.Purity = append(c.Epochs, epoch), append(c.ACC, acc), append(c.Purity, purity)
	return nil
}

// presetCourse trains a preset once for each epoch: its weights after an epoch do not depend on later epochs.
func presetCourse(c largemvc.Config) func(context.Context, *study, *sets.Set, int) (course, error) {
	return func(ctx context.Context, s *study, d *sets.Set, draw int) (out course, err error) {
		c := s.configFor(c, d, draw)
		c.NoStructure = true
		last := c.Epochs
		for _, epoch := range protocolEpochs {
			if epoch > last {
				break
			}
			if c.Epochs = epoch; epoch == 0 {
				c.Epochs = largemvc.None
			}
			r, err := largemvc.Fit(ctx, d.Views, c)
			if err == nil {
				err = out.add(epoch, d, r.Labels)
			}
			if err != nil {
				return course{}, err
			}
		}
		return out, nil
	}
}

// residual begins at E = X − H·P. In layer 1 it has H itself in place of (X − E)·Pᵀ, because the rows of P are orthonormal.
type residual struct{ largemvc.SoftThreshold }

func (r *residual) Update(l int, h *gorgonia.Node, z []*gorgonia.Node) (*gorgonia.Node, error) {
	if l == 1 {
		z = slices.Repeat([]*gorgonia.Node{h}, len(z))
	}
	return r.SoftThreshold.Update(l, h, z)
}

// authorsOptimiser trains the paper's network on a graph, by the optimiser and from the start of the published code.
func authorsOptimiser(represent func() largemvc.Represent) func(context.Context, *study, *sets.Set, int) (course, error) {
	return func(ctx context.Context, s *study, d *sets.Set, draw int) (course, error) {
		return trainAsAuthors(ctx, s, d, draw, represent())
	}
}

func trainAsAuthors(
	ctx context.Context, s *study, d *sets.Set, draw int, represent largemvc.Represent,
) (out course, err error) {
	data, start, err := publishedStart(ctx, standardised(d), d.Classes, uint64(draw))
	if err != nil {
		return course{}, err
	}
	net := largemvc.Model[largemvc.Represent, *largemvc.RowShrink, *largemvc.Procrustes]{
		Represent: represent, Noise: &largemvc.RowShrink{Rho0: 0.001, Fixed: true},
	}
	if err := net.Build(largemvc.Env{G: gorgonia.NewGraph(), Seed: uint64(draw)}, data, start); err != nil {
		return course{}, err
	}
	h, err := net.H(net.Env().Layers)
	if err != nil {
		return course{}, err
	}
	if _, err := gorgonia.Grad(net.Loss(), net.Learnables()...); err != nil {
		return course{}, err
	}
	vm := gorgonia.NewTapeMachine(net.Loss().Graph(), gorgonia.BindDualValues(net.Learnables()...))
	defer vm.Close()
	if err := out.readOut(ctx, 0, d, start.H); err != nil {
		return course{}, err
	}
	solver := unfold.Adam{Options: optim.Published()}
	for epoch := 0; ; epoch++ {
		if err := vm.RunAll(); err != nil {
			return course{}, err
		}
		if slices.Contains(protocolEpochs, epoch) && epoch > 0 {
			values := slices.Clone(h.Value().Data().([]float64))
			if err := out.readOut(ctx, epoch, d, mat.NewDense(d.N, d.Classes, values)); err != nil {
				return course{}, err
			}
		}
		if epoch >= s.epochs {
			return out, nil
		}
		solver.Schedule(net.Loss().Value().Data().(float64))
		if err := errors.Join(solver.Step(gorgonia.NodesToValueGrads(net.Learnables())), net.Project()); err != nil {
			return course{}, err
		}
		vm.Reset()
	}
}

// publishedStart returns the data and the start of the published code: H is 1 at the cluster of a sample by a k-means of the
// first left singular vectors of all views, and anchors are the polar factors of Hᵀ X_v.
func publishedStart(
	ctx context.Context, x []sets.Matrix, clusters int, seed uint64,
) (*largemvc.Data, largemvc.StartPoint, error) {
	n, views := x[0].N, make([]mat.Matrix, len(x))
	for v, m := range x {
		if m.D < clusters {
			return nil, largemvc.StartPoint{}, fmt.Errorf("view %d has %d features, want at least the %d clusters", v, m.D, clusters)
		}
		views[v] = mat.DenseCopyOf(m)
	}
	labels, err := baseline.SpectralKMeans(ctx, views, clusters, seed)
	if err != nil {
		return nil, largemvc.StartPoint{}, err
	}
	h := mat.NewDense(n, clusters, nil)
	for i, l := range labels {
		h.Set(i, l, 1)
	}
	start := largemvc.StartPoint{H: h}
	for _, y := range views {
		var c, p mat.Dense
		c.Mul(h.T(), y)
		var svd mat.SVD
		if !svd.Factorize(&c, mat.SVDThin) {
			return nil, largemvc.StartPoint{}, errors.New("no singular values of the anchors")
		}
		var u, w mat.Dense
		svd.UTo(&u)
		svd.VTo(&w)
		p.Mul(&u, w.T())
		start.Anchors = append(start.Anchors, &p)
	}
	data, err := largemvc.NewData(tensor.Float64, views, nil)
	return data, start, err
}

// readOut adds the mean scores of ten k-means with one start.
func (c *course) readOut(ctx context.Context, epoch int, d *sets.Set, h mat.Matrix) error {
	var labels [][]int
	for seed := range uint64(10) {
		r, err := largemvc.KMeans(ctx, h, largemvc.KMeansConfig{Clusters: d.Classes, Starts: 1, Seed: seed})
		if err != nil {
			return err
		}
		labels = append(labels, r.Labels)
	}
	return c.add(epoch, d, labels...)
}

// errPython is an error of Python before the network is trained.
var errPython = errors.New("python3 with PyTorch and scikit-learn, or results of it, are needed")

// publishedNetwork trains the network of the published code.
func publishedNetwork(ctx context.Context, s *study, d *sets.Set, draw int) (course, error) {
	out, err := s.inPython(ctx, d, publishedCode, fmt.Sprint(d.Classes), fmt.Sprint(s.epochs), fmt.Sprint(draw))
	for i := range out.ACC {
		out.Epochs = append(out.Epochs, i)
	}
	return out, err
}

// hasPython returns an error if Python does not have the modules.
func hasPython(ctx context.Context, modules string) error {
	if text, err := exec.CommandContext(ctx, "python3", "-c", "import "+modules).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %w %s", errPython, err, text)
	}
	return nil
}

// inPython runs a program for PyTorch with arguments, the files of the labels and of each view, and their sizes.
func (s *study) inPython(ctx context.Context, d *sets.Set, code string, args ...string) (course, error) {
	if err := hasPython(ctx, "torch, sklearn"); err != nil {
		return course{}, err
	}
	folder, err := os.MkdirTemp("", "rival")
	if err != nil {
		return course{}, err
	}
	defer os.RemoveAll(folder)
	save := func(name string, values any) (string, error) {
		raw, err := binary.Append(nil, binary.LittleEndian, values)
		path := filepath.Join(folder, name)
		return path, errors.Join(err, os.WriteFile(path, raw, 0o666))
	}
	classes := make([]int64, d.N)
	for i, l := range d.Labels {
		classes[i] = int64(l)
	}
	path, err := save("classes", classes)
	args = append(append([]string{"-"}, args...), path, fmt.Sprint(d.N))
	for v, m := range d.Values {
		view, saved := save(fmt.Sprint("view", v), m.X)
		args, err = append(args, view, fmt.Sprint(m.D)), errors.Join(err, saved)
	}
	if err != nil {
		return course{}, err
	}
	python := exec.CommandContext(ctx, "python3", args...)
	python.Env = work.PythonEnv("OMP_NUM_THREADS=1") // the sets are small
	python.Stdin, python.Stderr = strings.NewReader(code), s.stderr
	return readCourse(python.Output())
}

// readCourse reads what a program printed, with scores from 0 to 1.
func readCourse(text []byte, err error) (out course, _ error) {
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	for i := range out.ACC {
		out.ACC[i], out.Purity[i] = 100*out.ACC[i], 100*out.Purity[i]
	}
	return out, err
}
