package kernel

import "unsafe"

// blocking holds the sizes of the blocks that stay in the registers of a path's kernels. They are those of tools/kernelgen.
type blocking struct {
	width int // bytes of a vector
	strip int // vectors of columns in a strip of Mul with lanes along m
	// strips that a single row goes through side by side; 0: one after the other
	together int
	columns  int   // columns in a strip of Mul with lanes along k
	tmul     []int // columns of A in a tile of TMulAdd of 1, 2, ... vectors of columns of X
	step     int   // columns of A in a tile are a multiple of it but for the last tile: what is loaded at once
	gram     int   // rows of each side in a tile of MulRowsT
	sparse   int   // vectors of columns in a strip of MulSparse
	chains   int   // sums in the loop of PeakFMA
}

var blockings = [paths]blocking{
	pathAVX2:   {width: 32, strip: 2, together: 4, columns: 6, tmul: []int{8, 6}, step: 1, gram: 3, sparse: 3, chains: 12},
	pathAVX512: {width: 64, strip: 4, columns: 10, tmul: []int{16, 13, 8}, step: 1, gram: 4, sparse: 4, chains: 12},
	pathNEON:   {width: 16, strip: 4, columns: 6, tmul: []int{16, 12, 8, 6}, step: 2, gram: 4, sparse: 8, chains: 24},
}

// lanes returns the number of elements of type T in a vector of the path.
func lanes[T Float](p path) int {
	var t T
	return blockings[p].width / int(unsafe.Sizeof(t))
}

// stripVectors returns the width of the next strip of formLanesM when nv vectors of columns are left: as equal as possible.
func stripVectors(p path, nv int) int { return evenPart(nv, blockings[p].strip) }

// stripColumns returns the width of the next strip of formLanesK when m columns are left: unless it is the last a
// multiple of the elements in 16 bytes, the unit in which the kernel stores.
func stripColumns[T Float](p path, m int) int {
	var t T
	most := blockings[p].columns
	if m <= most {
		return m
	}
	per := 16 / int(unsafe.Sizeof(t))
	return evenPart(m, most) / per * per
}

// sumSteps is the cost of adding up the lanes of the sums of formLanesK, in elements along k.
func sumSteps[T Float](p path) int {
	l := lanes[T](p)
	switch {
	case p == pathAVX512 && kind[T]() == 0:
		return 7 * l / 2
	case p == pathAVX512:
		return 5 * l
	}
	return 2 * l
}

// evenPart returns the first part of a whole that is cut into as few parts of at most most as possible, about equal.
func evenPart(whole, most int) int {
	parts := (whole + most - 1) / most
	return (whole + parts - 1) / parts
}
