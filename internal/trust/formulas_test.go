package trust

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The estimates of the package, written down as their descriptions stand.

// withGaps returns samples of three views of which some lack the first and some the last.
func withGaps(n int, seed uint64) Rows[float64] {
	out := correlated(n, seed, 8, 6, 7)
	out.Present[0], out.Present[2] = make([]bool, n), make([]bool, n)
	for i := range n {
		out.Present[0][i], out.Present[2][i] = i%7 != 3, i%5 != 0
	}
	return out
}

// profileOf is what the judge's views and pairs make of sample i, whose number among the known ones is given, −1 for a new one.
func profileOf(j *Judge[float64], r *Rows[float64], i, known int) profile[float64] {
	some := []profile[float64]{newProfile[float64](known, len(j.views))}
	for v, s := range j.views {
		s.describe(r, v, i, some)
	}
	for _, p := range j.pairs {
		p.guess(j, some)
	}
	return some[0]
}

// rowOf is row r of the known samples in the leading directions of a view.
func rowOf(s *side[float64], r int) []float64 { return s.y[r*s.ld : r*s.ld+s.rank] }

// nearestByHand are the 32 known samples that are nearest to a in view u, but for a itself.
func nearestByHand(j *Judge[float64], u int, a *profile[float64]) []int {
	var out []int
	far := map[int]float64{}
	for r, present := range j.views[u].present {
		if !present || r == a.known {
			continue
		}
		for c, x := range rowOf(j.views[u], r) {
			far[r] += (x - a.y[u][c]) * (x - a.y[u][c])
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y int) int { return cmp.Compare(far[x], far[y]) })
	return out[:32]
}

// guessByHand is view v of a as regressed on view u over the known samples but a.
func guessByHand(j *Judge[float64], u, v int, a *profile[float64]) []float64 {
	from, to := j.views[u], j.views[v]
	gram, right, total := mat.NewDense(from.rank, from.rank, nil), mat.NewDense(from.rank, to.rank, nil), 0.0
	for r := range from.present {
		if !from.present[r] || !to.present[r] {
			continue
		}
		x, y := mat.NewVecDense(from.rank, rowOf(from, r)), mat.NewVecDense(to.rank, rowOf(to, r))
		total += mat.Dot(x, x) // the penalty is that of all of them
		if r != a.known {
			var outer mat.Dense
			outer.Outer(1, x, x)
			gram.Add(gram, &outer)
			outer.Reset()
			outer.Outer(1, x, y)
			right.Add(right, &outer)
		}
	}
	for c := range from.rank {
		gram.Set(c, c, gram.At(c, c)+penalty*total)
	}
	var weights, out mat.Dense
	if err := weights.Solve(gram, right); err != nil {
		panic(err)
	}
	out.Mul(mat.NewDense(1, from.rank, a.y[u]), &weights)
	return out.RawRowView(0)
}

// saysByHand is what view u of a says of view v of b.
func saysByHand(j *Judge[float64], u, v int, a, b *profile[float64]) []float64 {
	s, own := j.views[v], mat.NewVecDense(j.views[v].rank, b.y[v])
	var near, all []float64
	for _, r := range nearestByHand(j, u, a) {
		if r != b.known && s.present[r] && len(near) < 10 {
			near = append(near, mat.Dot(own, mat.NewVecDense(s.rank, rowOf(s, r))))
		}
	}
	for r, present := range s.present {
		if present && r != b.known {
			all = append(all, mat.Dot(own, mat.NewVecDense(s.rank, rowOf(s, r))))
		}
	}
	mean, square := 0.0, 0.0
	for _, x := range all {
		mean, square = mean+x/float64(len(all)), square+x*x/float64(len(all))
	}
	sum := 0.0
	for _, x := range near {
		sum += x / float64(len(near))
	}
	guess := mat.NewVecDense(s.rank, guessByHand(j, u, v, a))
	cos := func(x, y mat.Vector) float64 { return mat.Dot(x, y) / (mat.Norm(x, 2) * mat.Norm(y, 2)) }
	var whiteOwn, whiteGuess mat.VecDense
	whiteOwn.MulElemVec(own, mat.NewVecDense(s.rank, s.scale))
	whiteGuess.MulElemVec(guess, mat.NewVecDense(s.rank, s.scale))
	return []float64{(sum - mean) / math.Sqrt(square-mean*mean), cos(guess, own), cos(&whiteGuess, &whiteOwn)}
}

// commonByHand is what the 30 neighbours of a in view u and of b in view v have in common.
func commonByHand(j *Judge[float64], u, v int, a, b *profile[float64]) float64 {
	sum := 0.0
	mine, others := nearestByHand(j, u, a)[:30], nearestByHand(j, v, b)[:30]
	for i, r := range mine {
		if k := slices.Index(others, r); k >= 0 && r != a.known && r != b.known {
			often := j.views[u].often[r] * j.views[v].often[r]
			sum += (1 - float64(i)/60) * (1 - float64(k)/60) / math.Sqrt(1+often)
		}
	}
	return math.Sqrt(sum)
}

