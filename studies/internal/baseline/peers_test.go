package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// peerCase returns scaled views, and weights on the simplex for m anchors.
func peerCase(t *testing.T, m int) ([]*block, []float64) {
	t.Helper()
	views, _ := blobs(60, 3, 8)
	x, err := load(context.Background(), views, nil, 3, zScore)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(8, 2))
	z := make([]float64, x[0].n*m)
	for i := range z {
		z[i] = r.NormFloat64()
	}
	for i := range x[0].n {
		toSimplex(z[i*m : (i+1)*m])
	}
	return x, z
}

// squaredError is ‖X − ZA‖², term by term.
func squaredError(b *block, m int, z, a []float64) float64 {
	sum := 0.0
	for i := range b.n {
		for j, value := range b.row(i) {
			e := float64(value)
			for k := range m {
				e -= z[i*m+k] * a[k*b.d+j]
			}
			sum += e * e
		}
	}
	return sum
}

// emvgcObjective is the objective of EMVGC-LG as it stands in its documentation.
func emvgcObjective(x []*block, anchors [][]float64, z []float64) float64 {
	m := len(z) / x[0].n
	out := 0.0
	for _, a := range z {
		out += emvgcMu * a * a
	}
	for v, b := range x {
		out += squaredError(b, m, z, anchors[v])
		for i := range b.n {
			for k := range m {
				for _, a := range anchors[v][k*b.d : (k+1)*b.d] {
					out += emvgcLambda * z[i*m+k] * a * a
				}
			}
		}
	}
	return out
}

// Both steps of EMVGC-LG end at a minimum of its objective, and say what it is.
func TestEMVGCLGSteps(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 9))
	const m = 4
	x, z := peerCase(t, m)
	anchors := [][]float64{make([]float64, m*x[0].d), make([]float64, m*x[1].d)}
	last := math.Inf(1)
	for step := range 6 {
		got, err := emvgcAnchors(ctx, x, anchors, z)
		if err != nil {
			t.Fatal(err)
		}
		value := emvgcObjective(x, anchors, z)
		if math.Abs(got-value) > 1e-5*value {
			t.Fatalf("step %d: objective %v, term by term %v", step, got, value)
		}
		if value > last*(1+1e-6) {
			t.Fatalf("step %d: the objective rises from %v to %v", step, last, value)
		}
		last = value
		for range 20 { // no way from the anchors leads down
			v := r.IntN(2)
			moved := [][]float64{anchors[0], anchors[1]}
			moved[v] = slices.Clone(anchors[v])
			moved[v][r.IntN(len(moved[v]))] += 0.1 * (2*r.Float64() - 1)
			if emvgcObjective(x, moved, z) < value*(1-1e-6) {
				t.Fatalf("step %d: other anchors are better", step)
			}
		}
		if err := emvgcGraph(ctx, x, anchors, z); err != nil {
			t.Fatal(err)
		}
		value = emvgcObjective(x, anchors, z)
		if value > last*(1+1e-6) {
			t.Fatalf("step %d: the graph raises the objective from %v to %v", step, last, value)
		}
		last = value
		for range 20 { // no move of weight from an anchor to another leads down
			moved, i := slices.Clone(z), r.IntN(x[0].n)
			row := moved[i*m : (i+1)*m]
			from := r.IntN(m)
			to := (from + 1 + r.IntN(m-1)) % m
			share := r.Float64() * row[from]
			row[from], row[to] = row[from]-share, row[to]+share
			if emvgcObjective(x, anchors, moved) < value*(1-1e-6) {
				t.Fatalf("step %d: other weights of sample %d are better", step, i)
			}
		}
	}
}

