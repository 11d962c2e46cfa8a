package score

import "fmt"

// matchCells bounds the cells of a table for matching: 256 MiB of costs.
const matchCells = 1 << 25

// match returns the row of each column in the one-to-one matching of the most samples, −1 for none, and the number of these
// samples.
func (t *Contingency) match() (rows []int, samples int, err error) {
	if r, c := t.Dims(); c > 0 && r > matchCells/c {
		return nil, 0, fmt.Errorf("score: %d classes and %d clusters are too many for a matching, want at most 2²⁵ pairs", r, c)
	}
	cost := make([][]float64, len(t.clusters))
	for j := range cost {
		cost[j] = make([]float64, len(t.classes))
	}
	for _, c := range t.cells {
		cost[c.cluster][c.class] = -float64(c.count)
	}
	rows, sum, err := Assignment(cost)
	return rows, int(-sum), err
}

// Match returns the class of each cluster under the one-to-one matching that puts most samples in the class of their cluster. A
// cluster without a class is not in the map. More than 2²⁵ pairs of classes and clusters are an error.
func (t *Contingency) Match() (map[int]int, error) {
	rows, _, err := t.match()
	if err != nil {
		return nil, err
	}
	class := make(map[int]int, len(rows))
	for j, i := range rows {
		if i >= 0 {
			class[t.clusters[j]] = t.classes[i]
		}
	}
	return class, nil
}

// Accuracy returns the share of samples in the class of their cluster, under the matching of Match (Y. Yang et al., TIP 2010,
// eq. 24). Samples of a cluster without a class count as wrong. It has the errors of Match.
func (t *Contingency) Accuracy() (float64, error) {
	_, matched, err := t.match()
	return float64(matched) / float64(t.samples), err
}

// Purity returns the share of samples that are in the most frequent class of their cluster. It grows with the number of
// clusters, to 1 for clusters of one sample.
func (t *Contingency) Purity() float64 {
	most := make([]int, len(t.clusters))
	for _, c := range t.cells {
		most[c.cluster] = max(most[c.cluster], c.count)
	}
	sum := 0
	for _, m := range most {
		sum += m
	}
	return float64(sum) / float64(t.samples)
}
