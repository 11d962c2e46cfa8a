package device

import (
	"math"

	"github.com/largemvc/largemvc/internal/linalg"
)

const (
	// leastValue is the smallest singular value that the scaled steps take to 1, if the largest is at most 1.
	leastValue = 2e-4
	// largestScale keeps the largest singular values above 0.09 in a step.
	largestScale = 1.7
	// orthonormal is the norm of X·Xᵀ − I from which one more step reaches the accuracy of float64.
	orthonormal = 2e-8
	// moreSteps bounds the steps after the scaled ones, for smaller singular values.
	moreSteps = 7
)

// newtonScales holds the scales α of the steps X ← (3αX − α³XXᵀX)/2. A step takes a singular value x to y(3 − y²)/2 with y = αx.
// α makes the smallest value of [low, 1] largest (Chen and Chow 2014).
var newtonScales = func() (scales []float64) {
	value := func(y float64) float64 { return y * (3 - y*y) / 2 }
	for low := leastValue; low < 1-orthonormal/64; {
		alpha := min(largestScale, math.Sqrt(3/(1+low+low*low)))
		low = min(value(alpha*low), value(alpha))
		scales = append(scales, alpha)
	}
	return scales
}()

// batch is some views of a layer, side by side in the table, with the same k.
type batch struct {
	*polarProducts
	views []*wide
}

// multiply computes the parts of X·Yᵀ.
func (b batch) multiply(x, y linalg.Slot) {
	w := b.views[0]
	t := smallTimes
	b.k.launch(b.module, "view_products", [3]int{ceil(w.k, t.rows) * ceil(w.ldk, t.columns), b.parts, len(b.views)}, t.block, 0,
		b.part, int32(w.ldk), b.matrices, b.table, int32(w.at), int32(x), int32(y), int32(w.k), int32(b.parts))
}

// fold sets squares to scale times the sums of the parts, and adds shift·I; with scales as kernels/polar.cu has them.
func (b batch) fold(to, scales Ptr, scale, shift float64) {
	w := b.views[0]
	b.k.launch(b.module, "view_fold", [3]int{ceil(w.k*w.ldk, foldColumns), 1, len(b.views)}, foldThreads, 0,
		to, b.part, b.table, int32(w.at), scales, int32(w.k), int32(w.ldk), int32(b.parts), scale, shift)
}

// times sets the matrices `to` to AᵀX for the squares at a.
func (b batch) times(a Ptr, x, to linalg.Slot) {
	w, t, widest := b.views[0], smallSums, 0
	for _, w := range b.views {
		widest = max(widest, w.ldq)
	}
	b.k.launch(b.module, "view_times", [3]int{ceil(widest, t.columns), ceil(w.k, t.rows), len(b.views)}, t.block, 0, b.matrices,
		a, int32(w.ldk), b.table, int32(w.at), int32(x), int32(to), int32(w.k))
}

// size is the number of elements of a square.
func (b batch) size() int { return b.views[0].k * b.views[0].ldk }

// download returns the first squares of result, count of them for each view.
func (b batch) download(count int) ([]float64, error) {
	if err := b.k.failed(); err != nil {
		return nil, err
	}
	got := b.stage[:count*len(b.views)*b.size()]
	return got, b.k.drv.Download(rawBytes(got), b.result)
}

// factor computes polar factors by Newton–Schulz steps, which need no eigenvectors. The scales of the first steps do not
// depend on the matrices; X·Xᵀ, which the host compares with I, decides on the last ones. The singular vectors do not change,
// so the limit is the polar factor. Its error is about 10⁻¹⁶ times the condition number.
func (o *polarProducts) factor(views []*wide) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := batch{o, views}
	n, size := len(views), b.size()
	x, next := linalg.SlotA, linalg.SlotP
	// step takes X further after multiply(x, x).
	step := func(scales Ptr, scale float64) {
		b.fold(o.squares, scales, -scale*scale*scale/2, 1.5*scale)
		b.times(o.squares, x, next)
		x, next = next, linalg.SlotP+linalg.SlotNext-next
	}
	b.multiply(x, x)
	b.fold(o.result, 0, 1, 0)
	squares, err := b.download(1)
	if err != nil {
		return err
	}
	for i, w := range views { // ‖AAᵀ‖^½ is at least the largest singular value
		o.scale[i] = 1 / math.Sqrt(w.norm(squares[i*size:], 0))
	}
	if err := o.k.drv.Upload(o.scales, rawBytes(o.scale[:n])); err != nil {
		return err
	}
	step(o.scales, newtonScales[0])
	for _, alpha := range newtonScales[1:] {
		b.multiply(x, x)
		step(0, alpha)
	}
	for range moreSteps {
		b.multiply(x, x)
		b.fold(o.result, 0, 1, 0)
		step(0, 1)
		b.multiply(linalg.SlotA, x)
		b.fold(o.result+Ptr(8*n*size), 0, 1, 0)
		if squares, err = b.download(2); err != nil {
			return err
		}
		all := true
		for i, w := range views {
			w.ok = w.norm(squares[i*size:], 1) <= orthonormal
			all = all && w.ok
		}
		if all {
			break
		}
	}
	for i, w := range views {
		w.begun, w.factored, w.factor = false, true, x
		w.square = append(w.square[:0], squares[(n+i)*size:(n+i+1)*size]...)
	}
	return nil
}

// norm returns the Frobenius norm of a square less shift·I.
func (w *wide) norm(square []float64, shift float64) float64 {
	sum := 0.0
	for i := range w.k {
		for j, e := range square[i*w.ldk : i*w.ldk+w.k] {
			if i == j {
				e -= shift
			}
			sum += e * e
		}
	}
	return math.Sqrt(sum)
}
