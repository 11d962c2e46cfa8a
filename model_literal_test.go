package largemvc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/optest"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// literal is the network composed of stock Gorgonia operations from the equations as the paper has them, with X, E and
// X − HP as n×d nodes, and the Procrustes op. It is float64, for tests, and takes any E at the start.
type literal struct {
	g       *gorgonia.ExprGraph
	act     Activation
	variant string
	detach  bool

	x, mask []*Node // mask: a vector of n with 1 for the rows that have the view; nil: all have
	count   *Node   // 1 / number of views of a row
	h       *Node
	e, p    []*Node // e[v] nil: zero
	r, u    *Node
	theta   gorgonia.Nodes
	rho     []gorgonia.Nodes
	mean    *Node // the loss

	layers []literalLayer
}

type literalLayer struct {
	h    *Node
	e, p []*Node
	m    []*Node // Hᵀ(X − E)
}

// must is for graphs in tests, where a failing op is a failing test.
func must(n *Node, err error) *Node {
	if err != nil {
		panic(err)
	}
	return n
}

func mul(a, b *Node) *Node     { return must(gorgonia.Mul(a, b)) }
func plus(a, b *Node) *Node    { return must(gorgonia.Add(a, b)) }
func minus(a, b *Node) *Node   { return must(gorgonia.Sub(a, b)) }
func times(a, b *Node) *Node   { return must(gorgonia.HadamardProd(a, b)) }
func turn(a *Node) *Node       { return must(gorgonia.Transpose(a)) }
func square(a *Node) *Node     { return must(gorgonia.Square(a)) }
func negative(a *Node) *Node   { return must(gorgonia.Neg(a)) }
func constant(x float64) *Node { return gorgonia.NewConstant(x) }

// rowTimes multiplies row i of a by w_i.
func rowTimes(a, w *Node) *Node {
	return must(gorgonia.BroadcastHadamardProd(a, w, nil, []byte{1}))
}

// positive is max(x, 0) with derivative 0 at 0; gorgonia.Rectify has 1 there.
func positive(x *Node) *Node { return times(x, must(gorgonia.Gt(x, constant(0), true))) }

// sigma is the activation.
func (n *literal) sigma(x *Node) *Node {
	if n.act == ReLU {
		return positive(x)
	}
	// λ max(x, 0) + λα (exp(min(x, 0)) − 1)
	low := minus(must(gorgonia.Exp(negative(positive(negative(x))))), constant(1))
	return plus(times(constant(seluScale), positive(x)), times(constant(seluScale*seluAlpha), low))
}

// input makes an input node.
func (n *literal) input(name string, x mat.Matrix) *Node {
	return op.NewMatrix(n.g, tensor.Float64, name, x)
}

func (n *literal) vector(name string, x []float64) *Node {
	return gorgonia.NewVector(
		n.g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(len(x)),
		gorgonia.WithValue(op.Dense(x, len(x))),
	)
}

// newLiteral makes the graph for L layers.
func newLiteral(
	variant string, act Activation, detach bool, layers int, views []mat.Matrix, present [][]bool,
	start StartPoint, noise []*mat.Dense,
) *literal {
	n := &literal{g: gorgonia.NewGraph(), act: act, variant: variant, detach: detach}
	n.h = n.input("H", start.H)
	_, m := start.H.Dims()
	for v, x := range views {
		n.x = append(n.x, n.input(fmt.Sprintf("X%d", v), x))
		n.p = append(n.p, n.input(fmt.Sprintf("P%d", v), start.Anchors[v]))
		n.e = append(n.e, nil)
		if noise != nil && variant == "full" {
			n.e[v] = n.input(fmt.Sprintf("E%d", v), noise[v])
		}
	}
	if present != nil {
		n.setMask(present)
	}
	env := Env{G: n.g, Of: tensor.Float64}
	n.r, n.u = n.input("R", mat.NewDense(m, m, nil)), n.input("U", mat.NewDense(m, m, nil))
	for l := range layers {
		n.theta = append(n.theta, op.NewScalar(env.G, env.Of, fmt.Sprintf("theta_%d", l+1), 0))
		n.rho = append(n.rho, nil)
		for v := range views {
			n.rho[l] = append(n.rho[l], op.NewScalar(env.G, env.Of, fmt.Sprintf("rho_%d_%d", l+1, v), 0))
		}
	}
	for l := range layers {
		n.layer(l)
	}
	n.losses()
	return n
}

