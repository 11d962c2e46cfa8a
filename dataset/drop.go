package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Drop draws a mask that makes n complete samples incomplete: Present[i][v] is false if sample i loses view v. The number of
// false entries is
//
//	min(round(rate·n·views), n·(views−1))
//
// They are spread evenly over the views: the counts of two views differ by at most one if n is a multiple of the number of
// views, otherwise by at most two. Every sample keeps at least one view. With V views at most the share 1 − 1/V can be absent; a
// larger rate gives this share. rate is at least 0 and less than 1; 0 gives a full mask. The same arguments give the same mask.
func Drop(n, views int, rate float64, seed uint64) ([][]bool, error) {
	switch {
	case n < 1 || views < 1:
		return nil, fmt.Errorf("dataset: a mask for %d samples and %d views", n, views)
	case !(rate >= 0 && rate < 1):
		return nil, fmt.Errorf("dataset: missing rate %g; it must be at least 0 and below 1", rate)
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d697373696e67)) // "missing"
	mask := newMask(n, views)
	// Each sample keeps one view for certain; the views take turns over the samples in random order, so that they keep
	// equally many.
	keeps := make([]int, n)
	first := rng.IntN(views)
	for k, i := range rng.Perm(n) {
		keeps[i] = (first + k) % views
	}
	free := make([]int, views) // entries of each view that may go
	for _, v := range keeps {
		for u := range views {
			if u != v {
				free[u]++
			}
		}
	}
	total := min(int(math.Round(rate*float64(n)*float64(views))), n*(views-1))
	for v, quota := range quotas(total, free) {
		var may []int
		for i, k := range keeps {
			if k != v {
				may = append(may, i)
			}
		}
		rng.Shuffle(len(may), func(a, b int) { may[a], may[b] = may[b], may[a] })
		for _, i := range may[:quota] {
			mask[i][v] = false
		}
	}
	return mask, nil
}

// quotas splits total over the views as evenly as the free entries allow.
func quotas(total int, free []int) []int {
	q := make([]int, len(free))
	for left := total; left > 0; {
		open := 0
		for v := range free {
			if q[v] < free[v] {
				open++
			}
		}
		each := max(left/open, 1)
		for v := range free {
			give := min(each, free[v]-q[v], left)
			q[v] += give
			left -= give
		}
	}
	return q
}

// Incomplete returns a copy of the set without the view rows for which present is false. These rows are zero. The set itself is
// not changed. present is n×V and leaves every sample at least one view. Entries that are absent already stay absent.
func (s *Set) Incomplete(present [][]bool) (*Set, error) {
	n, views := s.Samples(), len(s.Views)
	if len(present) != n {
		return nil, fmt.Errorf("dataset: a mask of %d rows for %d samples", len(present), n)
	}
	mask := newMask(n, views)
	for i, row := range present {
		if len(row) != views {
			return nil, fmt.Errorf("dataset: row %d of the mask has %d entries for %d views", i, len(row), views)
		}

		for v := range mask[i] {
			mask[i][v] = row[v] && (s.Present == nil || s.Present[i][v])
		}
		if !slices.Contains(mask[i], true) {
			return nil, fmt.Errorf("dataset: the mask leaves sample %d without a view", i)
		}
	}
	out := &Set{Name: s.Name, Labels: slices.Clone(s.Labels), LabelNames: slices.Clone(s.LabelNames), IDs: slices.Clone(s.IDs),
		Present: mask, Reading: s.Reading}
	for v := range s.Views {
		view := s.Views[v]
		view.Float32, view.Float64 = slices.Clone(view.Float32), slices.Clone(view.Float64)
		if c := view.Sparse; c != nil {
			view.Sparse = &CSR{slices.Clone(c.RowPtr), slices.Clone(c.Col), slices.Clone(c.Float32), slices.Clone(c.Float64)}
		}
		view.clearRows(func(i int) bool { return !mask[i][v] })
		out.Views = append(out.Views, view)
	}
	return out, nil
}
