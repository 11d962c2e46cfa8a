package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// cheapest is the least sum over all assignments, by trying them.
func cheapest(cost [][]float64) float64 {
	rows, cols := len(cost), len(cost[0])
	used := make([]bool, cols)
	best := math.Inf(1)
	var try func(i, left int, sum float64)
	try = func(i, left int, sum float64) {
		if left == 0 {
			best = min(best, sum)
			return
		}
		if rows-i > left {
			try(i+1, left, sum)
		}
		for j := range cols {
			if !used[j] {
				used[j] = true
				try(i+1, left-1, sum+cost[i][j])
				used[j] = false
			}
		}
	}
	try(0, min(rows, cols), 0)
	return best
}

// checkAssignment verifies that the answer is an assignment with the sum that is claimed.
func checkAssignment(t interface{ Fatalf(string, ...any) }, cost [][]float64, columns []int, sum float64) {
	used := map[int]bool{}
	total := 0.0
	for i, j := range columns {
		if j < 0 {
			continue
		}
		if used[j] {
			t.Fatalf("column %d is given twice: %v", j, columns)
		}
		used[j] = true
		total += cost[i][j]
	}
	if len(columns) != len(cost) || len(used) != min(len(cost), len(cost[0])) || total != sum {
		t.Fatalf("%v with the sum %v is no assignment of the sum %v", columns, total, sum)
	}
}

func TestAssignmentAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 7).Draw(t, "rows"), rapid.IntRange(1, 7).Draw(t, "cols")
		span := rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "span")
		cost := make([][]float64, rows)
		for i := range cost {
			cost[i] = make([]float64, cols)
			for j := range cost[i] {
				cost[i][j] = float64(rapid.IntRange(-span, span).Draw(t, "cost"))
			}
		}
		columns, sum, err := Assignment(cost)
		if err != nil {
			t.Fatal(err)
		}
		checkAssignment(t, cost, columns, sum)
		if want := cheapest(cost); sum != want {
			t.Fatalf("sum %v, the cheapest is %v", sum, want)
		}
	})
}

// TestAssignmentLarge has a planted optimum: reduced costs of at least 0, and 0 on a known assignment.
func TestAssignmentLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{60, 60}, {40, 90}, {90, 40}, {1, 50}, {50, 1}, {200, 200}} {
		rows, cols := size[0], size[1]
		short := min(rows, cols)
		u, v := make([]float64, rows), make([]float64, cols)
		if rows <= cols { // the duals of the longer side must be 0 for what stays unmatched: here for all
			for i := range u {
				u[i] = rng.NormFloat64()
			}
		} else {
			for j := range v {
				v[j] = rng.NormFloat64()
			}
		}
		cost := make([][]float64, rows)
		for i := range cost {
			cost[i] = make([]float64, cols)
			for j := range cost[i] {
				cost[i][j] = u[i] + v[j] + rng.Float64() + 1e-3
			}
		}
		want := 0.0
		p, q := rng.Perm(rows), rng.Perm(cols)
		for k := range short {
			cost[p[k]][q[k]] = u[p[k]] + v[q[k]]
			want += cost[p[k]][q[k]]
		}
		columns, sum, err := Assignment(cost)
		if err != nil {
			t.Fatal(err)
		}
		checkAssignment(t, cost, columns, sum)
		if math.Abs(sum-want) > 1e-9 {
			t.Errorf("%d×%d: sum %v, want %v", rows, cols, sum, want)
		}
	}
}

func TestAssignmentErrorsAndEmpty(t *testing.T) {
	for _, cost := range [][][]float64{{{1, 2}, {3}}, {{1, math.NaN()}}, {{math.Inf(1)}}, {{1}, {math.Inf(-1)}}} {
		if _, _, err := Assignment(cost); err == nil {
			t.Errorf("%v: no error", cost)
		}
	}
	for _, cost := range [][][]float64{nil, {}, {{}, {}}} {
		columns, sum, err := Assignment(cost)
		if err != nil || sum != 0 || len(columns) != len(cost) {
			t.Errorf("%v: %v, %v, %v", cost, columns, sum, err)
		}
		for _, j := range columns {
			if j != -1 {
				t.Errorf("%v: a row is matched to %d", cost, j)
			}
		}
	}
}

func BenchmarkAssignment(b *testing.B) {
	for _, n := range []int{10, 100, 500} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			cost := make([][]float64, n)
			for i := range cost {
				cost[i] = make([]float64, n)
				for j := range cost[i] {
					cost[i][j] = rng.Float64()
				}
			}
			for b.Loop() {
				if _, _, err := Assignment(cost); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
