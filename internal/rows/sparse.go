package rows

import (
	"github.com/largemvc/largemvc/internal/kernel"
)

// Sparse is a Matrix whose rows are compressed rows with a shift along a common direction: row i is s_i + b_i·u with s_i
// sparse. So a standardisation of sparse data keeps their zeros: where x is a row of the data,
//
//	(x − mean·1)/std         has s = x/std,             b = −mean/std,   u = 1     (a row over its columns)
//	(x − μ) ∘ γ              has s = x ∘ γ,             b = 1,           u = −μ∘γ  (columns over the rows)
//
// and the products are X·B = S·B + b(uᵀB) and AᵀX = AᵀS + (Aᵀb)uᵀ. Nothing of size n×d is made.
type Sparse[T kernel.Float] struct {
	n, d   int
	ptr    []int
	cols   []int32
	values []T
	shift  []T // b, length n; nil: no shift
	along  *Direction[T]
}

// Direction is the u of the shifts. It is not changed, and may be shared by matrices.
type Direction[T kernel.Float] struct {
	u      []T
	square float64 // ‖u‖²
}

// NewDirection returns the direction u, which it keeps.
func NewDirection[T kernel.Float](u []T) *Direction[T] {
	return &Direction[T]{u: u, square: kernel.SumSquares(u, 0)}
}

var (
	_ Matrix[float32] = (*Sparse[float32])(nil)
	_ Matrix[float64] = (*Sparse[float64])(nil)
	_ Adder           = (*Sparse[float32])(nil)
)

// NewSparse returns the n×d matrix of the compressed rows ptr (n+1 increasing offsets), cols (increasing in a row) and
// values, with row i shifted by shift[i]·u. shift and u are nil for no shift. It keeps the slices.
func NewSparse[T kernel.Float](n, d int, ptr []int, cols []int32, values, shift []T, u *Direction[T]) *Sparse[T] {
	if len(ptr) != n+1 || ptr[n] > len(cols) || ptr[n] > len(values) || (shift != nil && (len(shift) < n || len(u.u) != d)) {
		panic("rows: sparse matrix smaller than its size")
	}
	return &Sparse[T]{n: n, d: d, ptr: ptr, cols: cols, values: values, shift: shift, along: u}
}

// Dims returns the number of rows and columns.
func (m *Sparse[T]) Dims() (int, int) { return m.n, m.d }

// Bytes is the memory of the rows.
func (m *Sparse[T]) Bytes() int64 {
	var t T
	shared := 0
	if m.along != nil {
		shared = m.d
	}
	return int64(len(m.values)+len(m.shift)+shared)*int64(sizeOf(t)) + 4*int64(len(m.cols)) + 8*int64(len(m.ptr))
}

// Entries is the number of entries that are held.
func (m *Sparse[T]) Entries() int { return m.ptr[m.n] - m.ptr[0] }

// Compressed returns the rows as NewSparse took them, along being the values of u; they are the matrix's own.
func (m *Sparse[T]) Compressed() (ptr []int, cols []int32, values, shift, along []T) {
	if m.along != nil {
		along = m.along.u
	}
	return m.ptr, m.cols, m.values, m.shift, along
}

// Columns returns the matrix of some of the columns, in increasing order.
func (m *Sparse[T]) Columns(some []int) *Sparse[T] {
	place := make(map[int32]int32, min(len(some), m.Entries()))
	for k, j := range some {
		place[int32(j)] = int32(k)
	}
	out := &Sparse[T]{n: m.n, d: len(some), ptr: make([]int, m.n+1), shift: m.shift}
	for i := range m.n {
		cols, values := m.entries(i)
		for q, j := range cols {
			if k, ok := place[j]; ok {
				out.cols, out.values = append(out.cols, k), append(out.values, values[q])
			}
		}
		out.ptr[i+1] = len(out.cols)
	}
	if m.along != nil {
		u := make([]T, len(some))
		for k, j := range some {
			u[k] = m.along.u[j]
		}
		out.along = NewDirection(u)
	}
	return out
}

// entries returns the columns and values of row i.
func (m *Sparse[T]) entries(i int) ([]int32, []T) {
	lo, hi := m.ptr[i], m.ptr[i+1]
	return m.cols[lo:hi], m.values[lo:hi]
}

// Row writes row i to dst.
func (m *Sparse[T]) Row(i int, dst []T) {
	if m.shift == nil || m.shift[i] == 0 {
		clear(dst[:m.d])
	} else {
		kernel.Affine(dst[:m.d], m.along.u, float64(m.shift[i]), 0)
	}
	cols, values := m.entries(i)
	for q, j := range cols {
		dst[j] += values[q]
	}
}

// Mul sets Y = X[lo:hi]·B.
func (m *Sparse[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	if lo >= hi {
		return
	}
	_, k := b.Dims()
	if m.shift == nil {
		kernel.MulSparse(m.ptr[lo:hi+1], m.cols, m.values, k, b.RowMajor(), y, ldy)
		return
	}
	kernel.MulSparseShifted(m.ptr[lo:hi+1], m.cols, m.values, k, b.RowMajor(), m.shift[lo:hi], b.Combine(m.along.u), y, ldy)
}

// TMulAdd adds Aᵀ·X[lo:hi] to C.
func (m *Sparse[T]) TMulAdd(lo, hi, k int, a []T, lda int, c []T, ldc int) {
	if lo >= hi {
		return
	}
	kernel.TMulAddSparse(m.ptr[lo:hi+1], m.cols, m.values, k, m.d, a, lda, c, ldc)
	if m.shift == nil {
		return
	}
	weights := make([]T, kernel.Pad(k))
	kernel.Combination(m.shift[lo:hi], k, a, lda, weights)
	kernel.TMulAdd(1, k, m.d, weights, kernel.Pad(k), m.along.u, m.d, c, ldc)
}

// SquaredNorms sets dst[i−lo] = ‖x_i‖².
func (m *Sparse[T]) SquaredNorms(lo, hi int, dst []float64) {
	for i := lo; i < hi; i++ {
		cols, values := m.entries(i)
		if m.shift == nil || m.shift[i] == 0 {
			dst[i-lo] = kernel.SumSquares(values, 0)
			continue
		}
		// Where the row has an entry, its square takes the place of the square of the shift.
		b := float64(m.shift[i])
		sum := b * b * m.along.square
		for q, j := range cols {
			s, v := float64(values[q]), b*float64(m.along.u[j])
			sum += s * (s + 2*v)
		}
		dst[i-lo] = max(sum, 0)
	}
}

// AddRow adds weight·x_i to dst, but for the shift, and returns weight·b_i.
func (m *Sparse[T]) AddRow(i int, weight float64, dst []float64) (shift float64) {
	cols, values := m.entries(i)
	for q, j := range cols {
		dst[j] += weight * float64(values[q])
	}
	if m.shift == nil {
		return 0
	}
	return weight * float64(m.shift[i])
}

// AddShift adds total·u to the sums dst.
func (m *Sparse[T]) AddShift(total float64, dst []float64) {
	if total == 0 {
		return
	}
	for j, u := range m.along.u {
		dst[j] += total * float64(u)
	}
}