func (n *literal) setMask(present [][]bool) {
	share := make([]float64, len(present))
	for v := range n.x {
		b := make([]float64, len(present))
		for i := range b {
			if present[i][v] {
				b[i] = 1
				share[i]++
			}
		}
		n.mask = append(n.mask, n.vector(fmt.Sprintf("b%d", v), b))
	}
	for i := range share {
		share[i] = 1 / share[i]
	}
	n.count = n.vector("count", share)
}

// clean is X_v − E_v.
func (n *literal) clean(v int) *Node {
	if n.e[v] == nil {
		return n.x[v]
	}
	return minus(n.x[v], n.e[v])
}

// layer applies the three updates in the order of Algorithm 1.
func (n *literal) layer(l int) {
	hr := mul(n.h, n.r)
	var sum *Node
	for v := range n.x {
		a := plus(hr, mul(mul(n.clean(v), turn(n.p[v])), n.u))
		s := minus(n.sigma(minus(a, n.theta[l])), n.sigma(minus(negative(a), n.theta[l])))
		if n.mask != nil {
			s = rowTimes(s, n.mask[v])
		}
		if sum == nil {
			sum = s
		} else {
			sum = plus(sum, s)
		}
	}
	if n.mask != nil {
		n.h = rowTimes(sum, n.count)
	} else {
		n.h = times(sum, constant(1/float64(len(n.x))))
	}
	if n.variant == "full" {
		for v := range n.x {
			n.e[v] = n.shrink(minus(n.x[v], mul(n.h, n.p[v])), n.rho[l][v])
		}
	}
	var corr []*Node
	if n.variant != "represent" {
		for v := range n.x {
			h := n.h
			if n.mask != nil {
				h = rowTimes(h, n.mask[v])
			}
			corr = append(corr, mul(turn(h), n.clean(v)))
			n.p[v] = must(ProcrustesOp(corr[v], 0, n.detach))
		}
	}
	n.layers = append(n.layers, literalLayer{n.h, slices.Clone(n.e), slices.Clone(n.p), corr})
}

// shrink is D_ρ: row r to σ(‖r‖−ρ)/‖r‖·r where ‖r‖ > ρ, else 0. There σ(x) is x, times λ for SELU.
func (n *literal) shrink(x, rho *Node) *Node {
	norm := must(gorgonia.Sqrt(must(gorgonia.Sum(square(x), 1))))
	s := must(gorgonia.HadamardDiv(positive(minus(norm, rho)), norm))
	if n.act == SELU {
		s = times(s, constant(seluScale))
	}
	return rowTimes(x, s)
}

func (n *literal) losses() {
	for v, x := range n.x {
		sq := square(minus(x, mul(n.h, n.p[v])))
		count := float64(x.Shape()[0])
		if n.mask != nil {
			sq, count = rowTimes(sq, n.mask[v]), sumOf(n.mask[v])
		}
		sum := must(gorgonia.Sum(sq))
		mean := times(sum, constant(1/(count*float64(x.Shape()[1]))))
		if n.mean == nil {
			n.mean = mean
			continue
		}
		n.mean = plus(n.mean, mean)
	}
}

func sumOf(n *Node) (sum float64) {
	for _, x := range n.Value().Data().([]float64) {
		sum += x
	}
	return sum
}

