package neighbor

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// selfColumns is the number of samples whose own weights are computed together.
const selfColumns = 16

// SelfWeights returns, for some samples of a graph (of all ranks), the weight that a filter of the given number of steps gives
// to the row of the sample itself by way of its neighbours: the diagonal of ((I + A)/2)^S less 2^−S. On the CPU it computes
// products for half of the steps, because the diagonal of the power consists of inner products of columns of lower powers. A
// device, if it is not nil, filters the columns along a Factor.
func SelfWeights[T Float](
	ctx context.Context, op Operator, steps, workers int, samples []int, device rows.Device,
) ([]float64, error) {
	base, err := operand[T](op, steps)
	if err != nil {
		return nil, err
	}
	if err := checkSamples(samples, base.links.group.Total(op.Len())); err != nil {
		return nil, err
	}
	on := &deviceFilter[T]{base: base}
	if out, err := on.selfWeights(ctx, device, steps, samples); out != nil || err != nil {
		return out, err
	}
	n, first, out := op.Len(), base.links.group.First(), make([]float64, 0, len(samples))
	x, next := make([]T, n*selfColumns), make([]T, n*selfColumns)
	step := func() error { return halfStep(ctx, op, workers, next, x) }
	for lo := 0; lo < len(samples); lo += selfColumns {
		group := samples[lo:min(lo+selfColumns, len(samples))]
		clear(x)
		for g, i := range group {
			if i -= first; i >= 0 && i < n {
				x[i*selfColumns+g] = 1
			}
		}
		for range steps / 2 {
			if err := step(); err != nil {
				return nil, err
			}
			x, next = next, x
		}
		other := x
		if steps%2 == 1 {
			if err := step(); err != nil {
				return nil, err
			}
			other = next
		}
		own, err := columnProducts(ctx, base.links, x, other, workers)
		if err != nil {
			return nil, err
		}
		for g := range group {
			out = append(out, own[g]-math.Ldexp(1, -steps))
		}
	}
	return out, nil
}

// checkSamples returns an error for samples that are not among n.
func checkSamples(samples []int, n int) error {
	for _, i := range samples {
		if i < 0 || i >= n {
			return fmt.Errorf("neighbor: sample %d does not exist: there are %d samples", i, n)
		}
	}
	return nil
}

// halfStep sets next to (x + A·x)/2, for selfColumns columns.
func halfStep[T Float](ctx context.Context, op Operator, workers int, next, x []T) error {
	if err := Mul(ctx, op, workers, next, x, selfColumns); err != nil {
		return err
	}
	return eachRow(ctx, workers, len(x)/selfColumns, func(i int) {
		to := next[i*selfColumns : (i+1)*selfColumns]
		for j, v := range x[i*selfColumns : (i+1)*selfColumns] {
			to[j] = (to[j] + v) / 2
		}
	})
}

// columnProducts returns the inner product of each column of x with the same column of y, over the samples with the links, of all
// ranks.
func columnProducts[T Float](ctx context.Context, l *Links, x, y []T, workers int) ([]float64, error) {
	return ranks.SumRows(ctx, l.group, l.sum("the own weights of samples", workers, selfColumns),
		func() struct{} { return struct{}{} },
		func(_, lo, hi int, _ struct{}, part []float64) error {
			for i := lo * selfColumns; i < hi*selfColumns; i += selfColumns {
				row := y[i : i+selfColumns]
				for j, v := range x[i : i+selfColumns] {
					part[j] += float64(v) * float64(row[j])
				}
			}
			return nil
		})
}

// Alone filters samples of the graph as if they were new. Row r of x holds the row of sample samples[r] before smoothing. Alone
// replaces it by the result of Apply for a new sample with the same links, before the scaling to norm 1. It subtracts the
// contribution of the row to its neighbours, with the weight self[r] (SelfWeights). An absent row becomes zero.
func (f *Filter[T]) Alone(op Operator, samples []int, self []float64, x Block[T]) error {
	base, err := operand[T](op, f.Steps)
	if err != nil {
		return err
	}
	atoms := base.links.atoms
	if atoms != f.Atoms || x.Cols != f.Cols || len(self) != len(samples) {
		return fmt.Errorf("neighbor: %d atoms, %d columns and %d own weights for a filter of %d and %d and %d samples",
			atoms, x.Cols, len(self), f.Atoms, f.Cols, len(samples))
	}
	if err := errors.Join(x.check(0, len(samples)), checkSamples(samples, op.Len())); err != nil {
		return err
	}
	l := &Links{atoms: atoms, ptr: []int{0}}
	for _, i := range samples {
		l.appendRow(base.links.Row(i))
	}
	factors, ld := make([]T, len(samples)), Stride(f.Cols)
	f.factors(l, factors)
	au := make([]T, len(samples)*ld)
	newLayout[T](l, false).gather(0, len(samples), au, f.Table, ld)
	share := math.Ldexp(1, -f.Steps)
	for r := range samples {
		row := x.X[r*x.Ld : r*x.Ld+x.Cols]
		if x.has(r) {
			finish(row, au[r*ld:], T(share-float64(factors[r])*self[r]), factors[r])
		} else {
			clear(row)
		}
	}
	return nil
}
