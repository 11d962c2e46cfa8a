package rows

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// Collect gives every rank of a group the rows with the given numbers, among those of all ranks, in memory and in the order of
// the numbers. Without a group x has all rows.
func Collect[T kernel.Float](
	ctx context.Context, g *ranks.Group, what string, x []Matrix[T], numbers []int, workers int,
) ([]*Dense[T], error) {
	out := make([]*Dense[T], len(x))
	for v, m := range x {
		n, d := m.Dims()
		var here []int // places in numbers
		for k, i := range numbers {
			if i < 0 || i >= g.Total(n) {
				return nil, fmt.Errorf("%s: row %d of %d", what, i, g.Total(n))
			}
			if i >= g.First() && i < g.First()+n {
				here = append(here, k)
			}
		}
		mine := make([]T, len(here)*d)
		if err := parallel.Blocks(ctx, workers, len(here), 64, func(lo, hi int) error {
			for k := lo; k < hi; k++ {
				m.Row(numbers[here[k]]-g.First(), mine[k*d:(k+1)*d])
			}
			return nil
		}); err != nil {
			return nil, err
		}
		if g == nil {
			out[v] = NewDense(len(numbers), d, d, mine)
			continue
		}
		parts, err := g.Gather(what, ranks.Bytes(mine))
		if err != nil {
			return nil, err
		}
		all := make([]T, len(numbers)*d)
		raw, row := ranks.Bytes(all), d*sizeOf(T(0))
		for k, i := range numbers {
			owner := g.Owner(i)
			if len(parts[owner]) < row {
				return nil, fmt.Errorf("%s: rank %d has sent too few rows", what, owner)
			}
			copy(raw[k*row:(k+1)*row], parts[owner])
			parts[owner] = parts[owner][row:]
		}
		out[v] = NewDense(len(numbers), d, d, all)
	}
	return out, nil
}

// CollectBits returns on every rank which of the samples with the given numbers, among those of all ranks, have something, in the
// order of the numbers. has says it of the n of this rank, by their numbers here.
func CollectBits(g *ranks.Group, what string, n int, numbers []int, has func(i int) bool) ([]bool, error) {
	out := make([]bool, len(numbers))
	var mine []byte
	for k, i := range numbers {
		switch {
		case i < 0 || i >= g.Total(n):
			return nil, fmt.Errorf("%s: sample %d of %d", what, i, g.Total(n))
		case i < g.First() || i >= g.First()+n:
			continue
		}
		out[k] = has(i - g.First())
		mine = append(mine, 0)
		if out[k] {
			mine[len(mine)-1] = 1
		}
	}
	if g == nil {
		return out, nil
	}
	parts, err := g.Gather(what, mine)
	if err != nil {
		return nil, err
	}
	for k, i := range numbers {
		owner := g.Owner(i)
		if len(parts[owner]) == 0 {
			return nil, fmt.Errorf("%s: rank %d has answered too little", what, owner)
		}
		out[k], parts[owner] = parts[owner][0] != 0, parts[owner][1:]
	}
	return out, nil
}

// ThinNumbers returns the numbers of the rows that Thin takes of n.
func ThinNumbers(n, enough int) []int {
	step := n / enough
	if step < 2 {
		step = 1
	}
	var out []int
	for lo := 0; lo < n; lo += step * thinBlock {
		for i := lo; i < min(lo+thinBlock, n); i++ {
			out = append(out, i)
		}
	}
	return out
}

// CollectThin is Thin of the rows of all ranks, which every rank then has.
func CollectThin[T kernel.Float](ctx context.Context, g *ranks.Group, x []Matrix[T], enough, workers int) ([]Matrix[T], error) {
	n, _ := x[0].Dims()
	numbers := ThinNumbers(g.Total(n), enough)
	some, err := Collect(ctx, g, "some rows for leading directions", x, numbers, workers)
	if err != nil {
		return nil, err
	}
	out := make([]Matrix[T], len(some))
	for v, m := range some {
		out[v] = m
	}
	return out, nil
}
