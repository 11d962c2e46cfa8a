package unfold

// The number of n×m arrays that the graph of a network of per-module ops holds in training, for each view and layer and besides:
// the values of all nodes, forward and backward, which Gorgonia keeps. Measured, rounded up.
const (
	arraysOfView = 24
	arraysOfRest = 12
)

// StateBytes is about the memory of the values of a network of per-module ops in training, with elements of a size. What the
// modules' own ops make is not in it.
func StateBytes(samples, anchors, layers, views int, size int64) int64 {
	return int64(samples) * int64(anchors) * size * int64(arraysOfView*views*layers+arraysOfRest)
}

// EncoderBytes is the memory of the views as nodes, of width columns together, and of the copies that an encoder gets.
func EncoderBytes(samples, width int, size int64) int64 {
	return 2 * int64(samples) * int64(width) * size
}
