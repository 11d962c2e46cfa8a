package ptx

import "math"

// Half rounds x to the nearest float16, ties to even.
func Half(x float32) uint16 { return half(float64(x)) }

// Unhalf returns the value of a float16.
func Unhalf(h uint16) float32 { return float32(halfValue[h]) }

// halfValue has the value of every float16, which float64 holds exactly.
var halfValue = func() *[1 << 16]float64 {
	t := new([1 << 16]float64)
	for i := range t {
		e, m := i>>10&31, float64(i&1023)
		x := 0.0
		switch e {
		case 0:
			x = m * (1.0 / (1 << 24))
		case 31:
			x = math.Inf(1)
			if m != 0 {
				x = math.NaN()
			}
		default:
			x = math.Ldexp(1024+m, e-25)
		}
		if i>>15 != 0 {
			x = -x
		}
		t[i] = x
	}
	return t
}()

// half rounds to float16. x must have been rounded at most to odd.
func half(x float64) uint16 { return uint16(narrow(x, 11, -24, 15, nearest)) }

// bfloat rounds to bfloat16.
func bfloat(x float64) uint16 { return uint16(narrow(x, 8, -133, 127, nearest)) }

func unbfloat(v uint64) float64 { return float64(math.Float32frombits(uint32(v) << 16)) }

// A rounding is a mode of rounding.
type rounding byte

const (
	nearest  rounding = iota // ties to even
	toZero                   // .rz
	down                     // .rm
	up                       // .rp
	awayTies                 // .rna: nearest, ties away from zero
)

// narrow rounds x to a binary format of so many digits, whose smallest step is 2^least and whose largest exponent is most, and
// returns the bits: sign, biased exponent, digits without the first.
func narrow(x float64, digits, least, most int, mode rounding) uint32 {
	width := digits + bitsOf(most) // without the sign: exponent bits are those of most plus one, digits one fewer
	sign := uint32(math.Float64bits(x)>>63) << width
	limit := uint32(2*most+1) << (digits - 1) // infinity
	switch {
	case x != x:
		return 1<<width - 1 // the canonical NaN, positive
	case math.IsInf(x, 0):
		return sign | limit
	case x == 0:
		return sign
	}
	b := math.Float64bits(x) &^ (1 << 63)
	e := int(b>>52) - 1023
	m := b&(1<<52-1) | 1<<52
	if e == -1023 { // float64's own subnormal: far below every step
		e, m = -1022, b
	}
	if e > most {
		e, m = most+1, 1<<52 // beyond the format in any case
	}
	step := max(e-digits+1, least) // of the result: x = m · 2^(e−52)
	drop := step - (e - 52)
	q, rest, half := uint64(0), uint64(1), uint64(2) // below half a step
	if drop <= 63 {
		q, rest, half = m>>drop, m&(1<<drop-1), uint64(1)<<drop>>1
	}
	if mode.raises(q, rest, half, sign != 0) {
		q++
	}
	// q steps of 2^step: as a number of smallest steps the bits count up through the exponents.
	out := uint32(q)
	if step > least {
		out = uint32(step-least)<<(digits-1) + uint32(q)
	}
	if out >= limit {
		if mode == toZero || mode == up && sign != 0 || mode == down && sign == 0 {
			return sign | (limit - 1)
		}
		return sign | limit
	}
	return sign | out
}

// raises reports whether a magnitude of q steps and a rest is rounded to q+1 steps. half is half a step.
func (mode rounding) raises(q, rest, half uint64, negative bool) bool {
	switch mode {
	case nearest:
		return rest > half || rest == half && q&1 != 0
	case awayTies:
		return rest >= half
	case up:
		return rest != 0 && !negative
	case down:
		return rest != 0 && negative
	}
	return false
}

// bitsOf returns the bits of the exponent field less one, so that digits + bitsOf is the width without the sign.
func bitsOf(most int) int {
	n := 0
	for ; most > 0; most >>= 1 {
		n++
	}
	return n
}
