package neighbor

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Attach returns the links of new samples to the atoms of the index: the samples of an exact graph, or landmarks. The weights
// are, as nearly as possible without changing the index, the weights in an index that was built with the sample. Each new sample
// is attached alone.
//
// With landmarks, the landmarks and the sums of their weights do not change. A sample of the index gets exactly its own links.
//
// With exact neighbours these rules hold:
//
//   - In each space a new sample has its k nearest among the samples of the index, at most d_k away.
//   - It is also a neighbour of every sample j to which it is nearer than j's own k-th neighbour. Its weight there is
//     exp(−d²/d_j²). d_j is the distance of j's k-th neighbour afterwards: the larger of d and the distance of the former
//     (k−1)-th.
//   - From both, A = min(D, Dᵀ) + rest·(D + Dᵀ) as in Mutual, divided by √(its degree · degree of j). The degree of j stays.
//   - A sample that is equal to one of the index in every view gets the links of that sample, or of the first of several.
//   - With Config.Adapt, a shorter row of any other sample is first scaled to the root mean square length of the index's rows in
//     its view. A new row lacks the part outside the view's leading directions, and a short row would be nearer to all samples of
//     the index than they are to each other.
//   - With Config.Adapt and filled spaces, a sample that lacks views is attached twice. The second time its absent rows are
//     filled as in the index: with the mean, at norm 1, of the rows that its atoms have in the view, weighted by its links.
//
// The views of the new samples must have the number and the features of the views of the index. Otherwise, and for values that
// are not finite, Attach returns an error. If ctx is cancelled, it returns the context's error.
func (x *Index[T]) Attach(ctx context.Context, views []View[T], workers int) (*Links, error) {
	if len(views) != len(x.dims) {
		return nil, fmt.Errorf("neighbor: %d views, the index has %d", len(views), len(x.dims))
	}
	src, err := newSource(ctx, nil, views, workers)
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
		return x.attachFilled(ctx, src, workers)
	}
	c, parts := landmarkConfig{Workers: workers}, make([]*Links, len(x.sets))
	for q, m := range x.sets {
		if parts[q], err = m.link(ctx, src, c); err != nil {
			return nil, err
		}
	}
	return join(ctx, x.sets, parts, x.weights, c)
}

// attachFilled links new samples to neighbours. It attaches samples that lack views a second time, with filled rows.
func (x *Index[T]) attachFilled(ctx context.Context, query *source[T], workers int) (*Links, error) {
	links, err := x.attachExact(ctx, query, workers)
	if err != nil || x.exact.length == nil || query.twice == 0 {
		return links, err
	}
	var lacking []int
	for i := range query.n {
		for v := range query.twice {
			if !query.present(v, i) {
				lacking = append(lacking, i)
				break
			}
		}
	}
	if lacking == nil {
		return links, nil
	}
	filled, err := x.filledQuery(ctx, query, links, lacking, workers)
	if err != nil {
		return nil, err
	}
	again, err := x.attachExact(ctx, filled, workers)
	if err != nil {
		return nil, err
	}
	out, next := &Links{atoms: links.atoms, ptr: []int{0}}, 0
	for i := range query.n {
		if next < len(lacking) && lacking[next] == i {
			out.appendRow(again.Row(next))
			next++
			continue
		}
		out.appendRow(links.Row(i))
	}
	return out, nil
}

// filledQuery returns the given samples of the query, with absent rows filled along the links in filled spaces.
func (x *Index[T]) filledQuery(
	ctx context.Context, query *source[T], links *Links, samples []int, workers int,
) (*source[T], error) {
	base, n := x.exact.src, len(samples)
	views := make([]View[T], 2*query.twice)
	for v := range query.twice {
		d := query.dims[v]
		rows := make([]T, n*d)
		have, filled := make([]bool, n), make([]bool, n)
		err := eachRow(ctx, workers, n, func(q int) {
			row, i := rows[q*d:(q+1)*d], samples[q]
			if have[q] = query.present(v, i); have[q] {
				filled[q] = true
				query.views[v].Rows.Row(i, row)
				return
			}
			sum := make([]float64, d)
			atoms, weights := links.Row(i)
			for e, j := range atoms {
				if base.present(base.twice+v, int(j)) {
					filled[q] = true
					for c, a := range base.row(v, int(j), nil) {
						sum[c] += weights[e] * float64(a)
					}
				}
			}
			for c, a := range sum {
				row[c] = T(a)
			}
			toUnit(row)
		})
		if err != nil {
			return nil, err
		}
		if views[v], err = Dense(n, d, d, rows, filled); err != nil {
			return nil, err
		}
		if views[query.twice+v], err = Dense(n, d, d, rows, have); err != nil {
			return nil, err
		}
	}
	out, err := newSource(ctx, nil, views, workers)
	if err != nil {
		return nil, err
	}
	out.twice = query.twice
	return out, nil
}

