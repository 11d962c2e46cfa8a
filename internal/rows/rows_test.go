package rows

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// made is a sparse matrix with shifts, and the same rows in full.
type made[T kernel.Float] struct {
	n, d   int
	sparse *Sparse[T]
	full   []float64
}

// makeSparse returns rows of which one is empty, one full, one without shift and one with nothing at all.
func makeSparse[T kernel.Float](rng *rand.Rand, n, d int, shifted bool) made[T] {
	ptr, cols, values := []int{0}, []int32(nil), []T(nil)
	shift, along := make([]T, n), make([]T, d)
	for j := range along {
		along[j] = T(rng.NormFloat64())
	}
	full := make([]float64, n*d)
	for i := range n {
		if shifted && i%5 != 3 && i%7 != 4 {
			shift[i] = T(rng.NormFloat64())
		}
		for j := range d {
			full[i*d+j] = float64(shift[i]) * float64(along[j])
			if i%11 != 5 && (i%5 == 3 || i%7 == 4 || (i%6 != 2 && rng.IntN(4) > 0)) {
				continue
			}
			v := T(rng.NormFloat64())
			cols, values = append(cols, int32(j)), append(values, v)
			full[i*d+j] += float64(v)
		}
		ptr = append(ptr, len(cols))
	}
	u := NewDirection(along)
	if !shifted {
		shift, u = nil, nil
	}
	return made[T]{n, d, NewSparse(n, d, ptr, cols, values, shift, u), full}
}

func TestSparseIsTheDenseMatrix(t *testing.T) {
	t.Run("float32", func(t *testing.T) { sparseIsDense[float32](t, 2e-6) })
	t.Run("float64", func(t *testing.T) { sparseIsDense[float64](t, 1e-14) })
}

func sparseIsDense[T kernel.Float](t *testing.T, tol float64) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, shape := range [][3]int{{1, 1, 1}, {25, 40, 6}, {30, 7, 3}, {26, 130, 17}, {12, 200, 100}} {
		for _, shifted := range []bool{false, true} {
			n, d, m := shape[0], shape[1], shape[2]
			x := makeSparse[T](rng, n, d, shifted)
			data := make([]T, n*d)
			for i, v := range x.full {
				data[i] = T(v)
			}
			dense := NewDense(n, d, d, data)
			got, want := make([]T, n*d), make([]T, n*d)
			for i := range n {
				x.sparse.Row(i, got[i*d:(i+1)*d])
				dense.Row(i, want[i*d:(i+1)*d])
			}
			equal(t, "Row", got, want, tol)

			ld := kernel.Pad(m)
			b, a := make([]T, d*m), make([]T, n*ld)
			for i := range b {
				b[i] = T(rng.NormFloat64())
			}
			for i := range n {
				for j := range m {
					a[i*ld+j] = T(rng.NormFloat64())
				}
			}
			var p kernel.Panel[T]
			kernel.Pack(&p, d, m, b, m)
			got, want = make([]T, n*ld), make([]T, n*ld)
			x.sparse.Mul(0, n, &p, got, ld)
			dense.Mul(0, n, &p, want, ld)
			equal(t, "Mul", got, want, tol*math.Sqrt(float64(d)))

			got, want = make([]T, m*d), make([]T, m*d)
			x.sparse.TMulAdd(0, n, m, a, ld, got, d)
			dense.TMulAdd(0, n, m, a, ld, want, d)
			equal(t, "TMulAdd", got, want, tol*math.Sqrt(float64(n)))

			norms := make([]float64, n)
			x.sparse.SquaredNorms(0, n, norms)
			for i, q := range norms {
				sum := 0.0
				for _, v := range x.full[i*d : (i+1)*d] {
					sum += v * v
				}
				if math.Abs(q-sum) > 1e-13*(1+sum) {
					t.Fatalf("squared norm of row %d is %v, want %v", i, q, sum)
				}
			}

			sums, total := make([]float64, d), 0.0
			exact := make([]float64, d)
			for i := range n {
				w := float64(i%3) - 0.5
				total += x.sparse.AddRow(i, w, sums)
				for j, v := range x.full[i*d : (i+1)*d] {
					exact[j] += w * v
				}
			}
			x.sparse.AddShift(total, sums)
			equal(t, "AddRow", sums, exact, 1e-13)
		}
	}
}

func equal[T kernel.Float](t *testing.T, what string, got, want []T, tol float64) {
	t.Helper()
	scale := 1e-30
	for _, w := range want {
		scale = max(scale, math.Abs(float64(w)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tol*scale) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// A row gives the same bits alone, in any range, and in a matrix of its own, as prediction needs.
func TestSparseRowsDoNotDependOnTheirBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const n, d, m = 37, 90, 10
	x := makeSparse[float32](rng, n, d, true).sparse
	ld := kernel.Pad(m)
	b := make([]float32, d*m)
	for i := range b {
		b[i] = rng.Float32()
	}
	var p kernel.Panel[float32]
	kernel.Pack(&p, d, m, b, m)
	all, norms := make([]float32, n*ld), make([]float64, n)
	x.Mul(0, n, &p, all, ld)
	x.SquaredNorms(0, n, norms)
	for i := range n {
		one := make([]float32, ld)
		x.Mul(i, i+1, &p, one, ld)
		cols, values := x.entries(i)
		other := NewSparse(1, d, []int{0, len(cols)}, cols, values, x.shift[i:i+1], x.along)
		alone, q := make([]float32, ld), make([]float64, 1)
		other.Mul(0, 1, &p, alone, ld)
		other.SquaredNorms(0, 1, q)
		for j, v := range all[i*ld : (i+1)*ld] {
			if one[j] != v || alone[j] != v {
				t.Fatalf("row %d, column %d: %v in the block, %v alone, %v in its own matrix", i, j, v, one[j], alone[j])
			}
		}
		if q[0] != norms[i] {
			t.Fatalf("squared norm of row %d is %v alone, %v in the block", i, q[0], norms[i])
		}
	}
}

// The norm of a full row is a small difference of the shift's and the entries'.
func TestSparseNormsOfFullRows(t *testing.T) {
	const d = 50
	cols, values, along := make([]int32, d), make([]float64, d), make([]float64, d)
	for j := range d {
		cols[j], values[j], along[j] = int32(j), 1000+0.5*float64(j%2), 1
	}
	x := NewSparse(1, d, []int{0, d}, cols, values, []float64{-1000}, NewDirection(along))
	q := make([]float64, 1)
	x.SquaredNorms(0, 1, q)
	if math.Abs(q[0]-0.25*d/2) > 1e-7 {
		t.Errorf("squared norm %v, want %v", q[0], 0.25*d/2)
	}
}
