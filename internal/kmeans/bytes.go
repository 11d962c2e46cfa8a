package kmeans

// Bytes is about the memory of a Run with the given numbers of clusters and starts, over n samples of width numbers of size
// bytes.
func Bytes(clusters, starts, n, width int, size int64) int64 {
	rows := int64(n)
	b := rows * (8 + 5*8) // norms, labels before and after, the order of updates
	if n > 5000 {         // the starts run on a sample
		b += int64(min(n, max(2048, min(100*clusters, 10000), clusters))) * (int64(width)*size + 6*8)
	}
	group := int64(max(1, 256/clusters)) // starts that advance together: centroids, their sums and packed forms
	return b + min(group, int64(starts))*int64(clusters)*int64(width)*(8+4*size)
}
