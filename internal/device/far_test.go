package device

import (
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/neighbor"
)

// farRows is how many rows lie, as kernels see it, before those that are there. With strides of 8 the numbers of elements are far
// beyond 32 bits.
const farRows = 1 << 30

// distant is the simulator with every launch over rows moved: the rows that are there are the last of more than farRows, the
// addresses that kernels get lie so far before what is allocated, and of all blocks those run that have these rows. A kernel that
// counts elements in 32 bits anywhere on its way then reads or writes elsewhere, which is a fault.
type distant struct {
	simdevice.Sim
	doubles []bool // modules whose elements are float64
	only    []int
	moved   map[string]int
}

func newDistant() *distant {
	d := &distant{moved: map[string]int{}}
	d.Only = func(string, Launch) []int { return d.only }
	return d
}

// isDouble says whether a text has the kernels for float64.
func isDouble(text string) bool {
	return slices.Contains([]string{productsDouble(), rowsDouble(), termsDouble(), stagesDouble(), polarDouble()}, text)
}

func (d *distant) Load(text string) (Module, error) {
	m, err := d.Sim.Load(text)
	d.doubles = append(d.doubles, isDouble(text))
	return m, err
}

// rowKernel says how a kernel over rows finds them: the bytes of a row of its arguments that are rows, by their places, the place
// of the number of rows, and the blocks of one row, or of some rows.
type rowKernel struct {
	bytes     map[int]int64
	n         int
	perBlock  int // rows
	perStrip  int // blocks side by side for the same rows
	chunk     int // place of the rows of a chunk, for sums of chunks; 0: none
	partBytes int64
	chunkAxis int // of the grid
}

func (d *distant) Launch(m Module, name string, l Launch, args ...any) error {
	size := int64(4)
	if d.doubles[m] {
		size = 8
	}
	d.only = nil
	k, ok := kernelOver(name, l, size, args)
	if !ok {
		return d.Sim.Launch(m, name, l, args...)
	}
	d.moved[name]++
	if k.chunk > 0 {
		return d.launchChunks(m, name, l, args, k)
	}
	args = slices.Clone(args)
	move(args, k, 0)
	before := farRows / k.perBlock * k.perStrip
	d.only = make([]int, l.Grid[0])
	for i := range d.only {
		d.only[i] = before + i
	}
	l.Grid[0] += before
	return d.Sim.Launch(m, name, l, args...)
}

// launchChunks has each chunk of rows be the last of 1,024 chunks of 2²⁰ rows.
func (d *distant) launchChunks(m Module, name string, l Launch, args []any, k rowKernel) error {
	const chunks = 1024
	n, chunk := int(args[k.n].(int32)), int(args[k.chunk].(int32))
	grid, per := l, 1
	grid.Grid[k.chunkAxis] = chunks + 1
	for a := range k.chunkAxis {
		per *= l.Grid[a]
	}
	for z := range l.Grid[k.chunkAxis] {
		own := slices.Clone(args)
		own[k.n] = int32(min(chunk, n-z*chunk)) // of the rows of this chunk
		move(own, k, int64(z*chunk))
		own[k.chunk] = int32(farRows / chunks)
		own[0] = own[0].(Ptr) + Ptr((int64(z)-chunks)*k.partBytes)
		d.only = nil
		blocks := l.Grid[0] * l.Grid[1] * l.Grid[2] / l.Grid[k.chunkAxis]
		for i := range blocks {
			number := i + per*chunks // the chunk is the last axis that is longer than 1
			if k.chunkAxis == 0 {
				number = chunks + i*(chunks+1)
			}
			d.only = append(d.only, number)
		}
		if err := d.Sim.Launch(m, name, grid, own...); err != nil {
			return err
		}
	}
	return nil
}

// move takes the rows' addresses back by farRows less first, and counts farRows more.
func move(args []any, k rowKernel, first int64) {
	for place, bytes := range k.bytes {
		if p := args[place].(Ptr); p != 0 {
			args[place] = p + Ptr((first-farRows)*bytes)
		}
	}
	switch n := args[k.n].(type) {
	case int32:
		args[k.n] = n + farRows
	case int64:
		args[k.n] = n + farRows
	}
}

