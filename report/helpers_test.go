package report

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc"
)

// fitted is a small clustering with all that a page may show.
type fitted struct {
	views   []largemvc.View
	c       *largemvc.Clustering
	options Options
	classes []int
}

// hostileID would break out of the page if it were not quoted.
const hostileID = `</script><img src="http://example.com/x.png" onerror="alert(1)">`

// fitSet clusters n samples of three classes in two views. In the first view feature 0 tells class 0 from the others; the
// second view of every tenth sample is that of another class.
func fitSet(t *testing.T, n int) *fitted {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 1))
	const classes, d0, d1 = 3, 12, 8
	centres := make([]float64, classes*(d0+d1))
	for i := range centres {
		centres[i] = rng.NormFloat64()
	}
	x0, x1 := make([]float64, n*d0), make([]float64, n*d1)
	f := &fitted{classes: make([]int, n)}
	var ids []string
	for i := range n {
		k := i * i % 7 % classes
		f.classes[i] = k
		for j := range d0 {
			x0[i*d0+j] = centres[k*(d0+d1)+j] + 0.4*rng.NormFloat64()
		}
		if x0[i*d0] = rng.NormFloat64(); k == 0 {
			x0[i*d0] += 9
		}
		shown := k
		if i%10 == 0 {
			shown = (k + 1) % classes
		}
		for j := range d1 {
			x1[i*d1+j] = centres[shown*(d0+d1)+d0+j] + 0.4*rng.NormFloat64()
		}
		ids = append(ids, fmt.Sprintf("sample-%03d", i))
	}
	ids[1] = hostileID
	names := make([]string, d0)
	for j := range names {
		names[j] = fmt.Sprintf("gene%d", j)
	}
	f.views = []largemvc.View{
		largemvc.DenseView(n, d0, x0).Named("genes").WithFeatures(names), largemvc.DenseView(n, d1, x1).Named("scans"),
	}
	var err error
	f.c, err = largemvc.Fit(context.Background(), f.views, largemvc.Config{Clusters: classes, Epochs: 15, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	f.options = Options{
		Data: "patients.csv", Views: f.views, IDs: ids, Classes: f.classes, ClassNames: []string{"ill <b>", "well", "unknown"},
		Reading: []string{"view 0 genes, from <patients.csv>"}, Facts: []Fact{{"peak memory", "12 MiB"}},
	}
	return f
}

// page writes the page of a clustering.
func (f *fitted) page(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(context.Background(), &b, f.c, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