// attachExact links new samples to neighbours.
func (x *Index[T]) attachExact(ctx context.Context, query *source[T], workers int) (*Links, error) {
	e, given := x.exact, query
	a, _ := e.attachers.Get().(*attacher[T])
	if a == nil {
		a = &attacher[T]{index: x}
		a.other.take = a.admit
	}
	defer a.end()
	if e.length != nil {
		var err error
		if query, err = query.lengthened(ctx, e.length, workers, &a.longer); err != nil {
			return nil, err
		}
	}
	own, err := given.rowHashes(ctx, workers)
	if err != nil {
		return nil, err
	}
	if err := a.begin(ctx, query, workers); err != nil {
		return nil, err
	}
	if err := a.search.scan(ctx, workers, &a.other); err != nil {
		return nil, err
	}
	if a.lists, err = a.search.finish(ctx, workers, a.lists); err != nil {
		return nil, err
	}
	parts := make([]*Links, query.blocks())
	err = parallel.For(ctx, workers, len(parts), func(_, b int) error {
		lo, hi := query.block(b)
		part := &Links{atoms: e.src.n, ptr: make([]int, 1, hi-lo+1)}
		buf := query.rowBuffers()
		w := linkPool.Get().(*linkSpace)
		defer linkPool.Put(w)
		for i := lo; i < hi; i++ {
			if j := e.twins.find(given, i, joinHashes(own, e.twins.views, i), buf); j >= 0 {
				part.appendRow(e.graph.Row(j))
				continue
			}
			part.appendRow(a.links(a.lists, i, w, buf))
		}
		parts[b] = part
		return nil
	})
	if err != nil {
		return nil, err
	}
	return concat(parts), nil
}

// linkPool holds released memory.
var linkPool = sync.Pool{New: func() any { return new(linkSpace) }}

// attacher finds the links of new samples to exact neighbours.
type attacher[T Float] struct {
	index  *Index[T]
	query  *source[T]
	search search[T]
	longer longer[T]
	lists  []*Lists
	other  reverse[T]

	own   []float64 // of each space and query, the norm, which scores lack
	noise []float64 // of each space and query, the error of the scores
	reach []T       // of each space and query, the tolerance above the limit of a sample
	near  [][]int32 // of each space and query, the samples of the index that may have it as a neighbour
}

func (a *attacher[T]) end() {
	a.query, a.search.query = nil, nil
	clear(a.longer.source.views)
	a.index.exact.attachers.Put(a)
}

// begin prepares a for a query, in the memory of the last one.
func (a *attacher[T]) begin(ctx context.Context, query *source[T], workers int) error {
	e := a.index.exact
	a.query = query
	a.search.begin(e.src, query, e.places, min(a.index.cfg.Neighbors, e.src.n))
	e.once.Do(func() {
		for q, p := range a.search.spaces {
			limits, over, most := make([]limit, e.src.n), make([]T, e.src.n), 0.0
			for j := range limits {
				limits[j] = a.index.limitOf(q, j)
				square := limits[j].below
				over[j] = p.bias[j] - T(square)
				if !math.IsInf(square, 1) {
					most = max(most, square)
				}
			}
			e.limits, e.over, e.most = append(e.limits, limits), append(e.over, over), append(e.most, most)
		}
	})
	if query.n > fewQueries && kernel.Words[T]() && !a.search.anyMasked() {
		if err := a.packWords(ctx, workers); err != nil {
			return err
		}
		if e.words != nil {
			a.search.inWords(e.words)
		}
	}
	n, spaces := query.n, len(a.search.spaces)
	a.own, a.noise, a.reach = resized(a.own, spaces*n), resized(a.noise, spaces*n), resized(a.reach, spaces*n)
	a.near = slices.Grow(a.near[:0], spaces*n)[:spaces*n]
	for i := range a.near {
		a.near[i] = a.near[i][:0]
	}
	a.other.over, a.other.reach = e.over, a.other.reach[:0]
	for q, p := range a.search.spaces {
		own, noise, reach := a.own[q*n:(q+1)*n], a.noise[q*n:(q+1)*n], a.reach[q*n:(q+1)*n]
		for i := range own {
			own[i], noise[i] = a.search.own(p, i), a.search.noise(p, i)
			// Every rounding error on the way is at most this.
			norm := math.Sqrt(a.query.length(p.views, i)) + p.longest
			size := e.most[q] + norm*norm
			reach[i] = T(noise[i] - own[i] + admitSlack*size)
		}
		a.other.reach = append(a.other.reach, reach)
	}
	return nil
}

// packWords rounds the samples of the index to words, once, if this saves time.
func (a *attacher[T]) packWords(ctx context.Context, workers int) (err error) {
	e := a.index.exact
	e.packing.Do(func() {
		var words *wordBase[T]
		words, err = newWordBase(context.WithoutCancel(ctx), &a.search, workers)
		if err == nil && words.rounds(a.search.spaces, e.limits) {
			words.square = nil
			e.words = words
		}
	})
	return err
}

// admitSlack is more than the relative rounding error of float32.
const admitSlack = 1e-6

// limit is the squared distance below which a new sample is a neighbour of a sample, and the squared distance of the neighbour
// before the one that it replaces.
type limit struct{ below, rest float64 }