// kernelOver returns how a kernel finds its rows.
func kernelOver(name string, l Launch, size int64, args []any) (rowKernel, bool) {
	// number is a stride among the arguments.
	number := func(place int) int64 { return int64(args[place].(int32)) }
	k := rowKernel{perBlock: fourRows, perStrip: 1, bytes: map[int]int64{}}
	set := func(bytes int64, places ...int) {
		for _, p := range places {
			k.bytes[p] = bytes
		}
	}
	switch name {
	case wideTimes.name, hundredTimes.name, narrowTimes.name, smallTimes.name:
		t, _ := timesShape(name)
		ld := number(2)
		k.n, k.perBlock, k.perStrip = 7, t.rows, ceil(int(ld), t.columns)
		set(ld*size, 1, 10)
		set(number(4)*size, 3)
		set(size, 11)
		set(ld/4, 13)
	case wideTensorTimes.name, leanTensorTimes.name, narrowTensorTimes.name:
		t, ld := tensorTileOf(name), number(1)
		k.n, k.perBlock, k.perStrip = 6, t.rows, ceil(int(ld), t.columns)
		set(ld*4, 0)
		set(number(3)*4, 2)
	case wideSums.name, hundredSums.name, narrowSums.name, smallSums.name, wideTensorSums.name, leanTensorSums.name,
		narrowTensorSums.name:
		k.n, k.chunk, k.chunkAxis, k.partBytes = 6, 9, 2, number(7)*number(8)*size
		set(number(2)*size, 1)
		set(size, 3)
		set(number(5)*size, 4)
	case "row_sums":
		k.n, k.chunk, k.partBytes = 3, 4, number(2)*8
		set(number(2)*8, 1)
	case "squared_norms":
		k.n = 3
		set(8, 0)
		set(number(2)*size, 1)
	case "residual":
		k.n = 6
		set(8, 0, 2)
		set(1, 1)
		set(number(7)*size, 3, 4, 5)
	case "direct_residual":
		k.n, k.perBlock = 7, directRows
		set(8, 0)
		set(1, 1)
		set(number(3)*size, 2)
		set(number(5)*size, 4)
	case "subtract_direct":
		k.n, k.perBlock = 8, directRows
		set(number(6)*size, 0, 5)
		set(size, 1)
		set(1, 2)
		set(number(4)*size, 3)
	case "trust":
		k.n, k.perBlock = 6, rowThreads
		set(size, 0, 1, 2, 3, 5)
		set(8, 4)
	case "one_less":
		k.n, k.perBlock = 2, rowThreads
		set(size, 0, 1)
	case "narrow":
		k.n, k.perBlock = 2, rowThreads
		set(size, 0)
		set(8, 1)
	case "loss_terms":
		k.n, k.perBlock = 5, rowThreads
		set(number(1)*8, 0)
		set(size, 2, 4)
		set(8, 3)
	case "add_residual":
		k.n = 6
		set(number(7)*size, 0, 4, 5)
		set(size, 2)
		set(1, 3)
	case "scale_add":
		k.n, k.perBlock = 3, rowThreads
		set(size, 0, 2)
	case "anchor_cotangent":
		k.n = 7
		set(number(8)*size, 0, 2, 3, 4)
		set(size, 1, 5, 6)
	case "noise_cotangent":
		k.n, k.perBlock = 7, rowThreads
		set(size, 0, 1, 2, 5, 6)
		set(number(4)*8, 3)
	case "threshold_cotangent":
		k.n = 8
		set(number(9)*size, 0, 1, 5)
		set(number(3)*8, 2)
		set(size, 6)
		set(number(9)/4, 7)
	case "selu_threshold":
		k.n = 6
		set(number(8)*size, 0, 2)
		set(size, 3)
	case "selu_cotangent":
		k.n = 10
		set(number(12)*size, 0, 1, 5, 7)
		set(number(3)*8, 2)
		set(size, 6)
	case "represent_cotangent":
		k.n = 10
		set(size, 0, 7, 9)
		set(number(11)*size, 1, 3, 4, 5, 6, 8)
	case "assign":
		k.n = 2
		set(number(4)*size, 0, 1)
	case "gather":
		k.n = 5
		set(number(6)*size, 0)
		set(8, 1)
	case "predict":
		k.n = 4
		set(number(6)*size, 0, 1)
		set(size, 2, 3)
	case "guess_cotangent":
		k.n = 3
		set(number(5)*size, 0, 1)
		set(size, 2)
	case "term_cotangent":
		k.n = 7
		set(number(9)*size, 0, 1, 2, 3, 5, 6)
		set(size, 4)
	case "lowest":
		k.n = 6
		groups := number(10)
		k.perStrip = int(groups)
		set(groups*number(11)*4, 0)
		set(groups*number(11)*8, 1)
		set(number(8)*size, 2)
		set(4, 4)
	case "filter":
		k.n, k.perStrip = 9, int(number(11))
		set(number(10)*size, 0, 6, 7, 8)
		set(8, 1)
		set(size, 5)
	default: // over sums, anchors or elements of either
		return k, false
	}
	return k, true
}

