package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	nearest       = 5       // rows whose mean fills a hole
	mostKept      = 1 << 12 // training rows that a view keeps for it
	mostKeptCells = 1 << 21 // their values; at least nearest rows are kept
)

// keptRows returns in rising order the rows that a view of n rows and d features keeps to fill holes: all present ones, or a
// random draw of them, which is the same whenever it is made.
func keptRows(n, d int, present func(i int) bool) []int {
	left := 0
	for i := range n {
		if present(i) {
			left++
		}
	}
	want := min(left, mostKept, max(nearest, mostKeptCells/max(d, 1)))
	rows, random := make([]int, 0, want), rand.New(rand.NewPCG(uint64(n), uint64(left)))
	for i := 0; len(rows) < want; i++ {
		if !present(i) {
			continue
		}
		if random.IntN(left) < want-len(rows) {
			rows = append(rows, i)
		}
		left--
	}
	return rows
}

// fillRow fills the NaN of a row of a view; those that it does not list are zero. It calls filled with the feature of each.
func (p *Preparation) fillRow(x []float64, columns []int32, filled func(j int)) {
	if !slices.ContainsFunc(x, math.IsNaN) {
		return
	}
	var full, squares []float64
	if p.Impute == ImputeNeighbors {
		full = make([]float64, len(p.Fill))
		for k, a := range x {
			full[featureOf(columns, k)] = a
		}
		squares = p.distances(full)
	}
	for k, a := range x {
		if math.IsNaN(a) {
			j := featureOf(columns, k)
			if x[k] = p.Fill[j]; full != nil {
				x[k] = p.nearestMean(squares, j)
			}
			filled(j)
		}
	}
}

// distances returns for each kept row the mean of the squared differences from x over the features that both have; NaN without
// one.
func (p *Preparation) distances(x []float64) []float64 {
	d := len(x)
	out := make([]float64, len(p.Rows)/d)
	for r := range out {
		sum, n := 0.0, 0
		for j, b := range p.Rows[r*d : (r+1)*d] {
			if e := x[j] - b; e == e {
				sum += e * e
				n++
			}
		}
		out[r] = sum / float64(n)
	}
	return out
}

// nearestMean returns the mean of feature j over the nearest kept rows that have it; without one it is the mean of the feature.
func (p *Preparation) nearestMean(squares []float64, j int) float64 {
	var best [nearest]int
	n, d := 0, len(p.Fill)
	for r, s := range squares {
		if math.IsNaN(s) || math.IsNaN(p.Rows[r*d+j]) || n == nearest && s >= squares[best[n-1]] {
			continue
		}
		at := n
		if n < nearest {
			n++
		} else {
			at--
		}
		for ; at > 0 && squares[best[at-1]] > s; at-- {
			best[at] = best[at-1]
		}
		best[at] = r
	}
	if n == 0 {
		return p.Fill[j]
	}
	sum := 0.0
	for _, r := range best[:n] {
		sum += p.Rows[r*d+j]
	}
	return sum / float64(n)
}
