package kernel

import (
	"math"
	"unsafe"
)

// What follows is products of rows in words of 16 bits, which are those of rows in float32 but for a ten-thousandth at half of
// the time.

// WordUnit is the unit of the lengths of rows of words.
const WordUnit = 2

// mostWord is the length of a row in steps: sums of products of two such rows fit into 32 bits, whatever their elements are.
const mostWord = math.MaxInt16

// Words reports whether products of words are fast: elsewhere plain Go takes them.
func Words[T Float]() bool { return Bytes[T]() }

// WordRow writes x, of a norm of at most `longest`, as whole numbers of steps, a step being longest/32,767. It returns the step
// and the sum of the squares of what x differs from the steps.
func WordRow[T Float](x []T, longest float64, dst []int16) (step, lost float64) {
	if !(longest > 0) {
		clear(dst[:len(x)])
		return 0, SumSquares(x, 0)
	}
	step = longest / mostWord
	inverse := mostWord / longest
	for i, v := range x {
		q := min(max(math.RoundToEven(float64(v)*inverse), -mostWord), mostWord)
		dst[i] = int16(q)
		r := float64(v) - q*step
		lost += r * r
	}
	return step, lost
}

// WordPanel is columns of words for MulWords. Its zero value has none.
type WordPanel[T Float] struct {
	k, m  int
	data  []int16 // in strips of whole vectors of columns: two words of each column in turn
	start []int32 // zeros
	bias  []T
}

// PackWords sets p to m columns, the rows of b as WordRow writes them with the stride ldb. The first k words count,
// with a bias each.
func PackWords[T Float](p *WordPanel[T], k, m int, b []int16, ldb int, bias []T) {
	steps, wide := (k+WordUnit-1)/WordUnit, Pad(m)
	*p = WordPanel[T]{
		k: steps * WordUnit, m: m, data: make([]int16, steps*WordUnit*wide), start: make([]int32, wide), bias: make([]T, wide),
	}
	copy(p.bias, bias[:m])
	for j := range m {
		first, width := stripOf(m, j)
		to := p.data[first*p.k+(j-first)*WordUnit:]
		for i, x := range b[j*ldb : j*ldb+k] {
			to[i/WordUnit*WordUnit*width+i%WordUnit] = x
		}
	}
}

// MulWords sets row i of Y, of n rows with the stride ldy ≥ Pad(m), to bias + step[i]·X·B, with rows of X as WordRow writes
// them, with the stride ldx ≥ k, whose words from k on are 0. Columns from m to Pad(m) become zero. The sums of words are exact.
func MulWords[T Float](n int, x []int16, ldx int, p *WordPanel[T], step []T, y []T, ldy int) {
	if n < 1 || p.m == 0 {
		return
	}
	_, _, _ = x[(n-1)*ldx+p.k-1], y[(n-1)*ldy+Pad(p.m)-1], step[n-1]
	if !Words[T]() {
		mulWordsPortable(n, x, ldx, p, step, y, ldy)
		return
	}
	const size = int(unsafe.Sizeof(int16(0)))
	args := byteArgs{n: n, k: p.k / WordUnit, x: at(x), ldx: ldx * size, step: at(step), ldy: ldy * int(unsafe.Sizeof(y[0]))}
	kernel := firstMulWords[active][0] - 1
	for j := 0; j < Pad(p.m); {
		_, width := stripOf(p.m, j)
		args.b, args.start, args.bias = at(p.data[j*p.k:]), at(p.start[j:]), at(p.bias[j:])
		args.y = at(y[j:])
		callMulWords(kernel+width/Lanes, &args)
		j += width
	}
}

func mulWordsPortable[T Float](n int, x []int16, ldx int, p *WordPanel[T], step []T, y []T, ldy int) {
	for j := range Pad(p.m) {
		first, width := stripOf(p.m, j)
		column := p.data[first*p.k+(j-first)*WordUnit:]
		for i := range n {
			sum := int32(0)
			for q, v := range x[i*ldx : i*ldx+p.k] {
				sum += int32(v) * int32(column[q/WordUnit*WordUnit*width+q%WordUnit])
			}
			y[i*ldy+j] = p.bias[j] + step[i]*T(sum)
		}
	}
}
