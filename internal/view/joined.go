package view

import (
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/ranks"
)

// Joint says how many samples hold the views together.
type Joint struct {
	Few  []int // the numbers of the views on the one side
	Rest []int // and of those on the other
	Both int   // the samples, of all ranks, that have a view on each side
	Of   int   // n
}

// WeakestJoint returns the two sides of the views that the fewest samples join, going by pairs of views: the sides of the
// weakest link of the chain of views, where the strongest links are taken first. It counts the samples of all ranks of the group.
func WeakestJoint(g *ranks.Group, views []View) (Joint, error) {
	n, count := views[0].Rows, len(views)
	out := Joint{Both: g.Total(n), Of: g.Total(n)}
	if count < 2 || !slices.ContainsFunc(views, func(x View) bool { return x.Present != nil }) {
		return out, nil
	}
	both := pairCounts(views)
	if err := g.SumInts("the samples that join two views", both); err != nil {
		return out, err
	}
	// Kruskal's spanning tree: the last link that joins two sides is its weakest.
	side := make([]int, count)
	for v := range side {
		side[v] = v
	}
	for range count - 1 {
		a, b := strongestLink(side, both)
		out.setSides(side, side[a], side[b])
		from, to := side[b], side[a]
		for v := range side {
			if side[v] == from {
				side[v] = to
			}
		}
	}
	joined := []int{0}
	for i := range n {
		if has(views, out.Rest, i) && has(views, out.Few, i) {
			joined[0]++
		}
	}
	err := g.SumInts("the samples that join two sides of the views", joined)
	out.Both = joined[0]
	return out, err
}

// pairCounts returns the number of samples that have both of two views u < v, at u·views + v.
func pairCounts(views []View) []int {
	count := len(views)
	both := make([]int, count*count)
	for i := range views[0].Rows {
		for u := range views {
			for v := u + 1; v < count && views[u].Has(i); v++ {
				if views[v].Has(i) {
					both[u*count+v]++
				}
			}
		}
	}
	return both
}

// strongestLink returns the two views on different sides that the most samples have both. both is views×views.
func strongestLink(side, both []int) (a, b int) {
	a, b = -1, -1
	count := len(side)
	for u := range count {
		for v := u + 1; v < count; v++ {
			if side[u] != side[v] && (a < 0 || both[u*count+v] > both[a*count+b]) {
				a, b = u, v
			}
		}
	}
	return a, b
}

// setSides makes the views that have gone to sides a and b the two sides.
func (j *Joint) setSides(side []int, a, b int) {
	j.Rest, j.Few = nil, nil
	for v, s := range side {
		switch s {
		case a:
			j.Rest = append(j.Rest, v)
		case b:
			j.Few = append(j.Few, v)
		}
	}
}

func has(views []View, some []int, i int) bool {
	return slices.ContainsFunc(some, func(v int) bool { return views[v].Has(i) })
}

// Text names the sides and the samples that join them.
func (j Joint) Text(views []View) string {
	return fmt.Sprintf("%d of %d samples have both %s and %s", j.Both, j.Of, listed(views, j.Rest), listed(views, j.Few))
}

func listed(views []View, some []int) string {
	text := ""
	for k, v := range some {
		switch {
		case k > 0 && k == len(some)-1:
			text += " or "
		case k > 0:
			text += ", "
		}
		text += views[v].Label(v)
	}
	return text
}
