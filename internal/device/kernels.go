package device

import (
	"context"
	"embed"
	"sync"
	"unsafe"

	"github.com/largemvc/largemvc/internal/driver"
	"github.com/largemvc/largemvc/internal/kernel"
)

//go:embed kernels/*.ptx.gz
var packed embed.FS

// The texts of the kernels, unpacked at their first use.
var (
	productsFloat  = text("products_float")
	productsDouble = text("products_double")
	rowsFloat      = text("rows_float")
	rowsDouble     = text("rows_double")
	termsFloat     = text("terms_float")
	termsDouble    = text("terms_double")
	stagesFloat    = text("stages_float")
	stagesDouble   = text("stages_double")
	tensorFloat    = text("tensor_float")
	polarDouble    = text("polar_double")
)

func text(name string) func() string {
	return sync.OnceValue(func() string {
		b, err := packed.ReadFile("kernels/" + name + ".ptx.gz")
		if err != nil {
			panic(err) // the file is part of the program
		}
		return driver.Text(b)
	})
}

// kernels holds the modules of one element type on a device, with a method for each kernel. It keeps the first error in err, and
// launches nothing afterwards, so that a pass needs no check after each launch.
type kernels[T kernel.Float] struct {
	drv                           Driver
	products, rows, terms, stages Module
	tensor                        Module // where hasTensor
	hasTensor                     bool
	ctx                           context.Context // checked between two launches
	err                           error
}

func loadKernels[T kernel.Float](drv Driver) (*kernels[T], error) {
	k := &kernels[T]{drv: drv, ctx: context.Background()}
	texts := []func() string{productsFloat, rowsFloat, termsFloat, stagesFloat}
	if !kernel.Is32[T]() {
		texts = []func() string{productsDouble, rowsDouble, termsDouble, stagesDouble}
	}
	for i, m := range []*Module{&k.products, &k.rows, &k.terms, &k.stages} {
		var err error
		if *m, err = drv.Load(texts[i]()); err != nil {
			return nil, err
		}
	}
	if major, _ := drv.Capability(); major < 8 || !kernel.Is32[T]() || drv.SharedMemory() < leastTensorShared {
		return k, nil
	}
	var err error
	k.tensor, err = drv.Load(tensorFloat())
	k.hasTensor = true
	return k, err
}

// failed returns the first error after the last call.
func (k *kernels[T]) failed() error {
	err := k.err
	k.err = nil
	return err
}

func (k *kernels[T]) launch(m Module, name string, grid [3]int, block, shared int, args ...any) {
	if k.err == nil {
		k.err = k.ctx.Err()
	}
	if k.err != nil || grid[0] == 0 || grid[1] == 0 || grid[2] == 0 {
		return
	}
	k.err = k.drv.Launch(m, name, Launch{Grid: grid, Block: block, Shared: shared}, args...)
}

func size[T any]() int { var t T; return int(unsafe.Sizeof(t)) }

func ceil(n, by int) int { return (n + by - 1) / by }

func toInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// epilogue is the last step of times_transposed; kernels/products.h has the numbers.
type epilogue int32

const (
	store     epilogue = iota // out = s
	add                       // out = s + base
	lerp                      // out = row·base + (1−row)·s
	threshold                 // out += row·S_θ(s + base), with a pattern
)

// product is one call of times_transposed: Out (n×m, stride ldOut) from A·Bᵀ, A being n×k and B m×k.
type product struct {
	op           epilogue
	out          Ptr
	ldOut        int
	a            Ptr
	lda          int
	b            Ptr
	ldb          int
	n, m, k      int
	base, row    Ptr
	theta        float64
	pattern      Ptr
	first, oneSd bool
}

// tile is the shape of a block of a product by fused multiply-add.
type tile struct {
	name          string
	rows, columns int // of the result
	block         int // threads
}

// area is the number of elements of the tiles that cover a result.
func (t tile) area(rows, columns int) int {
	return ceil(rows, t.rows) * t.rows * ceil(columns, t.columns) * t.columns
}

var (
	wideTimes    = tile{"times_transposed_wide", 128, 64, 256}
	hundredTimes = tile{"times_transposed_hundred", 64, 104, 208}
	narrowTimes  = tile{"times_transposed_narrow", 128, 16, 128}
	smallTimes   = tile{"times_transposed_small", 32, 16, 64}

	wideSums    = tile{"transposed_times_wide", 64, 128, 256}
	hundredSums = tile{"transposed_times_hundred", 104, 104, 338}
	narrowSums  = tile{"transposed_times_narrow", 16, 128, 128}
	smallSums   = tile{"transposed_times_small", 16, 32, 64}
)

