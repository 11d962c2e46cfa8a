package largemvc

import "math"

// Scores compares clusters with classes. Each lies between 0 and 1 except ARI, which can be slightly negative; higher is
// better. Precision, Recall and F are NaN where they are undefined.
type Scores struct {
	ACC          float64 // share of samples in their class's cluster, under the best one-to-one matching
	NMI          float64 // normalised mutual information, arithmetic mean
	ARI          float64 // adjusted Rand index
	Purity       float64 // share of samples in their cluster's most frequent class
	Precision    float64 // of pairs in one cluster, the share in one class
	Recall       float64 // of pairs in one class, the share in one cluster
	F            float64 // harmonic mean of Precision and Recall
	BCubed       BCubedScores
	Homogeneity  float64 // 1 if every cluster has one class only
	Completeness float64 // 1 if every class lies in one cluster
	VMeasure     float64 // harmonic mean of Homogeneity and Completeness
}

// Evaluate scores the cluster labels of n samples against their class labels. Labels are arbitrary integers, their
// numbers may differ; no score depends on how classes and clusters are named. It returns an error if there is no sample,
// if the lengths differ, or if there are so many classes and clusters (over 2²⁵ pairs) that they cannot be matched.
//
// O(n log n + s²·l) with s and l the smaller and the larger number of classes and clusters.
func Evaluate(classes, clusters []int) (Scores, error) {
	t, err := NewContingency(classes, clusters)
	if err != nil {
		return Scores{}, err
	}
	return t.Scores()
}

// Scores returns all scores of the table; see Evaluate.
func (t *Contingency) Scores() (Scores, error) {
	acc, err := t.Accuracy()
	if err != nil {
		return Scores{}, err
	}
	p := t.Pairs()
	s := Scores{
		ACC: acc, NMI: t.NMI(NMIArithmetic), ARI: p.ARI(), Purity: t.Purity(),
		Precision: p.Precision(), Recall: p.Recall(), F: p.F(), BCubed: t.BCubed(),
	}
	s.Homogeneity, s.Completeness, s.VMeasure = t.VMeasure()
	return s, nil
}

// Accuracy returns the clustering accuracy, the share of samples whose cluster is matched to their class under the
// one-to-one matching of clusters and classes that is best for it (Y. Yang et al., TIP 2010, eq. 24). Where clusters
// outnumber classes, some are matched to none, and their samples count as wrong. Errors are those of Evaluate.
func Accuracy(classes, clusters []int) (float64, error) {
	t, err := NewContingency(classes, clusters)
	if err != nil {
		return 0, err
	}
	return t.Accuracy()
}

// Accuracy returns the clustering accuracy; see the function of that name.
func (t *Contingency) Accuracy() (float64, error) {
	_, matched, err := t.match()
	return float64(matched) / float64(t.samples), err
}

