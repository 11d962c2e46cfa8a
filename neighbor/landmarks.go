package neighbor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// landmarkConfig sets how landmarks are found and samples are linked to them.
type landmarkConfig struct {
	Count   int         // M, at most n; 0: n/4, at least 40 and at most 1,000
	Nearest int         // s, the landmarks of a sample, below M; 0: 5
	Seed    uint64      // of the samples that the landmarks start from
	Workers int         // goroutines; 0: GOMAXPROCS
	Device  rows.Device // computes the products; nil: this process
	Single  bool        // see Config.Single
}

const (
	defaultLandmarks   = 1000
	leastLandmarks     = 40
	defaultNearest     = 5
	lloydSteps         = 3
	samplesPerLandmark = 20
	landmarkStream     = 0x1a2d3a5c
	// spareNearest is the number of further landmarks, by product, from which exact distances select.
	spareNearest = 3
)

// DefaultLandmarks returns the default number of landmarks of n samples: n/4, at least 40, at most 1,000, and at most n.
func DefaultLandmarks(n int) int { return min(n, defaultLandmarks, max(n/4, leastLandmarks)) }

// complete fills in defaults and checks the rest for n samples.
func (c landmarkConfig) complete(n int) (landmarkConfig, error) {
	if c.Count == 0 {
		c.Count = DefaultLandmarks(n)
	}
	if c.Nearest == 0 {
		c.Nearest = min(defaultNearest, max(c.Count-1, 1))
	}
	if c.Count < 2 || c.Count > n {
		return c, fmt.Errorf("neighbor: %d landmarks for %d samples", c.Count, n)
	}
	if c.Nearest < 1 || c.Nearest >= c.Count {
		return c, fmt.Errorf("neighbor: %d nearest of %d landmarks", c.Nearest, c.Count)
	}
	return c, nil
}

type landmarks[T Float] struct {
	space     Space
	nearest   int
	count     int
	centroids [][]T     // of each view of the space, count×d
	scale     []float64 // 1/√(sum of the weights of a landmark's samples); 0 where there are none

	points  *source[T] // the centroids as samples, a view for each view of the space
	bias    [][]T      // their squared norms
	longest float64
	views   *lazyPanels[T] // of each view, for rows that do not lie in memory

	// The products with rows in memory (packRows) are packed when they are first needed: most graphs get no new samples.
	packing *sync.Once
	heads   []*head[T]
	width   int
	short   bool // bounds take far less time than scores
	rows    []T
	bounds  *kernel.Panel[T]
	bytes   *byteBounds[T] // nil: bounds by bytes are not fast
	whole   *lazyPanel[T]

	spaces *sync.Pool // of *landmarkSpace[T], for samples with the features of the landmarks
}

// lazyPanel is a panel that is packed when it is first needed.
type lazyPanel[T Float] struct {
	once  sync.Once
	panel kernel.Panel[T]
}

// lazyPanels is panels that are packed when they are first needed.
type lazyPanels[T Float] struct {
	once   sync.Once
	panels []kernel.Panel[T]
}

// viewPanels returns the centroids of each view as panels.
func (m *landmarks[T]) viewPanels() []kernel.Panel[T] {
	m.views.once.Do(func() {
		m.views.panels = make([]kernel.Panel[T], len(m.centroids))
		for q := range m.views.panels {
			m.points.pack(q, 0, m.count, &m.views.panels[q])
		}
	})
	return m.views.panels
}

// unpack releases the packed landmarks until they are packed again.
func (m *landmarks[T]) unpack() {
	m.packing, m.rows, m.bounds, m.bytes, m.spaces = new(sync.Once), nil, nil, nil, new(sync.Pool)
	m.whole, m.views = new(lazyPanel[T]), new(lazyPanels[T])
}

