package structure

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/view"
)

// mostWords bounds the words of the rows: with more words, columns are shuffled.
const mostWords = 4e6

// words are the counts of a view as a list: the row and the column of each word, once for each occurrence.
type words struct {
	rows    []int
	columns []int32
}

// wordsOf returns the words of a view. There are none unless the view counts words: numbers from 0 without decimals, some above
// 1, at least half of them 0.
func wordsOf(x view.View) (w words) {
	row, there, filled, most, total := make([]float64, x.Cols), present(x), 0, 0.0, 0.0
	for _, i := range there { // before there is memory for the words
		x.Row(i, row)
		for _, count := range row {
			if count < 0 || count != math.Trunc(count) || count > mostWords-total {
				return w
			}
			if count > 0 {
				filled, most, total = filled+1, max(most, count), total+count
			}
		}
	}
	if 2*filled > len(there)*x.Cols || most < 2 {
		return w
	}
	w.rows, w.columns = make([]int, 0, int(total)), make([]int32, 0, int(total))
	for _, i := range there {
		x.Row(i, row)
		for j, count := range row {
			for range int(count) {
				w.rows, w.columns = append(w.rows, i), append(w.columns, int32(j))
			}
		}
	}
	return w
}

// shuffled permutes the words of all n rows: every row keeps its number of words and every column its sum, and columns are
// independent. Long rows stay long, and texts of very different lengths differ as texts without topics do.
func (w words) shuffled(n int, rng *rand.Rand) *view.CSR {
	dealt := slices.Clone(w.columns)
	rng.Shuffle(len(dealt), func(a, b int) { dealt[a], dealt[b] = dealt[b], dealt[a] })
	out := &view.CSR{Ptr: []int{0}}
	for at, i := 0, 0; i < n; i++ {
		first := at
		for at < len(w.rows) && w.rows[at] == i {
			at++
		}
		slices.Sort(dealt[first:at])
		for _, j := range dealt[first:at] {
			if last := len(out.Cols) - 1; last >= out.Ptr[i] && out.Cols[last] == j {
				out.F32[last]++
				continue
			}
			out.Cols, out.F32 = append(out.Cols, j), append(out.F32, 1)
		}
		out.Ptr = append(out.Ptr, len(out.Cols))
	}
	return out
}
