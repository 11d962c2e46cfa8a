package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/parquet"
	"github.com/largemvc/largemvc/dataset/remote"
)

// A file on a server is read row by row.
func ExampleOpen() {
	var table bytes.Buffer
	err := parquet.Encode(&table, dataset.Column{Name: "length", Data: []float64{1, 2.5, 4}},
		dataset.Column{Name: "width", Data: []float64{3, 0.5, 2}})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(table.Bytes()))
	}))
	defer server.Close()

	ctx := context.Background()
	f, err := remote.Open(ctx, server.URL+"/leaves.parquet", remote.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Size() == int64(table.Len()))
	rows, err := dataset.OpenRows(ctx, []string{server.URL + "/leaves.parquet"},
		dataset.Options{OpenURL: remote.Options{}.OpenURL})
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	x := make([]float32, 2)
	if err := rows.Views[0].ReadRows(ctx, 1, x); err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows.Views[0].Name, rows.Views[0].Features, x)
	// Output:
	// true
	// leaves [length width] [2.5 0.5]
}
