package largemvc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/unfold"
)

// Env is the place and the size of a network: a graph, a prefix of names, and the shapes. Model.Build fills the zero fields
// from its data and start, and then passes the Env to the modules.
type Env struct {
	G *gorgonia.ExprGraph // graph of the network; required
	// Prefix begins the name of every node and the hash of every op of the network. It must be unique in the graph, because
	// Gorgonia merges inputs of the same name; Build returns an error otherwise. Default "largemvc".
	Prefix string

	Layers  int   // L, number of layers, at least 1; default 2
	Views   int   // V, number of views
	Anchors int   // m, number of anchors of each view
	Samples int   // n, number of samples
	Dims    []int // d_v, number of features of each view
	// Of is the element type of every node, Float32 or Float64, as in the data.
	Of tensor.Dtype
	// Workers is the largest number of goroutines of an op; default GOMAXPROCS. It does not change results.
	Workers int
	// Seed is the seed of random initial values of learnable nodes. Fit sets it to the seed of the restart.
	Seed uint64
	// Present is the n×V node with 1 where a sample has a view and 0 where it lacks it; nil if every sample has every view.
	// Build sets it.
	Present *gorgonia.Node
}

// Module is a part of a network. Init makes its learnable nodes. The method that Represent, Noise or Anchor adds makes its ops.
//
// A custom module may use any Gorgonia ops in the element type Env.Of. It may keep and overwrite the nodes that it gets,
// which are copies. Fit may order the samples otherwise than in the views.
type Module interface {
	// Init makes the learnable nodes. Build calls it once, before any update. It discards the nodes of an earlier Build.
	Init(Env) error
	// Learnables returns the nodes to train.
	Learnables() gorgonia.Nodes
	// Project puts the values of the learnable nodes back into their range. Call it, or Model.Project, after each step of a
	// solver.
	Project() error
}

// Represent is the module that updates the representation H.
type Represent interface {
	Module
	// Update returns the H of layer l = 1 … L (n×m) from h, the H of layer l−1, and z[v] = (X_v − E_v)·P_vᵀ (n×m) of every
	// view. Rows of z[v] that Env.Present marks as absent are undefined; Env.MeanViews leaves them out.
	Update(l int, h *gorgonia.Node, z []*gorgonia.Node) (*gorgonia.Node, error)
}

// Noise is the module that splits the residual X − H·P of a view into noise and data, row by row.
type Noise interface {
	Module
	// Trust returns the weights t (a vector of n) of layer l and view v. They define the noise E = diag(1−t)(X − H·P). norm
	// has the norms of the rows of X − H·P (a vector of n, all ≥ 0, with 1 in absent rows). A nil node means E = 0.
	Trust(l, v int, norm *gorgonia.Node) (*gorgonia.Node, error)
}

// Anchor is the module that updates the anchors P_v.
type Anchor interface {
	Module
	// Update returns the P_v of layer l (m×d_v) from corr = Hᵀ(X_v − E_v) (m×d_v) and prev, the P_v of layer l−1.
	Update(l, v int, corr, prev *gorgonia.Node) (*gorgonia.Node, error)
}

const (
	defaultLayers = 2
	defaultPrefix = "largemvc"
)

// Encoder is a Represent module that also encodes the views, by a network that is trained with it. The views are then nodes
// of the graph, and gradients flow through the first anchors into the encoder.
//
// The loss compares the codes with their reconstruction. Alone it lets an encoder make all codes equal; add a term to
// Config.ExtraLoss that prevents this, such as the loss of a decoder. The weights of the loss are relative to the views, not
// to the codes. Fit makes the initial clustering from the views, and the first anchors from their first codes.
//
// An encoder needs memory for n×(2·d_v + 4·d) values per view, where d is the number of columns of the code, besides the
// arrays of Encode.
type Encoder interface {
	Represent
	// Encode returns the code of view v (n×d, any d) in layer 0. x holds the view (n×d_v, zeros in absent rows). nil leaves
	// the view unchanged. Build calls it once per view, after Init and before Update.
	Encode(v int, x *gorgonia.Node) (*gorgonia.Node, error)
}

// Name returns the name of a node of the network: the prefix, a dot and the formatted arguments.
func (e Env) Name(format string, args ...any) string {
	return e.Prefix + "." + fmt.Sprintf(format, args...)
}

