package main

import (
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/studies/internal/sets"
)

func TestSignedRank(t *testing.T) {
	for _, test := range []struct {
		name        string
		differences []float64
		want        float64
	}{
		{"nothing", nil, 1},
		{"all zero", []float64{0, 0}, 1},
		{"one", []float64{3}, 1},
		{"five of a sign", []float64{1, 2, 3, 4, 5}, 2. / 32},
		{"the other sign", []float64{-1, -2, -3, -4, -5}, 2. / 32},
		{"zeros are left out", []float64{0, 1, 2, 3, 4, 5, 0}, 2. / 32},
		// Ranks 2, 2, 2 give the sums 0, 2, 4, 6 in 1, 3, 3, 1 of 8 ways; 4 or more in 4.
		{"ties", []float64{1, 1, -1}, 1},
		// Ranks 1.5, 1.5, 3, 4: the sum of the negative is 1.5, which 3 of 16 ways do not exceed.
		{"ties and order", []float64{2, -2, 5, 7}, 6. / 16},
		{"ties by rounding alone", []float64{0.1 + 0.2, -0.3, 5, 7}, 6. / 16},
		// C. Darwin's heights of maize (R. Fisher, The Design of Experiments, 1935): W = 24 of n = 15. SciPy gives
		// 0.041259765625.
		{"Darwin", []float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75}, 0.041259765625},
		// M. Hollander and D. Wolfe, Nonparametric Statistical Methods, 1973, p. 29: V = 40 of n = 9, one-sided 0.01953125.
		{"Hamilton scale", []float64{0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01}, 0.0390625},
	} {
		if got := signedRank(test.differences); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: p = %v, want %v", test.name, got, test.want)
		}
	}
}

// made returns results of which every figure is known: the row at k has ACC 80 − k on each set, ± 1 over two draws on the
// first, and the main row has more.
func made(names []string) *results {
	r := &results{rows: rows()}
	for _, name := range names {
		r.sets = append(r.sets, &sets.Set{Name: name, N: 600})
	}
	main := r.find(mainRow)
	for k := range r.rows {
		var of [][]score
		for i := range names {
			acc, nmi, ari := 80-float64(k), 75., 65.
			if k == main {
				acc, nmi, ari = 90, 77, 70
			}
			d := 0.0
			if i == 0 {
				d = 1
			}
			of = append(of, []score{{ACC: acc - d, NMI: nmi, ARI: ari}, {ACC: acc + d, NMI: nmi, ARI: ari}})
		}
		r.scores = append(r.scores, of)
	}
	return r
}

func TestSignTest(t *testing.T) {
	for _, test := range []struct {
		better, worse int
		want          float64
	}{
		{0, 0, 1}, {1, 0, 1}, {3, 3, 1}, {5, 0, 2. / 32}, {0, 5, 2. / 32},
		{9, 1, 2 * 11. / 1024},
		// R binom.test(4, 20): p = 0.01181793212890625.
		{16, 4, 0.01181793212890625},
	} {
		if got := signTest(test.better, test.worse); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%d better, %d worse: p = %v, want %v", test.better, test.worse, got, test.want)
		}
	}
}

func TestSummary(t *testing.T) {
	r := made(slices.Concat(smallSets, moreSets))
	groups := r.groups()
	if len(groups) != 3 || groups[0].name != "all 28" || len(groups[0].sets) != 28 || len(groups[1].sets) != 11 ||
		len(groups[2].sets) != 17 {
		t.Fatalf("%+v", groups)
	}
	other := r.find("paper preset")
	p := r.pair(other, groups[1])
	if want := 90 - (80 - float64(other)); math.Abs(p.Mean-want) > 1e-9 || p.Wins != 11 || p.Losses != 0 || p.P != 2./2048 {
		t.Errorf("%+v, want a mean of %g", p, want)
	}
	if c := r.cell(other, 0, metrics[0].of); math.Abs(c.Std-math.Sqrt2) > 1e-12 || c.Count != 2 {
		t.Errorf("%+v", c)
	}
	// A set that training harms.
	i := slices.IndexFunc(r.sets, func(d *sets.Set) bool { return d.Name == "gtzan" })
	r.scores[r.find(mainRow)][i] = []score{{ACC: 50, NMI: 50, ARI: 70}, {ACC: 50, NMI: 50, ARI: 70}}
	x, ok := r.trained(groups[0])
	if !ok || x.Better != 27 || x.Worse != 1 || !slices.Equal(x.Harmed, []string{"gtzan"}) {
		t.Errorf("%+v, %v", x, ok)
	}
	// Some of the eleven are one group with the others.
	few := made([]string{"orl", "pears"})
	if g := few.groups(); len(g) != 1 || len(g[0].sets) != 2 || g[0].name != "sets here" {
		t.Errorf("%+v", g)
	}
}
