package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/rows"
)

// textRows is a sparse matrix that can be had by columns, and its parts.
type textRows struct {
	rows.Matrix[float64]
	ptr                  []int
	cols                 []int32
	values, shift, along []float64
}

func (x *textRows) Compressed() (ptr []int, cols []int32, values, shift, along []float64) {
	return x.ptr, x.cols, x.values, x.shift, x.along
}

// onlyRows hides what a matrix has besides its rows.
type onlyRows struct{ rows.Matrix[float64] }

// makeText returns n rows of d features with few entries and, if shifted, a shift; absent rows are empty.
func makeText(rng *rand.Rand, n, d int, shifted bool, present []bool) *textRows {
	x := &textRows{ptr: []int{0}}
	if shifted {
		x.shift, x.along = make([]float64, n), make([]float64, d)
		for j := range x.along {
			x.along[j] = rng.NormFloat64()
		}
	}
	for i := range n {
		here := present == nil || present[i]
		for j := range d {
			if here && (j%7 == i%5 || rng.IntN(6) == 0) {
				x.cols, x.values = append(x.cols, int32(j)), append(x.values, 1+rng.Float64())
			}
		}
		if shifted && here {
			x.shift[i] = 0.3 * rng.NormFloat64()
		}
		x.ptr = append(x.ptr, len(x.cols))
	}
	var u *rows.Direction[float64]
	if shifted {
		u = rows.NewDirection(x.along)
	}
	x.Matrix = rows.NewSparse(n, d, x.ptr, x.cols, x.values, x.shift, u)
	return x
}

// Sparse views by columns and by rows give the losses and gradients of the same views in full, and by columns the same bits
// whatever the number of goroutines.
func TestViewsByColumns(t *testing.T) {
	for name, spec := range map[string]Spec{
		"noise":    {Samples: 330, Dims: []int{40, 55, 9}, Anchors: 6, Layers: 3, Noise: true, Anchored: true},
		"no noise": {Samples: 330, Dims: []int{40, 55, 9}, Anchors: 11, Layers: 2, Anchored: true},
		"fixed":    {Samples: 330, Dims: []int{40, 55, 9}, Anchors: 6, Layers: 2, Noise: true},
	} {
		for _, missing := range []float64{0, 0.3} {
			t.Run(name, func(t *testing.T) { viewsByColumns(t, spec, missing) })
		}
	}
}

func viewsByColumns(t *testing.T, spec Spec, missing float64) {
	p := makeProblem(t, spec, missing, 9)
	rng := rand.New(rand.NewPCG(5, 1))
	n := spec.Samples
	text := make([]*textRows, len(spec.Dims))
	for v, d := range spec.Dims {
		var present []bool
		if p.present != nil {
			present = p.present[v]
		}
		text[v] = makeText(rng, n, d, v > 0, present)
	}
	type result struct {
		loss  []float64
		grads *Params
	}
	run := func(workers int, view func(v int) rows.Matrix[float64]) result {
		spec := p.spec
		spec.Workers = workers
		var x []rows.Matrix[float64]
		for v := range spec.Dims {
			x = append(x, view(v))
		}
		shard, err := NewMemory(&spec, 0, x, p.present, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		net, err := NewNet(spec, []Shard{shard}, InOrder{}, p.start)
		if err != nil {
			t.Fatal(err)
		}
		before := shard.Bytes()
		r := result{grads: NewParams(&spec)}
		for range 2 { // the second time on used memory
			loss, err := net.Forward(context.Background(), p.params, true)
			if err != nil {
				t.Fatal(err)
			}
			r.loss = append([]float64(nil), loss...)
			if err := net.Backward(context.Background(), 1, r.grads); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := x[0].(*textRows); ok && spec.Anchored && shard.Bytes() <= before {
			t.Errorf("views by columns take no memory: %d bytes after %d", shard.Bytes(), before)
		}
		return r
	}
	full := run(1, func(v int) rows.Matrix[float64] {
		d := spec.Dims[v]
		data := make([]float64, n*d)
		for i := range n {
			text[v].Row(i, data[i*d:(i+1)*d])
		}
		return rows.NewDense(n, d, d, data)
	})
	byRows := run(2, func(v int) rows.Matrix[float64] { return onlyRows{text[v].Matrix} })
	columns := func(v int) rows.Matrix[float64] { return text[v] }
	one, three := run(1, columns), run(3, columns)
	flat := func(r result) []float64 {
		out := append(append([]float64(nil), r.loss...), r.grads.Theta...)
		out = append(append(out, r.grads.R...), r.grads.U...)
		for _, rho := range r.grads.Rho {
			out = append(out, rho...)
		}
		return out
	}
	want, rowWise, a, b := flat(full), flat(byRows), flat(one), flat(three)
	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(a[i]-w) <= 1e-9*scale) || !(math.Abs(rowWise[i]-w) <= 1e-9*scale) {
			t.Errorf("value %d: %v by columns, %v by rows, %v in full", i, a[i], rowWise[i], w)
		}
		if a[i] != b[i] {
			t.Errorf("value %d: %v with one goroutine, %v with three", i, a[i], b[i])
		}
	}
}
