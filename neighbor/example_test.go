package neighbor_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/largemvc/largemvc/neighbor"
)

// cols is the number of features of the examples, and ld the stride of their matrices.
const cols = 2

var ld = neighbor.Stride(cols)

// all is the one space of a single view.
var all = []neighbor.Space{{Views: []int{0}, Weight: 1}}

// twoGroups returns n rows of norm 1, half of them at angles from 0° to 24°, half at angles from 61° to 85°.
func twoGroups(n int) []float64 {
	x := make([]float64, n*ld)
	for i := range n {
		degrees := float64(3 * (i % 9))
		if i >= n/2 {
			degrees = 85 - degrees
		}
		x[i*ld+1], x[i*ld] = math.Sincos(degrees * math.Pi / 180)
	}
	return x
}

// view returns the view of n rows in x.
func view(n int, x []float64) neighbor.View[float64] {
	v, err := neighbor.Dense(n, cols, ld, x, nil)
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// Samples are smoothed along their neighbours, and a new sample as they were.
func Example() {
	ctx := context.Background()
	x := twoGroups(40)
	index, err := neighbor.Build(ctx, []neighbor.View[float64]{view(40, x)}, all, neighbor.Config{})
	if err != nil {
		log.Fatal(err)
	}
	smooth := neighbor.Block[float64]{X: append([]float64(nil), x...), Ld: ld, Cols: cols} // the index keeps x
	filters, err := neighbor.Smooth(ctx, index.Operator(), []neighbor.Block[float64]{smooth}, 20, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("samples 0 and 8: cosine %.2f before, %.2f after\n", cosine(x, x[8*ld:]), cosine(smooth.X, smooth.X[8*ld:]))

	row := make([]float64, ld)
	row[0], row[1] = 0.99, 0.1
	links, err := index.Attach(ctx, []neighbor.View[float64]{view(1, row)}, 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := filters[0].Apply(ctx, links, neighbor.Block[float64]{X: row, Ld: ld, Cols: cols}, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("a new sample and sample 0: cosine %.2f\n", cosine(row, smooth.X))
	// Output:
	// samples 0 and 8: cosine 0.91 before, 0.99 after
	// a new sample and sample 0: cosine 1.00
}

func cosine(a, b []float64) float64 {
	return (a[0]*b[0] + a[1]*b[1]) / (math.Hypot(a[0], a[1]) * math.Hypot(b[0], b[1]))
}

// The nearest neighbours of every sample, and the graph of those who are neighbours of each other.
func ExampleNearest() {
	ctx := context.Background()
	lists, err := neighbor.Nearest(ctx, []neighbor.View[float64]{view(18, twoGroups(18))}, all, 2, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("nearest to sample 0:", lists[0].Index[:2], "and to sample 8:", lists[0].Index[8*2:9*2])
	graph, err := neighbor.Mutual(lists[0], 0) // no weight for one-sided neighbours
	if err != nil {
		log.Fatal(err)
	}
	mutual, _ := graph.Links().Row(0)
	fmt.Println("mutual neighbours of sample 0:", mutual)
	// Output:
	// nearest to sample 0: [1 2] and to sample 8: [7 6]
	// mutual neighbours of sample 0: [1]
}

// Two views: the space of both side by side has half of the weight, the spaces of the single views have the other half.
func ExampleSpaces() {
	for _, space := range neighbor.Spaces([]int{0, 1}) {
		fmt.Println("views", space.Views, "weight", space.Weight)
	}
	// Output:
	// views [0 1] weight 0.5
	// views [0] weight 0.25
	// views [1] weight 0.25
}

// A graph of your own: which samples were bought together. The weight of a pair is 1/√(degree · degree), so that no eigenvalue is
// above 1.
func ExampleNewGraph() {
	const half = 1 / math.Sqrt2
	// Sample 1 was bought with sample 0 and with sample 2: its degree is 2, that of the others 1.
	links, err := neighbor.NewLinks(3, 3, []int{0, 1, 3, 4}, []int32{1, 0, 2, 1}, []float64{half, half, half, half})
	if err != nil {
		log.Fatal(err)
	}
	graph, err := neighbor.NewGraph(links)
	if err != nil {
		log.Fatal(err)
	}
	x, product := make([]float64, 3*ld), make([]float64, 3*ld)
	x[1*ld] = 1 // sample 1 alone
	if err := neighbor.Mul(context.Background(), graph, 0, product, x, ld); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f %.2f %.2f\n", product[0], product[ld], product[2*ld])
	// Output: 0.71 0.00 0.71
}

// Samples of the same shop are neighbours: shops are the atoms of a factor. With these weights A·x is the mean over the shop.
func ExampleNewFactor() {
	const pair = 1 / math.Sqrt2 // 1/√(samples of the shop)
	links, err := neighbor.NewLinks(3, 2, []int{0, 1, 2, 3}, []int32{0, 1, 0}, []float64{pair, 1, pair})
	if err != nil {
		log.Fatal(err)
	}
	factor, err := neighbor.NewFactor(links)
	if err != nil {
		log.Fatal(err)
	}
	x, mean := make([]float64, 3*ld), make([]float64, 3*ld)
	x[0], x[ld], x[2*ld] = 1, 5, 3
	if err := neighbor.Mul(context.Background(), factor, 0, mean, x, ld); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f %.1f %.1f\n", mean[0], mean[ld], mean[2*ld])
	// Output: 2.0 5.0 2.0
}

// The row that a sample lacks is filled with the mean of its neighbours' rows.
func ExampleFill() {
	ctx := context.Background()
	index, err := neighbor.Build(ctx, []neighbor.View[float64]{view(40, twoGroups(40))}, all,
		neighbor.Config{Neighbors: 5})
	if err != nil {
		log.Fatal(err)
	}
	other := neighbor.Block[float64]{X: twoGroups(40), Ld: ld, Cols: cols, Present: make([]bool, 40)}
	for i := range other.Present {
		other.Present[i] = i != 30
	}
	filled, err := neighbor.Fill(ctx, index.Operator(), []neighbor.Block[float64]{other}, 2, 0)
	if err != nil {
		log.Fatal(err)
	}
	row := filled[0].X[30*ld:]
	fmt.Println("sample 30 has a row of its group:", row[1] > row[0])
	// Output: sample 30 has a row of its group: true
}

// An index of landmarks is stored as its state. The restored index attaches new samples without the old ones.
func ExampleRestore() {
	ctx := context.Background()
	index, err := neighbor.Build(ctx, []neighbor.View[float64]{view(400, twoGroups(400))}, all,
		neighbor.Config{ExactUpTo: 100, Landmarks: 8, Nearest: 2})
	if err != nil {
		log.Fatal(err)
	}
	state := index.State() // exported fields alone: a program can write it in any form
	restored, err := neighbor.Restore(ctx, state, nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	links, err := restored.Attach(ctx, []neighbor.View[float64]{view(2, twoGroups(2))}, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(links.Len(), "samples,", links.Count(), "links to", links.Atoms(), "landmarks")
	// Output: 2 samples, 4 links to 8 landmarks
}

// A product is computed a few rows at a time, as a program does that does not hold all of them.
func ExampleNewParts() {
	ctx := context.Background()
	x := twoGroups(40)
	index, err := neighbor.Build(ctx, []neighbor.View[float64]{view(40, x)}, all, neighbor.Config{})
	if err != nil {
		log.Fatal(err)
	}
	parts, err := neighbor.NewParts[float64](index.Operator())
	if err != nil {
		log.Fatal(err)
	}
	whole, some := make([]float64, 40*ld), make([]float64, 10*ld)
	if err := neighbor.Mul(ctx, index.Operator(), 0, whole, x, ld); err != nil {
		log.Fatal(err)
	}
	parts.Gather(20, 30, some, x, ld) // the table of x is x itself for a Graph
	fmt.Println("rows 20 to 29 are equal:", math.Abs(some[0]-whole[20*ld]) < 1e-12)
	// Output: rows 20 to 29 are equal: true
}