// Kernels find rows whose elements have numbers beyond 32 bits: the last rows of 2³⁰ and more give the bits that they give alone.
func TestFarRows(t *testing.T) {
	testutil.Long(t, "every kernel twice")
	moved := map[string]int{}
	count := func(d *distant) {
		for name, n := range d.moved {
			moved[name] += n
		}
	}
	for name, p := range cases(t) {
		d := newDistant()
		want := step(t, allOnDevice[float32](t, p, &simdevice.Sim{}), p.params, nil)
		same(t, name, step(t, allOnDevice[float32](t, p, d), p.params, nil), want)
		count(d)
	}
	many, few := makeProblem(t, shape(40, 20, 2, 24, 9), 0.2, 3), makeProblem(t, shape(70, 5, 1, 12), 0, 3)
	d := newDistant()
	same(t, "float64", step(t, allOnDevice[float64](t, many, d), many.params, nil),
		step(t, allOnDevice[float64](t, many, &simdevice.Sim{}), many.params, nil))
	for _, p := range []*problem{many, few} {
		want := step(t, onTensorCores(t, p, &simdevice.Sim{}), p.params, nil)
		for _, target := range []string{"sm_80", "sm_86"} {
			d := newDistant()
			d.Target = target
			same(t, "tensor cores of "+target, step(t, onTensorCores(t, p, d), p.params, nil), want)
			count(d)
		}
	}
	count(d)
	count(farTerms(t, few))
	count(farLowest(t))
	count(farFilter(t))
	count(farTiles(t))
	for _, m := range [][2]string{{productsFloat(), "fold fold_doubles"}, {rowsFloat(), ""}, {termsFloat(), ""},
		{stagesFloat(), ""}, {tensorFloat(), "split_rows largest"}} {
		module, err := ptx.Parse(m[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, kernel := range module.Kernels() {
			if moved[kernel] == 0 && !slices.Contains(strings.Fields(m[1]), kernel) {
				t.Errorf("%s was not tried", kernel)
			}
		}
	}
}

// farTerms tries the terms of the loss.
func farTerms(t *testing.T, p *problem) *distant {
	held, err := information.NewLeaveOneOut(t.Context(), views[float32](p), information.Regression{Directions: 6})
	if err != nil {
		t.Fatal(err)
	}
	d := newDistant()
	var got [2]*result
	for i, drv := range []Driver{&simdevice.Sim{}, d} {
		net := onDevice[float32](t, p, drv)
		o := information.TermsOptions[float32]{Graph: someGraph(t, p.spec.Samples, true), Neighbors: 2, Held: held, HeldOut: 3}
		if err := SetTerm(net, o); err != nil {
			t.Fatal(err)
		}
		got[i] = step(t, net, p.params, nil)
	}
	same(t, "terms", got[1], got[0])
	return d
}

// farLowest tries the lowest scores.
func farLowest(t *testing.T) *distant {
	p := makeProblem(t, shape(50, 6, 1, 11, 5), 0.2, 8)
	b, bias, rng := make([][]float32, 2), make([]float64, 2*40), newBench[float32](t, &simdevice.Sim{})
	for v, d := range p.spec.Dims {
		b[v] = rng.matrix(40, d, d)
	}
	d := newDistant()
	var column [2][]int32
	var score [2][]float64
	for i, drv := range []Driver{&simdevice.Sim{}, d} {
		r, err := NewRows(drv, views[float32](p), p.present, rows.Use{Columns: 40, Keep: 8})
		if err == nil {
			column[i], score[i], err = r.lowest(t.Context(), b, bias, lowestOptions{group: 10, keep: 2, self: -1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(column[0], column[1]) || !slices.Equal(score[0], score[1]) {
		t.Errorf("the lowest scores of far rows are others")
	}
	return d
}

// farFilter tries smoothing along landmarks.
func farFilter(t *testing.T) *distant {
	const n = 90
	op, d, want := someGraph(t, n, true), newDistant(), blocks[float32](n)
	if _, err := neighbor.Smooth(t.Context(), op, there(want, NewSession(&simdevice.Sim{}, true)), 13, 1); err != nil {
		t.Fatal(err)
	}
	got := blocks[float32](n)
	if _, err := neighbor.Smooth(t.Context(), op, there(got, NewSession(d, true)), 13, 1); err != nil {
		t.Fatal(err)
	}
	for v := range want {
		if !slices.Equal(got[v].X, want[v].X) {
			t.Errorf("view %d: smoothing of far rows is another one", v)
		}
	}
	return d
}

// farTiles tries the tiles that networks as small as those above do not have.
func farTiles(t *testing.T) *distant {
	d := newDistant()
	for _, run := range []func(b *bench[float32]) []float32{
		func(b *bench[float32]) []float32 { return farProduct(b, wideTimes) },
		func(b *bench[float32]) []float32 { return farProduct(b, narrowTimes) },
		func(b *bench[float32]) []float32 { return farSums(b, wideSums) },
		func(b *bench[float32]) []float32 { return farProduct(b, hundredTimes) },
		func(b *bench[float32]) []float32 { return farSums(b, hundredSums) },
		func(b *bench[float32]) []float32 { return farSums(b, narrowSums) },
	} {
		if got, want := run(newBench[float32](t, d)), run(newBench[float32](t, &simdevice.Sim{})); !slices.Equal(got, want) {
			t.Errorf("a product of far rows is another one")
		}
	}
	return d
}

func farProduct(b *bench[float32], tl tile) []float32 {
	const n, k, m, ld = 150, 50, 70, 72
	lda := padded(k)
	out, base := empty[float32](b, n*ld), b.matrix(n, m, ld)
	b.k.timesTransposedBy(tl, product{op: threshold, out: out, ldOut: ld, a: put64(b, b.matrix(n, k, lda)), lda: lda,
		b: put64(b, b.matrix(m, k, lda)), ldb: lda, n: n, m: m, k: k, base: put64(b, base), row: put64(b, b.vector(n)),
		pattern: empty[byte](b, n*ld/4), first: true})
	b.ran(tl.name)
	return get[float32](b, out, n*ld)
}

func farSums(b *bench[float32], tl tile) []float32 {
	const n, d, m, ld, chunk = 100, 30, 70, 72, 32
	ldx, count := padded(d), ceil(n, chunk)*m*d
	part := empty[float32](b, count)
	b.k.transposedTimesBy(tl, sums{part: part, a: put64(b, b.matrix(n, m, ld)), lda: ld, x: put64(b, b.matrix(n, d, ldx)),
		ldx: ldx, weight: put64(b, b.vector(n)), n: n, m: m, d: d, chunk: chunk})
	b.ran(tl.name)
	return get[float32](b, part, count)
}