// ready computes the norms and the views that products with the centroids need.
func (m *landmarks[T]) ready(ctx context.Context, workers int) error {
	views := make([]View[T], len(m.centroids))
	for q, c := range m.centroids {
		var err error
		if views[q], err = Dense(m.count, len(c)/m.count, len(c)/m.count, c, nil); err != nil {
			return err
		}
	}
	var err error
	if m.points, err = newSource(ctx, nil, views, workers); err != nil {
		return err
	}
	all := make([]int, len(views))
	m.bias = make([][]T, len(views))
	for q := range views {
		all[q] = q
		for _, x := range m.points.square[q] {
			m.bias[q] = append(m.bias[q], T(x))
		}
	}
	m.packing, m.whole, m.views = new(sync.Once), new(lazyPanel[T]), new(lazyPanels[T])
	if m.spaces == nil {
		m.spaces = new(sync.Pool)
	}
	m.longest = m.points.longest(all)
	return nil
}

// landmarkSpace is one worker's memory for the products of a block of samples with the landmarks.
type landmarkSpace[T Float] struct {
	room int   // samples
	y    [][]T // products; the first become scores or bounds
	near []found
	buf  [2][]T

	rows, short []T // of a block, see gatherRows; nil where rows do not lie in memory
	along       []T // heads of one view
	bytes       []uint8
	step        []T       // of the bytes of each sample
	over        []float64 // added to the bounds' limit, for each sample
	list        []int32
	others      []int32 // a second list
	scores      []T
	left        int // landmarks that the bounds left, in a block
	skip        int // blocks to do without bounds

	among *candidates // of the current samples, by a device; else nil
}

// newSpace returns the memory for blocks of samples of src.
func (m *landmarks[T]) newSpace(src *source[T]) *landmarkSpace[T] {
	m.packing.Do(m.packRows)
	w := &landmarkSpace[T]{room: min(src.n, blockRows), y: make([][]T, len(m.centroids)), buf: src.rowBuffers()}
	if src.inMemory(m.space.Views) {
		w.y, w.rows = w.y[:1], make([]T, w.room*m.width)
		most, _ := headSize[T]()
		short := (most+2)*len(m.centroids) + kernel.ByteUnit // heads may get longer
		w.short, w.bytes = make([]T, w.room*short), make([]uint8, w.room*short)
		w.step, w.over = make([]T, w.room), make([]float64, w.room)
		w.along = make([]T, w.room*kernel.Pad(most))
		w.list, w.scores = make([]int32, m.count+kernel.Lanes), make([]T, m.count)
		w.others = make([]int32, m.count+kernel.Lanes)
	}
	for q := range w.y {
		w.y[q] = make([]T, w.room*Stride(m.count))
	}
	return w
}

// takeSpace is newSpace with released memory, if some fits.
func (m *landmarks[T]) takeSpace(src *source[T]) *landmarkSpace[T] {
	m.packing.Do(m.packRows)
	w, _ := m.spaces.Get().(*landmarkSpace[T])
	if w == nil || w.room < min(src.n, blockRows) || (w.rows != nil) != src.inMemory(m.space.Views) {
		return m.newSpace(src)
	}
	return w
}

// multiply sets w.y to the products that scores come from. With prune, it sets w.y[0] to the scores of the samples from lo to hi,
// or to lower bounds of them.
func (m *landmarks[T]) multiply(src *source[T], lo, hi int, prune bool, w *landmarkSpace[T]) {
	ld := Stride(m.count)
	if w.rows == nil {
		panels := m.viewPanels()
		for q, v := range m.space.Views {
			src.views[v].Rows.Mul(lo, hi, &panels[q], w.y[q], ld)
		}
		return
	}
	if prune {
		m.bound(src, lo, hi, w)
		return
	}
	m.gatherRows(src, lo, hi, false, w)
	kernel.Mul(hi-lo, w.rows, m.width, m.wholePanel(), w.y[0], ld, false)
}