// What two views say of each other comes from the other known samples alone: of one sample, of two, and of a new one.
func TestWhatViewsSayOfEachOther(t *testing.T) {
	const n = 90
	known, fresh := withGaps(n, 1), withGaps(n, 9)
	j, err := New(context.Background(), known, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(j.pairs) != 3 {
		t.Fatalf("%d pairs", len(j.pairs))
	}
	// View 0 and view 2 of samples 1, 2 and 4 are there.
	one, two, other := profileOf(j, &known, 1, 1), profileOf(j, &known, 2, 2), profileOf(j, &fresh, 4, -1)
	for _, p := range j.pairs {
		for name, ab := range map[string][2]*profile[float64]{
			"one sample": {&one, &one}, "two samples": {&one, &two}, "a new sample": {&other, &other},
		} {
			a, b := ab[0], ab[1]
			want := slices.Concat(saysByHand(j, p.u, p.v, a, b), saysByHand(j, p.v, p.u, b, a),
				[]float64{commonByHand(j, p.u, p.v, a, b)})
			for k, x := range p.describe(j, a, b) {
				if math.Abs(x-want[k]) > 1e-9*max(1, math.Abs(want[k])) {
					t.Errorf("views %d and %d of %s, feature %d: %v, want %v", p.u, p.v, name, k, x, want[k])
				}
			}
		}
	}
}

// Trust is what Bayes' rule makes of the pairs' ratios and of the oddness of each row, where at most one row is bad.
func TestTrustByBayes(t *testing.T) {
	const n = 90
	known, fresh := withGaps(n, 1), withGaps(n, 9)
	for v := range fresh.Odd {
		for i := range n {
			fresh.Odd[v][i] = float64((i+v)%4) / 2
		}
	}
	copy(fresh.Views[1][6:12], fresh.Views[1][60:66]) // sample 1 has a row of another
	j, err := New(context.Background(), known, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := j.Of(context.Background(), fresh, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		p := profileOf(j, &fresh, i, -1)
		ratio, compared := [3]float64{}, [3]bool{}
		for _, q := range j.pairs {
			if fresh.has(q.u, i) && fresh.has(q.v, i) {
				l := q.logRatio(j, &p, &p)
				ratio[q.u], ratio[q.v] = ratio[q.u]+l, ratio[q.v]+l
				compared[q.u], compared[q.v] = true, true
			}
		}
		count, bad, sum := 0.0, [3]float64{}, 0.9
		for _, is := range compared {
			if is {
				count++
			}
		}
		for v, is := range compared {
			if is {
				bad[v] = 0.1 / count * math.Exp(fresh.Odd[v][i]-ratio[v])
				sum += bad[v]
			}
		}
		for v := range bad {
			if want := 1 - bad[v]/sum; math.Abs(trust[v][i]-want) > 1e-9 {
				t.Errorf("view %d of sample %d: %v, want %v", v, i, trust[v][i], want)
			}
		}
	}
}

// Two views are compared where at least 20 known samples have both.
func TestTooFewToCompare(t *testing.T) {
	for _, both := range []int{19, 20} {
		known := correlated(60, 1, 4, 5)
		known.Present[1] = make([]bool, 60)
		for i := range both {
			known.Present[1][i] = true
		}
		j, err := New(context.Background(), known, 5, 1)
		if err != nil {
			t.Fatal(err)
		}
		trust, err := j.Of(context.Background(), correlated(5, 9, 4, 5), 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if compared := trust[0][i] < 1; compared != (both == 20) {
				t.Errorf("%d samples with both views: trust %v", both, trust[0][i])
			}
		}
	}
}

// The weights of a logistic regression are where the slope of the likelihood is that of the penalty, whatever the units of the
// features are.
func TestLogisticIsTheBestFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 120
	x, y, weight := make([][]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = []float64{7 + 40*rng.NormFloat64(), 0.02 * rng.NormFloat64()}
		weight[i] = 0.5 + rng.Float64()
		if x[i][0]/40+x[i][1]/0.02+rng.NormFloat64() > 0.5 {
			y[i] = 1
		}
	}
	raw := make([][]float64, n)
	for i := range x {
		raw[i] = slices.Clone(x[i])
	}
	l := newLogistic(x, y, weight)
	slope := [3]float64{}
	for i, row := range raw {
		p := 1 / (1 + math.Exp(-l.at(row)))
		for a := range slope {
			f := 1.0 // of the constant
			if a < 2 {
				f = (row[a] - l.mean[a]) / l.std[a]
			}
			slope[a] += weight[i] * (y[i] - p) * f
		}
	}
	for a, s := range slope {
		want := 1e-3 * n * l.weights[a]
		if a == 2 {
			want = 0
		}
		if math.Abs(s-want) > 1e-6 {
			t.Errorf("slope %d is %v, want %v", a, s, want)
		}
	}
	for c := range 2 {
		mean, square := 0.0, 0.0
		for _, row := range raw {
			mean, square = mean+row[c]/n, square+row[c]*row[c]/n
		}
		if std := math.Sqrt(square - mean*mean); math.Abs(l.mean[c]-mean) > 1e-9 || math.Abs(l.std[c]-std) > 1e-6*std {
			t.Errorf("feature %d: mean %v ± %v, want %v ± %v", c, l.mean[c], l.std[c], mean, std)
		}
	}
}

// Where rows and noise are far apart, the odds of noise in the middle are e^−20; where they overlap, the odds stay as they were
// learned.
func TestOddsOfNoiseFarApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var rows, far, close [][]float64
	for range 101 {
		rows = append(rows, []float64{rng.NormFloat64()})
		far = append(far, []float64{100 + rng.NormFloat64()})
		close = append(close, []float64{1 + rng.NormFloat64()})
	}
	middle := func(n *Noise, of [][]float64) float64 {
		var odds []float64
		for _, m := range of {
			odds = append(odds, n.from.at(m))
		}
		slices.Sort(odds)
		return odds[len(odds)/2]
	}
	n := NewNoise(rows, far)
	if x := middle(n, far); math.Abs(x+20) > 1e-9 {
		t.Errorf("the odds of noise far apart are e^%v", x)
	}
	if x := n.Oddness(rows[0]); math.Abs(x-math.Log(0.5)) > 1e-6 {
		t.Errorf("a row far from noise has the oddness %v", x)
	}
	if x := middle(NewNoise(rows, close), close); x < -5 || x > 0 {
		t.Errorf("the odds of noise close by are e^%v", x)
	}
}
