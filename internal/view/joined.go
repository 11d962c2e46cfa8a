package view

import "fmt"

// Joint says how many samples hold the views together.
type Joint struct {
	Few  []int // the numbers of the views on the one side
	Rest []int // and of those on the other
	Both int   // the samples that have a view on each side
	Of   int   // n
}

// WeakestJoint returns the two sides of the views that the fewest samples join, going by pairs of views: the sides of the
// weakest link of the chain of views, where the strongest links are taken first.
func WeakestJoint(views []View) Joint {
	n := views[0].Rows
	both := make([][]int, len(views))
	for u := range both {
		both[u] = make([]int, len(views))
	}
	for i := range n {
		for u := range views {
			for v := u + 1; v < len(views) && views[u].Has(i); v++ {
				if views[v].Has(i) {
					both[u][v]++
				}
			}
		}
	}
	// Kruskal's spanning tree: the last link that joins two sides is its weakest.
	side := make([]int, len(views))
	for v := range side {
		side[v] = v
	}
	out := Joint{Both: n, Of: n}
	for range len(views) - 1 {
		a, b := -1, -1
		for u := range views {
			for v := u + 1; v < len(views); v++ {
				if side[u] != side[v] && (a < 0 || both[u][v] > both[a][b]) {
					a, b = u, v
				}
			}
		}
		out = sides(views, side, side[a], side[b])
		from, to := side[b], side[a]
		for v := range side {
			if side[v] == from {
				side[v] = to
			}
		}
	}
	return out
}

// sides counts the samples that have a view of both sides.
func sides(views []View, side []int, a, b int) Joint {
	out := Joint{Of: views[0].Rows}
	for v := range views {
		switch side[v] {
		case a:
			out.Rest = append(out.Rest, v)
		case b:
			out.Few = append(out.Few, v)
		}
	}
	for i := range out.Of {
		if has(views, out.Rest, i) && has(views, out.Few, i) {
			out.Both++
		}
	}
	return out
}

func has(views []View, some []int, i int) bool {
	for _, v := range some {
		if views[v].Has(i) {
			return true
		}
	}
	return false
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
