package kernel

// flatElements is the number of elements that go through one call of a kernel: a kernel cannot be interrupted, so that a
// long slice would hold up the garbage collector. The sums of the pieces are added in order.
const flatElements = 1 << 15

// fold adds 16 sums up in halves.
func fold(s *[16]float64) float64 {
	a0, a1, a2, a3 := s[0]+s[8], s[1]+s[9], s[2]+s[10], s[3]+s[11]
	a4, a5, a6, a7 := s[4]+s[12], s[5]+s[13], s[6]+s[14], s[7]+s[15]
	return ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))
}

// Sum returns Σ x_j in float64. Element j goes to sum j%16; the 16 sums are folded in halves, so that the result depends on
// x alone. The same holds for SumSquares and SquaredDistance.
func Sum[T Float](x []T) float64 {
	total := 0.0
	for len(x) > flatElements {
		total += sumPiece(x[:flatElements])
		x = x[flatElements:]
	}
	return total + sumPiece(x)
}

func sumPiece[T Float](x []T) float64 {
	var args flatArgs
	if whole := len(x) &^ 15; whole > 0 && active != pathPortable {
		args.a, args.units = at(x), whole/16
		callSum(firstSum[active][kind[T]()], &args)
		x = x[whole:]
	}
	s := &args.sums
	if whole := len(x) &^ 15; whole > 0 {
		sumHalf((*[half]float64)(s[:half]), x[:whole])
		sumHalf((*[half]float64)(s[half:]), x[half:whole])
		x = x[whole:]
	}
	for j, v := range x {
		s[j] += float64(v)
	}
	return fold(s)
}

// SumSquares returns Σ (x_j − mean)² in float64.
func SumSquares[T Float](x []T, mean float64) float64 {
	total := 0.0
	for len(x) > flatElements {
		total += sumSquaresPiece(x[:flatElements], mean)
		x = x[flatElements:]
	}
	return total + sumSquaresPiece(x, mean)
}

func sumSquaresPiece[T Float](x []T, mean float64) float64 {
	var args flatArgs
	if whole := len(x) &^ 15; whole > 0 && active != pathPortable {
		args.a, args.units, args.shift = at(x), whole/16, mean
		callSumSquares(firstSumSquares[active][kind[T]()], &args)
		x = x[whole:]
	}
	s := &args.sums
	if whole := len(x) &^ 15; whole > 0 {
		squaresHalf((*[half]float64)(s[:half]), x[:whole], mean)
		squaresHalf((*[half]float64)(s[half:]), x[half:whole], mean)
		x = x[whole:]
	}
	for j, v := range x {
		d := float64(v) - mean
		s[j] += d * d
	}
	return fold(s)
}

// SquaredDistance returns Σ (x_j − y_j)² in float64 over the elements of x; y has at least as many.
func SquaredDistance[T Float](x, y []T) float64 {
	total := 0.0
	y = y[:len(x)]
	for len(x) > flatElements {
		total += squaredDistancePiece(x[:flatElements], y[:flatElements])
		x, y = x[flatElements:], y[flatElements:]
	}
	return total + squaredDistancePiece(x, y)
}

func squaredDistancePiece[T Float](x, y []T) float64 {
	var args flatArgs
	if whole := len(x) &^ 15; whole > 0 && active != pathPortable {
		args.a, args.b, args.units = at(x), at(y), whole/16
		callSquaredDistance(firstSquaredDistance[active][kind[T]()], &args)
		x, y = x[whole:], y[whole:]
	}
	s := &args.sums
	if whole := len(x) &^ 15; whole > 0 {
		distanceHalf((*[half]float64)(s[:half]), x[:whole], y[:whole])
		distanceHalf((*[half]float64)(s[half:]), x[half:whole], y[half:whole])
		x, y = x[whole:], y[whole:]
	}
	for j, v := range x {
		d := float64(v) - float64(y[j])
		s[j] += d * d
	}
	return fold(s)
}

// Affine sets dst_j = scale·(src_j − shift) for every element of src, computed in float64 and rounded once to T. dst may be
// src.
func Affine[T Float](dst, src []T, scale, shift float64) {
	dst = dst[:len(src)]
	for active != pathPortable && len(src) >= 16 {
		n := min(len(src)&^15, flatElements)
		args := flatArgs{a: at(src), dst: at(dst), units: n / 16, shift: shift, scale: scale}
		callAffine(firstAffine[active][kind[T]()], &args)
		dst, src = dst[n:], src[n:]
	}
	for j, v := range src {
		dst[j] = T(scale * (float64(v) - shift))
	}
}

// ScaleTo sets dst_j = scale·src_j for every element of src, rounded once to T.
func ScaleTo[T Float](dst []T, src []float64, scale float64) {
	dst = dst[:len(src)]
	for active != pathPortable && len(src) >= 16 {
		n := min(len(src)&^15, flatElements)
		args := flatArgs{a: at(src), dst: at(dst), units: n / 16, scale: scale}
		callScaleTo(firstScaleTo[active][kind[T]()], &args)
		dst, src = dst[n:], src[n:]
	}
	for j, v := range src {
		dst[j] = T(scale * v)
	}
}

// AddTo adds src to the float64 sums dst, element by element.
func AddTo[T Float](dst []float64, src []T) {
	dst = dst[:len(src)]
	for active != pathPortable && len(src) >= 16 {
		n := min(len(src)&^15, flatElements)
		args := flatArgs{a: at(src), dst: at(dst), units: n / 16}
		callAddTo(firstAddTo[active][kind[T]()], &args)
		dst, src = dst[n:], src[n:]
	}
	for j, v := range src {
		dst[j] += float64(v)
	}
}
