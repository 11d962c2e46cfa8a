package testutil

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Counts are n×d counts, three quarters of them zero, with an empty and a constant row, an empty and a constant column.
func Counts(n, d int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := make([]float64, n*d)
	for i := range n {
		for j := range d {
			switch {
			case i == 3 || j == 2:
			case i == 5:
				x[i*d+j] = 2.5
			case rng.IntN(4) == 0:
				x[i*d+j] = float64(1 + rng.IntN(9))
			}
			if j == 4 {
				x[i*d+j] = 7
			}
		}
	}
	return x
}

// Standardised does what the comment of a Preprocess of that name says, on the present rows, with absent ones zero. Columns that
// are constant over these rows are left out.
func Standardised(kind string, x []float64, n, d int, present []bool) []float64 {
	out := make([]float64, n*d)
	var rows []int
	for i := range n {
		if present == nil || present[i] {
			rows = append(rows, i)
		}
	}
	if kept := varying(x, rows, d); kind != "none" && len(kept) > 0 && len(kept) < d {
		part := make([]float64, 0, n*len(kept))
		for i := range n {
			for _, j := range kept {
				part = append(part, x[i*d+j])
			}
		}
		for k, value := range Standardised(kind, part, n, len(kept), present) {
			out[k/len(kept)*d+kept[k%len(kept)]] = value
		}
		return out
	}
	if kind == "balanced" || kind == "zscore" {
		for j := range d {
			standardiseColumn(kind, x, out, rows, d, j)
		}
		return out
	}
	for _, i := range rows {
		standardiseRow(kind, x[i*d:(i+1)*d], out[i*d:(i+1)*d])
	}
	return out
}

// varying returns the columns that have several values in some rows.
func varying(x []float64, rows []int, d int) (kept []int) {
	for j := range d {
		if slices.ContainsFunc(rows, func(i int) bool { return x[i*d+j] != x[rows[0]*d+j] }) {
			kept = append(kept, j)
		}
	}
	return kept
}

func standardiseRow(kind string, row, out []float64) {
	switch kind {
	case "sample":
		mean, deviation := moments(len(row), func(j int) float64 { return row[j] })
		for j := range row {
			if deviation > 1e-9 {
				out[j] = (row[j] - mean) / deviation
			}
		}
	case "unit":
		norm := 0.0
		for _, v := range row {
			norm += v * v
		}
		for j := range row {
			if norm > 0 {
				out[j] = row[j] / math.Sqrt(norm)
			}
		}
	case "none":
		copy(out, row)
	}
}

func standardiseColumn(kind string, x, out []float64, rows []int, d, j int) {
	mean, deviation := moments(len(rows), func(k int) float64 { return x[rows[k]*d+j] })
	if deviation < 1e-9 {
		return
	}
	for _, i := range rows {
		out[i*d+j] = (x[i*d+j] - mean) / deviation
		if kind == "balanced" {
			out[i*d+j] /= math.Sqrt(float64(d))
		}
	}
}

func moments(count int, at func(k int) float64) (mean, deviation float64) {
	for k := range count {
		mean += at(k) / float64(count)
	}
	for k := range count {
		deviation += (at(k) - mean) * (at(k) - mean) / float64(count)
	}
	return mean, math.Sqrt(deviation)
}

// Compressed returns the compressed rows of x, with zeros among the entries.
func Compressed[F float32 | float64](n, d int, x []float64) (ptr []int, cols []int32, values []F) {
	ptr = []int{0}
	for i := range n {
		for j := range d {
			if v := x[i*d+j]; v != 0 || (i+j)%13 == 0 {
				cols, values = append(cols, int32(j)), append(values, F(v))
			}
		}
		ptr = append(ptr, len(cols))
	}
	return ptr, cols, values
}
