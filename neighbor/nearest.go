package neighbor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Lists holds the nearest neighbours of N samples, in order of distance; of equal distances the lower index comes first. A
// sample with fewer than K neighbours has the index −1 and an infinite distance in the last places.
type Lists struct {
	N, K   int
	Index  []int32   // N×K
	Square []float64 // N×K, squared distances
}

// Nearest returns, for each space, the k nearest neighbours of every sample by squared Euclidean distance. A sample is not its
// own neighbour. K is the smaller of k and n−1. The weights of the spaces are ignored.
//
// The search is exact. It multiplies blocks of samples. Where the rounding of products could matter, it compares the distances
// themselves, summed in float64 from the differences. It takes O(n²·d) for all spaces together, with d features in all views:
// every view is multiplied once.
//
// Nearest returns an error for views or spaces that do not fit and for values that are not finite, and the context's error if
// ctx is cancelled. It checks the context about every n·64 distances.
func Nearest[T Float](ctx context.Context, views []View[T], spaces []Space, k, workers int) ([]*Lists, error) {
	if k < 1 {
		return nil, fmt.Errorf("neighbor: %d neighbours; want at least 1", k)
	}
	if err := checkSpaces(spaces, len(views)); err != nil {
		return nil, err
	}
	src, err := newSource(ctx, nil, views, workers)
	if err != nil {
		return nil, err
	}
	hashes, err := src.rowHashes(ctx, workers)
	if err != nil {
		return nil, err
	}
	return nearest(ctx, src, newPlaces(src, hashes, spaces, k), k, workers, nil)
}

// nearest is Nearest on checked views. The places must be made for at least k neighbours.
func nearest[T Float](
	ctx context.Context, src *source[T], places []*place[T], k, workers int, device rows.Device,
) ([]*Lists, error) {
	s := newSearch(src, src, places, max(1, min(k, src.n-1)))
	s.self = true
	if err := s.scanOn(ctx, workers, device); err != nil {
		return nil, err
	}
	return s.finish(ctx, workers, nil)
}

// search finds the nearest samples of base to each sample of query.
type search[T Float] struct {
	base, query *source[T]
	self        bool // query is base, and no sample is its own neighbour
	k, keep     int
	spaces      []*plan[T]

	words *wordBase[T] // the base samples, if products are computed in words; else nil
	asked wordQuery[T]
}

// candidateSlack is the number of candidates by product beyond 2k, see finish.
const candidateSlack = 16

// place is a space of the base samples.
type place[T Float] struct {
	views   []int
	product []int   // for each view of the space, the view that has its products
	longest float64 // largest norm of a base sample
	// hidden samples of base are equal to k+1 samples before them and so are neighbours of no sample. Without them, at most k+1
	// equal samples have one distance.
	hidden []bool
	equals map[int32][]int32 // the first k+1 equal samples, by the first of them
	first  []int32           // the first sample equal to a sample of base
	bias   []T               // Σ_v ‖x_jv‖² of the base samples
	seen   bool              // no sample is hidden
}

// newPlaces returns the places of samples for the search of at most k neighbours. hashes has the hashes of their rows.
func newPlaces[T Float](src *source[T], hashes [][]uint64, spaces []Space, k int) []*place[T] {
	out := make([]*place[T], len(spaces))
	for q, sp := range spaces {
		t := newTwins(src, sp.Views, hashes)
		p := &place[T]{
			views: sp.Views, longest: src.longest(sp.Views), hidden: make([]bool, src.n),
			equals: map[int32][]int32{}, first: t.first, bias: make([]T, src.n), seen: true,
		}
		for _, v := range sp.Views {
			p.product = append(p.product, src.product(v))
		}
		for j, f := range t.first {
			if len(p.equals[f]) > k {
				p.hidden[j], p.seen = true, false
			} else {
				p.equals[f] = append(p.equals[f], int32(j))
			}
			sum := 0.0
			for _, v := range sp.Views {
				sum += src.square[v][j]
			}
			p.bias[j] = T(sum)
		}
		out[q] = p
	}
	return out
}

// plan is the search in one space. A score is a squared distance less the squared norm of the query.
type plan[T Float] struct {
	*place[T]
	masked bool
	score  []T // the lowest scores of each query in order, query.n×keep
	index  []int32
	slack  []T // of each query, more than twice the error of a score
}

func newSearch[T Float](base, query *source[T], places []*place[T], k int) *search[T] {
	s := &search[T]{}
	s.begin(base, query, places, k)
	return s
}

// begin starts a new search, in the memory of the last one.
func (s *search[T]) begin(base, query *source[T], places []*place[T], k int) {
	s.words = nil
	s.base, s.query, s.k, s.keep = base, query, k, min(2*k+candidateSlack, base.n)
	for len(s.spaces) < len(places) {
		s.spaces = append(s.spaces, &plan[T]{})
	}
	s.spaces = s.spaces[:len(places)]
	for q, c := range places {
		p := s.spaces[q]
		p.place, p.masked = c, base.incomplete(c.views) || query.incomplete(c.views)
		p.score, p.index = resized(p.score, query.n*s.keep), resized(p.index, query.n*s.keep)
		for i := range p.score {
			p.score[i], p.index[i] = T(math.Inf(1)), -1
		}
		s.setSlack(p)
	}
}

