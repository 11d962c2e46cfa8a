package neighbor

import (
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// Links is a sparse matrix with non-negative entries. Its rows are samples and its columns are atoms: the samples of a Graph, or
// the landmarks of a Factor. It is immutable and safe for concurrent use.
type Links struct {
	n, atoms int
	group    *ranks.Group // processes that hold the other samples; nil: there are none
	ptr      []int        // row i has the entries from ptr[i] to ptr[i+1]
	col      []int32      // increasing in a row
	val      []float64    // > 0
	single   []float32    // in place of val if weights are kept in float32 only, see Config.Single
}

// NewLinks returns the matrix of n samples and the given number of atoms. Row i has weights[ptr[i]:ptr[i+1]] in the columns
// cols[ptr[i]:ptr[i+1]], which increase. The matrix refers to the slices. NewLinks returns an error if they do not fit, or if a
// weight is not positive and finite.
func NewLinks(n, atoms int, ptr []int, cols []int32, weights []float64) (*Links, error) {
	if n < 1 || atoms < 1 || len(ptr) != n+1 || ptr[0] != 0 || len(cols) != len(weights) || ptr[n] != len(cols) {
		return nil, fmt.Errorf("neighbor: %d×%d links do not fit %d offsets, %d columns and %d weights", n, atoms,
			len(ptr), len(cols), len(weights))
	}
	for i := range n {
		if ptr[i+1] < ptr[i] || ptr[i+1] > len(cols) {
			return nil, fmt.Errorf("neighbor: links of sample %d from %d to %d of %d", i, ptr[i], ptr[i+1], len(cols))
		}
		if err := checkLinks(i, atoms, cols[ptr[i]:ptr[i+1]], weights[ptr[i]:ptr[i+1]]); err != nil {
			return nil, err
		}
	}
	return &Links{n: n, atoms: atoms, ptr: ptr, col: cols, val: weights}, nil
}

// checkLinks reports whether the columns of sample i increase and the weights are positive and finite.
func checkLinks(i, atoms int, cols []int32, weights []float64) error {
	for e, j := range cols {
		if j < 0 || int(j) >= atoms || e > 0 && j <= cols[e-1] {
			return fmt.Errorf("neighbor: link %d of sample %d is to atom %d", e, i, j)
		}
		if !(weights[e] > 0) || math.IsInf(weights[e], 1) {
			return fmt.Errorf("neighbor: link of sample %d to atom %d has the weight %v", i, j, weights[e])
		}
	}
	return nil
}

// newLinks returns room for entries links, with weights in float32 if single is set.
func newLinks(n, atoms, entries int, single bool) *Links {
	l := &Links{n: n, atoms: atoms, ptr: make([]int, n+1), col: make([]int32, entries)}
	if single {
		l.single = make([]float32, entries)
	} else {
		l.val = make([]float64, entries)
	}
	return l
}

// Len returns the number of samples.
func (l *Links) Len() int { return l.n }

// samples returns the number of samples of all ranks.
func (l *Links) samples() int { return l.group.Total(l.n) }

// sum describes a sum of size values over the samples of all ranks.
func (l *Links) sum(what string, workers, size int) ranks.RowSum {
	return ranks.RowSum{What: what, Workers: workers, Rows: l.n, Chunk: chunkRows(l.samples()), Size: size}
}

// Atoms returns the number of atoms.
func (l *Links) Atoms() int { return l.atoms }

// Count returns the number of links of all samples.
func (l *Links) Count() int { return len(l.col) }

// Row returns the atoms and weights of sample i. They must not be changed. It panics if there is no sample i.
func (l *Links) Row(i int) (atoms []int32, weights []float64) {
	lo, hi := l.ptr[i], l.ptr[i+1]
	if l.single != nil {
		return l.col[lo:hi], kernel.Float64s(l.single[lo:hi])
	}
	return l.col[lo:hi], l.val[lo:hi]
}

func (l *Links) weight(e int) float64 {
	if l.single != nil {
		return float64(l.single[e])
	}
	return l.val[e]
}

// rounded returns the links with their weights in float32.
func (l *Links) rounded() *Links {
	if l.single != nil {
		return l
	}
	out := &Links{n: l.n, atoms: l.atoms, group: l.group, ptr: l.ptr, col: l.col, single: make([]float32, len(l.val))}
	for e, x := range l.val {
		out.single[e] = float32(x)
	}
	return out
}

// weightsOf returns the weights in T, without a copy if they are stored in T.
func weightsOf[T Float](l *Links) []T {
	if x, ok := any(l.single).([]T); ok && l.single != nil {
		return x
	}
	if x, ok := any(l.val).([]T); ok && l.single == nil {
		return x
	}
	out := make([]T, len(l.col))
	for e := range out {
		out[e] = T(l.weight(e))
	}
	return out
}

// appendRow adds a sample with the given links, while links are built.
func (l *Links) appendRow(cols []int32, weights []float64) {
	l.col, l.val = append(l.col, cols...), append(l.val, weights...)
	l.ptr = append(l.ptr, len(l.col))
	l.n++
}

// concat returns the samples of the parts, one part after another.
func concat(parts []*Links) *Links {
	if len(parts) == 1 {
		return parts[0]
	}
	out := &Links{atoms: parts[0].atoms, ptr: []int{0}}
	entries := 0
	for _, p := range parts {
		entries += len(p.col)
		out.n += p.n
	}
	out.col, out.val = make([]int32, 0, entries), make([]float64, 0, entries)
	for _, p := range parts {
		for i := range p.n {
			out.ptr = append(out.ptr, len(out.col)+p.ptr[i+1])
		}
		out.col, out.val = append(out.col, p.col...), append(out.val, p.val...)
	}
	return out
}

// transpose returns the links of the atoms to the samples.
func (l *Links) transpose() *Links {
	t := &Links{n: l.atoms, atoms: l.n, ptr: make([]int, l.atoms+1), col: make([]int32, len(l.col)),
		val: make([]float64, len(l.val))}
	for _, c := range l.col {
		t.ptr[c+1]++
	}
	for c := range l.atoms {
		t.ptr[c+1] += t.ptr[c]
	}
	next := append([]int(nil), t.ptr...)
	for i := range l.n {
		for e := l.ptr[i]; e < l.ptr[i+1]; e++ {
			c := l.col[e]
			t.col[next[c]], t.val[next[c]] = int32(i), l.val[e]
			next[c]++
		}
	}
	return t
}
