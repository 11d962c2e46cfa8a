package largemvc

import (
	"fmt"

	"github.com/largemvc/largemvc/score"
)

// Scores compares clusters with classes. Each score lies between 0 and 1, except ARI, which can be slightly negative. Higher
// is better. Undefined Precision, Recall and F are NaN. Package score has more measures and the contingency table.
type Scores struct {
	ACC          float64 // share of samples in the cluster of their class, under the best one-to-one matching
	NMI          float64 // normalised mutual information, arithmetic mean
	ARI          float64 // adjusted Rand index
	Purity       float64 // share of samples in the most frequent class of their cluster
	Precision    float64 // share of pairs in the same class, of the pairs in the same cluster
	Recall       float64 // share of pairs in the same cluster, of the pairs in the same class
	F            float64 // harmonic mean of Precision and Recall
	BCubed       score.BCubed
	Homogeneity  float64 // 1 if every cluster has one class only
	Completeness float64 // 1 if every class lies in one cluster
	VMeasure     float64 // harmonic mean of Homogeneity and Completeness
}

// String returns ACC, NMI, ARI and purity in per cent.
func (s Scores) String() string {
	return fmt.Sprintf("ACC %.1f %%, NMI %.1f %%, ARI %.1f %%, purity %.1f %%", 100*s.ACC, 100*s.NMI, 100*s.ARI, 100*s.Purity)
}

// Evaluate scores the cluster labels of n samples against their class labels. Labels are arbitrary integers; classes and
// clusters may differ in number. Renaming classes or clusters changes no score. Evaluate returns an error if there are no
// samples, if the lengths differ, or if there are more than 2²⁵ pairs of a class and a cluster.
//
// It takes O(n log n + s²·l), where s and l are the smaller and the larger number of classes and clusters.
func Evaluate(classes, clusters []int) (Scores, error) {
	t, err := score.NewContingency(classes, clusters)
	if err != nil {
		return Scores{}, err
	}
	acc, err := t.Accuracy()
	if err != nil {
		return Scores{}, err
	}
	p := t.Pairs()
	s := Scores{
		ACC: acc, NMI: t.NMI(score.NMIArithmetic), ARI: p.ARI(), Purity: t.Purity(),
		Precision: p.Precision(), Recall: p.Recall(), F: p.F(), BCubed: t.BCubed(),
	}
	s.Homogeneity, s.Completeness, s.VMeasure = t.VMeasure()
	return s, nil
}
