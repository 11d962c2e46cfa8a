package largemvc

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What a user prints says what it is, without the fields of internal types.
func TestStrings(t *testing.T) {
	views, classes := blobViews(40, 3, 0.5, 401, 6, 4)
	c := mustFit(t, views, Config{Clusters: 3, Epochs: 2})
	s, err := Evaluate(classes, c.Labels)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Assign(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	k, err := KMeans(t.Context(), c.H, KMeansConfig{Clusters: 3})
	if err != nil {
		t.Fatal(err)
	}
	for want, x := range map[string]any{
		"3 clusters of 40 samples in 2 views":   c,
		"3 clusters of 40 samples in 2 views, ": c.Predictor,
		"an empty predictor":                    &Predictor{},
		"40 samples, by cluster map[":           a,
		"a 40×3 matrix":                         c.H,
		"ACC ":                                  s,
		"run 2/3, epoch 4/5: loss 0.25":         Progress{Restart: 1, Restarts: 3, Epoch: 4, Epochs: 5, Loss: 0.25},
		"1.5s (preparation ":                    Timings{Total: 1500 * time.Millisecond},
		"seen of 40 samples and 6 features":     views[0].Named("seen"),
		"view 0, preprocessing zscore, ":        c.Inputs()[0],
		"3 clusters of 40 rows, inertia ":       k,
		"epoch limit":                           c.Status,
	} {
		if got := fmt.Sprint(x); !strings.HasPrefix(got, want) || strings.Contains(got, "{") {
			t.Errorf("%T is printed as %q, want %q", x, got, want)
		}
	}
}
