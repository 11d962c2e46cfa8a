package report

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
)

// The section names the samples that fit no cluster, and only these.
func TestOutliers(t *testing.T) {
	const n, d = 300, 6
	rng := rand.New(rand.NewPCG(1, 5))
	x, ids := make([]float64, n*d), make([]string, n)
	for i := range n {
		ids[i] = "common"
		for j := range d {
			x[i*d+j] = rng.NormFloat64()
		}
		x[i*d+i%3] += 9
	}
	ids[17] = "stranger"
	for j := range d {
		x[17*d+j] += 40
	}
	views := []largemvc.View{largemvc.DenseView(n, d, x)}
	for _, judged := range []bool{true, false} {
		c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: 3, Epochs: 2, NoStructure: !judged})
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := Write(context.Background(), &page, c, Options{IDs: ids}); err != nil {
			t.Fatal(err)
		}
		text := page.String()
		_, section, found := strings.Cut(text, `<section id="outliers"`)
		if found != judged {
			t.Fatalf("judged %v: there is a section: %v", judged, found)
		}
		if again := strings.Contains(text, "give it the same label again"); again != judged {
			t.Errorf("judged %v: confidence is calibrated: %v", judged, again)
		}
		if !judged {
			continue
		}
		section, _, _ = strings.Cut(section, "</section>")
		if !strings.Contains(section, "stranger") || strings.Contains(section, "common") ||
			!strings.Contains(section, "1 sample at 5 or more") || !strings.Contains(text, "Samples that fit no cluster: 1 (") {
			t.Errorf("the section is %s", section)
		}
	}
}
