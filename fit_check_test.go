package largemvc

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/prepare"
)

// checkPredict checks that Assign and Transform give the fit's labels and H to the bit, all samples at once and, for
// some, one by one.
func checkPredict(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	ctx := context.Background()
	a, err := c.Assign(ctx, views)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Labels, c.Labels) {
		t.Error("Assign on the training samples does not give their labels")
	}
	h, err := c.Transform(ctx, views)
	if err != nil {
		t.Fatal(err)
	}
	sameMatrix(t, "H", h, c.H)
	n := views[0].in.Rows
	for i := 0; i < n; i += 1 + n/7 {
		one := sampleViews(views, i)
		b, err := c.Assign(ctx, one)
		if err != nil {
			t.Fatal(err)
		}
		if b.Labels[0] != a.Labels[i] || b.Near[0] != a.Near[i] || b.Next[0] != a.Next[i] {
			t.Errorf("sample %d alone has label %d at %v and %v, among all %d at %v and %v",
				i, b.Labels[0], b.Near[0], b.Next[0], a.Labels[i], a.Near[i], a.Next[i])
		}
	}
}

// sampleViews are the views of sample i alone.
func sampleViews(views []View, i int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		if s := x.in.Sparse; s != nil {
			lo, hi := s.Ptr[i], s.Ptr[i+1]
			if s.F32 != nil {
				out[v] = SparseView(1, x.in.Cols, []int{0, hi - lo}, s.Cols[lo:hi], s.F32[lo:hi])
			} else {
				out[v] = SparseView(1, x.in.Cols, []int{0, hi - lo}, s.Cols[lo:hi], s.F64[lo:hi])
			}
			out[v] = out[v].WithPresent([]bool{x.Has(i)})
			continue
		}
		row := make([]float64, x.in.Cols)
		if x.Has(i) {
			x.in.Row(i, row)
		}
		out[v] = DenseView(1, x.in.Cols, row).WithPresent([]bool{x.Has(i)})
	}
	return out
}

// inCallersOrder is an ExtraLoss that adds nothing, with which the network has the samples in the caller's order.
func inCallersOrder(Network) (*Node, error) { return nil, nil }

// checkResult checks what must hold of every clustering without an error.
func checkResult(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	n, config := views[0].in.Rows, c.Config()
	sizes := make([]int, c.Clusters)
	first := make([]int, c.Clusters)
	for i := len(c.Labels) - 1; i >= 0; i-- {
		sizes[c.Labels[i]]++
		first[c.Labels[i]] = i
	}
	if len(c.Labels) != n || !slices.Equal(sizes, c.Sizes) {
		t.Errorf("%d labels with the sizes %v, Sizes %v", len(c.Labels), sizes, c.Sizes)
	}
	byContent := takenByContent(&config, n) // and so is the order of clusters of equal sizes
	for k := 1; k < c.Clusters; k++ {
		if sizes[k] > sizes[k-1] || (sizes[k] == sizes[k-1] && first[k] < first[k-1] && !byContent) {
			t.Errorf(
				"cluster %d has %d samples from %d on, cluster %d has %d from %d on",
				k-1, sizes[k-1], first[k-1], k, sizes[k], first[k],
			)
		}
	}
	if len(c.Loss) != c.Epochs+1 || len(c.ViewLoss) != len(c.Loss) {
		t.Errorf("%d and %d losses after %d epochs", len(c.Loss), len(c.ViewLoss), c.Epochs)
	}
	rows, m := c.H.Dims()
	if rows != n || m != config.Anchors {
		t.Errorf("H is %d×%d", rows, m)
	}
	checkInputs(t, views, c)
	for l := 0; l <= config.Layers; l++ {
		for k, in := range c.Inputs() {
			p := c.Anchors(l, k)
			if a, b := p.Dims(); a != m || b != in.Columns {
				t.Errorf("P of layer %d, input %d is %d×%d, want %d columns", l, k, a, b, in.Columns)
			}
			if l > 0 && !config.fixedAnchors() && (!orthonormal(c.anchors[l][k], 1e-9) || !orthonormal(p, 1e-5)) {
				t.Errorf("P of layer %d, input %d is not orthonormal", l, k)
			}
		}
	}
	if (c.Trust != nil) != (!config.noiseless()) || (c.Rho != nil) != (!config.noiseless()) {
		t.Error("trust or ρ without noise module, or none with it")
	}
	checkPredict(t, views, c)
}

// checkInputs checks that every view is an input, once in each of its preprocessings, and that there is as much of
// everything that goes by inputs.
func checkInputs(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	config, inputs := c.Config(), c.Inputs()
	perView := make([]int, len(views))
	for k, in := range inputs {
		perView[in.View]++
		if slices.Contains(inputs[:k], in) || in.Preprocess == PreprocessBoth || in.Columns < 1 ||
			in.Columns > prepare.Width(views[in.View].in.Cols, in.Length) {
			t.Errorf("input %d is %+v", k, in)
		}
		if config.Neighborhood.Neighbors == None && in.Columns != views[in.View].in.Cols {
			t.Errorf("without neighbours, input %d is %+v", k, in)
		}
	}
	for v, count := range perView {
		if count < 1 || count > len(prepare.Kind(config.Preprocess).Parts()) ||
			config.Neighborhood.Neighbors == None && (count != 1 || inputs[v].View != v) {
			t.Errorf("view %d is %d inputs of %+v", v, count, inputs)
		}
	}
	want := len(inputs)
	ok := len(c.P) == want && len(c.ViewLoss[0]) == want
	if !config.noiseless() {
		ok = ok && len(c.Rho[0]) == want && len(c.Trust) == want && len(c.Trust[0]) == views[0].in.Rows
	}
	if !ok {
		t.Errorf("P, Rho, Trust or ViewLoss are not those of %d inputs", want)
	}
}

// orthonormal says whether the rows of p, or its columns if those are fewer, are orthonormal.
func orthonormal(p *mat.Dense, tolerance float64) bool {
	var k mat.Dense
	if m, d := p.Dims(); m <= d {
		k.Mul(p, p.T())
	} else {
		k.Mul(p.T(), p)
	}
	n, _ := k.Dims()
	for i := range n {
		for j := range n {
			want := 0.0
			if i == j {
				want = 1
			}
			if math.Abs(k.At(i, j)-want) > tolerance {
				return false
			}
		}
	}
	return true
}
