package largemvc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
)

// Clusters samples that are described in two ways.
func ExampleFit() {
	c, err := largemvc.Fit(context.Background(), shapesAndColours(20), largemvc.Config{Clusters: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sizes:", c.Sizes)
	fmt.Println("first sample in cluster", c.Labels[0], "and last sample in cluster", c.Labels[39])
	// Output:
	// sizes: [20 20]
	// first sample in cluster 0 and last sample in cluster 1
}

// Embeddings from another program, one row after another, become a view. The second sample has none.
func ExampleDenseView() {
	nan := float32(math.NaN()) // rows of absent samples may hold anything
	embeddings := []float32{
		0.1, 0.7, 0.2,
		nan, nan, nan,
		0.9, 0.0, 0.1,
	}
	view := largemvc.DenseView(3, 3, embeddings).Named("text").WithPresent([]bool{true, false, true})
	fmt.Println(view)
	for i := range 3 {
		fmt.Print(view.Has(i), " ")
	}
	// Output:
	// text of 3 samples and 3 features
	// true false true
}

// A matrix that holds a sample in each column is given transposed. It is not copied.
func ExampleMatrixView() {
	columns := mat.NewDense(2, 4, []float64{
		1, 2, 3, 4,
		10, 20, 30, 40,
	})
	view := largemvc.MatrixView(columns.T()).WithFeatures([]string{"width", "height"})
	fmt.Println(view)
	fmt.Println(view.FeatureNames(), view.Row(nil, 2))
	// Output:
	// a view of 4 samples and 2 features
	// [width height] [3 30]
}

// Counts of words make a sparse view: a row for each text, a column for each word of all texts.
func ExampleSparseView() {
	texts := [][]string{{"red", "car"}, {"blue", "car", "blue"}, {"red"}}
	var words []string
	rowPtr, cols, counts := []int{0}, []int32{}, []float32{}
	for _, text := range texts {
		times := map[int32]float32{}
		for _, word := range text {
			j := slices.Index(words, word)
			if j < 0 {
				j, words = len(words), append(words, word)
			}
			times[int32(j)]++
		}
		for j := range int32(len(words)) { // columns increase within a row
			if times[j] > 0 {
				cols, counts = append(cols, j), append(counts, times[j])
			}
		}
		rowPtr = append(rowPtr, len(cols))
	}
	view := largemvc.SparseView(len(texts), len(words), rowPtr, cols, counts).WithFeatures(words)
	fmt.Println(view.FeatureNames(), view.Row(nil, 1))
	// Output: [red car blue] [0 1 2]
}

// sensor is a RowSource: its rows are computed when they are read. Rows of a database are read in the same way.
type sensor struct{ samples int }

func (s sensor) Dims() (n, d int) { return s.samples, 4 }

func (s sensor) ReadRows(ctx context.Context, first int, dst []float32) error {
	for i := range len(dst) / 4 {
		row, wobble := dst[4*i:4*i+4], float32((first+i)%7)/10
		if first+i < s.samples/2 {
			copy(row, []float32{0, wobble, 2, 5})
		} else {
			copy(row, []float32{6, 1, wobble, 0})
		}
	}
	return ctx.Err()
}

// A fit trains on 200 of 5,000 samples whose rows are not in memory, and labels all of them.
func ExampleRowsView() {
	views := []largemvc.View{largemvc.RowsView(sensor{samples: 5000}).Named("sensor")}
	c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: 2, FitSamples: 200, Epochs: 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(c.Labels), "labels; first and last sample in one cluster:", c.Labels[0] == c.Labels[4999])
	// Output: 5000 labels; first and last sample in one cluster: false
}

// A callback follows the fit. It returns ErrStop to end the training and to keep what was found.
func ExampleProgress() {
	phase := ""
	config := largemvc.Config{Clusters: 2}
	config.Progress = func(p largemvc.Progress) error {
		if p.Phase != phase {
			phase = p.Phase
			fmt.Println(phase)
		}
		if p.Training() && p.Epoch%50 == 0 {
			fmt.Printf("  epoch %d of %d\n", p.Epoch, p.Epochs)
		}
		return nil
	}
	if _, err := largemvc.Fit(context.Background(), shapesAndColours(20), config); err != nil {
		log.Fatal(err)
	}
	// Output:
	// checks
	// preparation
	// regression
	// neighbours
	// smoothing
	// first anchors
	// training
	//   epoch 50 of 100
	//   epoch 100 of 100
	// clusters
}

// The memory of a fit is estimated from the sizes of the views, before they are read.
func ExampleConfig_EstimateMemory() {
	const samples = 1_000_000
	sizes := []largemvc.View{
		largemvc.DenseView[float32](samples, 512, nil),
		largemvc.DenseView[float32](samples, 300, nil),
	}
	m, err := largemvc.Config{Clusters: 20}.EstimateMemory(sizes)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f GiB, %.0f GiB for the views\n", float64(m.Total)/(1<<30), float64(m.Views)/(1<<30))
	// Output: 6 GiB, 3 GiB for the views
}

// A configuration is checked before any work. The error names the field and the values that it may have.
func ExampleFieldError() {
	err := largemvc.Config{Clusters: 2, Layers: -1}.Check(shapesAndColours(20))
	var field *largemvc.FieldError
	if errors.As(err, &field) {
		fmt.Printf("%s is %v, want %s\n", field.Field, field.Value, field.Want)
	}
	// Output: Layers is -1, want at least 1
}