// learnableCount are the nodes that the loss depends on, by the names of the network's nodes.
func (n *literal) learnables() gorgonia.Nodes {
	nodes := append(append(gorgonia.Nodes(nil), n.theta...), n.r, n.u)
	if n.variant != "full" {
		return nodes
	}
	for l, rho := range n.rho {
		if l == len(n.rho)-1 && n.detach { // behind the last, constant anchors
			continue
		}
		nodes = append(nodes, rho...)
	}
	return nodes
}

// TestLiteralGolden: the literal graph on all cases, also those with a free E at the start.
func TestLiteralGolden(t *testing.T) {
	t.Parallel()
	for _, c := range goldenModels(t) {
		for _, variant := range goldenVariants {
			for _, detach := range []bool{false, true} {
				if variant == "represent" && detach {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%t", c.name, variant, detach), func(t *testing.T) {
					c.checkLiteral(t, variant, detach)
				})
			}
		}
	}
}

func (c *goldenModel) checkLiteral(t *testing.T, variant string, detach bool) {
	n := newLiteral(variant, c.act, detach, c.layers, c.views, c.present, c.start, c.noise)
	nodes := n.learnables()
	for _, node := range nodes {
		optest.LetNode(t, node, c.parameter(node.Name()))
	}
	if detach {
		for _, rho := range n.rho[c.layers-1] {
			optest.LetNode(t, rho, c.parameter(rho.Name()))
		}
	}
	values := make([]gorgonia.Value, 0, 64)
	read := func(golden string, node *Node) readValue {
		values = append(values, nil)
		gorgonia.Read(node, &values[len(values)-1])
		return readValue{golden, &values[len(values)-1]}
	}
	prefix := variant + "_mean"
	reads := []readValue{read(prefix+"_loss", n.mean)}
	for l, layer := range n.layers {
		reads = append(reads, read(fmt.Sprintf("%s_H_%d", variant, l+1), layer.h))
		for v := range n.x {
			if variant == "full" {
				reads = append(reads, read(fmt.Sprintf("%s_E_%d_%d", variant, l+1, v), layer.e[v]))
			}
			if variant != "represent" {
				reads = append(reads, read(fmt.Sprintf("%s_P_%d_%d", variant, l+1, v), layer.p[v]))
			}
		}
	}
	got := gradients(t, n.mean, nodes)
	for _, r := range reads {
		c.compare(t, r.golden, optest.NodeValues(t, *r.value), goldenTolerance)
	}
	if detach {
		prefix += "_detach"
		for _, rho := range n.rho[c.layers-1] {
			if variant == "full" {
				nodes, got = append(nodes, rho), append(got, []float64{0})
			}
		}
	}
	c.compareGradients(t, prefix, nodes, got, goldenTolerance)
}

type readValue struct {
	golden string
	value  *gorgonia.Value
}

// randomNetwork is a start and data of random sizes, with a fixed seed for its numbers.
func randomNetwork(seed uint64, n, m, layers int, dims []int, act Activation, masked bool) *goldenModel {
	rng := rand.New(rand.NewPCG(seed, 7))
	gauss := func(r, c int) *mat.Dense {
		x := mat.NewDense(r, c, nil)
		x.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, x)
		return x
	}
	c := &goldenModel{name: "random", layers: layers, act: act}
	c.start.H = gauss(n, m)
	for v, d := range dims {
		// Data with the rank-m structure that the anchors look for, so that Hᵀ(X−E) is well conditioned.
		anchors, x := gauss(m, d), gauss(n, d)
		var low mat.Dense
		low.Mul(c.start.H, anchors)
		x.Add(x, &low)
		c.views, c.start.Anchors = append(c.views, x), append(c.start.Anchors, anchors)
		anchors.Scale(0.5, anchors)
		if masked {
			if c.present == nil {
				c.present = make([][]bool, n)
			}
			for i := range n { // view i mod V is there, so that no sample lacks all
				c.present[i] = append(c.present[i], i%len(dims) == v || rng.Float64() < 0.6)
			}
		}
	}
	return c
}

