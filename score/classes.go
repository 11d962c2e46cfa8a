package score

// Classes has the classes of samples by a few known labels.
type Classes struct {
	Labels []int // class of each sample; a known label is never changed
	// Confidence has the estimated probability that the class is right (0 to 1), 1 for a known label. It is learned from the
	// known samples, each labelled by the others; nil if there are too few of them.
	Confidence []float64

	// The next fields are of a fit; they are nil for new samples.

	Known    []int     // number of known labels of each class; 0: no sample gets this class
	Suspects []Suspect // known labels that the other known samples contradict, the strongest contradiction first
	Clusters []int     // class of each cluster, one to one by the known samples in it; −1: none
}

// Suspect is a known label that may be wrong.
type Suspect struct {
	Sample int     // number of the sample, on several ranks among the samples of all
	Known  int     // its known label
	Found  int     // its class by the other known samples
	Margin float64 // score of Found above the score of Known; the larger, the more suspect
}
