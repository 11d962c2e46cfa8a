package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The shapes cover every way in which a panel may be packed: one column, a few, a strip, several strips with a tail.
var panelShapes = [][2]int{{1, 1}, {5, 1}, {3, 2}, {40, 6}, {7, 10}, {33, 15}, {64, 16}, {65, 17}, {19, 31}, {21, 32}, {130, 48}, {50, 100}}

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
		for name, pack := range map[string]func(){
			"Pack": func() { Pack(&p, k, m, b, m) },
			"PackT": func() {
				bt := make([]float64, m*k)
				for i := range k {
					for j := range m {
						bt[j*k+i] = b[i*m+j]
					}
				}
				PackT(&p, k, m, bt, k)
			},
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
