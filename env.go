package largemvc

import (
	"errors"
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Env is where a network is built: a graph, a name in it, and the sizes. Model.Build fills what is left zero, from its
// data and start, before it hands the Env to the modules.
type Env struct {
	G *gorgonia.ExprGraph
	// Prefix begins the name of every node and the hash of every op of the network, and must be unique in the graph:
	// Gorgonia merges inputs of one name. "" means "largemvc"; a prefix that the graph has already is refused.
	Prefix string

	Layers  int   // L ≥ 1; 0 means 2
	Views   int   // V
	Anchors int   // m
	Samples int   // n
	Dims    []int // d_v, one per view
	// Of is the element type of every node, Float32 or Float64: that of the data.
	Of tensor.Dtype
	// Workers bounds the goroutines of an op; 0 means GOMAXPROCS. Results do not depend on it.
	Workers int
	// Present is the n×V node with 1 where a sample has a view and 0 where not, and nil where every sample has all
	// views. Build sets it.
	Present *gorgonia.Node
}

const defaultLayers = 2

// Module is a part of a network: it makes its learnable nodes in Init and its ops in the update method that Represent,
// Noise or Anchor adds.
//
// A module that is not from this package may use any Gorgonia ops, in the element type Env.Of. It may keep the nodes that
// it is given; overwriting them does no harm, for it gets copies.
type Module interface {
	// Init makes the learnable nodes. It is called once per Build, before any update, and forgets an earlier Build.
	Init(Env) error
	// Learnables returns the nodes to train.
	Learnables() gorgonia.Nodes
	// Project puts the values of the learnable nodes back into their range; call it, or Model.Project, after each step
	// of a solver.
	Project() error
}

// Represent is the module that updates the representation H.
type Represent interface {
	Module
	// Update returns the H of layer l = 1 … L (n×m) from that of layer l−1 and z[v] = (X_v − E_v)·P_vᵀ (n×m) of every
	// view. Rows of z[v] that Env.Present marks absent mean nothing; Env.MeanViews leaves them out.
	Update(l int, h *gorgonia.Node, z []*gorgonia.Node) (*gorgonia.Node, error)
}

// Noise is the module that splits the residual of a view into noise and data, row by row.
type Noise interface {
	Module
	// Trust returns the weights t (a vector of n) with X − E = diag(t)·X + diag(1−t)·H·P, that is E = diag(1−t)(X − H·P),
	// for layer l and view v, from the row norms of X − H·P: a vector of n, all ≥ 0, with 1 in rows without the view. A
	// nil node means E = 0.
	Trust(l, v int, norm *gorgonia.Node) (*gorgonia.Node, error)
}

// Anchor is the module that updates the anchors P_v.
type Anchor interface {
	Module
	// Update returns the P_v of layer l (m×d_v) from corr = Hᵀ(X_v − E_v) (m×d_v) and the P_v of layer l−1, prev.
	Update(l, v int, corr, prev *gorgonia.Node) (*gorgonia.Node, error)
}

// Name returns the name of a node of the network: the prefix, a dot and what Sprintf makes of the arguments.
func (e Env) Name(format string, args ...any) string {
	return e.Prefix + "." + fmt.Sprintf(format, args...)
}

// MeanViews returns the mean of one n×m matrix per view, row by row over the views that a sample has.
func (e Env) MeanViews(x ...*gorgonia.Node) (*gorgonia.Node, error) {
	if len(x) != e.Views {
		return nil, fmt.Errorf("largemvc: mean over %d matrices for %d views", len(x), e.Views)
	}
	if e.Of == tensor.Float32 {
		return prefixed(meanViews[float32](e.Workers, x, e.Present))
	}
	return prefixed(meanViews[float64](e.Workers, x, e.Present))
}

// complete checks e against data and start and fills what it leaves zero.
func (e Env) complete(data *Data, start StartPoint) (Env, error) {
	switch {
	case e.G == nil:
		return e, errors.New("largemvc: no graph in Env.G")
	case data == nil:
		return e, errors.New("largemvc: no data")
	case data.Views() == 0:
		return e, errors.New("largemvc: data without views")
	case e.Layers < 0:
		return e, fmt.Errorf("largemvc: %d layers", e.Layers)
	case e.Present != nil:
		return e, errors.New("largemvc: Env.Present is made by Build; give the presence of views to NewData")
	case len(start.Anchors) != data.Views():
		return e, fmt.Errorf("largemvc: starting anchors for %d views, data of %d", len(start.Anchors), data.Views())
	}
	if e.Prefix == "" {
		e.Prefix = "largemvc"
	}
	if e.Layers == 0 {
		e.Layers = defaultLayers
	}
	if e.Of == (tensor.Dtype{}) {
		e.Of = data.of
	}
	if e.Of != data.of {
		return e, fmt.Errorf("largemvc: Env.Of is %v, the data are %v", e.Of, data.of)
	}
	for v, p := range start.Anchors {
		if MatrixView(p).err != nil {
			return e, fmt.Errorf("largemvc: no starting anchors for view %d", v)
		}
	}
	m, _ := start.Anchors[0].Dims()
	for _, c := range []struct {
		what  string
		field *int
		want  int
	}{{"Samples", &e.Samples, data.Samples()}, {"Views", &e.Views, data.Views()}, {"Anchors", &e.Anchors, m}} {
		if *c.field != 0 && *c.field != c.want {
			return e, fmt.Errorf("largemvc: Env.%s is %d, the data and the start have %d", c.what, *c.field, c.want)
		}
		*c.field = c.want
	}
	if e.Dims != nil && len(e.Dims) != e.Views {
		return e, fmt.Errorf("largemvc: Env.Dims has %d entries for %d views", len(e.Dims), e.Views)
	}
	dims := data.Dims()
	for v, d := range e.Dims {
		if d != dims[v] {
			return e, fmt.Errorf("largemvc: Env.Dims[%d] is %d, the view has %d columns", v, d, dims[v])
		}
	}
	e.Dims = dims
	if err := start.check(e); err != nil {
		return e, err
	}
	return e, e.claim()
}

// claim refuses a prefix that begins the name of a node of the graph.
func (e Env) claim() error {
	for _, n := range e.G.AllNodes() {
		if strings.HasPrefix(n.Name(), e.Prefix+".") {
			return fmt.Errorf("largemvc: the graph has a node %q, so %q cannot be the prefix of another network", n.Name(), e.Prefix)
		}
	}
	return nil
}
