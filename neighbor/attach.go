package neighbor

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Attach returns the links of new samples to the atoms of the index: the samples of an exact graph, or landmarks. They have
// the weights, as far as can be said without changing anything else, that the new samples would have in an index built with
// them, each alone:
//
//   - Landmarks: the landmarks and the sums of their weights stay. A sample of the index gets exactly its own links.
//   - Exact neighbours: in each space the sample has its k nearest among those of the index, at most d_k away. It is also
//     among the neighbours of every sample j to which it is nearer than j's own k-th neighbour; there it has the weight
//     exp(−d²/d_j²) with d_j the distance of j's k-th neighbour after it, that is the larger of d and the distance of the
//     former (k−1)-th. From both, A = min(D, Dᵀ) + rest·(D + Dᵀ) as in Mutual, divided by √(its degree · j's degree), j's as
//     it was. A sample that is equal to one of the index in every view is that sample, the first of them, and gets its links.
//
// The views must be those of the index in number and features; their samples are the new ones. It returns an error if they
// are not, for values that are not finite, and the context's error if it is cancelled.
func (x *Index[T]) Attach(ctx context.Context, views []View[T], workers int) (*Links, error) {
	if len(views) != len(x.dims) {
		return nil, fmt.Errorf("neighbor: %d views, the index has %d", len(views), len(x.dims))
	}
	src, err := newSource(ctx, views, workers)
	if err != nil {
		return nil, err
	}
	for v, d := range src.dims {
		if d != x.dims[v] {
			return nil, fmt.Errorf("neighbor: view %d has %d columns, the index has %d", v, d, x.dims[v])
		}
	}
	if x.doubles() {
		if src, err = src.doubled(ctx, false, workers); err != nil {
			return nil, err
		}
	}
	if x.exact != nil {
		return x.attachExact(ctx, src, workers)
	}
	parts := make([]*Links, len(x.sets))
	for q, m := range x.sets {
		if parts[q], err = m.link(ctx, src, workers); err != nil {
			return nil, err
		}
	}
	return join(ctx, x.sets, parts, x.weights, workers)
}

// attachExact links new samples to neighbours.
func (x *Index[T]) attachExact(ctx context.Context, query *source[T], workers int) (*Links, error) {
	e := x.exact
	a := &attacher[T]{index: x, query: query, search: newSearch(e.src, query, e.places, min(x.cfg.Neighbors, e.src.n))}
	a.prepare()
	if err := a.search.scan(ctx, workers, a.admit); err != nil {
		return nil, err
	}
	lists, err := a.search.finish(ctx, workers)
	if err != nil {
		return nil, err
	}
	own, err := query.rowHashes(ctx, workers)
	if err != nil {
		return nil, err
	}
	parts := make([]*Links, query.blocks())
	err = parallel.For(ctx, workers, len(parts), func(_, b int) error {
		part := &Links{atoms: e.src.n, ptr: []int{0}}
		lo, hi := query.block(b)
		buf := query.rowBuffers()
		sum := make(map[int32]float64)
		for i := lo; i < hi; i++ {
			if j := e.twins.find(query, i, joinHashes(own, e.twins.views, i), buf); j >= 0 {
				part.appendRow(e.graph.Row(j))
				continue
			}
			part.appendRow(a.links(lists, i, sum, buf))
		}
		parts[b] = part
		return nil
	})
	if err != nil {
		return nil, err
	}
	return concat(parts), nil
}

// attacher finds the links of new samples to exact neighbours.
type attacher[T Float] struct {
	index  *Index[T]
	query  *source[T]
	search *search[T]

	limit [][]T       // of each space and sample of the index, a bound of the scores of those that may be its neighbours
	own   [][]float64 // of each space and query, its norm, which scores lack
	noise [][]float64 // and the error of its scores
	reach [][]float64 // of each space and block of queries, the largest noise − own
	near  [][][]int32 // of each space and query, the samples of the index whose neighbour it may be
}

