package score

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The counts of pairs are those of all pairs, and what is made of them is what its definitions say.
func TestPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 60
	classes, clusters := make([]int, n), make([]int, n)
	for i := range n {
		classes[i] = rng.IntN(4)
		clusters[i] = (classes[i] + rng.IntN(2)) % 3
	}
	var want PairCounts
	for i := range n {
		for j := range i {
			switch together := clusters[i] == clusters[j]; {
			case together && classes[i] == classes[j]:
				want.TP++
			case together:
				want.FP++
			case classes[i] == classes[j]:
				want.FN++
			default:
				want.TN++
			}
		}
	}
	table, err := NewContingency(classes, clusters)
	if err != nil {
		t.Fatal(err)
	}
	p := table.Pairs()
	if p != want {
		t.Fatalf("%+v, want %+v", p, want)
	}
	tp, fp, fn, tn := float64(p.TP), float64(p.FP), float64(p.FN), float64(p.TN)
	precision, recall, all := tp/(tp+fp), tp/(tp+fn), tp+fp+fn+tn
	chance := (tp + fp) * (tp + fn) / all // Hubert and Arabie: what is above chance, of what can be
	for name, x := range map[string][2]float64{
		"precision": {p.Precision(), precision}, "recall": {p.Recall(), recall},
		"F": {p.F(), 2 * precision * recall / (precision + recall)}, "Rand": {p.Rand(), (tp + tn) / all},
		"ARI": {p.ARI(), (tp - chance) / ((tp+fp+tp+fn)/2 - chance)},
	} {
		if math.Abs(x[0]-x[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, x[0], x[1])
		}
	}
	for _, c := range []struct {
		p    PairCounts
		want float64
	}{
		{PairCounts{}, 1}, {PairCounts{TN: 3}, 1}, {PairCounts{TP: 3}, 1},
		{PairCounts{FP: 1, TN: 2}, 0}, {PairCounts{FN: 1, TN: 2}, 0},
	} {
		if x := c.p.ARI(); x != c.want {
			t.Errorf("the ARI of %+v is %v, want %v", c.p, x, c.want)
		}
	}
}
