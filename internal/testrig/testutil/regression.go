package testutil

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// LeaveOneOut predicts row i of q from a ridge regression on all rows but i, once for each i.
func LeaveOneOut(x, q *mat.Dense, penalty float64) *mat.Dense {
	n, d := x.Dims()
	_, m := q.Dims()
	square := math.Pow(mat.Norm(x, 2), 2)
	out := mat.NewDense(n, m, nil)
	for i := range n {
		var gram, right, beta mat.Dense
		others, values := mat.DenseCopyOf(x), mat.DenseCopyOf(q)
		others.SetRow(i, make([]float64, d))
		values.SetRow(i, make([]float64, m))
		gram.Mul(others.T(), others)
		for j := range d {
			gram.Set(j, j, gram.At(j, j)+penalty*square)
		}
		right.Mul(others.T(), values)
		if err := beta.Solve(&gram, &right); err != nil {
			panic(err)
		}
		for j := range m {
			out.Set(i, j, mat.Dot(x.RowView(i), beta.ColView(j)))
		}
	}
	return out
}