func (s *search[T]) setSlack(p *plan[T]) {
	p.slack = resized(p.slack, s.query.n)
	for i := range p.slack {
		p.slack[i] = T(2.5 * s.noise(p, i))
	}
}

// worst returns the score below which a base sample may still be among the nearest of query i: the score of the last candidate,
// or a score that exceeds the k-th by more than rounding.
func (s *search[T]) worst(p *plan[T], i int) T {
	return min(p.score[(i+1)*s.keep-1], p.score[i*s.keep+min(s.k, s.keep)-1]+p.slack[i])
}

// offer inserts base sample j with its score into query i's candidates. Samples come in increasing order, so that among equal
// scores the lower index is first.
func (p *plan[T]) offer(i, keep int, j int32, score T) {
	scores, index := p.score[i*keep:(i+1)*keep], p.index[i*keep:(i+1)*keep]
	at := keep - 1
	for ; at > 0 && score < scores[at-1]; at-- {
		scores[at], index[at] = scores[at-1], index[at-1]
	}
	scores[at], index[at] = score, j
}

// found is a neighbour with its squared distance.
type found struct {
	index  int32
	square float64
}

func byDistance(a, b found) int {
	if c := cmp.Compare(a.square, b.square); c != 0 {
		return c
	}
	return cmp.Compare(a.index, b.index)
}

// finish makes lists of the candidates, in the memory of lists that are no longer needed.
func (s *search[T]) finish(ctx context.Context, workers int, out []*Lists) ([]*Lists, error) {
	for len(out) < len(s.spaces) {
		out = append(out, &Lists{})
	}
	out = out[:len(s.spaces)]
	for _, l := range out {
		l.N, l.K = s.query.n, s.k
		l.Index, l.Square = resized(l.Index, s.query.n*s.k), resized(l.Square, s.query.n*s.k)
	}
	blocks := s.query.blocks()
	err := parallel.For(ctx, workers, blocks*len(s.spaces), func(_, t int) error {
		lo, hi := s.query.block(t % blocks)
		p, to := s.spaces[t/blocks], out[t/blocks]
		buf := s.base.rowBuffers()
		near := make([]found, 0, 64)
		for i := lo; i < hi; i++ {
			near = s.nearest(p, i, near[:0], buf)
			for r := range s.k {
				f := found{index: -1, square: math.Inf(1)}
				if r < len(near) {
					f = near[r]
				}
				to.Index[i*s.k+r], to.Square[i*s.k+r] = f.index, f.square
			}
		}
		return nil
	})
	return out, err
}

// nearest appends the neighbours of query i to near, at least k if there are as many.
func (s *search[T]) nearest(p *plan[T], i int, near []found, buf [2][]T) []found {
	if s.self && !p.masked { // with masks, other samples may be at distance 0 too
		if equal := p.equals[p.first[i]]; len(equal) > s.k {
			for _, j := range equal {
				if int(j) != i {
					near = append(near, found{index: j})
				}
			}
			return near
		}
	}
	scores, index := p.score[i*s.keep:(i+1)*s.keep], p.index[i*s.keep:(i+1)*s.keep]
	// If scores of candidates differ by less than their error, the distances decide. If the candidates may lack some of these
	// samples, all samples of base are compared.
	reach := float64(scores[min(s.k, s.keep)-1]) + 2*s.noise(p, i)
	if last := float64(scores[s.keep-1]); s.keep < s.base.n && last <= reach && !math.IsInf(last, 1) {
		return s.exhaust(p, i, near, buf)
	}
	for r, j := range index {
		if j < 0 || float64(scores[r]) > reach {
			break
		}
		if d, ok := s.query.distance(s.base, p.views, i, int(j), buf); ok {
			near = append(near, found{j, d})
		}
	}
	slices.SortFunc(near, byDistance)
	return near
}

// noise bounds the error of the scores of query i, as squared distances.
func (s *search[T]) noise(p *plan[T], i int) float64 {
	bound := noise[T](s.base.width(p.views), math.Sqrt(s.query.length(p.views, i)), p.longest)
	if p.masked { // a distance may be scaled up from one view
		bound *= float64(len(p.views))
	}
	return bound + s.rounded(p, i)
}

// exhaust is nearest without products.
func (s *search[T]) exhaust(p *plan[T], i int, near []found, buf [2][]T) []found {
	for j := range s.base.n {
		if p.hidden[j] || s.self && j == i {
			continue
		}
		d, ok := s.query.distance(s.base, p.views, i, j, buf)
		if !ok {
			continue
		}
		f := found{int32(j), d}
		if len(near) == s.k {
			if byDistance(f, near[s.k-1]) > 0 {
				continue
			}
			near = near[:s.k-1]
		}
		at, _ := slices.BinarySearchFunc(near, f, byDistance)
		near = slices.Insert(near, at, f)
	}
	return near
}
