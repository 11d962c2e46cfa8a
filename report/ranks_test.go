package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// addRanks adds the rank sum of marked values, divided by their number, and its moments over all choices of as many values.
func addRanks(q *rankSum, values []float64, mine []bool) {
	n, marked := float64(len(values)), 0.0
	scores := make([]float64, len(values))
	for i, a := range values {
		for _, b := range values {
			if b < a {
				scores[i]++
			} else if b == a {
				scores[i] += 0.5
			}
		}
		scores[i] = (scores[i] - n/2) / n // half a rank less, as the mean is
		if mine[i] {
			q.sum += scores[i]
			marked++
		}
	}
	for _, s := range scores {
		q.variance += s * s / n * marked * (n - marked) / (n - 1)
		q.third += s * s * s / n * marked * (n - marked) * (n - 2*marked) / (n - 1) / (n - 2)
	}
}

// Zeros that no entry holds have their place among negative and positive values, and equal values their mean rank.
func TestRanksOfEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	for range 50 {
		const n, clusters = 40, 3
		tester := newTester(&search{clusters: clusters})
		low := r.IntN(3) - 4
		values, label := make([]float64, n), make([]int, n)
		for i := range n {
			values[i], label[i] = float64(low+r.IntN(6)), r.IntN(clusters)
			if values[i] == 0 {
				tester.zeros[label[i]]++
			} else {
				tester.values = append(tester.values, structure.Entry{Row: label[i], Value: values[i]})
			}
		}
		tester.rank()
		for k, got := range tester.ranks {
			want, mine := rankSum{}, make([]bool, n)
			for i := range n {
				mine[i] = label[i] == k
			}
			addRanks(&want, values, mine)
			if math.Abs(got.sum-want.sum)+math.Abs(got.variance-want.variance)+math.Abs(got.third-want.third) > 1e-9 {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
}

// The moments of a rank sum are those of all choices of samples, and its p-value is near their share.
func TestRankSum(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	for name, value := range map[string]func() float64{
		"distinct": func() float64 { return r.NormFloat64() },
		"ties":     func() float64 { return math.Floor(4 * r.Float64()) },
		"rare":     func() float64 { return math.Floor(r.Float64() + 0.15) },
	} {
		const n, size = 60, 9
		draws := float64(testutil.Few(20_000, 40_000))
		values := make([]float64, n)
		for i := range values {
			values[i] = value()
		}
		sums := make([]float64, int(draws))
		var q rankSum
		for d := range sums {
			mine := make([]bool, n)
			for _, i := range r.Perm(n)[:size] {
				mine[i] = true
			}
			q = rankSum{}
			addRanks(&q, values, mine)
			sums[d] = q.sum
		}
		second, third := 0.0, 0.0
		for _, s := range sums {
			second, third = second+s*s/draws, third+s*s*s/draws
		}
		if math.Abs(second/q.variance-1) > 0.05 || math.Abs(third-q.third) > 0.1*math.Pow(q.variance, 1.5) {
			t.Errorf("%s: variance %g and third moment %g, want %g and %g", name, q.variance, q.third, second, third)
		}
		slices.Sort(sums)
		for _, share := range []float64{0.9, 0.99, 0.999} {
			q.sum = sums[int(share*draws)]
			above := 0.0
			for _, s := range sums {
				if s >= q.sum-1e-9 {
					above += 1 / draws
				}
			}
			if p := q.p(); p < above/2 || p > 6*above {
				t.Errorf("%s: p %g where %g of the sums are as large", name, p, above)
			}
		}
	}
	for z, want := range map[float64]float64{0: 1, 1.959964: 0.05, -3: 0.0026998} {
		if p := (rankSum{z, 1, 0}).p(); math.Abs(p-want) > 1e-6 {
			t.Errorf("z %g has p %g, want %g", z, p, want)
		}
	}
	if a, b := (rankSum{3, 1, 0.0099}).p(), (rankSum{3, 1, 0.0101}).p(); math.Abs(a/b-1) > 0.06 {
		t.Errorf("p jumps from %g to %g", a, b)
	}
	if p := (rankSum{-5, 1, 1}).p(); p <= 0 {
		t.Errorf("p %g", p)
	}
}
