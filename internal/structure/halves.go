package structure

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	clusters "github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/neighbor"
	"github.com/largemvc/largemvc/score"
)

// clustering holds the clusters of some rows.
type clustering struct {
	rows      []rows.Matrix[float32] // smoothed
	embedding *clusters.Embedding[float32]
	columns   int
	centroids []float32 // found×columns
	labels    []int
}

// cluster clusters rows by the method of the initial clustering of a fit.
func cluster(ctx context.Context, d *data, o Options, seed uint64) (*clustering, error) {
	d, err := d.filled(ctx, o)
	if err != nil {
		return nil, err
	}
	op, err := d.graph(ctx, o, true)
	if err != nil {
		return nil, err
	}
	own := slices.Clone(d.blocks)
	for k := range own {
		own[k].X, own[k].Present = slices.Clone(own[k].X), nil
	}
	if _, err := neighbor.Smooth(ctx, op, own, o.Steps, o.Workers); err != nil {
		return nil, err
	}
	c := &clustering{rows: smooth.Matrices(own, d.n), columns: o.Clusters}
	total := 0
	for _, b := range own {
		total += b.Cols
	}
	basis, err := spectral.Find(ctx, c.rows, spectral.Config{Rank: min(c.columns, d.n, total), Seed: seed, Workers: o.Workers})
	if err != nil {
		return nil, err
	}
	c.embedding = clusters.NewEmbedding[float32](basis, c.columns)
	u, err := c.embedding.Rows(ctx, c.rows, o.Workers)
	if err != nil {
		return nil, err
	}
	found, err := clusters.Rows(ctx, rows.NewDense(d.n, c.columns, kernel.Pad(c.columns), u), clusters.Options{
		Clusters: o.Clusters, Starts: starts, Seed: seed, Workers: o.Workers,
	})
	if err != nil {
		return nil, err
	}
	c.centroids, c.labels = found.Centroids, found.Labels
	return c, nil
}

// placed holds the positions of rows among the clusters of other rows.
type placed struct {
	labels []int     // the nearest centroids
	margin []float64 // the distance from the nearest border, in distances between the two centroids beside it
}

// place applies the clusters to the smoothed rows of another clustering.
func (c *clustering) place(ctx context.Context, other *clustering, workers int) (*placed, error) {
	u, err := c.embedding.Rows(ctx, other.rows, workers)
	if err != nil {
		return nil, err
	}
	ld, m := kernel.Pad(c.columns), c.columns
	n := len(u) / ld
	out := &placed{make([]int, n), make([]float64, n)}
	centroid := func(j int) []float32 { return c.centroids[j*m : (j+1)*m] }
	for i := range n {
		first, second := -1, -1
		near, next := math.Inf(1), math.Inf(1)
		for j := range len(c.centroids) / m {
			switch q := kernel.SquaredDistance(u[i*ld:i*ld+m], centroid(j)); {
			case q < near:
				first, second, near, next = j, first, q, near
			case q < next:
				second, next = j, q
			}
		}
		out.labels[i], out.margin[i] = first, math.Inf(1)
		if second >= 0 {
			out.margin[i] = (next - near) / (2 * kernel.SquaredDistance(centroid(first), centroid(second)))
		}
	}
	return out, nil
}

// agreedRows is the number of rows in which clusters of single views are compared, if there are more than fewClusters.
const agreedRows = 300

// agreementOfViews returns the mean agreement between clusters of single views, 0 for one view.
func (d *data) agreementOfViews(ctx context.Context, o Options) (float64, error) {
	first, last := d.view[0], d.view[len(d.view)-1]
	if first == last {
		return 0, nil
	}
	rows := min(d.n, max(agreedRows, rowsPerCluster*o.Clusters/2))
	if o.Clusters <= fewClusters {
		rows = d.n
	}
	some := d.take(rand.New(rand.NewPCG(o.Seed, streamAgreement)).Perm(d.n)[:rows])
	var labels [][]int
	sum, pairs := 0.0, 0.0
	for v := first; v <= last; v++ {
		one := some.single(v)
		if len(one.blocks) == 0 {
			continue
		}
		c, err := cluster(ctx, one, o, o.Seed)
		if err != nil {
			return 0, err
		}
		for _, l := range labels {
			same, err := agreement(l, c.labels)
			if err != nil {
				return 0, err
			}
			sum, pairs = sum+same, pairs+1
		}
		labels = append(labels, c.labels)
	}
	return sum / max(pairs, 1), nil
}

// localRows is the number of rows of a half in which the density and the dimension are measured, at most: with more rows, noise
// about a curve would have more dimensions.
const localRows = mostRows / 2

// trial holds the figures of one split of rows in halves.
type trial struct {
	Figures
	sparsity, dimension float64 // 0 unless measured
	halves              [2]half // nil unless measured
}

// measure splits rows in two halves and measures them. number is the number of the split, which seeds it. local selects whether
// to measure the density and the dimension of the rows too.
func measure(ctx context.Context, d *data, o Options, number uint64, local bool) (out trial, err error) {
	order := rand.New(rand.NewPCG(o.Seed, streamHalves|number<<8)).Perm(d.n)
	var rows [2]*data
	var found [2]*clustering
	samples := [2][]int{order[:d.n/2], order[d.n/2:]}
	for s := range samples {
		rows[s] = d.take(samples[s])
		if found[s], err = cluster(ctx, rows[s], o, o.Seed+number); err != nil {
			return out, err
		}
	}
	at, within := 0.0, 0.0
	for s, c := range found {
		other := found[1-s]
		p, err := c.place(ctx, other, o.Workers)
		if err != nil {
			return out, err
		}
		same, err := agreement(p.labels, other.labels)
		if err != nil {
			return out, err
		}
		a, w := p.borders()
		at, within = at+a, within+w
		out.Stability += same / 2
		if local {
			distance, dimension := rows[1-s].first(localRows).local()
			out.sparsity -= rankCorrelation(p.margin[:len(distance)], distance) / 2
			out.dimension += dimension / 2
			out.halves[s] = half{samples[s], samples[1-s], c.labels, p.labels}
		}
	}
	out.Border = (at / border) / (max(within, 1) / (inner - border))
	return out, nil
}

func agreement(a, b []int) (float64, error) {
	t, err := score.NewContingency(a, b)
	if err != nil {
		return 0, err
	}
	return t.Pairs().ARI(), nil
}
