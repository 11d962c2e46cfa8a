package largemvc

import (
	"fmt"

	"github.com/largemvc/largemvc/score"
)

// Scores compares clusters with classes. Each lies between 0 and 1 except ARI, which can be slightly negative; higher is
// better. Precision, Recall and F are NaN where they are undefined. Package score has the table behind them, and more.
type Scores struct {
	ACC          float64 // share of samples in their class's cluster, under the best one-to-one matching
	NMI          float64 // normalised mutual information, arithmetic mean
	ARI          float64 // adjusted Rand index
	Purity       float64 // share of samples in their cluster's most frequent class
	Precision    float64 // of pairs in one cluster, the share in one class
	Recall       float64 // of pairs in one class, the share in one cluster
	F            float64 // harmonic mean of Precision and Recall
	BCubed       score.BCubed
	Homogeneity  float64 // 1 if every cluster has one class only
	Completeness float64 // 1 if every class lies in one cluster
	VMeasure     float64 // harmonic mean of Homogeneity and Completeness
}

// String returns the scores that are most often reported, in percent.
func (s Scores) String() string {
	return fmt.Sprintf("ACC %.1f %%, NMI %.1f %%, ARI %.1f %%, purity %.1f %%", 100*s.ACC, 100*s.NMI, 100*s.ARI, 100*s.Purity)
}

// Evaluate scores the cluster labels of n samples against their class labels. Labels are arbitrary integers, their
// numbers may differ; no score depends on how classes and clusters are named. It returns an error if there is no sample,
// if the lengths differ, or if there are so many classes and clusters (over 2²⁵ pairs) that they cannot be matched.
//
// O(n log n + s²·l) with s and l the smaller and the larger number of classes and clusters.
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
