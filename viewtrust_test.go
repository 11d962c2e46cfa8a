package largemvc

import (
	"bytes"
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"github.com/largemvc/largemvc/machine"
)

// Views that few samples have together are noted, with the figures; others are not.
func TestNotesOnViewsThatNothingJoins(t *testing.T) {
	const n = 100
	views, _ := blobViews(n, 3, 0.5, 151, 6, 5, 4)
	views[0] = views[0].Named("pixels")
	mask := make([][]bool, n)
	for i := range mask {
		mask[i] = []bool{i%2 == 0, i%2 == 0, i%2 == 1}
	}
	mask[7][0] = true
	masked, err := testutil.Masked(views, mask)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Clusters: 3, Epochs: 1}
	got := mustFit(t, masked, config)
	want := "1 of 100 samples have both view 0 (pixels) or view 1 and view 2"
	if len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], want) {
		t.Errorf("%q, want %q", got.Notes, want)
	}
	for i := range mask {
		mask[i] = []bool{i%10 != 0, true, i%10 != 1}
	}
	if masked, err = testutil.Masked(views, mask); err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]View{views, views[:1], masked} {
		if got := mustFit(t, x, config); got.Notes != nil {
			t.Errorf("%q", got.Notes)
		}
	}
}

// Rows of noise and rows of other samples are trusted least, in the training samples and in new ones, before and after the model
// was saved, with exact neighbours and with landmarks, on any number of workers.
func TestViewTrust(t *testing.T) {
	const n, bad = 300, 20
	x, _ := topics(n, 6, 0.1, 152, 60, 50, 40)
	for i := range bad { // the rows of view 1 change places; those of view 2 after them are noise
		for c := range 50 {
			j := (i + 1) % bad
			if i < bad-1 {
				x[1][i*50+c], x[1][j*50+c] = x[1][j*50+c], x[1][i*50+c]
			}
		}
		for c := range 40 {
			x[2][(bad+i)*40+c] = 0.5 + 0.3*math.Sin(float64(i*i+7*c*c+i*c))
		}
	}
	views, _ := bothKinds[float32](x, 60, 50, 40)
	mask := make([][]bool, n)
	for i := range mask {
		mask[i] = []bool{i < 2*bad || i%9 > 0, true, true}
	}
	mask[n-1] = []bool{true, false, false}
	masked, err := testutil.Masked(views, mask)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for name, neighborhood := range map[string]Neighborhood{"exact": {}, "landmarks": {Exact: None}} {
		c := mustFit(t, masked, Config{
			Clusters: 6, Epochs: None, Machine: machine.Options{Workers: 1}, Neighborhood: neighborhood,
		})
		trust, err := c.ViewTrust(ctx, masked)
		if err != nil {
			t.Fatal(err)
		}
		named, others := 0, 0
		for i := range n {
			least := 0
			for v := range trust {
				if !(trust[v][i] >= 0 && trust[v][i] <= 1) {
					t.Fatalf("%s: trust %v of view %d of sample %d", name, trust[v][i], v, i)
				}
				if trust[v][i] < trust[least][i] {
					least = v
				}
			}
			switch {
			case i < bad && least == 1 || i >= bad && i < 2*bad && least == 2:
				named++
			case i >= 2*bad && trust[least][i] < 0.5:
				others++
			}
			if !mask[i][0] && trust[0][i] != 1 || i == n-1 && trust[0][i] != 1 {
				t.Errorf("%s: trust %v of an absent view, or of the only one, of sample %d", name, trust[0][i], i)
			}
		}
		t.Logf("%s: %d of %d named, %d others suspected", name, named, 2*bad, others)
		if named < 34 || others > 26 {
			t.Errorf("%s: %d of %d named, %d others suspected", name, named, 2*bad, others)
		}
		path := t.TempDir() + "/model"
		if err := c.Save(path); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		loaded.config.Machine.Workers = 3
		again, err := loaded.ViewTrust(ctx, masked)
		if err != nil {
			t.Fatal(err)
		}
		for v := range trust {
			for i := range trust[v] {
				if trust[v][i] != again[v][i] {
					t.Fatalf("%s: view %d of sample %d: %v, after loading %v", name, v, i, trust[v][i], again[v][i])
				}
			}
		}
	}
	plain := mustFit(t, views, paper(Config{Clusters: 6, Epochs: None}))
	if _, err := plain.ViewTrust(ctx, views); err == nil || !strings.Contains(err.Error(), "trained without") {
		t.Errorf("%v", err)
	}
	one := mustFit(t, views[:1], Config{Clusters: 6, Epochs: None})
	path := t.TempDir() + "/model"
	if err := one.Save(path); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Predictor{one.Predictor, loaded} {
		if _, err := p.ViewTrust(ctx, views[:1]); err == nil || !strings.Contains(err.Error(), "only one view") {
			t.Errorf("%v", err)
		}
	}
	if saved, err := os.ReadFile(path); err != nil || bytes.Contains(saved, []byte("noise_mean.0")) {
		t.Errorf("the file of a model of one view has what its trust would need, or %v", err)
	}
}