// With one anchor Z is 1, and the anchor is the mean of the samples divided by 1 + λ; one that no sample uses is 0.
func TestEMVGCLGByHand(t *testing.T) {
	x := []*block{{2, 2, []float32{1, 5, 3, -1}}}
	anchors := [][]float64{{1, 1}}
	z := make([]float64, 2)
	if err := emvgcGraph(context.Background(), x, anchors, z); err != nil {
		t.Fatal(err)
	}
	if z[0] != 1 || z[1] != 1 {
		t.Errorf("weights %v of one anchor", z)
	}
	if _, err := emvgcAnchors(context.Background(), x, anchors, z); err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{2 / (1 + emvgcLambda), 2 / (1 + emvgcLambda)} {
		if math.Abs(anchors[0][j]-want) > 1e-6 {
			t.Errorf("anchor %v, want %v at %d", anchors[0], want, j)
		}
	}
	two := [][]float64{{1, 1, 7, 7}}
	if _, err := emvgcAnchors(context.Background(), x, two, []float64{1, 0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	if two[0][2] != 0 || two[0][3] != 0 || math.Abs(two[0][0]-anchors[0][0]) > 1e-9 {
		t.Errorf("anchors %v, of which no sample uses the second", two[0])
	}
}

// A step of FDAGF keeps its constraints, says what its objective is, and does not raise it.
func TestFDAGFSteps(t *testing.T) {
	x, _ := peerCase(t, 4)
	r := rand.New(rand.NewPCG(3, 3))
	for _, b := range x {
		const m = 5
		g := &anchorGraph{b: b, m: m, z: make([]float64, b.n*m), a: make([]float64, m*b.d)}
		for i := range g.a {
			g.a[i] = r.NormFloat64()
		}
		last := math.Inf(1)
		for step := range 8 {
			got, err := g.step(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			want := squaredError(b, m, g.z, g.a)
			for _, a := range g.z {
				want += fdagfAlpha * a * a
			}
			if math.Abs(got-want) > 1e-5*want {
				t.Fatalf("step %d: objective %v, term by term %v", step, got, want)
			}
			if step > 1 && got > last*(1+1e-6) { // the first anchors are not orthonormal
				t.Fatalf("step %d: the objective rises from %v to %v", step, last, got)
			}
			last = got
			var gram mat.Dense
			a := mat.NewDense(m, b.d, g.a)
			gram.Mul(a, a.T())
			for i := range m {
				for j := range m {
					if want := map[bool]float64{true: 1}[i == j]; math.Abs(gram.At(i, j)-want) > 1e-6 {
						t.Fatalf("step %d: the anchors' products are %v", step, mat.Formatted(&gram))
					}
				}
			}
			for i := range b.n {
				sum := 0.0
				for _, w := range g.z[i*m : (i+1)*m] {
					sum += w
					if w < 0 {
						t.Fatalf("step %d: a weight of %v", step, w)
					}
				}
				if math.Abs(sum-1) > 1e-9 {
					t.Fatalf("step %d: weights of sum %v", step, sum)
				}
			}
		}
	}
}

// The weights of the graphs are the nearest point of the simplex to −value/(2λ).
func TestFDAGFWeights(t *testing.T) {
	for _, c := range []struct{ values, want []float64 }{
		{[]float64{7, 7}, []float64{0.5, 0.5}},
		{[]float64{0, fdagfLambda}, []float64{0.75, 0.25}},
		{[]float64{5 * fdagfLambda, 0, 9 * fdagfLambda}, []float64{0, 1, 0}},
	} {
		for r, got := range fdagfWeights(c.values) {
			if math.Abs(got-c.want[r]) > 1e-12 {
				t.Errorf("%v of %v, want %v", fdagfWeights(c.values), c.values, c.want)
			}
		}
	}
}

// The first left singular vectors span the same space as those of a decomposition, of tall matrices and of wide ones.
func TestLeftVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, shape := range [][2]int{{30, 8}, {8, 30}, {6, 6}, {3, 9}} {
		n, d, k := shape[0], shape[1], min(4, shape[1])
		z := mat.NewDense(n, d, nil)
		z.Apply(func(int, int, float64) float64 { return r.NormFloat64() }, z)
		got, err := leftVectors(n, d, z.RawMatrix().Data, k)
		if err != nil {
			t.Fatal(err)
		}
		var svd mat.SVD
		if !svd.Factorize(z, mat.SVDThin) {
			t.Fatal("no decomposition")
		}
		var u mat.Dense
		svd.UTo(&u)
		for j := range k {
			dot := 0.0
			for i := range n {
				if j < min(n, d) {
					dot += float64(got.x[i*k+j]) * u.At(i, j)
				} else if got.x[i*k+j] != 0 {
					t.Errorf("%d×%d: vector %d is not 0", n, d, j)
				}
			}
			if j < min(n, d) && math.Abs(math.Abs(dot)-1) > 1e-5 {
				t.Errorf("%d×%d: vector %d has a product of %v with that of the decomposition", n, d, j, dot)
			}
		}
	}
}

// LMVSC's grid has nine settings, and the labels of the highest score are returned.
func TestLMVSCOfGrid(t *testing.T) {
	views, _ := blobs(120, 3, 6)
	calls := 0
	var wanted []int
	labels, setting, err := LMVSCOfGrid(context.Background(), views, 3, 1, func(labels []int) (float64, error) {
		calls++
		if calls == 6 {
			wanted = labels
			return 2, nil
		}
		return 1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls != 9 || setting != "m = 50, α = 100" || !slices.Equal(labels, wanted) {
		t.Errorf("%d settings, %q returned", calls, setting)
	}
	fail := errors.New("no score")
	if _, _, err := LMVSCOfGrid(context.Background(), views, 3, 1,
		func([]int) (float64, error) { return 0, fail }); !errors.Is(err, fail) {
		t.Errorf("%v, want the score's error", err)
	}
	if _, _, err := LMVSCOfGrid(context.Background(), nil, 3, 1, nil); err == nil || !strings.Contains(err.Error(), "no views") {
		t.Errorf("%v", err)
	}
}
