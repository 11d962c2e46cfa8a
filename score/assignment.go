package score

import (
	"fmt"
	"math"
)

// Assignment solves the rectangular assignment problem. It chooses min(r, c) cells of the r×c matrix cost, at most one in each
// row and column, with the smallest sum. It returns the column of each row, −1 for a row without one (if r > c), and the sum.
// Costs may be negative. The matrix is not changed. Equal inputs give the same solution.
//
// Rows of different lengths, and costs that are NaN or infinite, are an error. An empty matrix has the sum 0.
//
// Assignment searches shortest augmenting paths with dual variables (R. Jonker and A. Volgenant, Computing 38, 1987). It finds
// one path in O(s·l) for each of the s rows or columns of the shorter side, with the longer side l. This is O(s²·l) in all.
func Assignment(cost [][]float64) (columns []int, sum float64, err error) {
	for i, row := range cost {
		if len(row) != len(cost[0]) {
			return nil, 0, fmt.Errorf("score: row %d of the costs has %d columns, row 0 has %d", i, len(row), len(cost[0]))
		}
		for j, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, 0, fmt.Errorf("score: cost %v in row %d, column %d is not finite", x, i, j)
			}
		}
	}
	columns = unmatched(len(cost))
	if len(cost) == 0 || len(cost[0]) == 0 {
		return columns, 0, nil
	}
	rows, cols := len(cost), len(cost[0])
	if rows <= cols {
		for j, i := range augment(rows, cols, func(i, j int) float64 { return cost[i][j] }) {
			if i >= 0 {
				columns[i] = j
			}
		}
	} else {
		copy(columns, augment(cols, rows, func(i, j int) float64 { return cost[j][i] }))
	}
	for i, j := range columns {
		if j >= 0 {
			sum += cost[i][j]
		}
	}
	return columns, sum, nil
}

// augment matches all rows, rows ≤ cols, and returns the row of each column, −1 for none.
func augment(rows, cols int, cost func(i, j int) float64) []int {
	u, v := make([]float64, rows), make([]float64, cols) // dual variables: cost_ij − u_i − v_j ≥ 0, 0 where matched
	match, held := unmatched(cols), unmatched(rows)      // of each column its row, of each row its column
	distance := make([]float64, cols)                    // of the shortest path to each column, in reduced costs
	before := make([]int, cols)                          // the row from which that path enters the column
	done := make([]bool, cols)
	for start := range rows {
		for j := range cols {
			distance[j], done[j] = math.Inf(1), false
		}
		i, length, last := start, 0.0, -1
		for {
			next := -1
			for j := range cols {
				if done[j] {
					continue
				}
				if d := length + cost(i, j) - u[i] - v[j]; d < distance[j] {
					distance[j], before[j] = d, i
				}
				if next < 0 || distance[j] < distance[next] {
					next = j
				}
			}
			length = distance[next]
			done[next] = true
			if match[next] < 0 {
				last = next
				break
			}
			i = match[next]
		}
		u[start] += length
		for j := range cols {
			if done[j] && j != last {
				u[match[j]] += length - distance[j]
				v[j] -= length - distance[j]
			}
		}
		for j := last; j >= 0; {
			i := before[j]
			match[j], held[i], j = i, j, held[i]
		}
	}
	return match
}

func unmatched(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	return out
}
