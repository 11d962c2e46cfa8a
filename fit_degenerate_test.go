package largemvc

import (
	"fmt"
	"slices"
	"testing"
)

// repeatedRows are n rows of d features, row i being row i%k of k random ones.
func repeatedRows(n, k, d int, seed uint64) []float64 {
	x, _ := blobs(k, k, 0, seed, d)
	out := make([]float64, 0, n*d)
	for i := range n {
		out = append(out, x[0][i%k*d:(i%k+1)*d]...)
	}
	return out
}

func TestFitDegenerate(t *testing.T) {
	zero := make([]float64, 30*4) // three distinct rows, one of them zero, one twice another
	for i := range zero {
		zero[i] = float64((i / 4 % 3) * (i%4 + 1) * (i % 4))
	}
	few := repeatedRows(30, 3, 4, 17)
	many := repeatedRows(90, 3, 4, 17) // more equal rows than neighbours
	blob := func(n, c int, noise float64, dims ...int) []View {
		views, _ := blobViews(n, c, noise, 1, dims...)
		return views
	}
	for _, x := range []struct {
		name  string
		views []View
		c     Config
		sizes []int // of the clusters found
	}{
		{
			"fewer distinct rows than clusters, raw", []View{DenseView(30, 4, zero)},
			Config{Clusters: 5, Preprocess: None, Neighborhood: Neighborhood{Neighbors: None}}, []int{10, 10, 10},
		},
		{"fewer distinct rows than clusters", []View{DenseView(30, 4, few)}, Config{Clusters: 5}, []int{10, 10, 10}},
		{"more equal rows than neighbours", []View{DenseView(90, 4, many)}, Config{Clusters: 5}, []int{30, 30, 30}},
		{
			"equal rows and landmarks", []View{DenseView(90, 4, many)},
			Config{Clusters: 5, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{30, 30, 30},
		},
		{"all rows equal", []View{DenseView(20, 4, repeatedRows(20, 1, 4, 18))}, Config{Clusters: 4}, []int{20}},
		{
			"all rows equal, landmarks", []View{DenseView(20, 4, repeatedRows(20, 1, 4, 18))},
			Config{Clusters: 4, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{20},
		},
		{"one sample", blob(1, 1, 1, 5, 3), Config{Clusters: 1}, []int{1}},
		{
			"one sample, landmarks", blob(1, 1, 1, 5, 3),
			Config{Clusters: 1, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{1},
		},
		{"two samples", blob(2, 2, 1, 8, 2), Config{Clusters: 2}, []int{1, 1}},
		{
			"two samples, landmarks", blob(2, 2, 1, 8, 2),
			Config{Clusters: 2, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{1, 1},
		},
		{"three samples", blob(3, 3, 1, 8, 4), Config{Clusters: 3}, []int{1, 1, 1}},
		{
			"three samples, landmarks", blob(3, 3, 1, 8, 4),
			Config{Clusters: 3, Neighborhood: Neighborhood{Neighbors: 10, Exact: None, Landmarks: 3}}, []int{1, 1, 1},
		},
		{"as many clusters as samples", blob(6, 6, 1, 8, 9), Config{Clusters: 6}, []int{1, 1, 1, 1, 1, 1}},
		{"fewer samples than directions", blob(12, 2, 0.1, 300), Config{Clusters: 2}, []int{6, 6}},
		{"one feature", blob(10, 2, 0.01, 1), Config{Clusters: 2, Preprocess: PreprocessBalanced}, []int{5, 5}},
		{"two features", blob(10, 2, 0.01, 2), Config{Clusters: 2, Preprocess: PreprocessBalanced}, []int{5, 5}},
		{"one cluster", blob(10, 2, 0.01, 2, 3), Config{Clusters: 1}, []int{10}},
	} {
		for _, variant := range []variant{large, amvc, rmvc} {
			for _, neighbors := range []int{0, None} {
				if x.c.Neighborhood.Neighbors != 0 && (x.c.Neighborhood.Neighbors == None) != (neighbors == None) {
					continue
				}
				t.Run(fmt.Sprintf("%s, %v, neighbours %d", x.name, variant, neighbors), func(t *testing.T) {
					c := x.c
					c.Epochs, c.Neighborhood.Neighbors = 10, neighbors
					c = variant.of(c)
					got := mustFit(t, x.views, c)
					if got.Clusters != len(x.sizes) || !slices.Equal(got.Sizes, x.sizes) {
						t.Errorf("%d clusters of sizes %v, want %v", got.Clusters, got.Sizes, x.sizes)
					}
					checkResult(t, x.views, got)
				})
			}
		}
	}
}
