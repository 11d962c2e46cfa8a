package linalg

import "github.com/largemvc/largemvc/internal/kernel"

// Slot names one of the k×q matrices of a Polar, k ≤ q.
type Slot int

// The matrices.
const (
	SlotA    Slot = iota // M, or its transpose, scaled
	SlotNext             // the next approximation of its polar factor
	SlotG                // the cotangent of P
	SlotGrad             // the cotangent of A
	SlotP                // the polar factor
	Slots
)

// Wide does the products of a Polar in which k×q matrices are, nearly all of its work where q is large. The k×k matrices and
// what is decided by them stay with the Polar. An implementation holds its matrices where it multiplies them.
type Wide interface {
	// Resize makes room for matrices of a size. Of the same size as before they stay as they are.
	Resize(k, q int) error
	// Put sets a matrix to scale·x, Get sets x to scale times one; x has no gaps. Put may keep x until the slot is set again.
	Put(to Slot, x []float64, scale float64) error
	Get(x []float64, from Slot, scale float64) error
	// TimesT sets dst (k×k, stride ld) to X·Yᵀ.
	TimesT(dst []float64, ld int, x, y Slot) error
	// Combine sets to = Wᵀ·X, or Wᵀ·X + Uᵀ·Y where u is not nil; w and u are k×k with the stride ld, and to is another matrix.
	Combine(to Slot, ld int, w []float64, x Slot, u []float64, y Slot) error
}

// Direct is a Wide that also computes polar factors, without eigenvectors.
type Direct interface {
	Wide
	// Factor sets a slot to the polar factor P of SlotA, and dst (k×k, stride ld) to A·Pᵀ. It reports false if A is too
	// ill-conditioned; then only SlotA is valid.
	Factor(dst []float64, ld int) (at Slot, ok bool, err error)
	// Move sets a matrix to another one.
	Move(to, from Slot) error
}

// host is Wide in the memory of the Polar.
type host struct {
	k, q  int
	own   [Slots][]float64 // memory of matrices
	slots [Slots][]float64 // the matrices
	panel kernel.Panel[float64]
}

// Resize forgets matrices of another size.
func (h *host) Resize(k, q int) error {
	if k != h.k || q != h.q {
		h.k, h.q, h.slots = k, q, [Slots][]float64{}
	}
	return nil
}

// room returns memory for a matrix.
func (h *host) room(i Slot) []float64 {
	h.own[i] = grow(h.own[i], h.k*h.q)
	h.slots[i] = h.own[i]
	return h.own[i]
}

// Put keeps x, or a multiple of it.
func (h *host) Put(to Slot, x []float64, scale float64) error {
	if scale == 1 {
		h.slots[to] = x
	} else {
		kernel.Affine(h.room(to), x, scale, 0)
	}
	return nil
}

// Get copies a matrix, or a multiple of it.
func (h *host) Get(x []float64, from Slot, scale float64) error {
	if scale == 1 {
		copy(x, h.slots[from])
	} else {
		kernel.Affine(x, h.slots[from], scale, 0)
	}
	return nil
}

// TimesT sets dst to X·Yᵀ.
func (h *host) TimesT(dst []float64, ld int, i, j Slot) error {
	x, y := h.slots[i], h.slots[j]
	if h.k <= fewRows {
		kernel.MulRowsT(h.k, h.k, h.q, x, h.q, y, h.q, dst, ld)
		return nil
	}
	kernel.PackT(&h.panel, h.q, h.k, y, h.q)
	kernel.Mul(h.k, x, h.q, &h.panel, dst, ld, false)
	return nil
}

// Combine sets to = WᵀX + UᵀY.
func (h *host) Combine(to Slot, ld int, w []float64, x Slot, u []float64, y Slot) error {
	out := h.room(to)
	clear(out)
	kernel.TMulAdd(h.k, h.k, h.q, w, ld, h.slots[x], h.q, out, h.q)
	if u != nil {
		kernel.TMulAdd(h.k, h.k, h.q, u, ld, h.slots[y], h.q, out, h.q)
	}
	return nil
}