func (a *attacher[T]) prepare() {
	e := a.index.exact
	e.once.Do(func() {
		for q := range a.search.spaces {
			limit := make([]T, e.src.n)
			for j := range limit {
				square, _ := a.index.limits(q, j)
				limit[j] = T(square)
			}
			e.limit = append(e.limit, limit)
		}
	})
	a.limit = e.limit
	for _, p := range a.search.spaces {
		own, noise := make([]float64, a.query.n), make([]float64, a.query.n)
		for i := range own {
			own[i] = a.query.length(p.views, i)
			noise[i] = a.search.noise(p, i)
		}
		a.own, a.noise = append(a.own, own), append(a.noise, noise)
		a.near = append(a.near, make([][]int32, a.query.n))
		reach := make([]float64, a.query.blocks())
		for b := range reach {
			lo, hi := a.query.block(b)
			reach[b] = math.Inf(-1)
			for i := lo; i < hi; i++ {
				reach[b] = max(reach[b], noise[i]-own[i])
			}
		}
		a.reach = append(a.reach, reach)
	}
}

// admitSlack is more than the relative rounding error of float32.
const admitSlack = 1e-6

// limits returns the squared distance below which a new sample is a neighbour of sample j, and that of j's last neighbour
// but for the one whose place it takes.
func (x *Index[T]) limits(space, j int) (below, rest float64) {
	l := x.exact.lists[space]
	at := (j + 1) * l.K
	if l.Index[at-1] < 0 || l.K < x.cfg.Neighbors { // there is a place free
		rest, _ = l.last(j)
		return math.Inf(1), rest
	}
	if l.K > 1 {
		rest = l.Square[at-2]
	}
	return l.Square[at-1], rest
}

// admit notes the queries that may be neighbours of sample j. Most groups of queries have none.
func (a *attacher[T]) admit(space, j, from int, scores []T) {
	limit, own, noise := float64(a.limit[space][j]), a.own[space], a.noise[space]
	reach := a.reach[space][from/blockRows]
	top := T(limit + reach + admitSlack*(math.Abs(limit)+math.Abs(reach)))
	for i := 0; i < len(scores); {
		for ; i+scoreGroup <= len(scores); i += scoreGroup {
			g := (*[scoreGroup]T)(scores[i:])
			if min(min(g[0], g[1]), min(g[2], g[3]), min(g[4], g[5]), min(g[6], g[7])) <= top {
				break
			}
		}
		for end := min(i+scoreGroup, len(scores)); i < end; i++ {
			d := float64(scores[i])
			if d+own[from+i] <= limit+noise[from+i] && !math.IsInf(d, 1) {
				a.near[space][from+i] = append(a.near[space][from+i], int32(j))
			}
		}
	}
}

// links returns the links of query i. sum is scratch.
func (a *attacher[T]) links(lists []*Lists, i int, sum map[int32]float64, buf [2][]T) ([]int32, []float64) {
	e, rest := a.index.exact, a.index.cfg.Rest
	clear(sum)
	type edge struct {
		to      int32
		out, in float64
	}
	weights := a.index.weights
	cover, whole := 0.0, true
	for q, p := range a.search.spaces {
		edges := make(map[int32]edge)
		l := lists[q]
		scale, count := l.last(i)
		for r := i * l.K; r < i*l.K+count; r++ {
			edges[l.Index[r]] = edge{to: l.Index[r], out: closeness(l.Square[r], scale)}
		}
		for _, j := range a.near[q][i] {
			below, former := a.index.limits(q, int(j))
			d, ok := a.query.distance(e.src, p.views, i, int(j), buf)
			if ok && d < below {
				f := edges[j]
				f.to, f.in = j, closeness(d, max(d, former))
				edges[j] = f
			}
		}
		sorted := make([]edge, 0, len(edges))
		for _, f := range edges {
			sorted = append(sorted, f)
		}
		slices.SortFunc(sorted, func(a, b edge) int { return int(a.to) - int(b.to) })
		degree := 0.0
		for _, f := range sorted {
			degree += mutualWeight(f.out, f.in, rest)
		}
		if !(degree > 0) {
			whole = false
			continue
		}
		cover += weights[q]
		for _, f := range sorted {
			w := mutualWeight(f.out, f.in, rest)
			to := e.degree[q][f.to]
			if to == 0 { // its only edge
				to = w
			}
			if w > 0 {
				sum[f.to] += weights[q] * w / math.Sqrt(degree*to)
			}
		}
	}
	if whole {
		cover = 1
	}
	cols := make([]int32, 0, len(sum))
	for j := range sum {
		cols = append(cols, j)
	}
	slices.Sort(cols)
	vals := make([]float64, len(cols))
	for r, j := range cols {
		to := e.cover[j]
		if to == 0 { // its only edges
			to = cover
		}
		vals[r] = sum[j] / math.Sqrt(cover*to)
	}
	return cols, vals
}
