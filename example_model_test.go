package largemvc_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
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
