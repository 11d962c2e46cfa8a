package structure

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// Placed holds labels of samples by clusters that were found without these samples.
type Placed struct {
	Labels []int // the cluster of each sample, with the same numbers in both halves; −1: it has none
	Half   []int // 0 or 1: the half of each sample; the clusters of the other half labelled it
}

// streamPlaced seeds the halves of HeldOut.
const streamPlaced = 1 << 6

// HeldOut splits samples in two halves, clusters each half by itself in the views, and labels each half by the clusters of the
// other one. Views must be checked and in memory. Samples that lack all views get no label. HeldOut returns nil if halves cannot
// be clustered: in the cases in which Judge returns score.StructureUnknown. Its only errors are errors of the context.
func HeldOut(ctx context.Context, views []view.View, o Options) (*Placed, error) {
	var seen []int
	for i := range views[0].Rows {
		if slices.ContainsFunc(views, func(x view.View) bool { return x.Has(i) }) {
			seen = append(seen, i)
		}
	}
	if o.Clusters < 2 || len(seen) < fewestRows || len(seen)/2 < fewestPerHalf*o.Clusters {
		return nil, nil
	}
	all, err := together(ctx, views, seen, &o)
	if err != nil || all == nil {
		return nil, err
	}
	order := rand.New(rand.NewPCG(o.Seed, streamPlaced)).Perm(all.n)
	parts := [2][]int{order[:all.n/2], order[all.n/2:]}
	var found [2]*clustering
	if err := parallel.For(ctx, o.Workers, 2, func(_, s int) (err error) {
		found[s], err = cluster(ctx, all.take(parts[s]), o, o.Seed+uint64(s))
		return err
	}); err != nil {
		return nil, err
	}
	var by [2][]int // the labels of all samples by the clusters of each half
	for s, c := range found {
		by[s] = make([]int, all.n)
		other, err := c.place(ctx, found[1-s], o.Workers)
		if err != nil {
			return nil, err
		}
		for q, i := range parts[s] {
			by[s][i] = c.labels[q]
		}
		for q, i := range parts[1-s] {
			by[s][i] = other.labels[q]
		}
	}
	return joinedHalves(views[0].Rows, seen, parts, by)
}

// joinedHalves gives the clusters of the second half the numbers of the first half.
func joinedHalves(n int, seen []int, parts [2][]int, by [2][]int) (*Placed, error) {
	t, err := score.NewContingency(by[0], by[1])
	if err != nil {
		return nil, err
	}
	first, err := t.Match()
	if err != nil {
		return nil, err
	}
	out := &Placed{slices.Repeat([]int{-1}, n), make([]int, n)}
	for s, part := range parts {
		for _, i := range part {
			out.Half[seen[i]] = s
			if s == 1 {
				out.Labels[seen[i]] = by[0][i]
			} else if k, ok := first[by[1][i]]; ok {
				out.Labels[seen[i]] = k
			}
		}
	}
	return out, nil
}

// together prepares some rows of the views and sets the number of neighbours; nil: all views are constant there.
func together(ctx context.Context, views []view.View, some []int, o *Options) (*data, error) {
	o.Neighbors = min(cmp.Or(o.Neighbors, 10), max(fewestNeighbors, len(some)/(4*o.Clusters)))
	taken := make([]view.View, len(views))
	for v, x := range views {
		taken[v] = moderate(x.Take(some))
	}
	sets, err := prepared(ctx, taken, false, *o)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	return joined(sets), nil
}

// Squares returns the squared distances between all samples in the prepared views, with their stride; nil: all views are
// constant. Rows of absent views are filled from neighbours.
func Squares(ctx context.Context, views []view.View, o Options) (squares []float32, stride int, err error) {
	d, err := together(ctx, views, lists.Indices(views[0].Rows), &o)
	if err == nil && d != nil {
		d, err = d.filled(ctx, o)
	}
	if err != nil || d == nil {
		return nil, 0, err
	}
	squares = d.squares()
	return squares, len(squares) / max(d.n, 1), nil
}

// Columns returns a view of the given features, in the given order. The rows of x are in memory.
func Columns(x view.View, of []int) view.View {
	out := view.View{Name: x.Name, Rows: x.Rows, Cols: len(of), Present: x.Present}
	if x.Sparse != nil {
		out.Sparse = columnsOf(x.Sparse, x.Cols, of)
		return out
	}
	row := make([]float64, x.Cols)
	if x.F32 != nil {
		out.F32 = make([]float32, x.Rows*len(of))
	} else {
		out.F64 = make([]float64, x.Rows*len(of))
	}
	for i := range x.Rows {
		if !x.Has(i) {
			continue
		}
		x.Row(i, row)
		for q, j := range of {
			if out.F32 != nil {
				out.F32[i*len(of)+q] = float32(row[j])
			} else {
				out.F64[i*len(of)+q] = row[j]
			}
		}
	}
	return out
}

func columnsOf(x *view.CSR, cols int, of []int) *view.CSR {
	at := slices.Repeat([]int32{-1}, cols)
	for q, j := range of {
		at[j] = int32(q)
	}
	out := &view.CSR{Ptr: []int{0}, F64: []float64{}}
	for i := range len(x.Ptr) - 1 {
		for k := x.Ptr[i]; k < x.Ptr[i+1]; k++ {
			if q := at[x.Cols[k]]; q >= 0 {
				out.Cols, out.F64 = append(out.Cols, q), append(out.F64, x.Value(k))
			}
		}
		out.Ptr = append(out.Ptr, len(out.Cols))
	}
	return out
}

// Entry is a value of a column that is not zero.
type Entry struct {
	Row   int
	Value float64
}

// Entries returns the entries of columns [lo, hi) in the rows that have the view. The rows are in memory, as Take leaves them.
func Entries(x view.View, lo, hi int) [][]Entry {
	out := make([][]Entry, hi-lo)
	add := func(i, j int, value float64) {
		if value != 0 {
			out[j-lo] = append(out[j-lo], Entry{i, value})
		}
	}
	for i := range x.Rows {
		switch {
		case !x.Has(i):
		case x.Sparse != nil:
			first, last := x.Sparse.Ptr[i], x.Sparse.Ptr[i+1]
			at, _ := slices.BinarySearch(x.Sparse.Cols[first:last], int32(lo))
			for k := first + at; k < last && int(x.Sparse.Cols[k]) < hi; k++ {
				add(i, int(x.Sparse.Cols[k]), x.Sparse.Value(k))
			}
		default:
			for j := lo; j < hi; j++ {
				switch {
				case x.F64 != nil:
					add(i, j, x.F64[i*x.Cols+j])
				case x.F32 != nil:
					add(i, j, float64(x.F32[i*x.Cols+j]))
				default:
					add(i, j, x.Matrix.At(i, j))
				}
			}
		}
	}
	return out
}
