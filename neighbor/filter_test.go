package neighbor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// denseFilter is the filter as its formula says.
func denseFilter(a *mat.Dense, d *dataset, v, steps int) *mat.Dense {
	k := d.dims[v]
	x := mat.NewDense(d.n, k, nil)
	factor := make([]float64, d.n)
	for i := range d.n {
		all, have := 0.0, 0.0
		for j := range d.n {
			all += a.At(i, j)
			if d.has(v, j) {
				have += a.At(i, j)
			}
		}
		factor[i] = 1
		if have > 0 {
			factor[i] = all / have
		}
		if d.has(v, i) {
			x.SetRow(i, d.row(v, i))
		}
	}
	for range steps {
		var y mat.Dense
		y.Mul(a, x)
		for i := range d.n {
			for j := 0; j < k && d.has(v, i); j++ {
				x.Set(i, j, (x.At(i, j)+factor[i]*y.At(i, j))/2)
			}
		}
	}
	for i := range d.n {
		if norm := mat.Norm(x.RowView(i), 2); norm > 0 {
			for j := range k {
				x.Set(i, j, x.At(i, j)/norm)
			}
		}
	}
	return x
}

func (b *Block[T]) matrix(n int) *mat.Dense {
	m := mat.NewDense(n, b.Cols, nil)
	for i := range n {
		for j := range b.Cols {
			m.Set(i, j, float64(b.X[i*b.Ld+j]))
		}
	}
	return m
}

// operators returns an exact and a landmark operator over d.
func operators[T Float](t testing.TB, d *dataset) map[string]*Index[T] {
	t.Helper()
	exact, err := Build(context.Background(), viewsOf[T](t, d), testSpaces, Config{Neighbors: 6})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Index[T]{"exact": exact, "landmarks": landmarkIndex[T](t, d, 2)}
}

func checkFilter[T Float](t *testing.T, tolerance float64) {
	setSeriesError(t, tolerance/4)
	ctx := context.Background()
	for _, masks := range []bool{false, true} {
		d := randomData(21, 300, masks, 5, 150)
		for kind, x := range operators[T](t, d) {
			a := operatorMatrix(t, x.Operator())
			for _, steps := range []int{0, 1, 6, 14} {
				name := fmt.Sprintf("%s, masks %t, %d steps", kind, masks, steps)
				blocks := []Block[T]{blockOf[T](d, 0), blockOf[T](d, 1)}
				filters, err := Smooth(ctx, x.Operator(), blocks, steps, 3)
				if err != nil {
					t.Fatal(err)
				}
				again := []Block[T]{blockOf[T](d, 0), blockOf[T](d, 1)}
				must(Smooth(ctx, x.Operator(), again, steps, 1))
				links, err := x.Attach(ctx, viewsOf[T](t, d), 2)
				if err != nil {
					t.Fatal(err)
				}
				for v := range blocks {
					if e := far(blocks[v].matrix(d.n), denseFilter(a, d, v, steps)); e > tolerance {
						t.Errorf("%s, view %d: differs by %.1e", name, v, e)
					}
					if far(blocks[v].matrix(d.n), again[v].matrix(d.n)) != 0 {
						t.Errorf("%s, view %d: depends on the workers", name, v)
					}
					// The samples of the index as new ones get the bits that they have.
					attached := blockOf[T](d, v)
					if err := filters[v].Apply(ctx, links, attached, 2); err != nil {
						t.Fatal(err)
					}
					if e := far(attached.matrix(d.n), blocks[v].matrix(d.n)); e != 0 {
						t.Errorf("%s, view %d: attached samples differ by %.1e", name, v, e)
					}
				}
			}
		}
	}
}

func TestFilterEqualsDense(t *testing.T) {
	t.Run("float64", func(t *testing.T) { checkFilter[float64](t, 1e-13) })
	t.Run("float32", func(t *testing.T) { checkFilter[float32](t, 3e-6) })
}

func TestFilterKeepsZeroRows(t *testing.T) {
	d := randomData(22, 60, false, 3)
	g := must(NewGraph(must(NewLinks(d.n, d.n, make([]int, d.n+1), nil, nil))))
	b := blockOf[float64](d, 0)
	clear(b.X[5*b.Ld : 5*b.Ld+3])
	must(Smooth(context.Background(), g, []Block[float64]{b}, 4, 1))
	for i := range d.n {
		want := 1.0
		if i == 5 {
			want = 0
		}
		if norm := mat.Norm(b.matrix(d.n).RowView(i), 2); math.Abs(norm-want) > 1e-15 {
			t.Errorf("row %d has the norm %v, want %v", i, norm, want)
		}
	}
}

type foreign struct{ Operator }

func TestFilterRefuses(t *testing.T) {
	ctx := context.Background()
	d := randomData(23, 40, false, 3)
	x := must(Build(ctx, viewsOf[float64](t, d), []Space{{Views: []int{0}, Weight: 1}}, Config{}))
	nan := blockOf[float64](d, 0)
	nan.X[7*nan.Ld+1] = math.NaN()
	long := blockOf[float64](d, 0)
	long.X[7*long.Ld+1] = 1e200
	short := blockOf[float64](d, 0)
	short.X = short.X[:len(short.X)-short.Ld]
	mask := blockOf[float64](d, 0)
	mask.Present = make([]bool, 3)
	good := blockOf[float64](d, 0)
	for name, c := range map[string]struct {
		op    Operator
		b     Block[float64]
		steps int
		want  string
	}{
		"NaN":      {x.Operator(), nan, 6, "view 0 has NaN at row 7, column 1"},
		"long":     {x.Operator(), long, 6, "row 7 of view 0 is so long that its norm"},
		"short":    {x.Operator(), short, 6, "view 0: 40×3 rows"},
		"mask":     {x.Operator(), mask, 6, "view 0 has 40 rows and a mask of 3"},
		"steps":    {x.Operator(), good, -1, "-1 steps"},
		"operator": {foreign{x.Operator()}, good, 6, "the operator is a"},
		"nil":      {nil, good, 6, "the operator is nil"},
	} {
		if _, err := Smooth(ctx, c.op, []Block[float64]{c.b}, c.steps, 1); err == nil ||
			!strings.Contains(err.Error(), "neighbor: "+c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	f := must(Smooth(ctx, x.Operator(), []Block[float64]{good}, 6, 1))[0]
	links := x.Operator().(*Graph).Links()
	if err := f.Apply(ctx, links, Block[float64]{X: make([]float64, 80), Ld: 2, Cols: 2}, 1); err == nil {
		t.Error("a block of 2 columns is taken for a filter of 3")
	}
	if err := f.Apply(ctx, must(NewLinks(1, 2, []int{0, 0}, nil, nil)), blockOf[float64](d.rows(0), 0), 1); err == nil {
		t.Error("links to 2 atoms are taken for a filter of 40")
	}
	if !slices.Equal(nan.X[:7*nan.Ld], blockOf[float64](d, 0).X[:7*nan.Ld]) {
		t.Error("rows have changed before the error")
	}
}
