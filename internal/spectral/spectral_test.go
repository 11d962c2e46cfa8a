package spectral

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// views returns random views with decaying singular values, and them side by side.
func views[T kernel.Float](n int, dims ...int) ([]rows.Matrix[T], *mat.Dense) {
	rng := rand.New(rand.NewPCG(1, 1))
	total := 0
	for _, d := range dims {
		total += d
	}
	rank := min(n, total)
	a, b := mat.NewDense(n, rank, nil), mat.NewDense(rank, total, nil)
	for i := range n {
		for j := range rank {
			a.Set(i, j, rng.NormFloat64()*math.Pow(0.8, float64(j)))
		}
	}
	for i := range rank {
		for j := range total {
			b.Set(i, j, rng.NormFloat64())
		}
	}
	var x mat.Dense
	x.Mul(a, b)
	var out []rows.Matrix[T]
	lo := 0
	for _, d := range dims {
		data := make([]T, n*d)
		for i := range n {
			for j := range d {
				data[i*d+j] = T(x.At(i, lo+j))
			}
		}
		out = append(out, rows.NewDense(n, d, d, data))
		lo += d
	}
	return out, &x
}

func TestSingularValuesAndVectors(t *testing.T) {
	t.Run("float64", func(t *testing.T) { compare[float64](t, 1e-9) })
	t.Run("float32", func(t *testing.T) { compare[float32](t, 1e-4) })
}

func compare[T kernel.Float](t *testing.T, tol float64) {
	for _, n := range []int{30, 90, 1500} {
		x, whole := views[T](n, 17, 40, 5)
		const rank = 6
		b, err := Find(context.Background(), x, Config{Rank: rank, Iterations: 20})
		if err != nil {
			t.Fatal(err)
		}
		var svd mat.SVD
		if !svd.Factorize(whole, mat.SVDThin) {
			t.Fatal("no SVD")
		}
		want := svd.Values(nil)
		for i, s := range b.S {
			if math.Abs(s-want[i]) > tol*want[0] {
				t.Errorf("n=%d: singular value %d is %v, want %v", n, i, s, want[i])
			}
		}
		// X Vᵀ = U diag(S): its Gram matrix is diag(S²).
		y, err := Project(context.Background(), b, x, 0)
		if err != nil {
			t.Fatal(err)
		}
		ld := kernel.Pad(rank)
		for i := range rank {
			for j := range rank {
				dot := 0.0
				for r := range n {
					dot += float64(y[r*ld+i]) * float64(y[r*ld+j])
				}
				expect := 0.0
				if i == j {
					expect = want[i] * want[i]
				}
				if math.Abs(dot-expect) > 10*tol*want[0]*want[0] {
					t.Errorf("n=%d: (UᵀU)[%d][%d] is %v, want %v", n, i, j, dot, expect)
				}
			}
		}
	}
}

func TestBitsDoNotDependOnWorkers(t *testing.T) {
	x, _ := views[float32](3000, 9, 20)
	var first *Basis
	for _, workers := range []int{1, 2, 5} {
		b, err := Find(context.Background(), x, Config{Rank: 4, Seed: 7, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
			continue
		}
		for v := range b.V {
			for i := range b.V[v] {
				if b.V[v][i] != first.V[v][i] {
					t.Fatalf("%d workers: entry %d of view %d is %v, with one %v", workers, i, v, b.V[v][i], first.V[v][i])
				}
			}
		}
	}
}

// Tall views go by their Gram matrix, others in passes over the rows: both find the same directions.
func TestGramFindsWhatPassesFind(t *testing.T) {
	const n, k = 900, 12
	x, _ := views[float64](n, 17, 60, 30)
	total := 107 // more than a strip
	if !gramPays(n, total, k, 4) || !tall(n, total) || tall(tallEnough*total-1, total) || gramPays(1<<20, mostGram+1, 2000, 4) {
		t.Fatal("the Gram matrix is not used where the test thinks it is")
	}
	square, err := gram(t.Context(), x, total, Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	g := randomRows(k, total, 3)
	want, err := gramTimes(t.Context(), x, []int{17, 60, 30}, g, k, Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	got, err := times(t.Context(), g, square, k, total, total, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9*math.Abs(want[0]) {
			t.Fatalf("entry %d is %v, in passes %v", i, got[i], want[i])
		}
	}
}

func TestErrors(t *testing.T) {
	x, _ := views[float64](10, 3)
	for _, rank := range []int{0, 4} {
		if _, err := Find(context.Background(), x, Config{Rank: rank}); err == nil {
			t.Errorf("rank %d of a 10×3 matrix: no error", rank)
		}
	}
	if _, err := Find(context.Background(), []rows.Matrix[float64]{}, Config{Rank: 1}); err == nil {
		t.Error("no views: no error")
	}
	data := make([]float64, 30)
	data[7] = math.NaN()
	if _, err := Find(context.Background(), []rows.Matrix[float64]{rows.NewDense(10, 3, 3, data)}, Config{Rank: 2}); err == nil {
		t.Error("NaN: no error")
	}
}
