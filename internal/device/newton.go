package device

import (
	"context"
	"errors"
	"math"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
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

// batch is matrices of several views, side by side in the table of kernels/polar.cu, with the same k.
type batch struct {
	*polarProducts
	base          Ptr
	first, count  int // in the table
	k, ldk        int
	widest, parts int // the longest stride, and room for the parts of a product
}

// start launches a kernel of the module for several views.
func (o *polarProducts) start(name string, grid [3]int, block int, args ...any) {
	o.k.launch(o.module, name, grid, block, 0, args...)
}

// together returns the matrices of some views of a layer.
func (o *polarProducts) together(views []*wide) batch {
	b := batch{o, o.matrices, views[0].at, len(views), views[0].k, views[0].ldk, 0, o.parts}
	for _, w := range views {
		b.widest = max(b.widest, w.ldq)
	}
	return b
}

// keptSquares returns the squares of the kept views, whose slots are numbers of squares.
func (o *polarProducts) keptSquares() batch {
	w := o.wides[0]
	return batch{o, o.owned, len(o.wides), o.kept, w.k, w.ldk, w.ldk, o.parts}
}

// place is the number of a matrix as kernels count them: squares of a kind are side by side.
func (b batch) place(x linalg.Slot) int32 {
	if b.base == b.owned {
		return int32(int(x) * b.kept)
	}
	return int32(x)
}

// multiply computes the parts of X·Yᵀ.
func (b batch) multiply(x, y linalg.Slot) {
	t := smallTimes
	grid := [3]int{ceil(b.k, t.rows) * ceil(b.ldk, t.columns), ceil(b.widest, polarColumns), b.count}
	b.start("view_products", grid, t.block, b.part, int32(b.ldk), b.base, b.table, int32(b.first), b.place(x), b.place(y),
		int32(b.k), int32(b.parts))
}

// fold sets squares to scale times the sums of the parts, and adds shift·I; with scales as kernels/polar.cu has them.
func (b batch) fold(to, scales Ptr, scale, shift float64) {
	b.start("view_fold", [3]int{ceil(b.size(), foldColumns), 1, b.count}, foldThreads,
		to, b.part, b.table, int32(b.first), scales, int32(b.k), int32(b.ldk), int32(b.parts), scale, shift)
}

// times sets the matrices `to` to factor·AᵀX + keep·(themselves) for the squares at a.
func (b batch) times(a Ptr, x, to linalg.Slot, factor, keep float64) {
	t := smallSums
	b.start("view_times", [3]int{ceil(b.widest, t.columns), ceil(b.k, t.rows), b.count}, t.block, b.base,
		a, int32(b.ldk), b.table, int32(b.first), b.place(x), b.place(to), int32(b.k), factor, keep)
}

// norms sets dst to the norms of squares less shift·I, or to one divided by their roots.
func (b batch) norms(dst, squares Ptr, shift float64, root bool) {
	b.start("view_norm", [3]int{b.count, 1, 1}, normThreads, dst, squares, int32(b.k), int32(b.ldk),
		shift, toInt(root))
}

// size is the number of elements of a square.
func (b batch) size() int { return b.k * b.ldk }

// download returns the first elements of result.
func (b batch) download(count int) ([]float64, error) {
	if err := b.polarProducts.k.failed(); err != nil {
		return nil, err
	}
	got := b.stage[:count]
	return got, b.polarProducts.k.drv.Download(rawBytes(got), b.result)
}

// factor computes polar factors by Newton–Schulz steps, which need no eigenvectors. The scales of the first steps do not
// depend on the matrices; the distance of X·Xᵀ from I decides on the last ones. The singular vectors do not change, so the
// limit is the polar factor. Its error is about 10⁻¹⁶ times the condition number. With couples it also computes P_{l−1}·Pᵀ.
func (o *polarProducts) factor(views []*wide, couples bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.together(views)
	n, size := len(views), b.size()
	x, next := linalg.SlotA, linalg.SlotNext // the last of the usual number of steps then writes SlotP
	// step takes X further after multiply(x, x).
	step := func(scales Ptr, scale float64) {
		b.fold(o.squares, scales, -scale*scale*scale/2, 1.5*scale)
		b.times(o.squares, x, next, 1, 0)
		x, next = next, linalg.SlotP+linalg.SlotNext-next
	}
	b.multiply(x, x)
	b.fold(o.squares, 0, 1, 0)
	b.norms(o.scales, o.squares, 0, true) // ‖AAᵀ‖^½ is at least the largest singular value
	step(o.scales, newtonScales[0])
	for _, alpha := range newtonScales[1:] {
		b.multiply(x, x)
		step(0, alpha)
	}
	products := n
	if couples {
		products += n
	}
	var got []float64
	for range moreSteps {
		b.multiply(x, x)
		b.fold(o.squares, 0, 1, 0)
		b.norms(o.result+Ptr(8*products*size), o.squares, 1, false)
		step(0, 1)
		b.multiply(linalg.SlotA, x)
		b.fold(o.result, 0, 1, 0)
		if couples {
			b.multiply(before(linalg.SlotP), x)
			b.fold(o.result+Ptr(8*n*size), 0, 1, 0)
		}
		var err error
		if got, err = b.download(products*size + n); err != nil {
			return err
		}
		all := true
		for i, w := range views {
			w.ok = got[products*size+i] <= orthonormal
			all = all && w.ok
		}
		if all {
			break
		}
	}
	for i, w := range views {
		w.begun, w.factored, w.factor = false, true, x
		w.square = append(w.square[:0], got[i*size:(i+1)*size]...)
		if couples {
			w.coupling = append(w.coupling[:0], got[(n+i)*size:(n+i+1)*size]...)
		}
	}
	return nil
}

// normThreads is the number of threads of a block of view_norm.
const normThreads = 256

// Cotangents takes the cotangents of P_l of the kept views through the Procrustes step and through M = AᵀX + W P_{l−1}. SlotG has
// the sums of the last pass.
func (s *Shard[T]) Cotangents(layer int, views []engine.Cotangent) error {
	o := &s.polar
	o.mu.Lock()
	defer o.mu.Unlock()
	steps := o.keptOf(layer)
	if layer < s.plan.layers {
		if err := s.throughNext(layer, views); err != nil {
			return err
		}
	}
	for _, w := range steps {
		if layer == s.plan.layers {
			o.k.byElement("scale_add", w.k*w.ldq, w.slot(linalg.SlotG), views[w.view].Scale, Ptr(0), int64(w.k*w.ldq))
		}
		if added := views[w.view].Added; added != nil {
			w.pack(added, 1)
			if err := errors.Join(o.k.failed(), w.send(linalg.SlotNext)); err != nil {
				return err
			}
			w.add(linalg.SlotG, 1, linalg.SlotNext)
		}
	}
	if err := s.throughStep(steps, views); err != nil {
		return err
	}
	return s.finishCotangents(steps, views)
}

// keptOf returns the steps of the kept views in a layer.
func (o *polarProducts) keptOf(layer int) []*wide {
	first := (layer - 1) * len(o.wides) / o.wides[len(o.wides)-1].layer
	return o.wides[first : first+o.kept]
}

// throughNext adds to the cotangents of P_l what comes through W P_l in the next layer, and through the C of the next two.
func (s *Shard[T]) throughNext(layer int, views []engine.Cotangent) error {
	if !s.spec.Noise {
		return nil
	}
	o, steps, to := &s.polar, s.polar.keptOf(layer+1), before(linalg.SlotG)
	next, size := o.together(steps), steps[0].k*steps[0].ldk
	next.times(o.own(squareW+layer), linalg.SlotGrad, to, 1, 1) // W is symmetric
	if layer+1 < s.plan.layers {
		next.times(o.own(squareTurned), linalg.SlotP, to, 1, 1)
	}
	stage := o.stage[:2*o.kept*size]
	clear(stage)
	for i, w := range steps {
		put(stage[i*size:], w.ldk, views[w.view].DC, w.k, w.k)
		putTransposed(stage[(o.kept+i)*size:], w.ldk, views[w.view].DC, w.k)
	}
	if err := errors.Join(o.k.failed(), o.k.drv.Upload(o.own(squareDC), rawBytes(stage))); err != nil {
		return err
	}
	next.times(o.own(squareDC), before(before(linalg.SlotP)), to, 1, 1)
	return nil
}

// throughStep computes the cotangents of M; linalg.Polar.Vectors has the formula.
func (s *Shard[T]) throughStep(steps []*wide, views []engine.Cotangent) error {
	o, b, own := &s.polar, s.polar.together(steps), s.polar.keptSquares()
	size, ldk := b.size(), b.ldk
	stage := o.stage[:o.kept*(ldk+2*size)]
	clear(stage)
	err := parallel.For(context.Background(), s.spec.Workers, len(steps), func(_, i int) error {
		values, vectors := stage[i*ldk:][:ldk], stage[o.kept*ldk+i*size:][:size]
		scaled := stage[o.kept*(ldk+size)+i*size:][:size]
		if err := views[steps[i].view].Polar.Vectors(vectors, ldk, values); err != nil {
			return err
		}
		for r := range b.k {
			for j, x := range vectors[r*ldk : (r+1)*ldk] {
				scaled[r*ldk+j] = x / values[r]
			}
		}
		return nil
	})
	if err = errors.Join(err, o.k.failed()); err != nil {
		return err
	}
	if err := o.k.drv.Upload(o.values, rawBytes(stage)); err != nil {
		return err
	}
	product := func(b batch, x, y linalg.Slot, to int) { // X·Yᵀ
		b.multiply(x, y)
		b.fold(o.own(to), 0, 1, 0)
	}
	own.times(o.own(squareVectors), squareScaled, squareInverse, 1, 0)
	product(b, linalg.SlotP, linalg.SlotG, squareProduct)
	product(own, squareVectors, squareProduct, squareFirst) // Bᵀ·GPᵀ
	product(own, squareFirst, squareVectors, squareSecond)  // Q
	o.start("view_skew", [3]int{ceil(size, rowThreads), o.kept, 1}, rowThreads, o.own(squareFirst),
		o.own(squareSecond), o.values, int32(b.k), int32(ldk))
	own.times(o.own(squareFirst), squareVectors, squareSecond, 1, 0)
	own.times(o.own(squareVectors), squareSecond, squareFirst, 1, 0) // B·skewᵀ·Bᵀ
	b.times(o.own(squareProduct), linalg.SlotP, linalg.SlotG, -1, 1)
	b.times(o.own(squareInverse), linalg.SlotG, linalg.SlotGrad, 1, 0)
	b.times(o.own(squareFirst), linalg.SlotP, linalg.SlotGrad, 1, 1)
	return nil
}

// finishCotangents copies dM to the constants of the backward pass, and returns dW + dWᵀ, where dW = dM P_{l−1}ᵀ.
func (s *Shard[T]) finishCotangents(steps []*wide, views []engine.Cotangent) error {
	o, b, last := &s.polar, s.polar.together(steps), s.plan.layers+1
	tensors := false
	for i, w := range steps {
		s.narrow(w.view, last, w.slot(linalg.SlotGrad))
		if s.scales[w.view] != 0 {
			tensors = true
			s.k.largest(o.maxima+Ptr(4*maximaBlocks*i), o.narrow[w.view][last], w.k*w.ldq)
		} else {
			s.k.zero(o.maxima+Ptr(4*maximaBlocks*i), 4*maximaBlocks)
		}
	}
	if err := s.k.failed(); err != nil {
		return err
	}
	if s.spec.Noise {
		b.multiply(linalg.SlotGrad, before(linalg.SlotP))
		b.fold(o.result, 0, 1, 0)
		dw, err := b.download(o.kept * b.size())
		if err != nil {
			return err
		}
		err = parallel.For(context.Background(), s.spec.Workers, o.kept, func(_, i int) error {
			dw, dst := dw[i*b.size():], views[steps[i].view].S
			for r := range b.k {
				for j := range b.k {
					dst[r*b.k+j] = dw[r*b.ldk+j] + dw[j*b.ldk+r]
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !tensors {
		return o.k.failed()
	}
	err := s.k.drv.Download(rawBytes(o.most), o.maxima)
	for i, w := range steps {
		o.largest[w.view][last] = largest(o.most[i*maximaBlocks : (i+1)*maximaBlocks])
	}
	return errors.Join(err, o.k.failed())
}