// randomNoise is an E of half the size of the views.
func randomNoise(seed uint64, views []mat.Matrix) (e []*mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 11))
	for _, x := range views {
		n := mat.DenseCopyOf(x)
		n.Apply(func(_, _ int, a float64) float64 { return a * rng.Float64() / 2 }, n)
		e = append(e, n)
	}
	return e
}

// setRandom gives learnable nodes values that leave no threshold idle. Equal names get equal values.
func setRandom(t testing.TB, seed uint64, nodes gorgonia.Nodes) {
	for _, n := range nodes {
		name := n.Name()[len(n.Name())-1:]
		rng := rand.New(rand.NewPCG(seed, uint64(name[0])))
		x := make([]float64, n.Shape().TotalSize())
		for i := range x {
			x[i] = 0.3 * rng.NormFloat64()
		}
		if n.IsScalar() {
			x[0] = 0.05 + 0.3*rng.Float64()
		}
		optest.LetNode(t, n, x)
	}
}

// TestLazyAgainstLiteral: loss and gradients of both paths on random networks, in float64.
func TestLazyAgainstLiteral(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.SampledFrom([]int{1, 2, 3, 4, 5, 16}).Draw(rt, "m") // 16: the stride of row state
		dims := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 3).Draw(rt, "dims")
		n := rapid.IntRange(m+4, 40).Draw(rt, "n")
		layers := rapid.IntRange(1, 3).Draw(rt, "L")
		act := Activation(rapid.IntRange(0, 1).Draw(rt, "activation"))
		seed := rapid.Uint64().Draw(rt, "seed")
		c := randomNetwork(seed, n, m, layers, dims, act, len(dims) > 1 && rapid.Bool().Draw(rt, "masked"))
		variant := rapid.SampledFrom(goldenVariants).Draw(rt, "variant")
		if variant == "full" && rapid.Bool().Draw(rt, "E") {
			c.noise = randomNoise(seed, c.views)
		}
		lit := newLiteral(variant, act, false, layers, c.views, c.present, c.start, c.noise)
		setRandom(t, seed, lit.learnables())
		want := gradients(t, lit.mean, lit.learnables())
		if !lit.wellConditioned(t) {
			rt.Skip("a Procrustes step near zero singular values")
		}
		for _, perModule := range []bool{true, false} {
			net := c.buildRandom(t, variant, perModule)
			setRandom(t, seed, net.Learnables())
			got := gradients(t, net.Loss(), net.Learnables())
			if e := optest.Worst(optest.NodeValues(t, net.Loss().Value()), optest.NodeValues(t, lit.mean.Value())); e > 1e-9 {
				rt.Errorf("per module %t: loss differs by %.1e", perModule, e)
			}
			if e := optest.Worst(slices.Concat(got...), slices.Concat(want...)); e > 1e-7 {
				rt.Errorf("per module %t: gradients differ by %.1e", perModule, e)
			}
		}
	})
}

// wellConditioned reports, after a run, whether all matrices Hᵀ(X − E) have a condition below 1e3: rounding errors grow
// with its square in the gradients.
func (n *literal) wellConditioned(t *testing.T) bool {
	for _, layer := range n.layers {
		for _, node := range layer.m {
			var svd mat.SVD
			s := node.Shape()
			if !svd.Factorize(mat.NewDense(s[0], s[1], optest.NodeValues(t, node.Value())), mat.SVDNone) {
				t.Fatal("no singular values")
			}
			if sigma := svd.Values(nil); !(sigma[len(sigma)-1] > 1e-3*sigma[0]) {
				return false
			}
		}
	}
	return true
}

func (c *goldenModel) buildRandom(t *testing.T, variant string, perModule bool) Network {
	t.Helper()
	data, err := NewData(tensor.Float64, c.views, c.present)
	if err != nil {
		t.Fatal(err)
	}
	net := variantOf(
		variant, &SoftThreshold{Activation: c.act}, &RowShrink{Activation: c.act}, &Procrustes{}, ReductionMean,
		perModule,
	)
	start := c.start
	for _, e := range c.noise {
		start.E = append(start.E, e)
	}
	if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: c.layers}, data, start); err != nil {
		t.Fatal(err)
	}
	return net
}

