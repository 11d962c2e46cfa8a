package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The shapes cover every way in which a panel may be packed: one column, a few, a strip, several strips with a tail.
var panelShapes = [][2]int{{1, 1}, {5, 1}, {3, 2}, {40, 6}, {7, 10}, {33, 15}, {64, 16}, {65, 17}, {19, 31},
	{21, 32}, {130, 48}, {50, 100}}

func TestRowMajorReturnsWhatWasPacked(t *testing.T) { onPaths(t, rowMajor[float32], rowMajor[float64]) }

func rowMajor[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var p Panel[T]
	for _, s := range panelShapes {
		k, m := s[0], s[1]
		b := make([]float64, k*m)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		bt := make([]float64, m*k)
		for i := range k {
			for j := range m {
				bt[j*k+i] = b[i*m+j]
			}
		}
		x := normal[T](rng, 3*k)
		var first []T // the product, in bits the same after every way to pack
		for name, pack := range map[string]func(){
			"Pack":      func() { Pack(&p, k, m, b, m) },
			"PackT":     func() { PackT(&p, k, m, bt, k) },
			"PackRowsT": func() { PackRowsT(&p, k, m, bt, k) },
		} {
			pack()
			ld, got := Pad(m), p.RowMajor()
			if len(got) != k*ld {
				t.Fatalf("%d×%d: %d elements, want %d", k, m, len(got), k*ld)
			}
			for i := range k {
				for j := range ld {
					want := T(0)
					if j < m {
						want = T(b[i*m+j])
					}
					if got[i*ld+j] != want {
						t.Fatalf("%s %d×%d: element (%d, %d) is %v, want %v", name, k, m, i, j, got[i*ld+j], want)
					}
				}
			}
			y := make([]T, 3*ld+ld)
			Mul(3, x, k, &p, y, ld, false)
			copy(y[3*ld:], p.Combine(x[:k]))
			if first == nil {
				first = y
			}
			sameBits(t, name, y, first)
		}
	}
}

func TestCombineFollowsThePanelAndTheVector(t *testing.T) {
	var p Panel[float64]
	b := []float64{1, 2, 3, 4, 5, 6} // 3×2
	Pack(&p, 3, 2, b, 2)
	u, w := []float64{1, 1, 1}, []float64{1, 0, -1}
	check := func(what string, u []float64, first, second float64) {
		t.Helper()
		got := p.Combine(u)
		if len(got) != 16 || got[0] != first || got[1] != second || got[2] != 0 {
			t.Errorf("%s: %v, want %v, %v and zeros", what, got, first, second)
		}
	}
	check("ones", u, 9, 12)
	check("ones again", u, 9, 12)
	check("another vector", w, -4, -4)
	check("back", u, 9, 12)
	Pack(&p, 3, 2, []float64{1, 0, 0, 1, 0, 0}, 2)
	check("another matrix", u, 1, 1)
}

func TestColumns(t *testing.T) { onPaths(t, columns[float32], columns[float64]) }

// columns compares the product by columns with sums in float64, over one segment of rows and over two.
func columns[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, s := range [][3]int{{1, 1, 1}, {9, 40, 6}, {30, 7, 10}, {33, 65, 17}, {12, 50, 100}, {segmentRows + 5, 3, 7}} {
		n, d, m := s[0], s[1], s[2]
		ld := Pad(m)
		a := state[T](rng, n, m)
		ptr, cols, values := []int{0}, []int32(nil), []T(nil)
		want, size := make([]float64, m*d), make([]float64, m*d)
		for i := range n {
			for k := range d {
				if k == d/2 || rng.IntN(3) > 0 { // one column is empty
					continue
				}
				v := T(rng.NormFloat64())
				cols, values = append(cols, int32(k)), append(values, v)
				for j := range m {
					e := float64(a[i*ld+j]) * float64(v)
					want[j*d+k] += e
					size[j*d+k] += math.Abs(e)
				}
			}
			ptr = append(ptr, len(cols))
		}
		x := NewColumns(n, d, ptr, cols, values)
		got, y := normal[float64](rng, m*d), make([]T, d*ld)
		pieces := append([]float64(nil), got...)
		before := append([]float64(nil), got...)
		x.TMulAdd(0, d, m, a, y, got)
		for i := range got {
			limit := 4 * math.Sqrt(float64(n)) * eps[T]() * (size[i] + math.Abs(before[i]))
			if e := got[i] - before[i] - want[i]; !(math.Abs(e) <= limit) {
				t.Fatalf("%v: element %d is %v, want %v", s, i, got[i]-before[i], want[i])
			}
		}
		for lo := 0; lo < d; lo += 5 {
			x.TMulAdd(lo, min(lo+5, d), m, a, y, pieces)
		}
		sameBits(t, "columns five by five", pieces, got)
		if x.Bytes() < int64(len(cols)) {
			t.Errorf("%v: %d bytes for %d entries", s, x.Bytes(), len(cols))
		}
	}
}

func TestSparseShift(t *testing.T) { onPaths(t, sparseShift[float32], sparseShift[float64]) }

