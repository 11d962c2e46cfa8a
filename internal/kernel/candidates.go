package kernel

import "unsafe"

// Lanes is the number of minima that LaneMinima returns.
const Lanes = 16

// DotUnit is the unit of the lengths that DotRows takes.
const DotUnit = 32

// searches reports whether the path has the kernels of this file for the element type.
func searches[T Float]() bool { return Is32[T]() && (active == pathAVX512 || active == pathAVX2) }

// LaneMinima sets low[i] to the least of the elements of x whose number is i modulo Lanes; x has at least Lanes elements and
// no NaN. As many elements as there are minima up to some value are up to it.
func LaneMinima[T Float](x []T, low *[Lanes]T) {
	whole := len(x) &^ (Lanes - 1)
	if searches[T]() {
		args := candidateArgs{a: at(x), dst: unsafe.Pointer(low), units: whole / Lanes}
		callLaneMinima(firstLaneMinima[active][0], &args)
	} else {
		copy(low[:], x)
		for j := Lanes; j < whole; j += Lanes {
			for i, v := range (*[Lanes]T)(x[j:]) {
				if v < low[i] {
					low[i] = v
				}
			}
		}
	}
	for i, v := range x[whole:] {
		if v < low[i] {
			low[i] = v
		}
	}
}

// Below sets the first elements of list to the numbers of the elements of x that are at most bound, in increasing order, and
// returns how many there are. list has room for Lanes more than x has elements.
func Below[T Float](x []T, bound T, list []int32) int {
	_ = list[len(x)+Lanes-1]
	found, whole := 0, 0
	if w := len(x) &^ (Lanes - 1); w > 0 && searches[T]() {
		args := candidateArgs{
			a: at(x), dst: unsafe.Pointer(unsafe.SliceData(list)), units: w / Lanes, bound: float32(bound),
		}
		callBelow(firstBelow[active][0], &args)
		found, whole = args.found, w
	}
	for j, v := range x[whole:] {
		if v <= bound {
			list[found] = int32(whole + j)
			found++
		}
	}
	return found
}

// BelowSum is Below for the sums x_j + y_j; y has at least as many elements as x.
func BelowSum[T Float](x, y []T, bound T, list []int32) int {
	_ = list[len(x)+Lanes-1]
	y = y[:len(x)]
	found, whole := 0, 0
	if w := len(x) &^ (Lanes - 1); w > 0 && searches[T]() {
		args := candidateArgs{
			a: at(x), b: at(y), dst: unsafe.Pointer(unsafe.SliceData(list)), units: w / Lanes, bound: float32(bound),
		}
		callBelowSum(firstBelowSum[active][0], &args)
		found, whole = args.found, w
	}
	for j, v := range x[whole:] {
		if v+y[whole+j] <= bound {
			list[found] = int32(whole + j)
			found++
		}
	}
	return found
}

// DotRows sets dst to the inner products of x, whose length is a multiple of DotUnit, with the rows of b (stride len(x)) that
// list names. A product has the same bits whatever the others are.
func DotRows[T Float](x, b []T, list []int32, dst []T) {
	if len(list) == 0 || len(x) == 0 {
		return
	}
	dst = dst[:len(list)]
	most := int32(0)
	for _, r := range list {
		most = max(most, r)
	}
	_ = b[(int(most)+1)*len(x)-1]
	if searches[T]() {
		args := candidateArgs{
			a: at(x), dst: at(dst), units: len(x) / DotUnit, b: at(b), ldb: 4 * len(x),
			list: unsafe.Pointer(unsafe.SliceData(list)), count: len(list),
		}
		callDotRows(firstDotRows[active][0], &args)
		return
	}
	for q, r := range list {
		row := b[int(r)*len(x):][:len(x)]
		var s [4]T
		for j := 0; j+4 <= len(row); j += 4 {
			u, v := (*[4]T)(x[j:]), (*[4]T)(row[j:])
			s[0] += u[0] * v[0]
			s[1] += u[1] * v[1]
			s[2] += u[2] * v[2]
			s[3] += u[3] * v[3]
		}
		dst[q] = s[0] + s[2] + (s[1] + s[3])
	}
}
