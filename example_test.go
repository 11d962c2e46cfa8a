package largemvc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/score"
)

// twoGroups is two views of six samples in two groups, and anchors to start from.
func twoGroups() (*largemvc.Data, largemvc.StartPoint) {
	data, err := largemvc.NewData(tensor.Float64, []mat.Matrix{
		mat.NewDense(6, 3, []float64{3, 0, 0, 3, 0, 1, 2, 0, 0, 0, 3, 0, 0, 2, 1, 0, 3, 0}),
		mat.NewDense(6, 2, []float64{2, 0, 2, 1, 2, 0, 0, 2, 0, 2, 1, 2}),
	}, nil)
	if err != nil {
		panic(err)
	}
	return data, largemvc.StartPoint{Anchors: []mat.Matrix{
		mat.NewDense(2, 3, []float64{1, 0, 0, 0, 1, 0}),
		mat.NewDense(2, 2, []float64{1, 0, 0, 1}),
	}}
}

// Training with a solver of Gorgonia's on the tape machine.
func ExampleModel() {
	data, start := twoGroups()
	net := &largemvc.LargeMvCNet{Noise: &largemvc.RowShrink{Rho0: 0.5}}
	if err := net.Build(largemvc.Env{G: gorgonia.NewGraph(), Layers: 2}, data, start); err != nil {
		fmt.Println(err)
		return
	}
	h, err := net.H(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := gorgonia.Grad(net.Loss(), net.Learnables()...); err != nil {
		fmt.Println(err)
		return
	}
	machine := gorgonia.NewTapeMachine(net.Loss().Graph(), gorgonia.BindDualValues(net.Learnables()...))
	defer machine.Close()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))
	for range 50 {
		if err := machine.RunAll(); err != nil {
			fmt.Println(err)
			return
		}
		err := solver.Step(gorgonia.NodesToValueGrads(net.Learnables()))
		if err := errors.Join(err, net.Project()); err != nil { // θ, ρ ≥ 0
			fmt.Println(err)
			return
		}
		machine.Reset()
	}
	x := h.Value().Data().([]float64)
	for i := range 6 { // the larger of the two entries of each row
		fmt.Print(x[2*i] < x[2*i+1], " ")
	}
	// Output: false false false true true true
}

// The graph as text for Graphviz (dot -Tsvg), with one op for each step of each module: an anchor step for each of two views.
func ExampleModel_Dot() {
	data, start := twoGroups()
	net := &largemvc.LargeMvCNet{PerModule: true}
	err := net.Build(largemvc.Env{G: gorgonia.NewGraph(), Layers: 1}, data, start)
	fmt.Println(strings.Count(net.Dot(), "Procrustes"), strings.Contains(net.Dot(), "[label=\"largemvc.theta_1 ()\"]"), err)
	// Output: 2 true <nil>
}

// softHuber is a Noise module of your own: the weights of Huber's loss, t = δ/(δ + r), with a learnable δ.
type softHuber struct{ delta *gorgonia.Node }

func (n *softHuber) Init(e largemvc.Env) error {
	n.delta = gorgonia.NewScalar(e.G, e.Of, gorgonia.WithName(e.Name("delta")), gorgonia.WithValue(1.0))
	return nil
}

func (n *softHuber) Learnables() gorgonia.Nodes { return gorgonia.Nodes{n.delta} }
func (n *softHuber) Project() error             { return nil }

func (n *softHuber) Trust(_, _ int, norm *gorgonia.Node) (*gorgonia.Node, error) {
	sum, err := gorgonia.Add(norm, n.delta)
	if err != nil {
		return nil, err
	}
	inverse, err := gorgonia.Inverse(sum)
	if err != nil {
		return nil, err
	}
	return gorgonia.HadamardProd(inverse, n.delta)
}

// A module of your own in place of a stock one.
func ExampleModel_ownModule() {
	data, start := twoGroups()
	net := &largemvc.Model[*largemvc.SoftThreshold, *softHuber, *largemvc.Procrustes]{Noise: new(softHuber)}
	if err := net.Build(largemvc.Env{G: gorgonia.NewGraph()}, data, start); err != nil {
		fmt.Println(err)
		return
	}
	grads, err := gorgonia.Grad(net.Loss(), net.Learnables()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine := gorgonia.NewTapeMachine(net.Loss().Graph())
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	for i, n := range net.Learnables() {
		fmt.Println(n.Name(), grads[i].Shape())
	}
	// Output:
	// largemvc.theta_1 ()
	// largemvc.theta_2 ()
	// largemvc.R (2, 2)
	// largemvc.U (2, 2)
	// largemvc.delta ()
}

// A loss term of your own, here on the representation: 0.1·ΣH².
func ExampleModel_ownLoss() {
	data, start := twoGroups()
	net := new(largemvc.LargeMvCNet)
	if err := net.Build(largemvc.Env{G: gorgonia.NewGraph(), Layers: 1}, data, start); err != nil {
		fmt.Println(err)
		return
	}
	h, err := net.H(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	square := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(h))))
	cost := gorgonia.Must(gorgonia.Add(net.Loss(), gorgonia.Must(gorgonia.Mul(square, gorgonia.NewConstant(0.1)))))
	grads, err := gorgonia.Grad(cost, net.Learnables()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine := gorgonia.NewTapeMachine(cost.Graph())
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("loss %.3f, with the term %.3f, %d gradients\n", net.Loss().Value(), cost.Value(), len(grads))
	// Output: loss 0.318, with the term 3.639, 5 gradients
}

