package neighbor

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// dataset is views of float64 values that float32 holds exactly, with masks.
type dataset struct {
	n       int
	dims    []int
	x       [][]float64
	present [][]bool
}

// randomData draws n samples with the given features around three centres. With masks every sample lacks a view with the
// chance 0.3, and every tenth lacks all.
func randomData(seed uint64, n int, masks bool, dims ...int) *dataset {
	rng := rand.New(rand.NewPCG(seed, 7))
	d := &dataset{n: n, dims: dims, present: make([][]bool, len(dims))}
	for v, k := range dims {
		x := make([]float64, n*k)
		for i := range x {
			x[i] = float64(float32(rng.NormFloat64() + 2*float64((i/k)%3)))
		}
		d.x = append(d.x, x)
		if masks {
			d.present[v] = make([]bool, n)
			for i := range n {
				d.present[v][i] = rng.Float64() > 0.3 && i%10 != 9
			}
		}
	}
	return d
}

func (d *dataset) has(v, i int) bool { return d.present[v] == nil || d.present[v][i] }

func (d *dataset) row(v, i int) []float64 { return d.x[v][i*d.dims[v] : (i+1)*d.dims[v]] }

// rows returns some of the samples.
func (d *dataset) rows(samples ...int) *dataset {
	out := &dataset{n: len(samples), dims: d.dims, x: make([][]float64, len(d.x)), present: make([][]bool, len(d.x))}
	for v := range d.x {
		for _, i := range samples {
			out.x[v] = append(out.x[v], d.row(v, i)...)
			if d.present[v] != nil {
				out.present[v] = append(out.present[v], d.present[v][i])
			}
		}
	}
	return out
}

// upTo returns the numbers from 0 to n−1.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// viewsOf returns the views in the element type, with NaN in absent rows and a stride above the number of features.
func viewsOf[T Float](t testing.TB, d *dataset) []View[T] {
	t.Helper()
	out := make([]View[T], len(d.x))
	for v, k := range d.dims {
		ld := k + 3
		x := make([]T, d.n*ld)
		for i := range d.n {
			for j, y := range d.row(v, i) {
				x[i*ld+j] = T(y)
				if !d.has(v, i) {
					x[i*ld+j] = T(math.NaN())
				}
			}
		}
		var err error
		if out[v], err = Dense(d.n, k, ld, x, d.present[v]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// distance returns the squared distance of sample i of d and j of e, +∞ if they share no view.
func (d *dataset) distance(e *dataset, views []int, i, j int) float64 {
	sum, shared := 0.0, 0
	for _, v := range views {
		if !d.has(v, i) || !e.has(v, j) {
			continue
		}
		shared++
		y := e.row(v, j)
		for q, x := range d.row(v, i) {
			sum += (x - y[q]) * (x - y[q])
		}
	}
	if shared == 0 {
		return math.Inf(1)
	}
	return sum * float64(len(views)) / float64(shared)
}

// bruteForce returns the k nearest neighbours of each sample.
func (d *dataset) bruteForce(views []int, k int) *Lists {
	l := &Lists{N: d.n, K: max(1, min(k, d.n-1))}
	for i := range d.n {
		var all []found
		for j := range d.n {
			if s := d.distance(d, views, i, j); j != i && !math.IsInf(s, 1) {
				all = append(all, found{int32(j), s})
			}
		}
		slices.SortFunc(all, byDistance)
		for r := range l.K {
			f := found{-1, math.Inf(1)}
			if r < len(all) {
				f = all[r]
			}
			l.Index, l.Square = append(l.Index, f.index), append(l.Square, f.square)
		}
	}
	return l
}

// matrixOf returns links as a dense matrix.
func matrixOf(l *Links) *mat.Dense {
	m := mat.NewDense(l.Len(), l.Atoms(), nil)
	for i := range l.Len() {
		atoms, w := l.Row(i)
		for e, a := range atoms {
			m.Set(i, int(a), w[e])
		}
	}
	return m
}

// operatorMatrix returns an operator as a dense matrix, by its products with the columns of the identity.
func operatorMatrix(t testing.TB, op Operator) *mat.Dense {
	t.Helper()
	n := op.Len()
	ld := Stride(n)
	x, y := make([]float64, n*ld), make([]float64, n*ld)
	for i := range n {
		x[i*ld+i] = 1
	}
	if err := Mul(context.Background(), op, 2, y, x, ld); err != nil {
		t.Fatal(err)
	}
	return mat.DenseCopyOf(mat.NewDense(n, ld, y).Slice(0, n, 0, n))
}

// spectrum returns the smallest and the largest eigenvalue of a symmetric matrix.
func spectrum(t testing.TB, a *mat.Dense) (low, high float64) {
	t.Helper()
	n, _ := a.Dims()
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(n, slices.Clone(a.RawMatrix().Data)), false) {
		t.Fatal("no eigenvalues")
	}
	values := e.Values(nil)
	return values[0], values[n-1]
}

// far returns the largest absolute difference.
func far(a, b mat.Matrix) float64 {
	n, m := a.Dims()
	if p, q := b.Dims(); p != n || q != m {
		return math.Inf(1)
	}
	most := 0.0
	for i := range n {
		for j := range m {
			if d := math.Abs(a.At(i, j) - b.At(i, j)); !(d <= most) {
				most = d
			}
		}
	}
	return most
}

// blockOf returns view v as the rows of a filter, absent rows NaN, with a stride above the number of features.
func blockOf[T Float](d *dataset, v int) Block[T] {
	k := d.dims[v]
	b := Block[T]{X: make([]T, d.n*(k+2)), Ld: k + 2, Cols: k, Present: d.present[v]}
	for i := range d.n {
		for j, y := range d.row(v, i) {
			b.X[i*b.Ld+j] = T(y)
			if !d.has(v, i) {
				b.X[i*b.Ld+j] = T(math.NaN())
			}
		}
	}
	return b
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
