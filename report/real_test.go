package report

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// Public sets have features that distinguish their clusters. A copy of a view whose rows are those of other samples has no more
// of them than the stated share.
func TestFeaturesOfPublicSets(t *testing.T) {
	testutil.Long(t, "it reads and fits public sets")
	folder := testutil.RealSets(t)
	for _, set := range []struct {
		name  string
		least int // features
	}{{"msrcv1", 1000}, {"skdigits3v", 150}, {"ucidigit", 400}} {
		path := filepath.Join(folder, set.name+".npz")
		data, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		given, err := views.Of(data)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := given[0].Dims()
		given = append(given, given[0].Take(rand.New(rand.NewPCG(1, 5)).Perm(n)).Named("other samples"))
		c, err := largemvc.Fit(context.Background(), given, largemvc.Config{Clusters: data.Classes(), Epochs: largemvc.None})
		if err != nil {
			t.Fatal(err)
		}
		found, err := Features(context.Background(), c, Options{Views: given})
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for _, f := range found.Features {
			if f.View == len(given)-1 {
				wrong++
			}
		}
		all := len(found.Features)
		t.Logf("%s, %v: %d of %d features are of other samples; views %+v", set.name, c.Structure.Judgement, wrong, all,
			found.Views)
		if all < set.least || wrong > all/20 {
			t.Errorf("%s: %d of %d features are of other samples", set.name, wrong, all)
		}
	}
}