// sparseShift compares shifted rows with the same rows in full, and looks at a row alone and at a column among others.
func sparseShift[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const n = 9
	for _, s := range panelShapes {
		d, m := s[0], s[1]
		ld := Pad(m)
		ptr, cols, values := []int{0}, []int32(nil), []T(nil)
		shift, u := normal[T](rng, n), normal[T](rng, d)
		full := make([]float64, n*d)
		for i := range n {
			for j := range d {
				full[i*d+j] = float64(shift[i]) * float64(u[j])
				if i == 4 || rng.IntN(i+1) > 0 {
					continue
				}
				v := T(rng.NormFloat64())
				full[i*d+j] += float64(v)
				cols, values = append(cols, int32(j)), append(values, v)
			}
			ptr = append(ptr, len(cols))
		}
		b := normal[T](rng, d*m)
		var p, one Panel[T]
		Pack(&p, d, m, b, m)
		y := make([]T, n*ld)
		MulSparseShifted(ptr, cols, values, m, p.RowMajor(), shift, p.Combine(u), y, ld)
		for i := range n {
			for j := range ld {
				want, size := 0.0, 0.0
				for k := 0; k < d && j < m; k++ {
					want += full[i*d+k] * float64(b[k*m+j])
					size += (math.Abs(full[i*d+k]) + math.Abs(float64(shift[i]*u[k]))) * math.Abs(float64(b[k*m+j]))
				}
				if got := float64(y[i*ld+j]); !(math.Abs(got-want) <= float64(d+2)*eps[T]()*size) {
					t.Fatalf("%d×%d: element (%d, %d) is %v, want %v", d, m, i, j, got, want)
				}
			}
			alone := make([]T, ld)
			MulSparseShifted(ptr[i:i+2], cols, values, m, p.RowMajor(), shift[i:], p.Combine(u), alone, ld)
			sameBits(t, "a row alone", alone, y[i*ld:(i+1)*ld])
		}
		plain, narrow := make([]T, n*ld), make([]T, n*16)
		MulSparse(ptr, cols, values, m, p.RowMajor(), plain, ld)
		j := rng.IntN(m)
		Pack(&one, d, 1, b[j:], m)
		MulSparse(ptr, cols, values, 1, one.RowMajor(), narrow, 16)
		for i := range n {
			if narrow[i*16] != plain[i*ld+j] {
				t.Fatalf("%d×%d: element (%d, %d) is %v in its column alone, %v among others", d, m, i, j,
					narrow[i*16], plain[i*ld+j])
			}
		}
	}
}

func TestSparseProducts(t *testing.T) { onPaths(t, sparseProducts[float32], sparseProducts[float64]) }

// sparseProducts compares with sums in float64, entry by entry. Row 4 is empty, row 5 has one entry, row 6 is full.
func sparseProducts[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	const n = 9
	for _, s := range panelShapes {
		d, m := s[0], s[1]
		ld := Pad(m)
		x := make([]float64, n*d)
		ptr, cols, values := []int{3}, []int32{0, 0, 0}, []T{1, 1, 1} // the rows may begin anywhere
		for i := range n {
			for j := range d {
				if i == 4 || (i == 5 && j > 0) || (i != 6 && rng.IntN(3) > 0) {
					continue
				}
				v := T(rng.NormFloat64())
				x[i*d+j] = float64(v)
				cols, values = append(cols, int32(j)), append(values, v)
			}
			ptr = append(ptr, len(cols))
		}
		b, a := normal[T](rng, d*m), normal[T](rng, n*ld)
		var p Panel[T]
		Pack(&p, d, m, b, m)
		ldy := ld + 16
		y := make([]T, n*ldy)
		for i := range y {
			y[i] = T(math.NaN()) // must be overwritten, and nothing besides
		}
		MulSparse(ptr, cols, values, m, p.RowMajor(), y, ldy)
		for i := range n {
			for j := range ldy {
				got, want, size := float64(y[i*ldy+j]), 0.0, 0.0
				for k := 0; k < d && j < m; k++ {
					e := x[i*d+k] * float64(b[k*m+j])
					want += e
					size += math.Abs(e)
				}
				switch {
				case j >= ld && !math.IsNaN(got):
					t.Fatalf("%d×%d: element (%d, %d) beyond the stride was written", d, m, i, j)
				case j < ld && !(math.Abs(got-want) <= float64(d)*eps[T]()*size):
					t.Fatalf("%d×%d: element (%d, %d) is %v, want %v", d, m, i, j, got, want)
				}
			}
			alone := make([]T, ld)
			MulSparse(ptr[i:i+2], cols, values, m, p.RowMajor(), alone, ld)
			for j, v := range alone {
				if v != y[i*ldy+j] {
					t.Fatalf("%d×%d: element (%d, %d) is %v in the block and %v alone", d, m, i, j, y[i*ldy+j], v)
				}
			}
		}
		c := normal[T](rng, m*(d+3))
		got := append([]T(nil), c...)
		TMulAddSparse(ptr, cols, values, m, d, a, ld, got, d+3)
		for j := range m {
			for k := range d + 3 {
				want := float64(c[j*(d+3)+k])
				size := math.Abs(want)
				for i := 0; i < n && k < d; i++ {
					e := float64(a[i*ld+j]) * x[i*d+k]
					want += e
					size += math.Abs(e)
				}
				if v := float64(got[j*(d+3)+k]); !(math.Abs(v-want) <= 2*n*eps[T]()*size) {
					t.Fatalf("%d×%d: element (%d, %d) of AᵀS is %v, want %v", d, m, j, k, v, want)
				}
			}
		}
	}
}
