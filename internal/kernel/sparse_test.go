package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The shapes cover every way in which a panel may be packed: one column, a few, a strip, several strips with a tail.
var panelShapes = [][2]int{{1, 1}, {5, 1}, {3, 2}, {40, 6}, {7, 10}, {33, 15}, {64, 16}, {65, 17}, {19, 31}, {21, 32}, {130, 48}, {50, 100}}

func TestRowMajorReturnsWhatWasPacked(t *testing.T) {
	t.Run("float32", rowMajor[float32])
	t.Run("float64", rowMajor[float64])
}

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

func TestSparseProductsEqualDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, s := range panelShapes {
		d, m := s[0], s[1]
		const n = 9
		x := make([]float64, n*d)
		ptr := []int{0}
		var cols []int32
		var values []float64
		for i := range n {
			for j := range d {
				if i == 4 || rng.IntN(3) > 0 { // row 4 is empty
					continue
				}
				x[i*d+j] = rng.NormFloat64()
				cols, values = append(cols, int32(j)), append(values, x[i*d+j])
			}
			ptr = append(ptr, len(cols))
		}
		b, a := make([]float64, d*m), make([]float64, n*Pad(m))
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		for i := range n {
			for j := range m {
				if rng.IntN(4) > 0 {
					a[i*Pad(m)+j] = rng.NormFloat64()
				}
			}
		}
		var p Panel[float64]
		Pack(&p, d, m, b, m)
		ld := Pad(m)
		got, want := make([]float64, n*ld), make([]float64, n*ld)
		for i := range got {
			got[i] = math.NaN() // must be overwritten
		}
		MulSparse(ptr, cols, values, m, p.RowMajor(), got, ld)
		Mul(n, x, d, &p, want, ld, false)
		near(t, "X·B", got, want)
		got, want = make([]float64, m*d), make([]float64, m*d)
		for i := range got {
			got[i] = float64(i)
			want[i] = float64(i)
		}
		TMulAddSparse(ptr, cols, values, m, d, a, ld, got, d)
		TMulAdd(n, m, d, a, ld, x, d, want, d)
		near(t, "AᵀX", got, want)
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-13*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
