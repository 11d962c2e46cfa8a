package largemvc

import (
	"context"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/neighbor"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/information"
)

func TestFitLossFalls(t *testing.T) {
	views, _ := blobViews(120, 4, 0.5, 2, 15, 9)
	withAndWithout(t, func(t *testing.T, neighbors int) {
		c := mustFit(t, views, Config{Clusters: 4, Float64: true, Neighborhood: Neighborhood{Neighbors: neighbors}})
		if first, last := c.Loss[0], c.Loss[len(c.Loss)-1]; !(last < first) || c.Status != EpochLimit || c.Status.Early() {
			t.Errorf("loss from %v to %v, %v", first, last, c.Status)
		}
		for e, parts := range c.ViewLoss {
			sum := 0.0
			for _, part := range parts {
				sum += part
			}
			if neighbors == None && math.Abs(sum-c.Loss[e]) > 1e-12*sum {
				t.Errorf("epoch %d: loss %v, by view %v", e, c.Loss[e], parts)
			}
			if neighbors != None && !(sum > 0 && sum < 1 && c.Loss[e] < sum && c.Loss[e] > sum-6) {
				t.Errorf("epoch %d: loss %v, by input %v", e, c.Loss[e], parts)
			}
		}
		if c.Timings.Total <= 0 || c.Timings.Train <= 0 || c.Timings.Epoch <= 0 || c.Timings.Train > c.Timings.Total {
			t.Errorf("timings %+v", c.Timings)
		}
	})
}

// graphOf is the neighbour graph of a fit's samples as a full matrix, from the smoothing that a Fit with the same
// configuration makes.
func graphOf(t testing.TB, views []View, c Config) *mat.Dense {
	t.Helper()
	s, err := prepareInputs[float64](context.Background(), &run{config: completed(c, views[0].in.Rows), views: inner(views)})
	if err != nil {
		t.Fatal(err)
	}
	return testutil.FullGraph(t, s.Graph, neighbor.Stride)
}

// The loss on record is the reconstruction, less the weight times the information, plus the extra loss.
func TestFitExtraLoss(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 10, 8, 5)
	withAndWithout(t, func(t *testing.T, neighbors int) {
		for _, config := range []Config{{}, {Float64: true}, {
			Float64:      true,
			Neighborhood: Neighborhood{Exact: None, Weight: 0.7, HeldOutWeight: None},
			Anchors:      5,
		}} {
			config.Clusters, config.Epochs, config.Neighborhood.Neighbors = 3, 30, neighbors
			if neighbors == None {
				config.Neighborhood = Neighborhood{Neighbors: None}
			}
			plain := mustFit(t, views, config)
			config.ExtraLoss = func(net Network) (*Node, error) { // pulls H to zero
				h, err := net.H(2)
				if err != nil {
					return nil, err
				}
				return gorgonia.Mul(constantOf(net, 0.05), must(gorgonia.Mean(must(gorgonia.Square(h)))))
			}
			pulled := mustFit(t, views, config)
			checkResult(t, views, pulled)
			a, b := mat.Norm(plain.H, 2), mat.Norm(pulled.H, 2)
			if !(b < a) {
				t.Errorf("norm of H %v with the pull, %v without", b, a)
			}
			n, m := pulled.H.Dims()
			want, got := 0.05*b*b/float64(n*m), last(pulled.Loss)
			for _, part := range pulled.ViewLoss[pulled.Epochs] {
				want += part
			}
			if neighbors != None {
				c := pulled.Config()
				want -= c.Neighborhood.Weight * testutil.NeighborInformation(
					pulled.H, graphOf(t, views, config), information.DefaultTemperature,
				)
				if c.Neighborhood.HeldOutWeight > 0 {
					want -= c.Neighborhood.HeldOutWeight * testutil.HeldOutInformation(
						pulled.H, unitFeatures(t, views, pulled.Inputs()), information.DefaultPenalty,
						information.DefaultTemperature,
					)
				}
			}
			tol := 1e-5
			if config.Float64 {
				tol = 1e-12
			}
			if math.Abs(got-want) > tol*math.Abs(want) {
				t.Errorf("loss %v, want %v", got, want)
			}
		}
	})
}
