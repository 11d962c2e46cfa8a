package report

import (
	"context"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
)

// Silhouettes and neighbours agree with their definitions.
func TestApart(t *testing.T) {
	at := []float64{0, 1, 3, 10, 11, 30, 29}
	labels := []int{0, 0, 0, 1, 1, 3, 3} // cluster 2 has no sample
	distance := func(i, j int) float64 { return math.Abs(at[i] - at[j]) }
	a := apartOf(labels, 4, distance)
	// Cluster 0: mean distance (1+3+2)/3 = 2 within, 55/6 to cluster 1.
	first := 0.0
	for _, s := range []struct{ own, next float64 }{{2, 10.5}, {1.5, 9.5}, {2.5, 7.5}} {
		first += (1 - s.own/s.next) / 3
	}
	if !slices.Equal(a.nearest, []int{1, 0, -1, 1}) || math.Abs(a.separation[0]-(1-2*6/55.)) > 1e-12 ||
		math.Abs(a.separation[3]-(1-1/19.)) > 1e-12 || !math.IsNaN(a.separation[2]) || !math.IsNaN(a.silhouette[2]) ||
		math.Abs(a.silhouette[0]-first) > 1e-12 || a.samples != 7 {
		t.Errorf("%+v, want the silhouette %g", a, first)
	}
	if mean := (3*a.silhouette[0] + 2*a.silhouette[1] + 2*a.silhouette[3]) / 7; math.Abs(a.mean-mean) > 1e-12 {
		t.Errorf("mean %g, want %g", a.mean, mean)
	}
	if a := apartOf([]int{1, 1}, 2, distance); a != nil {
		t.Errorf("one cluster: %+v", a)
	}
	if a := apartOf([]int{0, 1}, 2, distance); a.silhouette[0] != 0 || !math.IsNaN(a.separation[1]) {
		t.Errorf("single samples: %+v", a)
	}
}

// Clusters of noise have a silhouette near 0 in the views, whatever training made of them.
func TestSilhouettesAreOfTheViews(t *testing.T) {
	views := noiseViews(rand.New(rand.NewPCG(1, 3)), 200, noises[0].value)
	c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: 3, Epochs: 5, NoStructure: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ofClustering(c)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Views: views}
	if err := o.complete(200, r.dims); err != nil {
		t.Fatal(err)
	}
	a, err := newApart(context.Background(), r, &o)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(a.mean) > 0.06 {
		t.Errorf("the silhouette of noise is %g", a.mean)
	}
}

func TestHeatMap(t *testing.T) {
	feature := func(k, v, j int, effects ...float64) Feature {
		return Feature{Cluster: k, View: v, Column: j, ViewName: fmt.Sprint("v", v), Name: fmt.Sprint(j), Effects: effects}
	}
	nan := math.NaN()
	got := newHeatMap(&Importance{Clusters: make([]ClusterSupport, 3), Features: []Feature{
		feature(0, 0, 5, 3, -0.2, nan), feature(0, 1, 5, 1, -1, 0.5), feature(1, 1, 5, 1, -1, 0.5), feature(1, 0, 2, 0, 0.6, nan),
	}})
	var rows []string
	for _, row := range got.Rows {
		text := row.View + " " + row.Feature + ":"
		for _, c := range row.Cells {
			text += fmt.Sprintf(" %g/%g", c.Size, c.Shade)
			if c.Passed {
				text += "!"
			}
			if c.Below != (c.Size < 0) || c.Known() == math.IsNaN(c.Size) {
				t.Errorf("%+v", c)
			}
		}
		rows = append(rows, text)
	}
	want := []string{"v0 5: 3/1! -0.2/0.1 NaN/NaN", "v1 5: 1/0.5! -1/0.5! 0.5/0.25", "v0 2: 0/0 0.6/0.3! NaN/NaN"}
	if !slices.Equal(rows, want) || got.Clusters != 3 {
		t.Errorf("%q, want %q", rows, want)
	}
	if newHeatMap(&Importance{Clusters: make([]ClusterSupport, 3)}) != nil {
		t.Error("there is a heat map without features")
	}
}

// The page holds the labels as a CSV file, unless they are too many.
func TestLabelsFile(t *testing.T) {
	url := string(labelsURL([]int{2, 0}, []string{"a,\"b\"", "c"}))
	text, err := base64.StdEncoding.DecodeString(url[strings.Index(url, ",")+1:])
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || fmt.Sprint(records) != "[[id sample label] [a,\"b\" 0 2] [c 1 0]]" {
		t.Errorf("%q, %v", records, err)
	}
	want := base64.StdEncoding.EncodeToString([]byte("sample,label\n0,1\n"))
	if got := string(labelsURL([]int{1}, nil)); !strings.HasSuffix(got, want) {
		t.Errorf("%s", got)
	}
	if got := labelsURL(make([]int, mostLabelBytes/8), nil); got != "" {
		t.Errorf("%d bytes", len(got))
	}
}