func (x *Index[T]) limitOf(space, j int) limit {
	l := x.exact.lists[space]
	at := (j + 1) * l.K
	if l.Index[at-1] < 0 || l.K < x.cfg.Neighbors { // a place is free
		rest, _ := l.last(j)
		return limit{math.Inf(1), rest}
	}
	if l.K > 1 {
		return limit{l.Square[at-1], l.Square[at-2]}
	}
	return limit{below: l.Square[at-1]}
}

// admit notes sample j, which may have query i as a neighbour.
func (a *attacher[T]) admit(space, i, j int, score T) {
	d, at := float64(score), space*a.query.n+i
	below := float64(T(a.index.exact.limits[space][j].below))
	if d+a.own[at] <= below+a.noise[at] && !math.IsInf(d, 1) {
		a.near[at] = append(a.near[at], int32(j))
	}
}

// edge joins a query and a sample in a space, with the weights that they give each other.
type edge struct {
	to      int32
	out, in float64
}

// linkSpace is the memory for the links of a query.
type linkSpace struct {
	own   []edge    // to the query's neighbours in a space, by sample, with the squared distance as in
	edges []edge    // in a space, by sample
	sums  []float64 // weights of all spaces, by sample; valid where some has a bit
	some  []uint64  // a bit for each sample with weights
	cols  []int32
	vals  []float64
}

// collect sets w.edges to those of query i in space q.
func (a *attacher[T]) collect(l *Lists, q, i int, w *linkSpace, buf [2][]T) {
	e, p := a.index.exact, a.search.spaces[q]
	w.own, w.edges = w.own[:0], w.edges[:0]
	scale, count := l.last(i)
	for r := i * l.K; r < i*l.K+count; r++ {
		f := edge{to: l.Index[r], out: closeness(l.Square[r], scale), in: l.Square[r]}
		at := len(w.own)
		w.own = append(w.own, f)
		for ; at > 0 && f.to < w.own[at-1].to; at-- { // own is short
			w.own[at] = w.own[at-1]
		}
		w.own[at] = f
	}
	own := w.own
	next := func() {
		own[0].in = 0
		w.edges = append(w.edges, own[0])
		own = own[1:]
	}
	for _, j := range a.near[q*a.query.n+i] { // in increasing order
		for len(own) > 0 && own[0].to < j {
			next()
		}
		f, ok := edge{to: j}, true
		known := len(own) > 0 && own[0].to == j
		if known {
			f, own = own[0], own[1:]
		} else {
			f.in, ok = a.query.distance(e.src, p.views, i, int(j), buf)
		}
		if limit := e.limits[q][j]; ok && f.in < limit.below {
			f.in = closeness(f.in, max(f.in, limit.rest))
		} else if f.in = 0; !known {
			continue
		}
		w.edges = append(w.edges, f)
	}
	for len(own) > 0 {
		next()
	}
}

// add adds a weight of sample j.
func (w *linkSpace) add(j int32, weight float64) {
	if bit := uint64(1) << (j % 64); w.some[j/64]&bit == 0 {
		w.some[j/64] |= bit
		w.sums[j] = weight
		return
	}
	w.sums[j] += weight
}

// take sets w.cols and w.vals to the added weights, in the order of the samples, and clears the weights.
func (w *linkSpace) take() {
	w.cols, w.vals = w.cols[:0], w.vals[:0]
	for q, word := range w.some {
		for ; word != 0; word &= word - 1 {
			j := int32(64*q + bits.TrailingZeros64(word))
			w.cols, w.vals = append(w.cols, j), append(w.vals, w.sums[j])
		}
		w.some[q] = 0
	}
}

// links returns the links of query i, in the memory of w.
func (a *attacher[T]) links(lists []*Lists, i int, w *linkSpace, buf [2][]T) ([]int32, []float64) {
	e, rest := a.index.exact, a.index.cfg.Rest
	weights := a.index.weights
	cover, whole := 0.0, true
	if n := e.src.n; len(w.sums) < n {
		w.sums, w.some = make([]float64, n), make([]uint64, (n+63)/64)
	}
	for q := range a.search.spaces {
		a.collect(lists[q], q, i, w, buf)
		degree := 0.0
		for _, f := range w.edges {
			degree += mutualWeight(f.out, f.in, rest)
		}
		if !(degree > 0) {
			whole = false
			continue
		}
		cover += weights[q]
		for _, f := range w.edges {
			weight := mutualWeight(f.out, f.in, rest)
			to := e.degree[q][f.to]
			if to == 0 { // its only edge
				to = weight
			}
			if weight > 0 {
				w.add(f.to, weights[q]*weight/math.Sqrt(degree*to))
			}
		}
	}
	if whole {
		cover = 1
	}
	w.take()
	for r, j := range w.cols {
		to := e.cover[j]
		if to == 0 { // its only edges
			to = cover
		}
		w.vals[r] /= math.Sqrt(cover * to)
	}
	return w.cols, w.vals
}
