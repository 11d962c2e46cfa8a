package largemvc_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
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
		if err := solver.Step(gorgonia.NodesToValueGrads(net.Learnables())); err != nil {
			fmt.Println(err)
			return
		}
		if err := net.Project(); err != nil { // θ, ρ ≥ 0
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
	net := new(largemvc.AMvCNet)
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
	// Output: loss 0.285, with the term 3.606, 3 gradients
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
	fmt.Println("sure:", a.Near[0] < 0.2*a.Next[0])
	// Output:
	// 2 clusters of [20 20] samples
	// as the last training sample: true
	// sure: true
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
		if e.Epoch == 50 {
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
	// stopped after 50 epochs
	// epoch limit after 100 epochs
}

// Without classes, indices say how many clusters there may be.
func Example_chooseClusters() {
	const samples, groups = 150, 3
	r := rand.New(rand.NewPCG(1, 2))
	shape, colour := make([]float64, 0, 3*samples), make([]float64, 0, 4*samples)
	for i := range samples {
		for j := range 3 + 4 {
			x := r.NormFloat64()
			if j%4 == i%groups {
				x += 6
			}
			if j < 3 {
				shape = append(shape, x)
			} else {
				colour = append(colour, x)
			}
		}
	}
	views := []largemvc.View{largemvc.DenseView(samples, 3, shape), largemvc.DenseView(samples, 4, colour)}

	found, err := choose.Clusters(context.Background(), views, largemvc.Config{Epochs: 10},
		choose.Config{Clusters: []int{2, 3, 4}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("suggested:", found.Suggested)
	for _, c := range found.Choices {
		fmt.Printf("%d clusters: two halves of the samples agree to %.1f\n", c.Clusters, c.Halves)
	}
	// Output:
	// suggested: 3
	// 2 clusters: two halves of the samples agree to 0.1
	// 3 clusters: two halves of the samples agree to 1.0
	// 4 clusters: two halves of the samples agree to 0.7
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
