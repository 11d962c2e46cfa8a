package report

import (
	"context"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
)

// The classes come in the order of the clusters that they are matched to, those without one at the end.
func TestClassTable(t *testing.T) {
	//        class 0 is in cluster 1, class 1 in cluster 0, class 2 in both
	classes := []int{0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2}
	labels := []int{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1}
	got, err := newClassTable(classes, labels, []string{"cats", "dogs", "cows"})
	if err != nil {
		t.Fatal(err)
	}
	want := []classRow{
		{"dogs", 5, []classCell{{5, 1, true}, {0, 0, false}}},
		{"cats", 4, []classCell{{1, 0.25, false}, {3, 0.75, true}}},
		{"cows", 2, []classCell{{1, 0.5, false}, {1, 0.5, false}}},
	}
	if !reflect.DeepEqual(got.Rows, want) || !reflect.DeepEqual(got.Columns, []int{0, 1}) || got.Count != 3 {
		t.Errorf("columns %v, rows %v", got.Columns, got.Rows)
	}
	if math.Abs(got.ACC-8./11) > 1e-12 || math.Abs(got.Purity-8./11) > 1e-12 {
		t.Errorf("accuracy %v, purity %v", got.ACC, got.Purity)
	}
}

// A model that is not there is an error.
func TestNoModel(t *testing.T) {
	err := WritePredictions(context.Background(), io.Discard, nil, nil, Options{})
	if err == nil || !strings.Contains(err.Error(), "the predictor is empty") {
		t.Error(err)
	}
}
