package view

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/suspect"
)

// suspicionStream keeps the rows that are looked at apart from what else is drawn with the same seed.
const suspicionStream = 0x73757370

// Suspicions returns sentences about views that mislead, of the samples of all ranks: a column that decides alone, where the
// standardisation, of the given name, leaves columns their scales ("": it does not), and views that say the same. It looks at all
// rows of few and at some rows of many.
func Suspicions(
	ctx context.Context, g *ranks.Group, views []View, scales string, seed uint64, workers int,
) (out []string, err error) {
	n := g.Total(views[0].Rows)
	looked, compare := make([]suspect.Rows, len(views)), suspect.Comparer{}
	for v, x := range views {
		numbers := rowsLookedAt(n, x.Cols, seed)
		twin := slices.ContainsFunc(views[:v], func(y View) bool { return y.Cols == x.Cols }) ||
			slices.ContainsFunc(views[v+1:], func(y View) bool { return y.Cols == x.Cols })
		if looked[v] = x; g != nil && (twin || scales != "") {
			if looked[v], err = x.Only(ctx, g, numbers, workers); err != nil {
				return nil, err
			}
		}
		if scales != "" {
			if j, times := dominating(looked[v], x.Cols, numbers); times > 0 {
				out = append(out, fmt.Sprintf("%s: feature %d has %.3g times the standard deviation of the median feature, and "+
					"the standardisation %s leaves features their scales: this feature decides alone (balanced, zscore and "+
					"both give all features one scale)", x.Label(v), j, times, scales))
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for u, y := range views[:v] {
			if y.Cols != x.Cols {
				continue
			}
			if f, same := compare.Twin(looked[u], looked[v], x.Cols, numbers); same {
				out = append(out, twins(views, u, v, f, n))
				break
			}
		}
	}
	return out, nil
}

// twins says that views u and v are the same up to a factor.
func twins(views []View, u, v int, factor float64, n int) string {
	text := fmt.Sprintf("%s has the values of %s", views[v].Label(v), views[u].Label(u))
	if factor != 1 {
		text = fmt.Sprintf("%s is %.6g times %s", views[v].Label(v), factor, views[u].Label(u))
	}
	if rows := lookCount(views[v].Cols); rows < n {
		text += fmt.Sprintf(", in the about %d samples that were compared", rows)
	}
	return text + ": " + suspect.CountsTwice
}

// rowsLookedAt returns the numbers of all rows, of few, or of some that are drawn, increasing.
func rowsLookedAt(n, cols int, seed uint64) []int {
	count := lookCount(cols)
	if n <= count {
		return lists.Indices(n)
	}
	rng, drawn := rand.New(rand.NewPCG(seed, suspicionStream)), make([]int, count)
	for k := range drawn {
		drawn[k] = rng.IntN(n)
	}
	slices.Sort(drawn)
	return slices.Compact(drawn)
}

// dominating returns the column that decides alone and how many times the median standard deviation it has; 0: none does.
func dominating(x suspect.Rows, cols int, rows []int) (column int, times float64) {
	if v, ok := x.(View); ok && v.Sparse != nil {
		if entries := float64(len(v.Sparse.Cols)); entries < suspect.MostlyFilled*float64(v.Rows)*float64(cols) {
			return 0, 0 // without looking at rows that may be very wide
		}
	}
	// Sums of differences from the first row, which lose no digits to a mean that is far from 0.
	var first []float64
	row, sum, square := make([]float64, cols), make([]float64, cols), make([]float64, cols)
	count, filled := 0.0, 0.0
	for _, i := range rows {
		if !x.Has(i) {
			continue
		}
		x.Row(i, row)
		if first == nil {
			first = slices.Clone(row)
		}
		count++
		for j, value := range row {
			if value != 0 {
				filled++
			}
			d := value - first[j]
			sum[j], square[j] = sum[j]+d, square[j]+d*d
		}
	}
	var all []float64
	for j := range square {
		square[j] = math.Sqrt(max(square[j]/count-sum[j]*sum[j]/count/count, 0))
		if square[j] > 0 {
			all = append(all, square[j])
		}
		if square[j] > square[column] {
			column = j
		}
	}
	median, largest := suspect.Scales(all)
	if !suspect.Dominated(median, largest, filled/count/float64(cols)) {
		return 0, 0
	}
	return column, largest / median
}