// MatchLabels returns the class of each cluster under the matching of Accuracy; a cluster that is matched to none does
// not occur in it. Errors are those of Evaluate.
func MatchLabels(classes, clusters []int) (map[int]int, error) {
	t, err := NewContingency(classes, clusters)
	if err != nil {
		return nil, err
	}
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

// Purity returns the share of samples that are in the most frequent class of their cluster. It grows with the number of
// clusters, to 1 for clusters of one sample. It returns an error if there is no sample or if the lengths differ.
func Purity(classes, clusters []int) (float64, error) {
	t, err := NewContingency(classes, clusters)
	if err != nil {
		return 0, err
	}
	return t.Purity(), nil
}

// Purity returns the purity; see the function of that name.
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

// ARI returns the adjusted Rand index (L. Hubert and P. Arabie, Journal of Classification 2, 1985): 1 for equal
// partitions, 0 on average for independent ones of the same sizes. It returns an error if there is no sample or if the
// lengths differ.
func ARI(classes, clusters []int) (float64, error) {
	t, err := NewContingency(classes, clusters)
	if err != nil {
		return 0, err
	}
	return t.Pairs().ARI(), nil
}

// PairCounts are the numbers of unordered pairs of samples by whether they share a cluster (positive) and a class (true
// if cluster and class agree about it).
type PairCounts struct{ TP, FP, FN, TN int64 }

// Pairs returns the pair counts.
func (t *Contingency) Pairs() PairCounts {
	pairs := func(k int) int64 { return int64(k) * int64(k-1) / 2 }
	var p PairCounts
	for _, c := range t.cells {
		p.TP += pairs(c.count)
	}
	for _, k := range t.clusterSizes {
		p.FP += pairs(k)
	}
	for _, k := range t.classSizes {
		p.FN += pairs(k)
	}
	p.FP -= p.TP
	p.FN -= p.TP
	p.TN = pairs(t.samples) - p.TP - p.FP - p.FN
	return p
}

// Precision returns TP/(TP+FP), NaN if no pair shares a cluster.
func (p PairCounts) Precision() float64 { return float64(p.TP) / float64(p.TP+p.FP) }

// Recall returns TP/(TP+FN), NaN if no pair shares a class.
func (p PairCounts) Recall() float64 { return float64(p.TP) / float64(p.TP+p.FN) }

// F returns 2TP/(2TP+FP+FN), the harmonic mean of precision and recall; 0 where one of the two is undefined and NaN
// where both are.
func (p PairCounts) F() float64 { return float64(2*p.TP) / float64(2*p.TP+p.FP+p.FN) }

// Rand returns the Rand index (TP+TN)/(all pairs), NaN for one sample.
func (p PairCounts) Rand() float64 { return float64(p.TP+p.TN) / float64(p.TP+p.FP+p.FN+p.TN) }

// ARI returns the adjusted Rand index; 1 if all pairs agree, so for one sample too.
func (p PairCounts) ARI() float64 {
	if p.FP == 0 && p.FN == 0 {
		return 1
	}
	tp, fp, fn, tn := float64(p.TP), float64(p.FP), float64(p.FN), float64(p.TN)
	return 2 * (tp*tn - fn*fp) / ((tp+fn)*(fn+tn) + (tp+fp)*(fp+tn))
}

// BCubedScores average, over the samples, the precision and recall of a sample's cluster with respect to its class (A.
// Bagga and B. Baldwin, LREC 1998); a sample counts as a neighbour of itself, so they are always defined.
type BCubedScores struct{ Precision, Recall, F float64 }

// BCubed returns the B-cubed scores.
func (t *Contingency) BCubed() BCubedScores {
	var s BCubedScores
	for _, c := range t.cells {
		q := float64(c.count) * float64(c.count)
		s.Precision += q / float64(t.clusterSizes[c.cluster])
		s.Recall += q / float64(t.classSizes[c.class])
	}
	s.Precision /= float64(t.samples)
	s.Recall /= float64(t.samples)
	s.F = 2 * s.Precision * s.Recall / (s.Precision + s.Recall)
	return s
}

// NMIAverage is the mean of the two entropies that mutual information is divided by.
type NMIAverage int

// The means by which mutual information is normalised.
const (
	NMIArithmetic NMIAverage = iota // (H₁ + H₂)/2, the default of scikit-learn and of most papers since
	NMIGeometric                    // √(H₁ H₂)
	NMIMax                          // max(H₁, H₂)
	NMIMin                          // min(H₁, H₂)
)

// String returns the name of the mean.
func (a NMIAverage) String() string {
	switch a {
	case NMIGeometric:
		return "geometric"
	case NMIMax:
		return "max"
	case NMIMin:
		return "min"
	}
	return "arithmetic"
}

// NMI returns the normalised mutual information of classes and clusters with the arithmetic mean; (*Contingency).NMI
// has the others. It returns an error if there is no sample or if the lengths differ.
func NMI(classes, clusters []int) (float64, error) {
	t, err := NewContingency(classes, clusters)
	if err != nil {
		return 0, err
	}
	return t.NMI(NMIArithmetic), nil
}

// NMI returns I/mean(H₁, H₂) with the mutual information I and the entropies H of classes and clusters: 1 if there is one
// of each, 0 if there is one of either only.
func (t *Contingency) NMI(average NMIAverage) float64 {
	if len(t.classes) == 1 && len(t.clusters) == 1 {
		return 1
	}
	if len(t.classes) == 1 || len(t.clusters) == 1 {
		return 0
	}
	a, b := t.entropy(t.classSizes), t.entropy(t.clusterSizes)
	var mean float64
	switch average {
	case NMIGeometric:
		mean = math.Sqrt(a * b)
	case NMIMax:
		mean = max(a, b)
	case NMIMin:
		mean = min(a, b)
	default:
		mean = (a + b) / 2
	}
	return min(1, t.mutualInformation()/mean)
}

// VMeasure returns homogeneity I/H(classes), completeness I/H(clusters), 1 where the entropy is 0, and their harmonic mean,
// 0 if both are 0 (A. Rosenberg and J. Hirschberg, EMNLP 2007).
func (t *Contingency) VMeasure() (homogeneity, completeness, v float64) {
	homogeneity, completeness = 1, 1
	information := t.mutualInformation()
	if len(t.classes) > 1 {
		homogeneity = min(1, information/t.entropy(t.classSizes))
	}
	if len(t.clusters) > 1 {
		completeness = min(1, information/t.entropy(t.clusterSizes))
	}
	if homogeneity+completeness > 0 {
		v = 2 * homogeneity * completeness / (homogeneity + completeness)
	}
	return homogeneity, completeness, v
}

// entropy returns −Σ p log p in nats.
func (t *Contingency) entropy(sizes []int) float64 {
	n, h := float64(t.samples), 0.0
	for _, k := range sizes {
		p := float64(k) / n
		h -= p * math.Log(p)
	}
	return h
}

// mutualInformation returns Σ p_ij log(p_ij/(p_i p_j)) in nats; 0 if one of the partitions has one part.
func (t *Contingency) mutualInformation() float64 {
	if len(t.classes) == 1 || len(t.clusters) == 1 {
		return 0
	}
	n, sum := float64(t.samples), 0.0
	for _, c := range t.cells {
		k := float64(c.count)
		sum += k / n * math.Log(n*k/(float64(t.classSizes[c.class])*float64(t.clusterSizes[c.cluster])))
	}
	return max(0, sum)
}
