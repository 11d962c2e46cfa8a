package device

import (
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
)

// The products with X on tensor cores, see kernels/tensor.cu. They are used for a view in float32 with many rows, if the device
// has the instructions and the range of the view's values permits halves.

const (
	// widestRange is the largest permitted ratio of the view's largest entry to the largest entry of a typical row, a geometric
	// mean. The halves of small entries have an error of 2⁻³⁸ of the largest entry, so that a typical row keeps 22 bits or more.
	// (The root mean square of all entries is unsuitable: the largest entry is at most the root of their number times it, which
	// few data that fit a device make 2¹⁵.)
	widestRange = 1 << 15
	// maximaBlocks is the number of blocks that search for the largest entry of row state, or of weights.
	maximaBlocks = 256

	tensorStep   = 32 // of the inner dimension
	tensorStages = 3  // of them in shared memory at a time
	leanStages   = 2  // the same for blocks with less shared memory
)

// tensorTile is the shape of a block of a product on tensor cores.
type tensorTile struct {
	name          string
	rows, columns int
	block, shared int // threads, bytes of dynamic shared memory
}

func timesTensor(name string, rows, columns, stages int) tensorTile {
	return tensorTile{name, rows, columns, 2 * rows, stages * 4 * (rows*(tensorStep+8) + 2*columns*(tensorStep/2+4))}
}

func sumsTensor(name string, rows, columns, stages int) tensorTile {
	stage, halves := tensorStep*(columns+4)+tensorStep*(rows+4)+tensorStep, 2*tensorStep*(rows/2+4)
	return tensorTile{name, rows, columns, 2 * columns, 4 * (stages*stage + halves)}
}

// The lean tiles replace the wide ones on cards whose blocks may have 99 KB of shared memory, such as sm_86, sm_89 and sm_120.
// Results have the same bits.
var (
	wideTensorTimes   = timesTensor("tensor_times_wide", 128, 104, tensorStages)
	leanTensorTimes   = timesTensor("tensor_times_lean", 128, 104, leanStages)
	narrowTensorTimes = timesTensor("tensor_times_narrow", 64, 16, tensorStages)

	wideTensorSums   = sumsTensor("tensor_sums_wide", 112, 128, tensorStages)
	leanTensorSums   = sumsTensor("tensor_sums_lean", 112, 128, leanStages)
	narrowTensorSums = sumsTensor("tensor_sums_narrow", 16, 64, tensorStages)
)

// leastTensorShared is the shared memory of a block that the products on tensor cores need.
var leastTensorShared = max(leanTensorTimes.shared, leanTensorSums.shared)

// tensorTimesTile chooses the tile of products of ld columns, and tensorSumsTile the tile of sums of m rows, for a device whose
// blocks may have `shared` bytes of shared memory.
func tensorTimesTile(ld, shared int) tensorTile {
	switch {
	case ld <= narrowTensorTimes.columns:
		return narrowTensorTimes
	case wideTensorTimes.shared > shared:
		return leanTensorTimes
	}
	return wideTensorTimes
}

func tensorSumsTile(m, shared int) tensorTile {
	switch {
	case m <= narrowTensorSums.rows:
		return narrowTensorSums
	case wideTensorSums.shared > shared:
		return leanTensorSums
	}
	return wideTensorSums
}

// mayTensor reports whether products with X may run on tensor cores.
func (p *plan) mayTensor() bool { return p.size == 4 && p.n > p.tuning.tensorRows }

// halved is the inner dimension of a product on tensor cores, for rows with the stride ldx.
func halved(ldx int) int { return ceil(ldx, tensorStep) * tensorStep }

// span records the range of a view's entries.
type span struct {
	most, logs float64 // the largest entry, the sum of the logarithms of the rows' largest entries that are not 0
	count      int     // number of these logarithms
}

// note adds a row with the given largest entry.
func (s *span) note(most float64) {
	s.most = max(s.most, most)
	if most > 0 {
		s.logs += math.Log2(most)
		s.count++
	}
}

// scale is the power of two that takes the largest entry to [2¹³, 2¹⁴); 0 if the range is too wide, or no entry was recorded.
func (s *span) scale() float64 {
	if s.count == 0 || !(s.most <= math.Exp2(s.logs/float64(s.count))*widestRange) {
		return 0
	}
	return powerScale(s.most)
}

// powerScale is the power of two that takes x to [2¹³, 2¹⁴), within the range of float32; 0 if there is none, 1 for x = 0.
func powerScale(x float64) float64 {
	if x == 0 {
		return 1
	}
	_, e := math.Frexp(x)
	if e = 14 - e; e < -100 || e > 100 || math.IsInf(x, 1) {
		return 0
	}
	return math.Ldexp(1, e)
}

// largest returns the largest absolute value; NaN if an entry is NaN. Without signs, floating-point numbers are in the order of
// their bits, with NaN above all others. So the processor has no random signs to predict.
func largest[T kernel.Float](x []T) float64 {
	const sign = 1 << 63
	var most [4]uint64
	for len(x) >= 4 {
		for i := range most {
			most[i] = max(most[i], math.Float64bits(float64(x[i]))&^sign)
		}
		x = x[4:]
	}
	for _, e := range x {
		most[0] = max(most[0], math.Float64bits(float64(e))&^sign)
	}
	return math.Float64frombits(slices.Max(most[:]))
}

// tensorTimes launches out = X·Bᵀ of a view.
func (s *Shard[T]) tensorTimes(v int, out, b Ptr, most float64) {
	p, t := &s.plan, tensorTimesTile(s.plan.ld, s.k.drv.SharedMemory())
	ldx, kp := p.ldx[v], halved(p.ldx[v])
	scale := powerScale(most)
	if scale == 0 { // the scale is outside the range of float32
		scale = 1
	}
	s.k.launch(s.k.tensor, "split_rows", [3]int{ceil(kp/2, 128), p.m, 1}, 128, 0, s.hi, s.lo, b, int32(ldx), int32(ldx),
		int32(kp), float32(scale))
	s.k.launch(s.k.tensor, t.name, [3]int{ceil(p.n, t.rows) * ceil(p.ld, t.columns), 1, 1}, t.block, t.shared, out, int32(p.ld),
		s.x[v], int32(ldx), s.hi, s.lo, int32(p.n), int32(p.m), int32(kp), float32(s.scales[v]),
		float32(1/(scale*s.scales[v])))
}

// tensorSums launches the sums (w ⊙ A)ᵀX of the parts of q; with the scale 0, X is A.
func (s *Shard[T]) tensorSums(q sums, scale float64) {
	p, t := &s.plan, tensorSumsTile(s.plan.m, s.k.drv.SharedMemory())
	if !s.measured {
		s.k.largest(s.maxima, q.a, p.n*p.ld)
	}
	s.measured = true
	if q.weight != 0 {
		s.k.largest(s.maxima+4*maximaBlocks, q.weight, p.n)
	}
	s.k.launch(s.k.tensor, t.name, [3]int{ceil(q.d, t.columns), ceil(q.m, t.rows), ceil(q.n, q.chunk)}, t.block, t.shared,
		q.part, q.a, int32(q.lda), q.weight, q.x, int32(q.ldx), int32(q.n), int32(q.m), int32(q.d), int32(q.chunk),
		float32(scale), s.maxima, int32(maximaBlocks))
}

// largest sets the maxima at dst to the largest absolute values in shares of n elements.
func (k *kernels[T]) largest(dst, a Ptr, n int) {
	k.launch(k.tensor, "largest", [3]int{maximaBlocks, 1, 1}, 256, 0, dst, a, int64(n), int64(ceil(n, maximaBlocks)))
}