// MeanViews returns the mean of x, one n×m matrix per view. The mean of a row includes the views that the sample has.
func (e Env) MeanViews(x ...*gorgonia.Node) (*gorgonia.Node, error) {
	if len(x) != e.Views || len(x) == 0 {
		return nil, fmt.Errorf("largemvc: MeanViews has %d matrices, want one for each view: Env.Views is %d", len(x), e.Views)
	}
	if e.Of == tensor.Float32 {
		return prefixed(unfold.MeanViews[float32](e.Workers, x, e.Present))
	}
	return prefixed(unfold.MeanViews[float64](e.Workers, x, e.Present))
}

// usable refuses an Env that is not filled, as Build fills it, from which no learnable nodes can be made.
func (e Env) usable() error {
	switch {
	case e.G == nil:
		return errors.New("largemvc: Env.G is nil: set it to gorgonia.NewGraph()")
	case e.Of != tensor.Float32 && e.Of != tensor.Float64:
		return errors.New("largemvc: Env.Of is neither tensor.Float32 nor tensor.Float64")
	case e.Layers < 1 || e.Views < 1 || e.Anchors < 1:
		return fmt.Errorf("largemvc: Env.Layers is %d, Views %d and Anchors %d, want each of them at least 1",
			e.Layers, e.Views, e.Anchors)
	}
	return nil
}

