package spectral

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// TestFewSamples wants from the side of few samples the directions that going by columns finds, with as many as there are
// samples and with fewer, of dense rows and of sparse ones.
func TestFewSamples(t *testing.T) {
	t.Run("float64", func(t *testing.T) { compareSides[float64](t, 1e-9) })
	t.Run("float32", func(t *testing.T) { compareSides[float32](t, 1e-4) })
}

func compareSides[T kernel.Float](t *testing.T, tol float64) {
	dense, _ := views[T](150, 300, 420, 90)
	sparse := []rows.Matrix[T]{asSparse(dense[0]), dense[1], asSparse(dense[2])}
	for _, test := range []struct {
		name string
		x    []rows.Matrix[T]
		rank int
	}{{"few", dense, 12}, {"sparse", sparse, 12}, {"all", dense, 145}} {
		cfg := Config{Rank: test.rank, Iterations: 6, Seed: 3}
		k := min(test.rank+10, 150)
		if !fewSamples(test.x, k, Config{Iterations: 6}) {
			t.Fatalf("%s: by columns, the test shows nothing", test.name)
		}
		got, err := Find(t.Context(), test.x, cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.ByColumns = true
		want, err := Find(t.Context(), test.x, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range got.S {
			if math.Abs(s*s-want.S[i]*want.S[i]) > tol*want.S[0]*want.S[0] {
				t.Errorf("%s: singular value %d is %v, by columns %v", test.name, i, s, want.S[i])
			}
			if want.S[i] < 0.05*want.S[0] { // rounding decides where the direction lies
				continue
			}
			dot := 0.0
			for v := range got.V {
				d := got.Dims[v]
				for j, a := range got.V[v][i*d : (i+1)*d] {
					dot += a * want.V[v][i*d+j]
				}
			}
			if math.Abs(dot-1) > tol {
				t.Errorf("%s: direction %d is at the cosine %v to that found by columns", test.name, i, dot)
			}
		}
	}
}

// asSparse returns the rows of a matrix with every entry written out.
func asSparse[T kernel.Float](x rows.Matrix[T]) rows.Matrix[T] {
	n, d := x.Dims()
	ptr, cols, values := make([]int, 1, n+1), make([]int32, 0, n*d), make([]T, n*d)
	for i := range n {
		x.Row(i, values[i*d:(i+1)*d])
		for j := range d {
			cols = append(cols, int32(j))
		}
		ptr = append(ptr, len(cols))
	}
	return rows.NewSparse(n, d, ptr, cols, values, nil, nil)
}

// TestFewSamplesThatRepeat wants directions of rows that span less than is asked for: what is left over holds nothing.
func TestFewSamplesThatRepeat(t *testing.T) {
	const n, d, different = 60, 400, 7
	x, _ := views[float32](different, d)
	values := make([]float32, n*d)
	for i := range n - 1 { // the last row is zero
		x[0].Row(i%different, values[i*d:(i+1)*d])
	}
	for _, rank := range []int{20, n} {
		b, err := Find(context.Background(), []rows.Matrix[float32]{rows.NewDense(n, d, d, values)}, Config{Rank: rank})
		if err != nil {
			t.Fatal(err)
		}
		total, most := 0.0, 0.0
		for i, s := range b.S {
			total += s * s
			if i >= different {
				most = max(most, s)
			}
		}
		want := kernel.SumSquares(values, 0)
		if math.Abs(total-want) > 1e-5*want || most > 1e-3*b.S[0] {
			t.Errorf("rank %d: the singular values' squares sum to %v, those of the rows to %v; beyond %d directions one is %v",
				rank, total, want, different, most)
		}
		for i, e := range b.V[0] {
			if math.IsNaN(e) || math.IsInf(e, 0) {
				t.Fatalf("rank %d: entry %d of the directions is %v", rank, i, e)
			}
		}
	}
}

// TestFewSamplesBits wants the same bits for any number of goroutines.
func TestFewSamplesBits(t *testing.T) {
	x, _ := views[float32](300, 500, 210)
	var first *Basis
	for _, workers := range []int{1, 2, 5} {
		b, err := Find(context.Background(), x, Config{Rank: 40, Seed: 7, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		for v := range b.V {
			if !slices.Equal(b.V[v], first.V[v]) {
				t.Fatalf("%d workers: other directions in view %d than with one", workers, v)
			}
		}
	}
}

// TestSquareUntilTheLastIteration wants of rows that are neither few nor tall, whose XᵀX takes the place of X until the last
// iteration, the directions that passes over X find.
func TestSquareUntilTheLastIteration(t *testing.T) {
	const n, rank = 400, 20
	x, whole := views[float32](n, 100, 60)
	if total := 160; !gramPays(n, total, rank+10, 8) || tall(n, total) {
		t.Fatal("XᵀX is not used where the test thinks it is")
	}
	got, err := Find(t.Context(), x, Config{Rank: rank})
	if err != nil {
		t.Fatal(err)
	}
	wide := make([]rows.Matrix[float32], 1) // too many columns for XᵀX, most of them zero
	values := make([]float32, n*(mostGram+1))
	for i := range n {
		for j := range 160 {
			values[i*(mostGram+1)+j] = float32(whole.At(i, j))
		}
	}
	wide[0] = rows.NewDense(n, mostGram+1, mostGram+1, values)
	want, err := Find(t.Context(), wide, Config{Rank: rank, ByColumns: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got.S {
		if math.Abs(s-want.S[i]) > 1e-4*want.S[0] {
			t.Errorf("singular value %d is %v, in passes %v", i, s, want.S[i])
		}
	}
}
