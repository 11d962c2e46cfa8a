package report

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/parallel"
)

// effects says what tells clusters apart in the views.
type effects struct {
	Samples  int         // that were looked at
	features [][]effect  // per cluster, the largest first
	alone    [][]float64 // per view and cluster: the share of its samples that the view alone gives to it; NaN: none has it
	Overall  []float64   // per view: the same of all samples
	Scaling  []string    // per view: what distances are of
	votes    [][]int     // per view and sample of those looked at: the cluster that the view alone says; −1: none
	of       []int       // the samples looked at
	Omitted  string      // why some views have none; "" if all have
}

// effect is how a feature of a view differs in a cluster.
type effect struct {
	View, Feature string
	In, Out       float64 // its means in the cluster and in all others
	Size          float64 // their difference, in standard deviations over all samples
}

const (
	mostEffects    = 8      // features of a cluster that are shown
	smallestEffect = 0.5    // standard deviations
	effectSamples  = 10_000 // that are looked at
	effectWork     = 4e9    // products of numbers that the search may take
	effectMemory   = 4e7    // numbers that the means of a view may take
)

// effectCount is how many of n samples are looked at.
func effectCount(n int, dims []int, clusters int) int {
	width := 0
	for _, d := range dims {
		width += d
	}
	return min(n, effectSamples, max(500, int(effectWork/(float64(width)*float64(clusters)))))
}

// newEffects looks at some samples of the views.
func newEffects(
	ctx context.Context, views []largemvc.View, names []string, labels []int, clusters int, of []int, workers int,
	done func(view int) error,
) (*effects, error) {
	out := &effects{Samples: len(of), of: of, features: make([][]effect, clusters)}
	for v, x := range views {
		if err := done(v); err != nil {
			return nil, err
		}
		m, err := newMoments(ctx, x, labels, clusters, of, workers)
		if err != nil {
			return nil, err
		}
		if m == nil {
			out.Omitted = "there are too many features and clusters"
			out.alone, out.votes = append(out.alone, nil), append(out.votes, nil)
			out.Overall, out.Scaling = append(out.Overall, math.NaN()), append(out.Scaling, "")
			continue
		}
		for k := range clusters {
			out.features[k] = m.largest(out.features[k], names[v], x.FeatureNames(), k)
		}
		votes, err := m.votes(ctx, x, labels, of, workers)
		if err != nil {
			return nil, err
		}
		alone, overall := recall(votes, labels, of, clusters)
		out.alone, out.Overall, out.votes = append(out.alone, alone), append(out.Overall, overall), append(out.votes, votes)
		out.Scaling = append(out.Scaling, m.scaling())
	}
	return out, nil
}

// recall is the share of the samples of each cluster, and of all, whose vote is for it.
func recall(votes, labels, of []int, clusters int) (each []float64, all float64) {
	each = make([]float64, clusters)
	count := make([]float64, clusters)
	right, total := 0.0, 0.0
	for s, i := range of {
		if votes[s] < 0 {
			continue
		}
		count[labels[i]]++
		total++
		if votes[s] == labels[i] {
			each[labels[i]]++
			right++
		}
	}
	for k := range each {
		each[k] /= count[k]
	}
	return each, right / total
}

// moments are the sums of a view's features over the samples of each cluster.
type moments struct {
	d, clusters int
	count       []float64 // samples that have the view, per cluster
	total       float64
	sums        []float64 // clusters×d
	mean        []float64 // d, over all
	deviation   []float64 // d; 0: the feature is constant
	unit        bool      // distances are of rows at norm 1: most entries are 0
	scaled      []float64 // clusters×d, the sums of what distances are of; sums themselves unless unit
}

// rowChunk is the number of samples whose sums are taken at once. It does not depend on the number of workers.
const rowChunk = 256

// newMoments reads the samples once, or twice where most entries are 0. It returns nil if the sums would take too much memory.
func newMoments(
	ctx context.Context, x largemvc.View, labels []int, clusters int, of []int, workers int,
) (*moments, error) {
	_, d := x.Dims()
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
		x.Row(row, i)
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
func (m *moments) spread(ctx context.Context, x largemvc.View, labels, of []int) error {
	row := make([]float64, m.d)
	if err := m.each(ctx, x, of, func(i int) {
		x.Row(row, i)
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

// each calls f with the samples that have the view, looking now and then whether the context has ended.
func (m *moments) each(ctx context.Context, x largemvc.View, of []int, f func(i int)) error {
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

// scaling says what distances are of.
func (m *moments) scaling() string {
	if m.unit {
		return "rows at norm 1"
	}
	return "features in standard deviations"
}

// largest adds the effects in cluster k to the list, and keeps the largest of them.
func (m *moments) largest(list []effect, view string, names []string, k int) []effect {
	in, out := m.count[k], m.total-m.count[k]
	if in == 0 || out == 0 {
		return list
	}
	// Below this the largest of d features is what chance alone gives.
	chance := (math.Sqrt(2*math.Log(2*float64(m.d))) + 1) * math.Sqrt(1/in+1/out)
	least := max(smallestEffect, chance)
	for j := range m.d {
		if m.deviation[j] == 0 {
			continue
		}
		sum := m.sums[k*m.d+j]
		e := effect{In: sum / in, Out: (m.mean[j]*m.total - sum) / out}
		e.Size = (e.In - e.Out) / m.deviation[j]
		if math.Abs(e.Size) < least || len(list) == mostEffects && math.Abs(e.Size) <= math.Abs(list[mostEffects-1].Size) {
			continue
		}
		e.View, e.Feature = view, featureName(names, j)
		at, _ := slices.BinarySearchFunc(list, e, func(a, b effect) int {
			if math.Abs(a.Size) >= math.Abs(b.Size) {
				return -1
			}
			return 1
		})
		if len(list) == mostEffects {
			list = list[:mostEffects-1]
		}
		list = slices.Insert(list, at, e)
	}
	return list
}

// votes gives each sample to the nearest cluster mean, the sample itself left out of the mean of its own cluster.
func (m *moments) votes(ctx context.Context, x largemvc.View, labels, of []int, workers int) ([]int, error) {
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
			if votes[s] = -1; x.Has(of[s]) {
				votes[s] = m.vote(x, row, of[s], labels[of[s]], centre, squares)
			}
		}
		return nil
	})
	return votes, err
}

// vote returns the cluster of the nearest mean for sample i, −1 if it is alone in its cluster.
func (m *moments) vote(x largemvc.View, row []float64, i, own int, centre, squares []float64) int {
	if m.count[own] < 2 {
		return -1
	}
	x.Row(row, i)
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

// featureName is the name of feature j, or its number from 0.
func featureName(names []string, j int) string {
	if names == nil {
		return "feature " + strconv.Itoa(j)
	}
	return shorten(names[j])
}