// closest calls f, in order, for the samples from lo to hi, at most blockRows, that have a view of the space. It passes their
// `want` nearest landmarks by squared distance; of equal distances the lower number is first. With exact, distances have an error
// of at most a thousandth of their spread; else they come from products.
func (m *landmarks[T]) closest(src *source[T], lo, hi, want int, exact bool, w *landmarkSpace[T], f func(i int, near []found)) {
	if w.among != nil {
		m.closestOf(w.among, src, lo, hi, want, exact, w, f)
		return
	}
	ld := Stride(m.count)
	keep := want
	if exact {
		keep = min(want+spareNearest, m.count)
	}
	prune := w.rows != nil && m.prunes(want)
	m.multiply(src, lo, hi, prune, w)
	for i := lo; i < hi; i++ {
		if !src.has(m.space.Views, i) {
			continue
		}
		if w.rows == nil {
			m.scores(src, i, (i-lo)*ld, w)
		}
		if prune {
			w.near = m.lowestOf(src, i, i-lo, want, keep, w)
		} else {
			w.near = lowest(w.y[0][(i-lo)*ld:(i-lo)*ld+m.count], keep, w.near[:0])
		}
		if up := m.missing(src, i); up != 1 {
			for r := range w.near {
				w.near[r].square *= up
			}
		}
		if exact {
			m.distances(src, i, w.near, w)
		}
		f(i, w.near[:want])
	}
	m.after(hi-lo, w)
}

// scoreGroup is the number of scores that are compared with the current worst at once.
const scoreGroup = 8

// lowest appends the `keep` lowest scores to near, in increasing order, the lower number first of equal ones.
func lowest[T Float](scores []T, keep int, near []found) []found {
	worst := T(math.Inf(1))
	for j := 0; j < len(scores); {
		if len(near) == keep { // Most groups have none that is low enough.
			for ; j+scoreGroup <= len(scores); j += scoreGroup {
				g := (*[scoreGroup]T)(scores[j:])
				if g[0] < worst || g[1] < worst || g[2] < worst || g[3] < worst ||
					g[4] < worst || g[5] < worst || g[6] < worst || g[7] < worst {
					break
				}
			}
		}
		for end := min(j+scoreGroup, len(scores)); j < end; j++ {
			t := scores[j]
			if len(near) == keep {
				if !(t < worst) {
					continue
				}
				near = near[:keep-1]
			}
			at := len(near)
			near = append(near, found{})
			for ; at > 0 && float64(t) < near[at-1].square; at-- {
				near[at] = near[at-1]
			}
			near[at] = found{int32(j), float64(t)}
			worst = T(near[len(near)-1].square)
		}
	}
	return near
}

// missing returns the factor from a sum over the views that a sample has to a sum over all.
func (m *landmarks[T]) missing(src *source[T], i int) float64 {
	shared := 0
	for _, v := range m.space.Views {
		if src.present(v, i) {
			shared++
		}
	}
	return float64(len(m.space.Views)) / float64(shared)
}

// scores turns the products of sample i in w.y into scores in w.y[0]: squared distances over the sample's views, less a constant
// of the sample.
func (m *landmarks[T]) scores(src *source[T], i, at int, w *landmarkSpace[T]) {
	total := w.y[0][at : at+m.count]
	shared := 0
	for q, v := range m.space.Views {
		if !src.present(v, i) {
			continue
		}
		y, bias := w.y[q][at:at+m.count], m.bias[q]
		if shared == 0 {
			for j, b := range bias[:len(total)] {
				total[j] = y[j] + b
			}
		} else {
			for j, b := range bias[:len(total)] {
				total[j] += y[j] + b
			}
		}
		shared++
	}
}

// distances adds the constant of sample i, which makes scores squared distances. If the rounding of the products could matter, it
// computes the distances themselves.
func (m *landmarks[T]) distances(src *source[T], i int, near []found, w *landmarkSpace[T]) {
	own := src.length(m.space.Views, i)
	bound := noise[T](src.width(m.space.Views), math.Sqrt(own), m.longest) * float64(len(m.space.Views))
	if bound < 1e-3*(near[len(near)-1].square-near[0].square) {
		for r := range near {
			near[r].square = max(near[r].square+own, 0)
		}
		return
	}
	for r := range near {
		sum, shared := 0.0, 0
		for q, v := range m.space.Views {
			if src.present(v, i) {
				sum += kernel.SquaredDistance(src.row(v, i, w.buf[0]), m.points.row(q, int(near[r].index), w.buf[1]))
				shared++
			}
		}
		near[r].square = sum * float64(len(m.space.Views)) / float64(shared)
	}
	slices.SortFunc(near, byDistance)
}

