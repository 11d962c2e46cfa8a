package kernel

import "unsafe"

//go:generate go -C ../../tools run ./kernelgen -out ../internal/kernel

// The arguments of the assembly kernels. Strides are in bytes; row state has none, its rows follow each other.

// mulArgs: n rows of Y (+)= X·B for a strip of columns, B packed as k rows of whole vectors.
type mulArgs struct {
	n, k  int
	x     unsafe.Pointer
	ldx   int
	b     unsafe.Pointer
	y     unsafe.Pointer
	ldy   int
	load  int // not 0: start from the values in Y, else from 0
	keep  int // lanes of the last vector that are kept, the others become zero
	store int // lanes of the last vector that are stored
	ahead int // distance from X to what is fetched into the cache
}

// stripsArgs: one row of Y (+)= X·B for some strips of columns, all of them whole.
type stripsArgs struct {
	k      int
	x      unsafe.Pointer
	b      unsafe.Pointer
	stride int // between strips of B
	y      unsafe.Pointer
	load   int // as in mulArgs
}

// dotArgs: n rows of Y = old + X·B for a strip of columns, B packed as a vector of each column in turn.
type dotArgs struct {
	n           int
	steps, tail int // whole vectors along k, and the lanes of one more
	x           unsafe.Pointer
	ldx         int
	b           unsafe.Pointer
	y           unsafe.Pointer
	ldy         int
	old         unsafe.Pointer
	ldold       int
	zeros       int // pieces of 16 bytes to clear behind the strip in every row; where store counts, behind a vector
	store       int // AVX-512 and float32: lanes of a vector to store, those beyond the strip as zeros
	ahead       int // distance from X to what is fetched into the cache
}

// tmulArgs: C += Aᵀ·X over n rows for a tile of C.
type tmulArgs struct {
	n     int
	a     unsafe.Pointer
	lda   int
	x     unsafe.Pointer
	ldx   int
	c     unsafe.Pointer
	ldc   int
	lanes int // lanes of the last vector of a row of the tile
	ahead int // distance from X to what is fetched into the cache
}

// rowArgs: elementwise work on rows of row state, each of units·16 elements.
type rowArgs struct {
	dst, a, b, s unsafe.Pointer
	rows, units  int
	bits         unsafe.Pointer // pattern of Threshold
	theta        float64        // or a float32 in its first half
	negative     uint64         // all bits set: two-sided
	sum          float64        // result of ThresholdGrad
}

// flatArgs: elementwise work on units·16 elements.
type flatArgs struct {
	a, b, dst    unsafe.Pointer
	units        int
	shift, scale float64
	sums         [16]float64
}

// shrinkArgs: work on units·16 values that a row has one of.
type shrinkArgs struct {
	a, b, dst, dst2    unsafe.Pointer
	units              int
	bound, rest, scale float64
	sums               [16]float64
	found              uint64 // not 0: a comparison held somewhere
}

// peakArgs: number of turns of the loop that measures the peak.
type peakArgs struct{ turns int }

// gramArgs: C += X·Yᵀ for a tile of C.
type gramArgs struct {
	steps, tail int // whole vectors along the rows, and the lanes of one more
	x           unsafe.Pointer
	ldx         int
	y           unsafe.Pointer
	ldy         int
	c           unsafe.Pointer
	ldc         int
}

// candidateArgs: the search for the lowest of units·16 scores, and inner products of units·32 elements with rows of a list.
type candidateArgs struct {
	a, dst unsafe.Pointer
	units  int
	b      unsafe.Pointer
	ldb    int
	list   unsafe.Pointer // 32-bit numbers of rows of b
	count  int            // of them
	bound  float32
	found  int // numbers that were written
}

// softmaxArgs: rows of row state, each of units·16 elements, and a scalar of each.
type softmaxArgs struct {
	dst, a, b, s unsafe.Pointer
	rows, units  int
	last         int // columns of the last unit
}

// byteArgs: n rows of Y = bias + step·X·B for a strip of columns; a row of X is k times four bytes, or two words, B is packed as
// as many of each column of whole vectors in turn.
type byteArgs struct {
	n, k        int
	x           unsafe.Pointer
	ldx         int
	b           unsafe.Pointer
	start, bias unsafe.Pointer // of the columns
	step        unsafe.Pointer // of the rows
	y           unsafe.Pointer
	ldy         int
}

// byteRowArgs: units·16 elements as bytes.
type byteRowArgs struct {
	x, dst             unsafe.Pointer
	units              int
	square, step, lost float32
}
