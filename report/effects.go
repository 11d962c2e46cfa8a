package report

import (
	"context"
	"math"
	"strconv"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/view"
)

// effectCount returns the number of samples, of n, whose views are compared with their cluster.
func effectCount(n int, dims []int, clusters int) int {
	return min(n, effectSamples, max(fewestRows, int(effectWork/(float64(width(dims))*float64(clusters)))))
}

const (
	effectSamples = 10_000 // measured
	effectWork    = 4e9    // products of numbers that the search may take
	effectMemory  = 4e7    // numbers that the means of a view may take
)

// votesOfViews returns, per view, the cluster of the nearest cluster mean for some samples. It is −1 if the sample lacks the view
// or there is no mean. The votes of a view of too many features and clusters are nil.
func votesOfViews(ctx context.Context, r *result, o *Options, of []int) ([][]int, error) {
	out := make([][]int, len(o.inner))
	for v, in := range o.inner {
		m, err := newMoments(ctx, in, r.labels, r.clusters(), of)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if out[v], err = m.votes(ctx, in, r.labels, of, true, o.Workers); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// moments holds the sums of a view's features over the samples of each cluster.
type moments struct {
	d, clusters int
	count       []float64 // samples that have the view, per cluster
	total       float64
	sums        []float64 // clusters×d
	mean        []float64 // d, over all
	deviation   []float64 // d; 0: the feature is constant
	unit        bool      // distances are between rows at norm 1, because most entries are 0
	scaled      []float64 // clusters×d, sums of the rows at norm 1; equal to sums unless unit
}

// rowChunk is the number of samples in one partial sum. It does not depend on the number of workers.
const rowChunk = 256

// newMoments reads the samples once, or twice if most entries are 0. It returns nil if the sums would take too much memory.
func newMoments(ctx context.Context, x view.View, labels []int, clusters int, of []int) (*moments, error) {
	d := x.Cols
	if float64(d)*float64(clusters) > effectMemory {
		return nil, nil
	}
	m := &moments{
		d: d, clusters: clusters, count: make([]float64, clusters), sums: make([]float64, clusters*d), mean: make([]float64, d),
		deviation: make([]float64, d),
	}
	zeros := 0
	row := make([]float64, d)
	if err := m.each(ctx, x, of, func(i int) {
		x.Row(i, row)
		k := labels[i]
		m.count[k]++
		m.total++
		for j, a := range row {
			if a == 0 {
				zeros++
				continue
			}
			m.sums[k*d+j] += a
		}
	}); err != nil {
		return nil, err
	}
	if m.total == 0 {
		return m, nil
	}
	for k := range clusters {
		for j := range d {
			m.mean[j] += m.sums[k*d+j] / m.total
		}
	}
	m.unit = float64(zeros) > 0.5*m.total*float64(d)
	m.scaled = m.sums
	if m.unit {
		m.scaled = make([]float64, clusters*d)
	}
	return m, m.spread(ctx, x, labels, of)
}

// spread reads the samples once more, for the deviations from the means and the sums of the scaled rows.
func (m *moments) spread(ctx context.Context, x view.View, labels, of []int) error {
	row := make([]float64, m.d)
	if err := m.each(ctx, x, of, func(i int) {
		x.Row(i, row)
		norm := 0.0
		for j, a := range row {
			norm += a * a
			m.deviation[j] += (a - m.mean[j]) * (a - m.mean[j])
		}
		if !m.unit || norm == 0 {
			return
		}
		norm = math.Sqrt(norm)
		for j, a := range row {
			if a != 0 {
				m.scaled[labels[i]*m.d+j] += a / norm
			}
		}
	}); err != nil {
		return err
	}
	for j := range m.deviation {
		m.deviation[j] = math.Sqrt(m.deviation[j] / m.total)
		if m.deviation[j] <= 1e-9*math.Abs(m.mean[j]) {
			m.deviation[j] = 0
		}
	}
	return nil
}

// each calls f with the samples that have the view, and checks the context now and then.
func (m *moments) each(ctx context.Context, x view.View, of []int, f func(i int)) error {
	for s, i := range of {
		if s%rowChunk == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if x.Has(i) {
			f(i)
		}
	}
	return nil
}

// votes assigns each sample to the nearest cluster mean. own says that the means are of these samples: then each sample is left
// out of the mean of its own cluster.
func (m *moments) votes(ctx context.Context, x view.View, labels, of []int, own bool, workers int) ([]int, error) {
	centre := make([]float64, m.clusters*m.d)
	squares := make([]float64, m.clusters)
	for k := range m.clusters {
		for j := range m.d {
			if m.count[k] == 0 {
				continue
			}
			c := m.scaled[k*m.d+j] / m.count[k]
			if !m.unit {
				if c -= m.mean[j]; m.deviation[j] > 0 {
					c /= m.deviation[j]
				} else {
					c = 0
				}
			}
			centre[k*m.d+j] = c
			squares[k] += c * c
		}
	}
	votes := make([]int, len(of))
	err := parallel.For(ctx, workers, (len(of)+rowChunk-1)/rowChunk, func(_, b int) error {
		row := make([]float64, m.d)
		for s := b * rowChunk; s < min((b+1)*rowChunk, len(of)); s++ {
			if votes[s] = -1; !x.Has(of[s]) {
				continue
			}
			x.Row(of[s], row)
			without := -1
			if own {
				without = labels[of[s]]
			}
			votes[s] = m.vote(row, without, centre, squares)
		}
		return nil
	})
	return votes, err
}

// vote returns the cluster whose mean is nearest to a row. If own is not −1, the row is left out of the mean of cluster own. vote
// returns −1 if the row is alone in that cluster. It changes the row.
func (m *moments) vote(row []float64, own int, centre, squares []float64) int {
	if own >= 0 && m.count[own] < 2 {
		return -1
	}
	square := 0.0
	for j, a := range row {
		if !m.unit {
			if a -= m.mean[j]; m.deviation[j] > 0 {
				a /= m.deviation[j]
			} else {
				a = 0
			}
			row[j] = a
		}
		square += a * a
	}
	if m.unit && square > 0 {
		norm := math.Sqrt(square)
		for j := range row {
			row[j] /= norm
		}
		square = 1
	}
	at, nearest := -1, math.Inf(1)
	for k := range m.clusters {
		if m.count[k] == 0 {
			continue
		}
		dot := 0.0
		for j, c := range centre[k*m.d : (k+1)*m.d] {
			dot += row[j] * c
		}
		distance := square - 2*dot + squares[k]
		if k == own { // ‖x − (n·c − x)/(n−1)‖ = n/(n−1)·‖x − c‖
			distance *= (m.count[k] / (m.count[k] - 1)) * (m.count[k] / (m.count[k] - 1))
		}
		if distance < nearest {
			at, nearest = k, distance
		}
	}
	return at
}

func featureName(names []string, j int) string {
	if names == nil {
		return "feature " + strconv.Itoa(j)
	}
	return shorten(names[j])
}