// link returns the links of the samples to the nearest landmarks: weights d_(s+1) − d_j of squared distances, divided by their
// sum. If the s+1 nearest are equally far, the weights are equal. A sample without a view of the space has no links.
func (m *landmarks[T]) link(ctx context.Context, src *source[T], c landmarkConfig) (*Links, error) {
	among, err := m.findOn(ctx, src, c.Device)
	if err != nil {
		return nil, err
	}
	// Every sample has room for m.nearest links.
	room := m.nearest
	out := newLinks(src.n, m.count, src.n*room, false)
	out.group = src.group
	err = parallel.For(ctx, c.Workers, src.blocks(), func(_, b int) error {
		w := m.takeSpace(src)
		w.among = among
		defer m.spaces.Put(w)
		lo, hi := src.block(b)
		m.closest(src, lo, hi, m.nearest+1, true, w, func(i int, near []found) {
			cols, _ := linkWeights(near, out.col[i*room:i*room], out.val[i*room:i*room])
			out.ptr[i+1] = len(cols)
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range src.n {
		to, count := out.ptr[i], out.ptr[i+1]
		copy(out.col[to:], out.col[i*room:i*room+count])
		copy(out.val[to:], out.val[i*room:i*room+count])
		out.ptr[i+1] += to
	}
	out.col, out.val = out.col[:out.ptr[src.n]], out.val[:out.ptr[src.n]]
	return out, nil
}

// linkWeights appends the links for the s+1 nearest landmarks, in the order of their numbers, to cols and vals.
func linkWeights(near []found, cols []int32, vals []float64) ([]int32, []float64) {
	s := len(near) - 1
	far, total := near[s].square, 0.0
	near = near[:s]
	for r := range near {
		near[r].square = far - near[r].square
		total += near[r].square
	}
	for r := 1; r < len(near); r++ { // near is short.
		for at := r; at > 0 && near[at].index < near[at-1].index; at-- {
			near[at], near[at-1] = near[at-1], near[at]
		}
	}
	for _, f := range near {
		w := 1 / float64(s)
		if total > 0 {
			w = f.square / total
		}
		if w > 0 {
			cols, vals = append(cols, f.index), append(vals, w)
		}
	}
	return cols, vals
}

// setScale sets the factor of each landmark from the links of all samples, of all ranks.
func (m *landmarks[T]) setScale(ctx context.Context, l *Links, workers int) error {
	sums, err := ranks.SumRows(ctx, l.group, l.sum("the weights of landmarks", workers, m.count),
		func() struct{} { return struct{}{} },
		func(_, lo, hi int, _ struct{}, part []float64) error {
			for e := l.ptr[lo]; e < l.ptr[hi]; e++ {
				part[l.col[e]] += l.val[e]
			}
			return nil
		})
	if err != nil {
		return err
	}
	m.scale = sums
	for c, sum := range sums {
		if sum > 0 {
			m.scale[c] = 1 / math.Sqrt(sum)
		}
	}
	return nil
}

// join puts the links of several spaces side by side, B: √(weight of the space) × link × scale of the landmark, divided by √(the
// share of the weight of the spaces in which the sample has links).
func join[T Float](
	ctx context.Context, sets []*landmarks[T], parts []*Links, weights []float64, c landmarkConfig,
) (*Links, error) {
	cover := covered(parts, weights)
	n, atoms, entries := parts[0].n, 0, 0
	from := make([]int, len(sets))
	for q, p := range parts {
		from[q] = atoms
		atoms += p.atoms
		entries += len(p.col)
	}
	out := newLinks(n, atoms, entries, c.Single && kernel.Is32[T]())
	out.group = parts[0].group
	for i := range n {
		out.ptr[i+1] = out.ptr[i]
		for _, p := range parts {
			out.ptr[i+1] += p.ptr[i+1] - p.ptr[i]
		}
	}
	return out, eachRow(ctx, c.Workers, n, func(i int) {
		at := out.ptr[i]
		for q, p := range parts {
			cols, vals := p.Row(i)
			up := math.Sqrt(weights[q] / cover[i])
			for e, to := range cols {
				out.col[at] = int32(from[q]) + to
				if weight := up * vals[e] * sets[q].scale[to]; out.single != nil {
					out.single[at] = float32(weight)
				} else {
					out.val[at] = weight
				}
				at++
			}
		}
	})
}
