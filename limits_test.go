package largemvc_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// Whatever turns into memory or a loop has an upper limit, and the error names field, value and limit.
func TestConfigLimits(t *testing.T) {
	t.Parallel()
	views := shapesAndColours(8)
	// The limits come before any work, and so before a context that has ended: without one the test fails and does no harm.
	ended, end := context.WithCancel(context.Background())
	end()
	for _, value := range []int{math.MaxInt, math.MaxInt / 3, 1<<31 - 1} {
		for name, x := range map[string]struct {
			config largemvc.Config
			most   string
		}{
			"Layers":             {largemvc.Config{Layers: value}, "1000"},
			"Epochs":             {largemvc.Config{Epochs: value}, "1000000000"},
			"Restarts":           {largemvc.Config{Restarts: value}, "10000"},
			"KMeansStarts":       {largemvc.Config{KMeansStarts: value}, "1000"},
			"Workers":            {largemvc.Config{Machine: machine.Options{Workers: value}}, "4096"},
			"Neighborhood.Steps": {largemvc.Config{Neighborhood: largemvc.Neighborhood{Steps: value}}, "1000"},
		} {
			x.config.Clusters = 2
			_, err := largemvc.Fit(ended, views, x.config)
			want := name + " is " + strconv.Itoa(value) + ", want at most " + x.most
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want it to say %q", err, want)
			}
		}
		// What the samples bound is not limited.
		if _, err := largemvc.Fit(context.Background(), views, largemvc.Config{
			Clusters: 2, Epochs: 1,
			Neighborhood: largemvc.Neighborhood{Neighbors: value, Directions: value, Exact: value, Landmarks: value},
			Patience:     value, Checkpoint: largemvc.Checkpoint{Every: value},
		}); err != nil {
			t.Error(err)
		}
		if _, err := largemvc.KMeans(context.Background(), mat.NewDense(4, 1, []float64{1, 2, 7, 8}), largemvc.KMeansConfig{
			Clusters: 2, Workers: value,
		}); err != nil {
			t.Error(err)
		}
	}
}

// The numbers of a model or a checkpoint that is sealed, each made absurd in turn: it is refused, or does no harm.
func TestResealedNumbers(t *testing.T) {
	t.Parallel()
	model, checkpoint := savedFiles(t)
	views, path := shapesAndColours(8), filepath.Join(t.TempDir(), "file")
	limited := regexp.MustCompile(`want at most \d+`)
	for _, number := range []int64{math.MaxInt64, math.MaxInt64 / 8, 1 << 40, 1<<31 - 1, math.MinInt64} {
		for _, seed := range [][]byte{model, checkpoint} {
			refused := 0
			for field := 0; ; field++ {
				b := reseal(t, seed, field, strconv.FormatInt(number, 10))
				if b == nil {
					break
				}
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				var err error
				began := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				got := testutil.Allocated(func() {
					if &seed[0] == &checkpoint[0] {
						_, err = largemvc.Resume(ctx, views, path, nil)
						return
					}
					var p *largemvc.Predictor
					if p, err = largemvc.Load(path); err == nil {
						_, err = p.Assign(ctx, views)
					}
				})
				cancel()
				if took := time.Since(began); got > 64<<20 || took > 20*time.Second {
					t.Errorf("number %d is %d: %d MiB, %v, then %v", field, number, got>>20, took, err)
				}
				if err != nil && limited.MatchString(err.Error()) {
					refused++
				}
			}
			if number > 0 && refused < 6 {
				t.Errorf("%d: %d fields are above their limits, want 6", number, refused)
			}
		}
	}
}

// A checkpoint that is sealed and speaks of another number of layers than it has values for is refused before any work.
func TestResealedLayers(t *testing.T) {
	t.Parallel()
	_, checkpoint := savedFiles(t)
	path := filepath.Join(t.TempDir(), "file")
	ended, end := context.WithCancel(context.Background())
	end()
	refused := map[string]bool{}
	for _, layers := range []string{"1", "999"} {
		for field := 0; ; field++ {
			b := reseal(t, checkpoint, field, layers)
			if b == nil {
				break
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := largemvc.Resume(ended, shapesAndColours(8), path, nil)
			if err != nil && strings.Contains(err.Error(), "a network of "+layers+" layers for") {
				refused[layers] = true
			}
		}
		if !refused[layers] {
			t.Errorf("no checkpoint of %s layers is refused for its values", layers)
		}
	}
}
