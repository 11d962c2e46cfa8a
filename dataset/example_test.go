package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/largemvc/largemvc/dataset"
)

// Write a set with two views, read it again, and make it incomplete.
func Example() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "toy.npz")
	err = dataset.WriteNPZ(path, true,
		dataset.Array{Name: "X0", Shape: []int{4, 2}, Data: []float32{0, 1, 0, 2, 5, 6, 5, 7}},
		dataset.Array{Name: "X1", Shape: []int{4, 1}, Data: []uint8{1, 1, 9, 9}},
		dataset.Array{Name: "y", Data: []int{1, 1, 2, 2}})
	if err != nil {
		log.Fatal(err)
	}
	set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Samples(), "samples,", set.Dims(), "features,", set.Labels, set.LabelNames)

	mask, err := dataset.Drop(set.Samples(), len(set.Views), 0.25, 1)
	if err != nil {
		log.Fatal(err)
	}
	part, err := set.Incomplete(mask)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f %% of the view rows are absent\n", 100*part.MissingRate())
	// Output:
	// 4 samples, [2 1] features, [0 0 1 1] [1 2]
	// 25 % of the view rows are absent
}

// A CSV file in memory: the header names the column of the labels.
func ExampleRead() {
	text := []byte("width,height,label\n1,2,cat\n3,4,dog\n")
	set, err := dataset.Read(context.Background(), "animals.csv", bytes.NewReader(text), int64(len(text)),
		dataset.Options{Float: 64})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Views[0].Float64, set.Labels, set.LabelNames)

	text[19] = 'x'
	_, err = dataset.Read(context.Background(), "animals.csv", bytes.NewReader(text), int64(len(text)), dataset.Options{})
	what, _, _ := strings.Cut(err.Error(), ";") // what to do follows
	fmt.Println(what)
	// Output:
	// [1 2 3 4] [0 1] [cat dog]
	// dataset: animals.csv: has a value that is not a number in column width: "x" in line 2
}

func ExampleEncodeCSV() {
	err := dataset.EncodeCSV(os.Stdout, dataset.Column{Name: "label", Data: []int{1, 0, 1}},
		dataset.Column{Name: "distance", Data: []float64{0.5, 0.25, 2}})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// label,distance
	// 1,0.5
	// 0,0.25
	// 1,2
}

// Two views of the columns of one table, with labels and ids.
func ExampleOptions() {
	table := "id,width,height,price_may,price_june,kind\na1,1,2,9,8,cat\nb7,3,4,7,7,dog\n"
	set, err := dataset.Read(context.Background(), "animals.csv", strings.NewReader(table), int64(len(table)), dataset.Options{
		Labels: "kind",
		IDs:    "id",
		Table: []dataset.TableView{
			{Name: "shape", Columns: []string{"width", "height"}},
			{Name: "price", Columns: []string{"price_*"}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, view := range set.Views {
		fmt.Println(view.Name, view.Features, view.Float32)
	}
	fmt.Println(set.IDs, set.LabelNames)
	// Output:
	// shape [width height] [1 2 3 4]
	// price [price_may price_june] [9 8 7 7]
	// [a1 b7] [cat dog]
}

// A set of your own, with a dense and a sparse view, is written for NumPy and for Open.
func ExampleSet_WriteNPZ() {
	set := &dataset.Set{
		Views: []dataset.View{
			{Name: "size", Rows: 3, Cols: 2, Float32: []float32{1, 2, 3, 4, 5, 6}},
			{Name: "words", Rows: 3, Cols: 1000, Sparse: &dataset.CSR{
				RowPtr: []int{0, 1, 1, 3}, Col: []int32{7, 2, 999}, Float32: []float32{1, 2, 1}, // the second row is empty
			}},
		},
		Labels: []int{0, 0, 1}, LabelNames: []string{"1", "2"},
	}
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "set.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		log.Fatal(err)
	}
	again, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Samples(), "samples,", again.Dims(), "features,", again.Classes(), "classes")
	fmt.Println("sparse:", again.Views[1].Sparse != nil, "value:", again.Views[1].At(2, 999))
	// Output:
	// 3 samples, [2 1000] features, 2 classes
	// sparse: true value: 1
}

// A file is looked at before it is read: a column that never changes, and a value that is missing.
func ExampleInspect() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "animals.csv")
	if err := os.WriteFile(path, []byte("width,height,legs\n1,2,4\n3,NaN,4\n5,1,4\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	r, err := dataset.Inspect(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	view := r.Views[0]
	fmt.Println(r.Samples, "samples,", view.Features, "features,", view.ConstantColumns, "of them constant")
	fmt.Printf("%d NaN, the first in row %d and column %d\n", view.NaN, view.FirstBad.Row, view.FirstBad.Column)
	fmt.Println("can be read:", r.Problem == nil)
	// Output:
	// 3 samples, 3 features, 1 of them constant
	// 1 NaN, the first in row 1 and column 1
	// can be read: false
}

// Rows are read from disk when they are asked for.
func ExampleOpenRows() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "embeddings.npz")
	err = dataset.WriteNPZ(path, false, // not compressed: its rows are read in place
		dataset.Array{Name: "X0", Shape: []int{4, 2}, Data: []float32{0, 1, 0, 2, 5, 6, 5, 7}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	set, err := dataset.OpenRows(ctx, []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	rows := make([]float32, 2*2)
	if err := set.Views[0].ReadRows(ctx, 1, rows); err != nil { // rows 1 and 2
		log.Fatal(err)
	}
	fmt.Println(rows, "in place:", set.Views[0].InPlace())
	// Output: [0 2 5 6] in place: true
}

// A set with known clusters, in which a tenth of the rows of each view is noise.
func ExampleSynthetic() {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{
		Samples: 1000, Clusters: 4, Dims: []int{20, 8}, Corrupted: 0.1, Seed: 7,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set)
	// Output: synthetic: 1000 samples, views of [20 8] features, 4 classes
}

// A matrix becomes the columns of a CSV file.
func ExampleMatrixColumns() {
	columns, err := dataset.MatrixColumns("h", 2, 3, []float64{1, 2, 3, 4, 5, 6})
	if err != nil {
		log.Fatal(err)
	}
	columns = append(columns, dataset.Column{Name: "label", Data: []string{"a", "b"}})
	if err := dataset.EncodeCSV(os.Stdout, columns...); err != nil {
		log.Fatal(err)
	}
	// Output:
	// h0,h1,h2,label
	// 1,2,3,a
	// 4,5,6,b
}

// Labels in a file of their own, in another order: their ids put them beside the samples.
func ExampleReadLabels() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "species.csv")
	if err := os.WriteFile(path, []byte("id,label\nb,dog\na,cat\nc,cat\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	l, err := dataset.ReadLabels(context.Background(), path, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	rows, by, err := l.Align("the data", []string{"a", "b", "c"}, 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows, by)
	_, _, err = l.Align("the data", nil, 3) // data without ids
	fmt.Println(err != nil)
	// Output:
	// [1 0 2] id
	// true
}

// Labels of some samples: −1 stands for the others.
func ExampleReadKnown() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "known.csv")
	if err := os.WriteFile(path, []byte("id,label\nd,dog\na,cat\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	l, err := dataset.ReadKnown(context.Background(), path, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	labels, by, err := l.AlignSome("the data", []string{"a", "b", "c", "d"}, 4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(labels, l.Names, by)
	// Output: [0 -1 -1 1] [cat dog] id
}
