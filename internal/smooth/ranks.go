package smooth

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// findOnRanks finds the directions of some inputs on several ranks: every rank gets the rows for the directions of an input, and
// one of them finds the directions.
func (s *Inputs[T]) findOnRanks(ctx context.Context, views []view.View, wide []int, o Options) error {
	g := o.Group
	mine, columns := make([]rows.Matrix[T], len(wide)), make([]int, len(wide))
	for i, k := range wide {
		unit, err := UnitRows[T](ctx, s.Standardised, k, views[s.Inputs[k].View], o.Workers)
		if err != nil {
			return err
		}
		some, err := rows.CollectThin(ctx, g, []rows.Matrix[T]{unit}, spectral.EnoughRows, o.Workers)
		if err != nil {
			return err
		}
		_, columns[i] = unit.Dims()
		if i%g.Size() == g.Rank() {
			mine[i] = some[0]
		}
	}
	found := make([]*spectral.Basis, len(wide))
	for i, k := range wide {
		if mine[i] == nil {
			continue
		}
		to, err := findDirection(ctx, mine[i], o.search(s.Inputs[k].Columns))
		if err != nil {
			return err
		}
		found[i] = to.basis
		seen, _ := mine[i].Dims()
		for j := range found[i].S {
			found[i].S[j] *= math.Sqrt(float64(g.Total(views[0].Rows)) / float64(seen))
		}
		mine[i] = nil
	}
	for i, k := range wide {
		b, rank := found[i], s.Inputs[k].Columns
		if b == nil {
			b = &spectral.Basis{
				Dims: []int{columns[i]}, S: make([]float64, rank), V: [][]float64{make([]float64, rank*columns[i])},
			}
		}
		for _, x := range [][]float64{b.S, b.V[0]} {
			if err := g.Broadcast("the directions of an input", i%g.Size(), ranks.Bytes(x)); err != nil {
				return err
			}
		}
		s.directions[k] = direction[T]{basis: b, projector: spectral.NewProjector[T](b)}
	}
	return nil
}

// collected returns the rows of some samples, of all ranks, to every rank. For a single process it returns the blocks, with the
// numbers of these samples in them.
func collected[T kernel.Float](
	ctx context.Context, blocks []neighbor.Block[T], n int, samples []int, o Options,
) ([]neighbor.Block[T], []int, error) {
	if o.Group == nil {
		return blocks, samples, nil
	}
	some, err := rows.Collect(ctx, o.Group, "some samples", Matrices(blocks, n), samples, o.Workers)
	if err != nil {
		return nil, nil, err
	}
	out := make([]neighbor.Block[T], len(blocks))
	masks := map[*bool][]bool{} // inputs of one view have one mask
	for k, m := range some {
		cols, own := blocks[k].Cols, blocks[k].Present
		out[k] = neighbor.Block[T]{Ld: cols, Cols: cols, X: make([]T, len(samples)*cols)}
		if own != nil {
			mask, known := masks[&own[0]]
			if !known {
				has := func(i int) bool { return own[i] }
				mask, err = rows.CollectBits(o.Group, "the masks of these samples", n, samples, has)
				if err != nil {
					return nil, nil, err
				}
				masks[&own[0]] = mask
			}
			out[k].Present = mask
		}
		for r := range samples {
			m.Row(r, out[k].X[r*cols:(r+1)*cols])
		}
	}
	return out, lists.Indices(len(samples)), nil
}
