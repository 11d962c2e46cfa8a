package report

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/largemvc/largemvc/internal/structure"
)

// tester tests one feature after the other. Only one goroutine may use it.
type tester struct {
	*search
	values  []structure.Entry // of the feature that is tested, of one half
	zeros   []float64         // per cluster: samples of the half whose value is 0
	ranks   []rankSum         // per cluster
	moments []sums            // per cluster
	total   sums
	size    []float64
	scores  []float64
}

// sums are the number, the sum and the sum of the squares of values.
type sums struct{ count, sum, square float64 }

func (s *sums) add(x float64) { s.count, s.sum, s.square = s.count+1, s.sum+x, s.square+x*x }

// rankSum is a rank sum less its mean, with its variance and third central moment under equal distributions.
type rankSum struct{ sum, variance, third float64 }

func newTester(s *search) *tester {
	return &tester{
		search: s, zeros: make([]float64, s.clusters), ranks: make([]rankSum, s.clusters), moments: make([]sums, s.clusters),
		size: make([]float64, s.clusters), scores: make([]float64, s.clusters),
	}
}

// feature returns the clusters in which a feature has a p-value of at most falseShare, and the number of tests.
func (t *tester) feature(v, j int, column []structure.Entry) (passed []Feature, tests int) {
	run := t.runs[t.fold[v][j]]
	if run == nil {
		return nil, 0
	}
	clear(t.ranks)
	clear(t.moments)
	t.total = sums{}
	for half := range 2 {
		t.gather(run, v, half, column)
		t.rank()
	}
	deviation := t.total.deviation()
	if deviation == 0 {
		return nil, 0
	}
	var effects []float64
	for k, q := range t.ranks {
		if !t.found(t.fold[v][j], k) || q.variance == 0 {
			continue
		}
		tests++
		p := q.p()
		if p > falseShare {
			continue
		}
		if effects == nil {
			effects = t.effects(t.fold[v][j], deviation)
		}
		in, out := t.means(k)
		passed = append(passed, Feature{
			Cluster: k, View: v, Column: j, Mean: in, Elsewhere: out, Effect: (in - out) / deviation, P: p, Effects: effects,
		})
	}
	return passed, tests
}

// gather sets the values and zeros of a half, and adds them to the moments.
func (t *tester) gather(run *heldOut, v, half int, column []structure.Entry) {
	t.values = t.values[:0]
	clear(t.zeros)
	for i, k := range run.Labels {
		if k >= 0 && run.Half[i] == half && t.views[v].Has(i) {
			t.zeros[k]++
		}
	}
	for _, e := range column {
		if k := run.Labels[e.Row]; k >= 0 && run.Half[e.Row] == half {
			t.values = append(t.values, structure.Entry{Row: k, Value: e.Value})
			t.zeros[k]--
			t.moments[k].add(e.Value)
			t.total.add(e.Value)
		}
	}
	for k, n := range t.zeros {
		t.moments[k].count += n
		t.total.count += n
	}
}

// deviation returns the standard deviation, 0 for values that are equal within rounding.
func (s sums) deviation() float64 {
	mean := s.sum / s.count
	d := math.Sqrt(max(0, s.square/s.count-mean*mean))
	if !(d > 1e-7*math.Abs(mean)) {
		return 0
	}
	return d
}

func (t *tester) means(k int) (in, out float64) {
	m := t.moments[k]
	return m.sum / m.count, (t.total.sum - m.sum) / (t.total.count - m.count)
}

// effects returns the effect of the feature in every cluster that is found again, NaN in the others.
func (t *tester) effects(fold int, deviation float64) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, t.clusters)
	for k := range out {
		if t.found(fold, k) {
			in, other := t.means(k)
			out[k] = (in - other) / deviation
		}
	}
	return out
}

// rank adds the rank sums of the half whose values and zeros are set. Equal values have their mean rank. Ranks are divided by
// the number of samples, so that both halves weigh alike (P. van Elteren, Bull. Int. Stat. Inst. 37, 1960).
func (t *tester) rank() {
	n, zeros := float64(len(t.values)), 0.0
	for k, z := range t.zeros {
		t.size[k] = z
		zeros += z
	}
	for _, e := range t.values {
		t.size[e.Row]++
	}
	if n += zeros; n < 3 {
		return
	}
	slices.SortFunc(t.values, func(a, b structure.Entry) int { return cmp.Compare(a.Value, b.Value) })
	clear(t.scores)
	below, second, third := 0.0, 0.0, 0.0
	tie := func(count float64, add func(score float64)) {
		s := (below + (count+1)/2 - (n+1)/2) / n
		add(s)
		below, second, third = below+count, second+count*s*s, third+count*s*s*s
	}
	seen := zeros == 0
	for at := 0; at < len(t.values) || !seen; {
		if !seen && (at == len(t.values) || t.values[at].Value > 0) {
			seen = true
			tie(zeros, func(s float64) {
				for k, z := range t.zeros {
					t.scores[k] += z * s
				}
			})
			continue
		}
		end := at + 1
		for end < len(t.values) && t.values[end].Value == t.values[at].Value {
			end++
		}
		tie(float64(end-at), func(s float64) {
			for _, e := range t.values[at:end] {
				t.scores[e.Row] += s
			}
		})
		at = end
	}
	for k := range t.ranks {
		in, out := t.size[k], n-t.size[k]
		t.ranks[k].sum += t.scores[k]
		t.ranks[k].variance += in * out / (n - 1) * second / n
		t.ranks[k].third += in * out * (out - in) / ((n - 1) * (n - 2)) * third / n
	}
}

// straight is the skewness below which a distribution counts as normal.
const straight = 0.01

// p returns the two-sided p-value by the Pearson distribution of type III with the moments of the rank sum.
func (q rankSum) p() float64 {
	z := q.sum / math.Sqrt(q.variance)
	skew := q.third / math.Pow(q.variance, 1.5)
	if skew < 0 {
		z, skew = -z, -skew
	}
	if skew < straight {
		return math.Erfc(math.Abs(z) / math.Sqrt2)
	}
	shape := 4 / (skew * skew)
	x := shape + z*math.Sqrt(shape)
	if x <= 0 { // the rank sum lies outside the distribution
		return math.Erfc(math.Abs(z) / math.Sqrt2)
	}
	return min(1, 2*min(mathext.GammaIncReg(shape, x), mathext.GammaIncRegComp(shape, x)))
}
