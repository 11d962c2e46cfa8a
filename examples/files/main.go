// Command files writes a data set as the files that people have, looks at them, and clusters them.
//
//	go run ./examples/files          # makes files of its own
//	go run ./examples/files a.mat    # takes yours: .mat, .npz, .npy, .csv, HDF5, or one file a view
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, paths []string, w io.Writer) error {
	if len(paths) > 0 {
		return cluster(ctx, paths, w)
	}
	folder, err := os.MkdirTemp("", "largemvc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	npz, csv, err := write(folder)
	if err != nil {
		return err
	}
	if err := cluster(ctx, []string{npz}, w); err != nil {
		return err
	}
	return cluster(ctx, csv, w)
}

// write makes a set and writes it as one .npz file, and as CSV files of one view each, the first with the labels.
func write(folder string) (npz string, csv []string, err error) {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 200, Clusters: 4, Dims: []int{8, 5}, Seed: 1})
	if err != nil {
		return "", nil, err
	}
	npz = filepath.Join(folder, "both.npz")
	if err := set.WriteNPZ(npz, true); err != nil {
		return "", nil, err
	}
	for v := range set.Views {
		x := &set.Views[v]
		columns, err := dataset.MatrixColumns("f", x.Rows, x.Cols, x.Float32)
		if err != nil {
			return "", nil, err
		}
		if v == 0 {
			columns = append(columns, dataset.Column{Name: "label", Data: set.Labels})
		}
		csv = append(csv, filepath.Join(folder, fmt.Sprintf("view%d.csv", v)))
		if err := dataset.WriteCSV(csv[v], columns...); err != nil {
			return "", nil, err
		}
	}
	return npz, csv, nil
}

// cluster says what is in files and clusters their samples.
func cluster(ctx context.Context, paths []string, w io.Writer) error {
	report, err := dataset.Inspect(ctx, paths, dataset.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, report)
	set, err := dataset.Open(ctx, paths, dataset.Options{})
	if err != nil {
		return err
	}
	x, err := views.Of(set)
	if err != nil {
		return err
	}
	clusters := set.Classes()
	if clusters == 0 {
		clusters = 10 // There are no labels to count the classes of.
	}
	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: clusters})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "cluster sizes:", c.Sizes)
	if set.Labels == nil {
		return nil
	}
	s, err := largemvc.Evaluate(set.Labels, c.Labels)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "The clusters of what was read agree with its classes to ACC %.2f, NMI %.2f, ARI %.2f.\n\n",
		s.ACC, s.NMI, s.ARI)
	return err
}
