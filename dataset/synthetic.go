package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// SyntheticConfig describes an artificial set for [Synthetic]. Samples, Clusters and Dims are required.
type SyntheticConfig struct {
	Samples  int
	Clusters int
	Dims     []int // features of each view
	// Separation is the expected distance between two cluster centres in each view, in units of Noise. 0 is 6, where the
	// views together tell the clusters apart.
	Separation float64
	// Noise is the standard deviation of every feature around the centre. 0 is 1.
	Noise float64
	// Corrupted is the share of the samples of each view, 0 … 1, whose row is replaced by noise of five times the
	// standard deviation.
	Corrupted float64
	// Float is the width of the values: 32 or 64. 0 is 32.
	Float int
	Seed  uint64
}

func (c *SyntheticConfig) check() error {
	switch {
	case c.Clusters < 1 || c.Samples < c.Clusters:
		return fmt.Errorf("dataset: %d samples in %d clusters; at least one cluster and a sample in each are needed",
			c.Samples, c.Clusters)
	case len(c.Dims) == 0:
		return fmt.Errorf("dataset: Dims names no view")
	case !(c.Separation >= 0) || !(c.Noise >= 0) || math.IsInf(c.Separation, 0) || math.IsInf(c.Noise, 0):
		return fmt.Errorf("dataset: Separation %g and Noise %g must be finite and not negative", c.Separation, c.Noise)
	case !(c.Corrupted >= 0 && c.Corrupted <= 1):
		return fmt.Errorf("dataset: Corrupted is %g; it is a share, 0 to 1", c.Corrupted)
	case c.Float != 0 && c.Float != 32 && c.Float != 64:
		return fmt.Errorf("dataset: Float is %d; it must be 32, 64 or 0", c.Float)
	}
	for v, d := range c.Dims {
		if d < 1 {
			return fmt.Errorf("dataset: view %d has %d features", v, d)
		}
	}
	return nil
}

// Synthetic draws a mixture of Gaussians in several views. All views have the same clusters, whose sizes differ by at most one.
// Each view has centres of its own. The same configuration gives the same bits.
func Synthetic(c SyntheticConfig) (*Set, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Separation == 0 {
		c.Separation = 6
	}
	if c.Noise == 0 {
		c.Noise = 1
	}
	set := &Set{Name: "synthetic", Labels: make([]int, c.Samples)}
	for k := range c.Clusters {
		set.LabelNames = append(set.LabelNames, strconv.Itoa(k))
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0x6c6162656c73)) // "labels"
	for k, i := range rng.Perm(c.Samples) {
		set.Labels[i] = k % c.Clusters
	}
	for v, d := range c.Dims {
		view := View{Name: fmt.Sprintf("X%d", v), Rows: c.Samples, Cols: d}
		// One generator a view: a further view does not change those before.
		rng := rand.New(rand.NewPCG(c.Seed, uint64(v)))
		if c.Float == 64 {
			view.Float64 = mixture[float64](&c, set.Labels, d, rng)
		} else {
			view.Float32 = mixture[float32](&c, set.Labels, d, rng)
		}
		set.Views = append(set.Views, view)
	}
	return set, nil
}

// mixture draws one view. The distance of two centres with independent entries of variance s² has the square 2ds² in expectation.
func mixture[T float32 | float64](c *SyntheticConfig, labels []int, d int, rng *rand.Rand) []T {
	centres := make([]float64, c.Clusters*d)
	s := c.Separation * c.Noise / math.Sqrt(2*float64(d))
	for i := range centres {
		centres[i] = s * rng.NormFloat64()
	}
	x := make([]T, len(labels)*d)
	for i, l := range labels {
		for j := range d {
			x[i*d+j] = T(centres[l*d+j] + c.Noise*rng.NormFloat64())
		}
	}
	bad := int(math.Round(c.Corrupted * float64(len(labels))))
	for _, i := range rng.Perm(len(labels))[:bad] {
		for j := range d {
			x[i*d+j] = T(5 * c.Noise * rng.NormFloat64())
		}
	}
	return x
}
