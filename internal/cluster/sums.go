package cluster

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// noiseShare is the size of singular values of sums over float32 data, relative to the largest, that may be rounding.
const noiseShare = 1e-6

// dropNoise removes from the sums (m×d) their parts along left singular vectors whose singular values are no more than the
// rounding of float32 data. Centred columns sum to zero over all clusters, so one singular value is zero; what rounding
// makes of it would decide a direction of the anchors.
func dropNoise(sums []float64, m, d int) error {
	s := mat.NewDense(m, d, sums)
	var gram mat.SymDense
	gram.SymOuterK(1, s)
	var e mat.EigenSym
	if !e.Factorize(&gram, true) {
		return errors.New("the eigenvalues of ZᵀX·(ZᵀX)ᵀ do not converge")
	}
	squares := e.Values(nil)
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	small := 0
	for small < m && squares[small] <= noiseShare*noiseShare*squares[m-1] {
		small++
	}
	if small == 0 {
		return nil
	}
	u := vectors.Slice(0, m, 0, small)
	var part, noise mat.Dense
	part.Mul(u.T(), s)
	noise.Mul(u, &part)
	s.Sub(s, &noise)
	return nil
}

// clusterSums returns ZᵀX (m×d) for the one-hot matrix Z of the labels, over the samples of all ranks that have the view.
func clusterSums[T kernel.Float](ctx context.Context, x rows.Matrix[T], in view.View, labels []int, o Start) ([]float64, error) {
	n, d := x.Dims()
	m, chunk := o.Count, parallel.ChunkRows(o.Group.Total(n), 256)
	adder, _ := x.(rows.Adder)
	type buffer struct {
		shift []float64
		row   []T
	}
	s := ranks.RowSum{What: "the sums of the start's clusters", Workers: o.Workers, Rows: n, Chunk: chunk, Size: m * d}
	return ranks.SumRows(ctx, o.Group, s, func() *buffer {
		return &buffer{shift: make([]float64, m), row: make([]T, d)}
	}, func(_, lo, hi int, b *buffer, sum []float64) error {
		clear(b.shift)
		for i := lo; i < hi; i++ {
			if !in.Has(i) {
				continue
			}
			dst := sum[labels[i]*d : (labels[i]+1)*d]
			if adder != nil {
				b.shift[labels[i]] += adder.AddRow(i, 1, dst)
				continue
			}
			x.Row(i, b.row)
			kernel.AddTo(dst, b.row)
		}
		for k := 0; adder != nil && k < m; k++ {
			adder.AddShift(b.shift[k], sum[k*d:(k+1)*d])
		}
		return nil
	})
}
