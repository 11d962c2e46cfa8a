package score

import "math"

// NMIAverage selects the mean of the two entropies by which NMI divides the mutual information.
type NMIAverage int

// The means by which mutual information is normalised.
const (
	NMIArithmetic NMIAverage = iota // (H₁ + H₂)/2, the default of scikit-learn and of most papers
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

// NMI returns I/mean(H₁, H₂) with the mutual information I and the entropies H of classes and clusters. It is 1 if there is one
// class and one cluster, and 0 if there is one class or one cluster only.
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

// VMeasure returns homogeneity I/H(classes), completeness I/H(clusters) and their harmonic mean (A. Rosenberg and J. Hirschberg,
// EMNLP 2007). The first two are 1 if their entropy is 0. The mean is 0 if both are 0.
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