const (
	// fewRows is the number of rows below which large tiles leave most of a card's processors idle.
	fewRows = 4096
	// fewColumns is the number of columns of the narrow tiles.
	fewColumns = 16
	rowThreads = 128 // of a block of the kernels for rows, which has a warp for each of fourRows rows
	fourRows   = 4
	directRows = 64 // of a block of the kernels for direct rows

	foldColumns = 32 // of a block of the kernels that sum parts
	foldThreads = 256
)

// timesTile chooses the tile of an n×ld result.
func timesTile(n, ld int) tile {
	switch {
	case n <= fewRows:
		return smallTimes
	case ld <= fewColumns:
		return narrowTimes
	case hundredTimes.area(n, ld) < wideTimes.area(n, ld):
		return hundredTimes
	}
	return wideTimes
}

// sumsTile chooses the tile of sums of m×d over n rows.
func sumsTile(n, m, d int) tile {
	switch {
	case n <= fewRows:
		return smallSums
	case m <= fewColumns:
		return narrowSums
	case hundredSums.area(m, d) < wideSums.area(m, d):
		return hundredSums
	}
	return wideSums
}

func (k *kernels[T]) timesTransposed(p product) { k.timesTransposedBy(timesTile(p.n, p.ldOut), p) }

func (k *kernels[T]) timesTransposedBy(t tile, p product) {
	k.launch(k.products, t.name, [3]int{ceil(p.n, t.rows) * ceil(p.ldOut, t.columns), 1, 1}, t.block, 0,
		int32(p.op), p.out, int32(p.ldOut), p.a, int32(p.lda), p.b, int32(p.ldb), int32(p.n), int32(p.m), int32(padded(p.k)),
		p.base, p.row, T(p.theta), p.pattern, toInt(p.first), toInt(p.oneSd))
}

// sums is a call of transposed_times: part z of (w ⊙ A)ᵀX over chunk z.
type sums struct {
	part    Ptr
	a       Ptr
	lda     int
	weight  Ptr // 0: 1
	x       Ptr
	ldx     int
	n, m, d int
	chunk   int
}

func (k *kernels[T]) transposedTimes(s sums) { k.transposedTimesBy(sumsTile(s.n, s.m, s.d), s) }

func (k *kernels[T]) transposedTimesBy(t tile, s sums) {
	k.launch(k.products, t.name, [3]int{ceil(s.d, t.columns), ceil(s.m, t.rows), ceil(s.n, s.chunk)}, t.block, 0,
		s.part, s.a, int32(s.lda), s.weight, s.x, int32(s.ldx), int32(s.n), int32(s.m), int32(s.d), int32(s.chunk))
}

// fold sets dst to the sums of the parts, in the order of the engine's tree.
func (k *kernels[T]) fold(dst, part Ptr, parts, size int) {
	k.launch(k.products, "fold", [3]int{ceil(size, foldColumns), 1, 1}, foldThreads, 0, dst, part, int32(parts), int32(size))
}

func (k *kernels[T]) foldDoubles(dst, part Ptr, parts, size int) {
	k.launch(k.products, "fold_doubles", [3]int{ceil(size, foldColumns), 1, 1}, foldThreads, 0,
		dst, part, int32(parts), int32(size))
}

// byRow launches a kernel that has a warp for each of n rows.
func (k *kernels[T]) byRow(name string, n int, args ...any) {
	k.launch(k.rows, name, [3]int{ceil(n, fourRows), 1, 1}, rowThreads, 0, args...)
}

// byElement launches a kernel that has a thread for each of n elements.
func (k *kernels[T]) byElement(name string, n int, args ...any) {
	k.launch(k.rows, name, [3]int{ceil(n, rowThreads), 1, 1}, rowThreads, 0, args...)
}

func (k *kernels[T]) rowSums(part, values Ptr, columns, n, chunk int) {
	k.launch(k.rows, "row_sums", [3]int{ceil(n, chunk), columns, 1}, rowThreads, 0,
		part, values, int32(columns), int32(n), int32(chunk))
}

func (k *kernels[T]) zero(p Ptr, bytes int64) {
	if k.err == nil {
		k.err = k.drv.Zero(p, bytes)
	}
}
