package main

import "gonum.org/v1/gonum/stat"

// harmBy is the loss, in points, in ACC and in NMI at once, from which training has harmed a set.
const harmBy = 1.5

// training holds the gain of the trained network over the initial clusters, over some sets.
type training struct {
	Group  string
	Gain   score // mean over sets
	Better int
	Worse  int
	P      float64 // of the sign test
	Harmed []string
}

// trained compares the main row with its own start, set by set.
func (r *results) trained(g group) (training, bool) {
	start, main := r.find(startRow), r.find(mainRow)
	if start < 0 || main < 0 {
		return training{}, false
	}
	out := training{Group: g.name}
	var gains [3][]float64
	for _, i := range g.sets {
		a, b := r.meanScore(main, []int{i}), r.meanScore(start, []int{i})
		for k, d := range []float64{a.ACC - b.ACC, a.NMI - b.NMI, a.ARI - b.ARI} {
			gains[k] = append(gains[k], d)
		}
		switch d := a.ACC - b.ACC; {
		case d > equalDifferences:
			out.Better++
		case d < -equalDifferences:
			out.Worse++
		}
		if a.ACC < b.ACC-harmBy && a.NMI < b.NMI-harmBy {
			out.Harmed = append(out.Harmed, r.sets[i].Name)
		}
	}
	out.Gain = score{ACC: stat.Mean(gains[0], nil), NMI: stat.Mean(gains[1], nil), ARI: stat.Mean(gains[2], nil)}
	out.P = signTest(out.Better, out.Worse)
	return out, true
}
