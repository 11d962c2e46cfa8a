package view

import (
	"slices"

	"github.com/largemvc/largemvc/internal/ranks"
)

// Together gives the ranks of a group masks of the same views: of those that a sample of any rank lacks. It refuses a view that
// no sample has and a sample that has no view.
func Together(g *ranks.Group, views []View) error {
	n, absent := views[0].Rows, make([]int, len(views))
	for v, x := range views {
		for _, p := range x.Present {
			if !p {
				absent[v]++
			}
		}
	}
	if err := g.SumInts("the absent views", absent); err != nil {
		return err
	}
	complete := false
	for v := range views {
		x := &views[v]
		switch {
		case absent[v] == g.Total(n):
			return Wrong(v, -1, "no sample has %s", x.Label(v))
		case absent[v] == 0:
			x.Present, complete = nil, true
		case x.Present == nil:
			x.Present = slices.Repeat([]bool{true}, n)
		}
	}
	if complete {
		return nil
	}
	for i := range n {
		if !slices.ContainsFunc(views, func(x View) bool { return x.Present[i] }) {
			return Wrong(-1, views[0].Number(i), "sample %d has no view: leave it out of all views", views[0].Number(i))
		}
	}
	return nil
}