// The Procrustes step alone, on a graph of your own.
func ExampleProcrustesOp() {
	g := gorgonia.NewGraph()
	m := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("M"), gorgonia.WithShape(2, 2),
		gorgonia.WithValue(tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{0, 2, -3, 0}))))
	p, err := largemvc.ProcrustesOp(m, 0, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f\n", p.Value().Data())
	// Output: [0.0 1.0 -1.0 0.0]
}

// shapesAndColours are 2n samples in two views, which fall into two groups.
func shapesAndColours(n int) []largemvc.View {
	x, y := make([]float64, 0, 6*n), make([]float64, 0, 8*n)
	for i := range 2 * n {
		wobble := float64(i%7) / 10
		if i < n {
			x, y = append(x, 3, 1+wobble, 0), append(y, 0, wobble, 2, 5)
		} else {
			x, y = append(x, 0, wobble, 4), append(y, 6, 1, wobble, 0)
		}
	}
	return []largemvc.View{largemvc.DenseView(2*n, 3, x).Named("shape"), largemvc.DenseView(2*n, 4, y).Named("colour")}
}

// A model is saved, loaded, and asked about a new sample.
func ExamplePredictor_Save() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "model.safetensors")

	ctx := context.Background()
	c, err := largemvc.Fit(ctx, shapesAndColours(20), largemvc.Config{Clusters: 2})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Save(path); err != nil {
		log.Fatal(err)
	}

	model, err := largemvc.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	sample := []largemvc.View{
		largemvc.DenseView(1, 3, []float64{0, 0.2, 3.9}),
		largemvc.DenseView(1, 4, make([]float64, 4)).WithPresent([]bool{false}), // this one has no colour
	}
	a, err := model.Assign(ctx, sample)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Clusters, "clusters of", model.Sizes, "samples")
	fmt.Println("as the last training sample:", a.Labels[0] == c.Labels[39])
	fmt.Println("sure:", a.Confidence[0] > 0.9)
	// Output:
	// 2 clusters of [20 20] samples
	// as the last training sample: true
	// sure: true
}