// The constants of SELU.
const (
	seluAlpha = 1.6732632423543772848170429916717
	seluScale = 1.0507009873554804934193349852946
)

// labelInformation is naiveInformation of one-hot rows at a temperature of 0.
func labelInformation(labels []int, clusters int, graph *mat.Dense) float64 {
	joint := mat.NewDense(clusters, clusters, nil)
	for i, a := range labels {
		for j, b := range labels {
			joint.Set(a, b, joint.At(a, b)+graph.At(i, j))
		}
	}
	return testutil.TableInformation(joint)
}

// mostInformed is the start of k-means on the rows of x of the most information, by hand: of those whose inertia is at most
// cluster.NearlyLowest times the lowest. It says whether that is another partition than the start of the lowest inertia.
func mostInformed(t testing.TB, x *mat.Dense, cfg kmeans.Config, graph *mat.Dense) (labels []int, another bool) {
	t.Helper()
	n, d := x.Dims()
	src, err := kmeans.NewSource(nil, kmeans.View[float64]{Rows: rows.NewDense(n, d, d, x.RawMatrix().Data), Weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	var starts [][]int
	cfg.Starts *= cluster.ScoredStarts
	cfg.Within = math.Inf(1)
	cfg.Score = func(_ context.Context, labels []int) (float64, error) {
		starts = append(starts, slices.Clone(labels))
		return 0, nil
	}
	if _, err := kmeans.Run(context.Background(), src, cfg); err != nil {
		t.Fatal(err)
	}
	if len(starts) != cfg.Starts {
		t.Fatalf("%d starts, want %d", len(starts), cfg.Starts)
	}
	lowest, inertia := math.Inf(1), make([]float64, len(starts))
	var first []int
	for i, labels := range starts {
		if inertia[i] = naiveInertia(x, labels, cfg.Clusters); inertia[i] < lowest {
			lowest, first = inertia[i], labels
		}
	}
	best := math.Inf(-1)
	for i, l := range starts {
		if information := labelInformation(l, cfg.Clusters, graph); inertia[i] <= cluster.NearlyLowest*lowest &&
			information > best+1e-9 {
			best, labels = information, l
		}
	}
	return labels, !samePartition(t, labels, first)
}

// naiveInertia is the sum of squared distances of the rows of x to the means of their clusters.
func naiveInertia(x *mat.Dense, labels []int, clusters int) float64 {
	n, d := x.Dims()
	means, sizes := mat.NewDense(clusters, d, nil), make([]float64, clusters)
	for i, l := range labels {
		sizes[l]++
		floats.Add(means.RawRowView(l), x.RawRowView(i))
	}
	sum := 0.0
	for i := range n {
		l := labels[i]
		for j, a := range x.RawRowView(i) {
			e := a - means.At(l, j)/sizes[l]
			sum += e * e
		}
	}
	return sum
}

// unitFeatures are the inputs of a fit with all directions before they are smoothed: views standardised, rows at norm 1, side by
// side. Absent views are zeros.
func unitFeatures(t testing.TB, views []View, inputs []Input) *mat.Dense {
	t.Helper()
	n, width := views[0].in.Rows, 0
	for _, in := range inputs {
		width += in.Columns
	}
	out := mat.NewDense(n, width, nil)
	at := 0
	for _, in := range inputs {
		st, err := prepare.Measure(context.Background(), nil, prepare.Kind(in.Preprocess), inner(views), 1)
		if err != nil {
			t.Fatal(err)
		}
		unit, err := prepare.UnitRows[float64](context.Background(), st, views[in.View].in, in.View, in.Length, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			unit.Row(i, out.RawRowView(i)[at:at+in.Columns])
		}
		at += in.Columns
	}
	return out
}

// last is the last of some numbers.
func last(x []float64) float64 { return x[len(x)-1] }
