package tsne

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
)

// clusters returns n points around k centres in d dimensions, at the given distance in units of their deviation, and
// their clusters.
func clusters(n, d, k int, distance float64, seed uint64) (*mat.Dense, []int) {
	r := rand.New(rand.NewPCG(seed, 1))
	centres := make([][]float64, k)
	for i := range centres {
		centres[i] = make([]float64, d)
		for j := range centres[i] {
			centres[i][j] = distance * r.NormFloat64()
		}
	}
	x, label := mat.NewDense(n, d, nil), make([]int, n)
	for i := range n {
		label[i] = i % k
		for j := range d {
			x.Set(i, j, centres[label[i]][j]+r.NormFloat64())
		}
	}
	return x, label
}

// neighbourAgreement is the share of points whose nearest point in the plane has their label.
func neighbourAgreement(y *mat.Dense, label []int) float64 {
	n, _ := y.Dims()
	same := 0
	for i := range n {
		best, at := math.Inf(1), -1
		for j := range n {
			if d := math.Hypot(y.At(i, 0)-y.At(j, 0), y.At(i, 1)-y.At(j, 1)); j != i && d < best {
				best, at = d, j
			}
		}
		if label[at] == label[i] {
			same++
		}
	}
	return float64(same) / float64(n)
}

func TestEmbedSeparatesClusters(t *testing.T) {
	x, label := clusters(300, 20, 5, 2, 1)
	var seen []int
	r, err := Embed(context.Background(), x, Config{Iterations: 500, Progress: func(i int, _ float64) error {
		seen = append(seen, i)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := neighbourAgreement(r.Y, label); got < 0.99 {
		t.Errorf("%.3f of the points have a nearest point of their own cluster", got)
	}
	// Every cluster must lie apart: centroids farther from each other than the clusters are wide.
	var cx, cy, count [5]float64
	for i, l := range label {
		cx[l], cy[l], count[l] = cx[l]+r.Y.At(i, 0), cy[l]+r.Y.At(i, 1), count[l]+1
	}
	width := 0.0
	for i, l := range label {
		width = max(width, math.Hypot(r.Y.At(i, 0)-cx[l]/count[l], r.Y.At(i, 1)-cy[l]/count[l]))
	}
	for a := range 5 {
		for b := range a {
			if d := math.Hypot(cx[a]/count[a]-cx[b]/count[b], cy[a]/count[a]-cy[b]/count[b]); d < width {
				t.Errorf("clusters %d and %d are %.2f apart, a cluster's radius is up to %.2f", a, b, d, width)
			}
		}
	}
	if len(r.Divergence) != 10 || len(seen) != 10 || seen[9] != 500 {
		t.Errorf("%d divergences, progress at %v", len(r.Divergence), seen)
	}
	// The divergence falls once the exaggeration has ended (iteration 250, entry 4).
	for i := 6; i < len(r.Divergence); i++ {
		if r.Divergence[i] > r.Divergence[i-1]+1e-3 {
			t.Errorf("the divergence rose from %v to %v", r.Divergence[i-1], r.Divergence[i])
		}
	}
	if r.Divergence[9] > 0.7*r.Divergence[4] {
		t.Errorf("the divergence fell only from %v to %v", r.Divergence[4], r.Divergence[9])
	}
}

func TestGradientAgainstFiniteDifferences(t *testing.T) {
	ctx := context.Background()
	x, _ := clusters(25, 4, 3, 2, 2)
	near, err := nearest(ctx, x, 12, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := affinities(ctx, near, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 1))
	pos := make([]float64, 50)
	for i := range pos {
		pos[i] = r.NormFloat64()
	}
	f := newField(25)
	objective := func(y []float64) float64 {
		kl, err := f.divergence(ctx, p, y, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return kl
	}
	want := fd.Gradient(nil, objective, pos, &fd.Settings{Formula: fd.Central})
	got := make([]float64, 50)
	if err := f.gradient(ctx, p, pos, 1, 0, 1, got); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-7 {
			t.Errorf("component %d: %v, central difference %v", i, got[i], want[i])
		}
	}
	// The Barnes–Hut gradient is near the exact one, and not it.
	approximate := make([]float64, 50)
	if err := f.gradient(ctx, p, pos, 1, 0.5, 1, approximate); err != nil {
		t.Fatal(err)
	}
	diff, norm := 0.0, 0.0
	for i := range got {
		diff += (got[i] - approximate[i]) * (got[i] - approximate[i])
		norm += got[i] * got[i]
	}
	if e := math.Sqrt(diff / norm); e == 0 || e > 0.05 {
		t.Errorf("relative error of the approximation is %v", e)
	}
}

func TestAffinities(t *testing.T) {
	ctx := context.Background()
	x, _ := clusters(60, 3, 2, 3, 4)
	near, err := nearest(ctx, x, 30, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 { // against all distances, sorted
		var all []float64
		for j := range 60 {
			if j != i {
				all = append(all, squaredBelow(x.RawRowView(i), x.RawRowView(j), math.Inf(1)))
			}
		}
		slices.Sort(all)
		if !slices.Equal(all[:30], near.dist[i*30:(i+1)*30]) {
			t.Fatalf("neighbours of %d: %v, want %v", i, near.dist[i*30:(i+1)*30], all[:30])
		}
	}
	conditional := make([]float64, 30)
	calibrate(near.dist[:30], conditional, math.Log(10))
	h := 0.0
	for _, p := range conditional {
		h -= p * math.Log(p)
	}
	if math.Abs(math.Exp(h)-10) > 1e-4 {
		t.Errorf("perplexity %v, want 10", math.Exp(h))
	}
	p, err := affinities(ctx, near, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	dense := mat.NewDense(60, 60, nil)
	sum := 0.0
	for i := range 60 {
		for a := p.start[i]; a < p.start[i+1]; a++ {
			dense.Set(i, int(p.column[a]), p.value[a])
			sum += p.value[a]
		}
	}
	if math.Abs(sum-1) > 1e-12 || !mat.EqualApprox(dense, dense.T(), 1e-15) {
		t.Errorf("P sums to %v; symmetric: %v", sum, mat.EqualApprox(dense, dense.T(), 1e-15))
	}
}

func TestEmbedIsDeterministic(t *testing.T) {
	x, _ := clusters(200, 10, 4, 2, 5)
	var first *Result
	for _, procs := range []int{1, 2, 3} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		r, err := Embed(context.Background(), x, Config{Iterations: 60, Seed: 7, Workers: procs})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		} else if !mat.Equal(first.Y, r.Y) {
			t.Errorf("%d workers give other positions", procs)
		}
	}
}

func TestEmbedEqualPoints(t *testing.T) {
	x := mat.NewDense(40, 3, nil)
	for i := range 40 {
		x.Set(i, i%2, 1)
	}
	r, err := Embed(context.Background(), x, Config{Iterations: 300})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Y.RawMatrix().Data {
		if math.IsNaN(a) || math.IsInf(a, 0) {
			t.Fatalf("position %v", a)
		}
	}
}

// Points in one place have no tree; forces come from the plain sums then.
func TestRepelCoincident(t *testing.T) {
	f := newField(5)
	pos := []float64{1, 1, 1, 1, 1, 1, 0, 0, 0, 1}
	z, err := f.repel(context.Background(), pos, 0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Ordered pairs: 6 among the three equal points (q = 1), 6 at d² = 2 (1/3), 6 at d² = 1 (1/2), 2 at d² = 1 (1/2).
	if want := 6.0 + 2 + 3 + 1; math.Abs(z-want) > 1e-12 {
		t.Errorf("Z = %v, want %v", z, want)
	}
}

func TestPCA(t *testing.T) {
	x, _ := clusters(100, 6, 3, 2, 6)
	var svd mat.SVD
	centred := mat.DenseCopyOf(x)
	for j := range 6 {
		mean := mat.Sum(centred.ColView(j)) / 100
		for i := range 100 {
			centred.Set(i, j, centred.At(i, j)-mean)
		}
	}
	if !svd.Factorize(centred, mat.SVDThin) {
		t.Fatal("no SVD")
	}
	var u mat.Dense
	svd.UTo(&u)
	got, err := PCA(context.Background(), x, 3, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for k, s := range svd.Values(nil)[:3] {
		sign := 1.0
		if u.At(0, k)*got.At(0, k) < 0 {
			sign = -1
		}
		for i := range 100 {
			if want := sign * s * u.At(i, k); math.Abs(got.At(i, k)-want) > 1e-6 {
				t.Fatalf("row %d, component %d: %v, want %v", i, k, got.At(i, k), want)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	good, _ := clusters(20, 3, 2, 2, 7)
	bad := mat.DenseCopyOf(good)
	bad.Set(3, 2, math.NaN())
	for _, c := range []struct {
		x      mat.Matrix
		config Config
		want   string
	}{
		{nil, Config{}, "no matrix"},
		{mat.NewDense(3, 2, nil), Config{}, "3×2"},
		{bad, Config{}, "row 3, column 2: value is NaN"},
		{good, Config{Perplexity: 20}, "Perplexity is 20"},
		{good, Config{Iterations: -1}, "Iterations is -1"},
		{good, Config{Theta: math.NaN()}, "Theta is NaN"},
		{good, Config{Rate: -1}, "Rate is -1"},
	} {
		if _, err := Embed(ctx, c.x, c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := PCA(ctx, good, 4, 1, 1); err == nil {
		t.Error("4 components of 3 columns are no error")
	}
	stop := errors.New("enough")
	if _, err := Embed(ctx, good, Config{Progress: func(int, float64) error { return stop }}); err != stop {
		t.Errorf("%v, want the progress error", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Embed(cancelled, good, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x, _ := clusters(n, 50, 10, 1, 8)
			for b.Loop() {
				if _, err := Embed(context.Background(), x, Config{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