// things returns three views of 300 samples in three clusters. Samples 0 and 1 are in different clusters.
func things() []largemvc.View {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{
		Samples: 300, Clusters: 3, Dims: []int{12, 8, 10}, Separation: 12, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	x, err := views.Of(set)
	if err != nil {
		log.Fatal(err)
	}
	return x
}

// A model passes through memory, for example into a database. It gives new samples the same labels afterwards.
func ExampleReadPredictor() {
	ctx := context.Background()
	c, err := largemvc.Fit(ctx, shapesAndColours(20), largemvc.Config{Clusters: 2})
	if err != nil {
		log.Fatal(err)
	}
	var stored bytes.Buffer
	if _, err := c.WriteTo(&stored); err != nil {
		log.Fatal(err)
	}
	model, err := largemvc.ReadPredictor(&stored)
	if err != nil {
		log.Fatal(err)
	}
	labels, err := model.Predict(ctx, shapesAndColours(2))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(labels)
	// Output: [0 0 1 1]
}

// The representation H has one row for each sample, over all views: features for a search or for another model.
func ExamplePredictor_Transform() {
	ctx := context.Background()
	c, err := largemvc.Fit(ctx, shapesAndColours(20), largemvc.Config{Clusters: 2, Anchors: 4})
	if err != nil {
		log.Fatal(err)
	}
	h, err := c.Transform(ctx, shapesAndColours(3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Dims())
	// Output: 6 4
}

// Novelty finds samples unlike those of the training: their labels mean little.
func ExamplePredictor_Novelty() {
	ctx := context.Background()
	x := things()
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	today := make([]largemvc.View, len(x)) // sample 0 of the training, and a sample of 30, −30, 30, …
	for v := range x {
		rows := x[v].Row(nil, 0)
		_, d := x[v].Dims()
		for j := range d {
			rows = append(rows, 30*float64(1-2*(j%2)))
		}
		today[v] = largemvc.DenseView(2, d, rows)
	}
	novelty, err := c.Novelty(ctx, today)
	if err != nil {
		log.Fatal(err)
	}
	for i, share := range novelty { // of the training samples that are less strange
		fmt.Println("sample", i, "is new:", share > 0.95)
	}
	// Output:
	// sample 0 is new: false
	// sample 1 is new: true
}

// Two samples have exchanged their rows of view 1. The view that each of them trusts least names the wrong row.
func ExamplePredictor_ViewTrust() {
	ctx := context.Background()
	x := things()
	order := numbers(0, 300)
	order[0], order[1] = 1, 0
	x[1] = x[1].Take(order)
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
	if err != nil {
		log.Fatal(err)
	}
	trust, err := c.ViewTrust(ctx, x)
	if err != nil {
		log.Fatal(err)
	}
	for i := range order {
		for v := range trust {
			if trust[v][i] < 0.1 {
				fmt.Printf("sample %d: its row of view %d may belong to another sample\n", i, v)
			}
		}
	}
	// Output:
	// sample 0: its row of view 1 may belong to another sample
	// sample 1: its row of view 1 may belong to another sample
}

// A training that is stopped goes on from its checkpoint, to the same bits.
func ExampleResume() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	ctx := context.Background()
	views, config := shapesAndColours(20), largemvc.Config{Clusters: 2}
	config.Checkpoint.Path = filepath.Join(folder, "checkpoint")
	config.Progress = func(e largemvc.Progress) error {
		if e.Epoch == 10 {
			return largemvc.ErrStop
		}
		return nil
	}
	first, err := largemvc.Fit(ctx, views, config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Status, "after", first.Epochs, "epochs")

	c, err := largemvc.Resume(ctx, views, config.Checkpoint.Path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Status, "after", c.Epochs, "epochs")
	// Output:
	// stopped after 10 epochs
	// epoch limit after 30 epochs
}

// A model is trained again on other samples, from the labels that the old one gives them; the clusters keep their old numbers by
// the samples that both know.
func ExampleConfig_startLabels() {
	ctx := context.Background()
	config := largemvc.Config{Clusters: 2}
	old, err := largemvc.Fit(ctx, shapesAndColours(20), config)
	if err != nil {
		log.Fatal(err)
	}
	today := shapesAndColours(30)
	for v, x := range today { // of the first kind 10 samples fewer, so that the clusters change their places
		today[v] = x.Take(numbers(10, 60))
	}
	was, err := old.Predict(ctx, today)
	if err != nil {
		log.Fatal(err)
	}
	config.StartLabels = was
	c, err := largemvc.Fit(ctx, today, config)
	if err != nil {
		log.Fatal(err)
	}
	table, err := score.NewContingency(was, c.Labels)
	if err != nil {
		log.Fatal(err)
	}
	number, err := table.Match() // of the old cluster, by that of the new one
	if err != nil {
		log.Fatal(err)
	}
	for k, size := range c.Sizes {
		fmt.Printf("cluster %d of %d samples was cluster %d\n", k, size, number[k])
	}
	// Output:
	// cluster 0 of 30 samples was cluster 1
	// cluster 1 of 20 samples was cluster 0
}

// numbers are those from lo to hi−1.
func numbers(lo, hi int) []int {
	out := make([]int, 0, hi-lo)
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}

// Clusters samples that are described in two ways.
func ExampleFit() {
	c, err := largemvc.Fit(context.Background(), shapesAndColours(20), largemvc.Config{Clusters: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sizes:", c.Sizes)
	fmt.Println("first sample in cluster", c.Labels[0], "and last sample in cluster", c.Labels[39])
	// Output:
	// sizes: [20 20]
	// first sample in cluster 0 and last sample in cluster 1
}

// Embeddings from another program, one row after another, become a view. The second sample has none.
func ExampleDenseView() {
	nan := float32(math.NaN()) // rows of absent samples may hold anything
	embeddings := []float32{
		0.1, 0.7, 0.2,
		nan, nan, nan,
		0.9, 0.0, 0.1,
	}
	view := largemvc.DenseView(3, 3, embeddings).Named("text").WithPresent([]bool{true, false, true})
	fmt.Println(view)
	for i := range 3 {
		fmt.Print(view.Has(i), " ")
	}
	// Output:
	// text of 3 samples and 3 features
	// true false true
}

// A matrix that holds a sample in each column is given transposed. It is not copied.
func ExampleMatrixView() {
	columns := mat.NewDense(2, 4, []float64{
		1, 2, 3, 4,
		10, 20, 30, 40,
	})
	view := largemvc.MatrixView(columns.T()).WithFeatures([]string{"width", "height"})
	fmt.Println(view)
	fmt.Println(view.FeatureNames(), view.Row(nil, 2))
	// Output:
	// a view of 4 samples and 2 features
	// [width height] [3 30]
}

// Counts of words make a sparse view: a row for each text, a column for each word of all texts.
func ExampleSparseView() {
	texts := [][]string{{"red", "car"}, {"blue", "car", "blue"}, {"red"}}
	var words []string
	rowPtr, cols, counts := []int{0}, []int32{}, []float32{}
	for _, text := range texts {
		times := map[int32]float32{}
		for _, word := range text {
			j := slices.Index(words, word)
			if j < 0 {
				j, words = len(words), append(words, word)
			}
			times[int32(j)]++
		}
		for j := range int32(len(words)) { // columns increase within a row
			if times[j] > 0 {
				cols, counts = append(cols, j), append(counts, times[j])
			}
		}
		rowPtr = append(rowPtr, len(cols))
	}
	view := largemvc.SparseView(len(texts), len(words), rowPtr, cols, counts).WithFeatures(words)
	fmt.Println(view.FeatureNames(), view.Row(nil, 1))
	// Output: [red car blue] [0 1 2]
}

// sensor is a RowSource: its rows are computed when they are read. Rows of a database are read in the same way.
type sensor struct{ samples int }

func (s sensor) Dims() (n, d int) { return s.samples, 4 }

func (s sensor) ReadRows(ctx context.Context, first int, dst []float32) error {
	for i := range len(dst) / 4 {
		row, wobble := dst[4*i:4*i+4], float32((first+i)%7)/10
		if first+i < s.samples/2 {
			copy(row, []float32{0, wobble, 2, 5})
		} else {
			copy(row, []float32{6, 1, wobble, 0})
		}
	}
	return ctx.Err()
}

// A fit trains on 200 of 5,000 samples whose rows are not in memory, and labels all of them.
func ExampleRowsView() {
	views := []largemvc.View{largemvc.RowsView(sensor{samples: 5000}).Named("sensor")}
	c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: 2, FitSamples: 200, Epochs: 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(c.Labels), "labels; first and last sample in one cluster:", c.Labels[0] == c.Labels[4999])
	// Output: 5000 labels; first and last sample in one cluster: false
}

// A callback follows the fit. It returns ErrStop to end the training and to keep what was found.
func ExampleProgress() {
	phase := ""
	config := largemvc.Config{Clusters: 2}
	config.Progress = func(p largemvc.Progress) error {
		if p.Phase != phase {
			phase = p.Phase
			fmt.Println(phase)
		}
		if p.Training() && p.Epoch%10 == 0 {
			fmt.Printf("  epoch %d of %d\n", p.Epoch, p.Epochs)
		}
		return nil
	}
	if _, err := largemvc.Fit(context.Background(), shapesAndColours(20), config); err != nil {
		log.Fatal(err)
	}
	// Output:
	// checks
	// preparation
	// regression
	// neighbours
	// smoothing
	// first anchors
	// training
	//   epoch 10 of 30
	//   epoch 20 of 30
	//   epoch 30 of 30
	// clusters
	// structure
}

// The memory of a fit is estimated from the sizes of the views, before they are read.
func ExampleConfig_EstimateMemory() {
	const samples = 1_000_000
	sizes := []largemvc.View{
		largemvc.DenseView[float32](samples, 512, nil),
		largemvc.DenseView[float32](samples, 300, nil),
	}
	m, err := largemvc.Config{Clusters: 20}.EstimateMemory(sizes)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f GiB, %.0f GiB for the views\n", float64(m.Total)/(1<<30), float64(m.Views)/(1<<30))
	// Output: 6 GiB, 3 GiB for the views
}

// A configuration is checked before any work. The error names the field and the values that it may have.
func ExampleFieldError() {
	err := largemvc.Config{Clusters: 2, Layers: -1}.Check(shapesAndColours(20))
	var field *largemvc.FieldError
	if errors.As(err, &field) {
		fmt.Printf("%s is %v, want %s\n", field.Field, field.Value, field.Want)
	}
	// Output: Layers is -1, want at least 1
}

// The network of the paper: PaperConfig gives its settings, and any of them can be changed.
func ExamplePaperConfig() {
	config := largemvc.PaperConfig(2)
	config.Epochs = 20
	c, err := largemvc.Fit(context.Background(), shapesAndColours(8), config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Sizes, c.Config().Preprocess, c.Config().Neighborhood.Neighbors == largemvc.None)
	// Output: [8 8] sample true
}
