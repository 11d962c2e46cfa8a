package score

import "fmt"

// PairCounts counts the unordered pairs of samples. A pair in one cluster is positive (P), any other pair is negative (N). A
// pair is true (T) if cluster and class agree: both are the same or both differ. Else it is false (F).
type PairCounts struct{ TP, FP, FN, TN int64 }

// String returns the four numbers with their meaning.
func (p PairCounts) String() string {
	const text = "pairs in one cluster: %d of one class, %d of two; in two clusters: %d of one class, %d of two"
	return fmt.Sprintf(text, p.TP, p.FP, p.FN, p.TN)
}

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

// F returns 2TP/(2TP+FP+FN), the harmonic mean of precision and recall. It is 0 if one of them is undefined and NaN if both are.
func (p PairCounts) F() float64 { return float64(2*p.TP) / float64(2*p.TP+p.FP+p.FN) }

// Rand returns the Rand index (TP+TN)/(all pairs), NaN for one sample.
func (p PairCounts) Rand() float64 { return float64(p.TP+p.TN) / float64(p.TP+p.FP+p.FN+p.TN) }

// ARI returns the adjusted Rand index. It is 1 if all pairs agree, and for one sample.
func (p PairCounts) ARI() float64 {
	if p.FP == 0 && p.FN == 0 {
		return 1
	}
	tp, fp, fn, tn := float64(p.TP), float64(p.FP), float64(p.FN), float64(p.TN)
	return 2 * (tp*tn - fn*fp) / ((tp+fn)*(fn+tn) + (tp+fp)*(fp+tn))
}

// BCubed holds means over the samples: the precision and recall of the cluster of a sample with respect to its class (A. Bagga
// and B. Baldwin, LREC 1998). A sample counts as a neighbour of itself, so all three are defined.
type BCubed struct{ Precision, Recall, F float64 }

// String returns the scores in per cent.
func (s BCubed) String() string {
	return fmt.Sprintf("B-cubed precision %.1f %%, recall %.1f %%, F %.1f %%", 100*s.Precision, 100*s.Recall, 100*s.F)
}

// BCubed returns the B-cubed scores.
func (t *Contingency) BCubed() BCubed {
	var s BCubed
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
