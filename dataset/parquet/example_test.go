package parquet_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/parquet"
)

// A table is written as Parquet and read as a data set.
func ExampleEncode() {
	path := filepath.Join(os.TempDir(), "largemvc-example.parquet")
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(path)
	err = parquet.Encode(f,
		dataset.Column{Name: "id", Data: []string{"u", "v", "w"}},
		dataset.Column{Name: "length", Data: []float64{1, 2.5, 4}},
		dataset.Column{Name: "width", Data: []float64{3, 0.5, 2}})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.IDs, set.Views[0].Features, set.Views[0].At(1, 0))
	// Output: [u v w] [length width] 2.5
}