// complete checks e against data and start and fills what it leaves zero. With encoders the anchors have columns of their own.
func (e Env) complete(data *Data, start StartPoint, encoded bool) (Env, error) {
	switch {
	case e.G == nil:
		return e, errors.New("largemvc: Env.G is nil: set it to gorgonia.NewGraph()")
	case data == nil:
		return e, errors.New("largemvc: the data are nil: make them with NewData")
	case data.Views() == 0:
		return e, errors.New("largemvc: the data have no views: make them with NewData")
	case e.Layers < 0:
		return e, fmt.Errorf("largemvc: Env.Layers is %d, want at least 1, or 0 for the default", e.Layers)
	case e.Present != nil:
		return e, errors.New("largemvc: Env.Present is made by Build; give the presence of views to NewData")
	case len(start.Anchors) != data.Views():
		return e, fmt.Errorf("largemvc: StartPoint.Anchors has %d matrices, want one (m×d_v) for each of the %d views",
			len(start.Anchors), data.Views())
	}
	if e.Prefix == "" {
		e.Prefix = defaultPrefix
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
			return e, fmt.Errorf("largemvc: StartPoint.Anchors[%d] is nil or has no values", v)
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
	if err := start.check(e, encoded); err != nil {
		return e, err
	}
	return e, e.claim()
}

// claim refuses a prefix that begins the name of a node of the graph.
func (e Env) claim() error {
	for _, n := range e.G.AllNodes() {
		if strings.HasPrefix(n.Name(), e.Prefix+".") {
			return fmt.Errorf("largemvc: the graph has a node %q, so %q cannot be the prefix of another network",
				n.Name(), e.Prefix)
		}
	}
	return nil
}

// StartPoint is the initial state of a network: P(0), H(0) and E(0) of the paper. They are constants: nothing learns them.
//
// H and E enter the first layer alone, as H·R and as Z_v = (X_v − E_v)·P_vᵀ. Rows of absent views are ignored. A Predictor begins
// at H = 0 and E = 0 with new samples, and with the training samples too.
type StartPoint struct {
	// Anchors are the first anchors P_v of each view (m×d_v). Build requires them. In Config.Start, nil means the anchors of the
	// initial clustering. A Fit with Epochs: None, Preprocess: None and Neighborhood.Neighbors: None computes them from an
	// initial clustering: Predictor.Anchors(0, v), which Clustering embeds.
	Anchors []mat.Matrix
	H       mat.Matrix   // representation (n×m); nil means zero
	E       []mat.Matrix // noise E_v of each view (n×d_v); nil means zero
}

// free says whether H or E are given.
func (s StartPoint) free() bool { return s.H != nil || s.E != nil }

// states is the number of n×m matrices in which a network holds H and E.
func (s StartPoint) states() int {
	if s.H == nil {
		return len(s.E)
	}
	return 1 + len(s.E)
}

// check compares the sizes with those of e and looks for entries that are not finite in its type.
func (s StartPoint) check(e Env, encoded bool) error {
	if e.Anchors < 1 {
		return fmt.Errorf("largemvc: StartPoint.Anchors have %d rows, want at least 1", e.Anchors)
	}
	for v, p := range s.Anchors {
		columns := e.Dims[v]
		if encoded {
			_, columns = p.Dims()
		}
		what := fmt.Sprintf("StartPoint.Anchors[%d]", v)
		if err := checkStart(what, p, e.Anchors, columns, e.Of == tensor.Float32); err != nil {
			return err
		}
	}
	if s.H != nil {
		if err := checkStart("StartPoint.H", s.H, e.Samples, e.Anchors, e.Of == tensor.Float32); err != nil {
			return err
		}
	}
	switch {
	case s.E == nil:
		return nil
	case len(s.E) != e.Views:
		return fmt.Errorf("largemvc: StartPoint.E has %d matrices, want one (n×d_v) for each of the %d views", len(s.E), e.Views)
	case encoded:
		return errors.New("largemvc: StartPoint.E is noise of views, and an Encoder makes codes of them: leave out StartPoint.E")
	}
	for v, x := range s.E {
		what := fmt.Sprintf("StartPoint.E[%d]", v)
		if err := checkStart(what, x, e.Samples, e.Dims[v], e.Of == tensor.Float32); err != nil {
			return err
		}
	}
	return nil
}

func checkStart(what string, x mat.Matrix, rows, columns int, single bool) error {
	if MatrixView(x).err != nil { // a nil pointer to a matrix, for one
		return fmt.Errorf("largemvc: %s is nil", what)
	}
	if r, c := x.Dims(); r != rows || c != columns {
		return fmt.Errorf("largemvc: %s is %d×%d, want %d×%d", what, r, c, rows, columns)
	}
	return checkEntries(what, x, single)
}

// moduleNames are the fields of Config that hold modules, in that order.
var moduleNames = [3]string{"Represent", "Noise", "Anchor"}

// learned is the value of a learnable node of a module, by which modules that are not from this package are saved.
type learned struct {
	name   string // of the node, without the prefix of the network
	shape  []int
	values []float64
}

// learnedName returns the name of a node without the prefix of its network.
func learnedName(prefix string, n *gorgonia.Node) string {
	return strings.TrimPrefix(n.Name(), prefix+".")
}

// checkLearnables refuses learnable nodes of modules that a network of an element type cannot be trained or saved with.
func checkLearnables(g *gorgonia.ExprGraph, prefix string, of tensor.Dtype, modules [3]gorgonia.Nodes) error {
	names := map[string]bool{}
	for i, nodes := range modules {
		for k, n := range nodes {
			what := fmt.Sprintf("learnable node %d of %s", k, moduleNames[i])
			switch {
			case n == nil:
				return fmt.Errorf("largemvc: %s is nil", what)
			case n.Graph() != g:
				return fmt.Errorf("largemvc: %s is not in the network's graph", what)
			case n.Dtype() != of:
				return fmt.Errorf("largemvc: %s is %v, want %v (Env.Of)", what, n.Dtype(), of)
			case n.Value() == nil || op.EntriesOf(n.Value()) == nil:
				return fmt.Errorf("largemvc: %s has no value", what)
			case learnedName(prefix, n) == "":
				return fmt.Errorf("largemvc: %s has no name", what)
			case names[n.Name()]:
				return fmt.Errorf("largemvc: %s has the name of another, %q: make a new name with Env.Name", what, n.Name())
			}
			names[n.Name()] = true
		}
	}
	return nil
}

// learnedBy returns the values of learnable nodes.
func learnedBy(prefix string, nodes gorgonia.Nodes) []learned {
	var out []learned
	for _, n := range nodes {
		out = append(out, learned{learnedName(prefix, n), slices.Clone([]int(n.Shape())), float64s(n)})
	}
	return out
}

// float64s returns the entries of the value of a node.
func float64s(n *gorgonia.Node) []float64 {
	x := op.EntriesOf(n.Value())
	out := make([]float64, x.Len())
	for j := range out {
		out[j] = x.At(j)
	}
	return out
}

// learn gives the learnable nodes of the module in a place the values that learnedBy returned.
func learn(prefix string, place int, nodes gorgonia.Nodes, values []learned) error {
	module := moduleNames[place]
	if len(nodes) != len(values) {
		return fmt.Errorf("the module %s makes %d learnable nodes, the trained one has %d", module, len(nodes), len(values))
	}
	for _, n := range nodes {
		name := learnedName(prefix, n)
		k := slices.IndexFunc(values, func(l learned) bool { return l.name == name })
		if k < 0 {
			return fmt.Errorf("the module %s makes a learnable node %q, the trained module has none", module, name)
		}
		if !slices.Equal([]int(n.Shape()), values[k].shape) {
			return fmt.Errorf("the learnable node %q of the module %s has the shape %v, in the trained one it has %v",
				name, module, []int(n.Shape()), values[k].shape)
		}
		x := op.EntriesOf(n.Value())
		for j, value := range values[k].values {
			x.Set(j, value)
		}
	}
	return nil
}
