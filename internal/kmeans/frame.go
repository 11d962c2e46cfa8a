package kmeans

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// frameRows is the number of rows in a chunk of the column sums: more than a block, since each chunk folds Σ d_v sums.
const frameRows = 1024

// frame holds what all distances of one source share. Products use centroids less the centre μ, so that an offset common to all
// samples costs little precision in float32.
type frame[T kernel.Float] struct {
	centre []T       // μ, the column means over the rows present, rounded to T
	norm   []float64 // √(Σ_{v present} w_v‖x_iv‖²)
	spread []float64 // Σ_{v present} w_v‖x_iv − μ_v‖²
	total  float64   // Σ_i scale_i·spread_i
	// variance is the mean over all columns of the weighted variance, the unit of the tolerance (scikit-learn's _tolerance).
	variance float64
}

func newFrame[T kernel.Float](ctx context.Context, src *Source[T], workers int) (*frame[T], error) {
	f := &frame[T]{centre: make([]T, src.width()), spread: make([]float64, src.n)}
	var err error
	if f.norm, err = src.norms(ctx, workers); err != nil {
		return nil, err
	}
	scratch := make([][]T, parallel.Workers(workers))
	for w := range scratch {
		scratch[w] = make([]T, src.width())
	}
	g, counts := src.group, make([]int, len(src.views))
	s := ranks.RowSum{What: "the centre of the rows", Workers: workers, Rows: src.n, Chunk: frameRows, Size: src.width()}
	sums, err := ranks.SumRows(ctx, g, s,
		func() []float64 { return make([]float64, len(src.views)) },
		func(worker, lo, hi int, shift, buf []float64) error {
			clear(shift)
			for i := lo; i < hi; i++ {
				addSample(src, buf, i, 1, scratch[worker], shift)
			}
			addShifts(src, buf, shift)
			return nil
		})
	if err != nil {
		return nil, err
	}
	for v := range src.views {
		for i := range src.n {
			if src.present(v, i) {
				counts[v]++
			}
		}
	}
	if err := g.SumInts("the rows of each view", counts); err != nil {
		return nil, err
	}
	for v := range src.views {
		for j := src.offset[v]; j < src.offset[v+1]; j++ {
			f.centre[j] = T(sums[j] / float64(max(1, counts[v])))
		}
	}
	err = parallel.For(ctx, workers, src.blocks(), func(worker, b int) error {
		lo, hi := src.block(b)
		for i := lo; i < hi; i++ {
			f.spread[i] = src.distance(i, f.centre, scratch[worker]) / src.scaleOf(i)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.What, s.Size = "the spread of the rows", 1
	total, err := ranks.SumRows(ctx, g, s,
		func() struct{} { return struct{}{} },
		func(_, lo, hi int, _ struct{}, part []float64) error {
			for i := lo; i < hi; i++ {
				part[0] += src.scaleOf(i) * f.spread[i]
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	f.total = total[0]
	f.variance = f.total / float64(g.Total(src.n)) / float64(src.width())
	return f, nil
}

// addSample adds weight·x_i to sums, over the present views. rows.Adders do not add their shift; addSample adds it to shift, one
// element for each view, for addShifts. row is scratch of the centroid's length.
func addSample[T kernel.Float](src *Source[T], sums []float64, i int, weight float64, row []T, shift []float64) {
	for v := range src.views {
		if !src.present(v, i) {
			continue
		}
		dst := sums[src.offset[v]:src.offset[v+1]]
		if a, ok := src.views[v].Rows.(rows.Adder); ok {
			shift[v] += a.AddRow(i, weight, dst)
			continue
		}
		x := src.part(v, row)
		src.views[v].Rows.Row(i, x)
		if weight == 1 {
			kernel.AddTo(dst, x)
			continue
		}
		for j, a := range x {
			dst[j] += weight * float64(a)
		}
	}
}

// addShifts completes sums after calls of addSample.
func addShifts[T kernel.Float](src *Source[T], sums, shift []float64) {
	for v, total := range shift {
		if a, ok := src.views[v].Rows.(rows.Adder); ok {
			a.AddShift(total, sums[src.offset[v]:src.offset[v+1]])
		}
	}
}
