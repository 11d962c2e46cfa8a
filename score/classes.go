package score

// Classes holds the classes of samples, learned from a few known labels.
type Classes struct {
	Labels []int // class of each sample; a known label is never changed
	// Confidence is the estimated probability that the class is right (0 to 1), 1 for a known label. It is learned from the known
	// samples, each labelled by the other ones; nil if there are too few of them.
	Confidence []float64

	// Only a fit sets the next fields; they are nil for new samples.

	Known    []int     // number of known labels of each class; 0: no sample gets this class
	Suspects []Suspect // known labels that the other known samples contradict, the strongest contradiction first
	Clusters []int     // class of each cluster, one to one by the known samples in it; −1: none
}

// Suspect is a known label that may be wrong.
type Suspect struct {
	Sample int     // number of the sample; with several ranks, among the samples of all ranks
	Known  int     // its known label
	Found  int     // its class by the other known samples
	Margin float64 // score of Found less the score of Known; a larger margin is more suspect
}
