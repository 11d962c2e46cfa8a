package main

import (
	"math"
	"sort"
)

// equalDifferences is how far apart two differences, in points, may be by rounding alone.
const equalDifferences = 1e-9

// signedRank is the two-sided p-value of the Wilcoxon signed-rank test that differences are symmetric about 0: exact, from
// all 2ⁿ ways to give them signs. Differences of 0 are left out, equal ones share the mean of their ranks. It is 1 if
// nothing is left.
//
// F. Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945.
func signedRank(differences []float64) float64 {
	var x []float64
	for _, d := range differences {
		if math.Abs(d) > equalDifferences {
			x = append(x, d)
		}
	}
	sort.Slice(x, func(a, b int) bool { return math.Abs(x[a]) < math.Abs(x[b]) })
	// Twice the ranks, which are whole numbers even where ranks are shared.
	ranks, positive, total := make([]int, len(x)), 0, 0
	for i := 0; i < len(x); {
		j := i + 1
		for j < len(x) && math.Abs(x[j])-math.Abs(x[i]) <= equalDifferences {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + j + 1 // of the ranks i+1 … j
			total += ranks[k]
			if x[k] > 0 {
				positive += ranks[k]
			}
		}
		i = j
	}
	// share[s] is the share of the ways in which the positive ranks add up to s.
	share := make([]float64, total+1)
	share[0] = 1
	for _, r := range ranks {
		for s := total; s >= 0; s-- {
			share[s] /= 2
			if s >= r {
				share[s] += share[s-r] / 2
			}
		}
	}
	tail := 0.0
	for s := range min(positive, total-positive) + 1 {
		tail += share[s]
	}
	return min(1, 2*tail)
}

// signTest is the two-sided p-value that better and worse are as likely, exact.
func signTest(better, worse int) float64 {
	n := better + worse
	tail, ways := 0.0, 1.0 // ways to choose k of n, over 2ⁿ
	for k := 0; k <= min(better, worse); k++ {
		tail += ways * math.Pow(2, -float64(n))
		ways *= float64(n-k) / float64(k+1)
	}
	return min(1, 2*tail)
}
