package ptx

import (
	"math"
	"math/big"
	"strings"
)

// The reference of the instructions: whole numbers by math/big, floats by exact sums and products that are rounded once, half
// floats by a search among all of them. None of it shares code with the simulator.

const exactBits = 4000

func exact(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(x) }

// bigInt returns the value of v as an integer of type t.
func bigInt(v uint64, t typ) *big.Int {
	x := new(big.Int).SetUint64(v)
	if t.kind == 's' && v>>(t.bits-1)&1 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(t.bits)))
	}
	return x
}

// wrapped returns x modulo 2^n.
func wrapped(x *big.Int, n int) uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), uint(n))
	return new(big.Int).Mod(x, m).Uint64()
}

// refInteger computes an instruction on whole numbers; ok says whether it has a result.
func refInteger(op string, t typ, a, b, c uint64) (v uint64, ok bool) {
	x, y, w := bigInt(a, t), bigInt(b, t), t.bits
	out := new(big.Int)
	switch op {
	case "add":
		return wrapped(out.Add(x, y), w), true
	case "sub":
		return wrapped(out.Sub(x, y), w), true
	case "mul.lo":
		return wrapped(out.Mul(x, y), w), true
	case "mul.hi":
		return wrapped(out.Rsh(out.Mul(x, y), uint(w)), w), true
	case "mul.wide":
		return wrapped(out.Mul(x, y), 2*w), true
	case "mad.lo":
		return wrapped(out.Add(out.Mul(x, y), bigInt(c, t)), w), true
	case "mad.hi":
		return wrapped(out.Add(out.Rsh(out.Mul(x, y), uint(w)), bigInt(c, t)), w), true
	case "mad.wide":
		return wrapped(out.Add(out.Mul(x, y), bigInt(c, typ{t.kind, 2 * w, 1})), 2*w), true
	case "div":
		if b == 0 {
			return 0, false
		}
		return wrapped(out.Quo(x, y), w), true
	case "rem":
		if b == 0 {
			return 0, false
		}
		return wrapped(out.Rem(x, y), w), true
	case "min":
		if x.Cmp(y) < 0 {
			return a, true
		}
		return b, true
	case "max":
		if x.Cmp(y) > 0 {
			return a, true
		}
		return b, true
	case "neg":
		return wrapped(out.Neg(x), w), true
	case "abs":
		return wrapped(out.Abs(x), w), true
	case "and":
		return a & b, true
	case "or":
		return a | b, true
	case "xor":
		return a&^b | b&^a, true
	case "not":
		return uint64(math.MaxUint64)>>(64-w) - a, true
	case "cnot":
		if a == 0 {
			return 1, true
		}
		return 0, true
	case "shl":
		return wrapped(out.Lsh(new(big.Int).SetUint64(a), uint(min(b, 200))), w), true
	case "shr": // big's shift of a negative number rounds down, which is the arithmetic one
		return wrapped(out.Rsh(x, uint(min(b, 200))), w), true
	case "popc":
		n := 0
		for i := range w {
			n += int(a >> i & 1)
		}
		return uint64(n), true
	case "clz":
		n := 0
		for n < w && a>>(w-1-n)&1 == 0 {
			n++
		}
		return uint64(n), true
	case "brev":
		for i := range w {
			v |= a >> i & 1 << (w - 1 - i)
		}
		return v, true
	case "bfind", "bfind.shiftamt":
		if x.Sign() < 0 {
			x.Not(x)
		}
		if x.Sign() == 0 {
			return 0xffffffff, true
		}
		v = uint64(x.BitLen() - 1)
		if op == "bfind.shiftamt" {
			v = uint64(w-1) - v
		}
		return v, true
	case "bfe":
		return refExtract(t, a, b&0xff, c&0xff), true
	case "shf.l.wrap":
		return (b<<32 | a) << (c & 31) >> 32, true
	case "shf.l.clamp":
		return uint64(uint32(bitsOfPair(a, b, 32-int(min(c, 32))))), true
	case "shf.r.wrap":
		return uint64(uint32(bitsOfPair(a, b, int(c&31)))), true
	case "shf.r.clamp":
		return uint64(uint32(bitsOfPair(a, b, int(min(c, 32))))), true
	case "prmt":
		var bytes [8]byte
		for i := range 4 {
			bytes[i], bytes[4+i] = byte(a>>(8*i)), byte(b>>(8*i))
		}
		for i := range 4 {
			s := c >> (4 * i)
			x := bytes[s&7]
			if s&8 != 0 {
				x = byte(int8(x) >> 7)
			}
			v |= uint64(x) << (8 * i)
		}
		return v, true
	}
	panic(op)
}

// bitsOfPair returns the pair's bits from bit n on.
func bitsOfPair(low, high uint64, n int) uint64 {
	return new(big.Int).Rsh(new(big.Int).SetUint64(high<<32|low), uint(n)).Uint64()
}

// refExtract is bfe as the manual has it, bit by bit.
func refExtract(t typ, a, pos, n uint64) uint64 {
	msb := uint64(t.bits - 1)
	sign := uint64(0)
	if t.kind == 's' && n != 0 {
		sign = a >> min(pos+n-1, msb) & 1
	}
	d := uint64(0)
	for i := range msb + 1 {
		bit := sign
		if i < n && pos+i <= msb {
			bit = a >> (pos + i) & 1
		}
		d |= bit << i
	}
	return d
}

// A float format as its bits, its value, and all of the values around one.
type refFormat struct {
	bits          int
	fraction, max int // fraction bits, largest finite pattern
}

var refFormats = map[string]refFormat{"f16": {16, 10, 0x7bff}, "bf16": {16, 7, 0x7f7f}, "f32": {32, 23, 0x7f7fffff}}

// magnitude returns the value of a finite pattern without sign; for the pattern beyond the largest, the next power of two.
func (f refFormat) magnitude(v int) *big.Float {
	e, m := v>>f.fraction, v&(1<<f.fraction-1)
	bias := 1<<(f.bits-f.fraction-2) - 1
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.fraction
	}
	x := exact(float64(m))
	return x.SetMantExp(x, e-bias-f.fraction)
}

// round rounds to the format by a search for the patterns on both sides.
func (f refFormat) round(x *big.Float, mode string) uint64 {
	sign := uint64(0)
	if x.Signbit() {
		sign = 1 << (f.bits - 1)
	}
	inf := uint64(f.max) + 1
	if x.IsInf() {
		return sign | inf
	}
	abs := new(big.Float).Abs(x)
	lo, hi := 0, f.max+1 // magnitude(lo) ≤ abs; the pattern after max stands for everything beyond
	if abs.Cmp(f.magnitude(hi)) >= 0 {
		lo = hi
	}
	for lo+1 < hi {
		if mid := (lo + hi) / 2; f.magnitude(mid).Cmp(abs) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	if lo <= f.max && f.magnitude(lo).Cmp(abs) == 0 {
		return sign | uint64(lo)
	}
	up := lo + 1
	if lo > f.max {
		lo, up = f.max, f.max+1
	}
	below, above := new(big.Float).Sub(abs, f.magnitude(lo)), new(big.Float).Sub(f.magnitude(up), abs)
	nearest := below.Cmp(above)
	switch {
	case mode == "rz", mode == "rm" && sign == 0, mode == "rp" && sign != 0:
		return sign | uint64(lo)
	case mode == "rm" || mode == "rp":
		return sign | uint64(up)
	case nearest < 0, nearest == 0 && (lo&1 == 0 && mode != "rna"):
		return sign | uint64(lo)
	}
	return sign | uint64(up)
}

// value returns a number of the format as a float64, which holds it exactly.
func (f refFormat) value(v uint64) float64 {
	abs := int(v & (1<<(f.bits-1) - 1))
	x := math.NaN()
	switch {
	case abs <= f.max:
		x, _ = f.magnitude(abs).Float64()
	case abs == f.max+1:
		x = math.Inf(1)
	}
	if v>>(f.bits-1)&1 != 0 {
		x = -x
	}
	return x
}

// refFMA returns a·b + c rounded once to the format; b = 1 makes a sum, c = −0 a product.
func refFMA(f refFormat, a, b, c float64, mode string) uint64 {
	p := a * b // exact for the formats here where finite; elsewhere infinite or no number
	nan := uint64(1)<<(f.bits-1) - 1
	if math.IsNaN(p) || math.IsNaN(c) || math.IsInf(p, 0) && math.IsInf(c, 0) && p != c {
		return nan
	}
	if math.IsInf(p, 0) || math.IsInf(c, 0) {
		return f.round(exact(p+c), mode)
	}
	s := new(big.Float).SetPrec(exactBits).Add(exact(p), exact(c))
	if s.Sign() == 0 {
		zero := p + c // the sign of a zero
		if mode == "rm" && (math.Signbit(p) || math.Signbit(c)) {
			zero = math.Copysign(0, -1)
		}
		return f.round(exact(zero), mode)
	}
	return f.round(s, mode)
}

func flushed(x float64) float64 {
	if math.Abs(x) < 0x1p-126 {
		return math.Copysign(0, x)
	}
	return x
}

func flushedBits(v uint64) uint64 {
	if uint32(v)<<1 < 0x01000000 {
		return v & 0x80000000
	}
	return v
}

// refNumber is min and max of floats.
func refNumber(op string, x, y float64) float64 {
	nan := strings.HasSuffix(op, ".NaN")
	switch {
	case math.IsNaN(x) && math.IsNaN(y), nan && (math.IsNaN(x) || math.IsNaN(y)):
		return math.NaN()
	case math.IsNaN(x):
		return y
	case math.IsNaN(y):
		return x
	}
	less := x < y || x == y && math.Signbit(x) && !math.Signbit(y)
	if less == strings.HasPrefix(op, "min") {
		return x
	}
	return y
}

// refFloat computes an instruction on float32 or the formats of 16 bits. approximate says that the last digits are free.
func refFloat(op string, f refFormat, ftz bool, a, b, c uint64) (v uint64, approximate bool) {
	x, y, z := f.value(a), f.value(b), f.value(c)
	out := func(v uint64) uint64 { return v }
	if ftz {
		x, y, z = flushed(x), flushed(y), flushed(z)
		out = flushedBits
	}
	name, mode, _ := strings.Cut(op, ".")
	round := func(x *big.Float) uint64 { return out(f.round(x, "rn")) }
	plain := func(x float64) uint64 { // a result that is exact, infinite or no number
		if math.IsNaN(x) {
			return 1<<(f.bits-1) - 1
		}
		return round(exact(x))
	}
	switch name {
	case "add":
		return out(refFMA(f, x, 1, y, mode)), false
	case "sub":
		return out(refFMA(f, x, 1, -y, mode)), false
	case "mul":
		if p := x * y; p == 0 {
			return plain(p), false
		}
		return out(refFMA(f, x, y, 0, mode)), false
	case "fma", "mad":
		return out(refFMA(f, x, y, z, mode)), false
	case "min", "max":
		return plain(refNumber(op, x, y)), false
	case "neg", "abs":
		sign := uint64(1) << (f.bits - 1)
		if ftz {
			a = flushedBits(a)
		}
		if name == "abs" {
			return a &^ sign, false
		}
		return a ^ sign, false
	case "copysign":
		return a&0x80000000 | b&0x7fffffff, false
	case "div", "rcp":
		if name == "rcp" {
			x, y = 1, x
		}
		if q := x / y; q == 0 || math.IsInf(q, 0) || math.IsNaN(q) {
			return plain(q), mode != "rn"
		}
		return round(new(big.Float).SetPrec(exactBits).Quo(exact(x), exact(y))), mode != "rn"
	case "sqrt":
		if r := math.Sqrt(x); r == 0 || math.IsInf(r, 0) || math.IsNaN(r) {
			return plain(r), mode != "rn"
		}
		return round(new(big.Float).SetPrec(500).Sqrt(exact(x))), mode != "rn"
	case "rsqrt":
		return plain(1 / math.Sqrt(x)), true
	case "ex2":
		return plain(math.Pow(2, x)), true
	case "lg2":
		return plain(math.Log(x) / math.Ln2), true
	case "sin":
		s, _ := math.Sincos(x)
		return plain(s), true
	case "cos":
		_, c := math.Sincos(x)
		return plain(c), true
	case "tanh":
		if e := math.Expm1(2 * x); !math.IsInf(e, 1) {
			return plain(e / (e + 2)), true
		}
		return plain(1), true
	}
	panic(op)
}

// refDouble computes an instruction on float64.
func refDouble(op string, a, b, c uint64) uint64 {
	x, y, z := math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)
	name, _, _ := strings.Cut(op, ".")
	var r float64
	switch name {
	case "add":
		r = x + y
	case "sub":
		r = x - y
	case "mul":
		r = x * y
	case "div":
		r = x / y
	case "rcp":
		r = 1 / x
	case "sqrt":
		r = math.Sqrt(x)
	case "min", "max":
		r = refNumber(name, x, y)
	case "neg":
		return a ^ 1<<63
	case "abs":
		return a &^ (1 << 63)
	case "copysign":
		return a&(1<<63) | b&^(1<<63)
	case "fma", "mad":
		if p := x * y; math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(p) || math.IsNaN(z) || math.IsInf(z, 0) {
			r = p + z
			if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) && !math.IsNaN(p) {
				r = z // the product is finite, though float64 may not hold it
			}
			break
		}
		s := new(big.Float).SetPrec(exactBits).Mul(exact(x), exact(y))
		if s.Add(s, exact(z)); s.Sign() == 0 {
			r = x*y + z
			break
		}
		r, _ = s.Float64()
	default:
		panic(op)
	}
	if math.IsNaN(r) {
		return 0x7ff8000000000000
	}
	return math.Float64bits(r)
}

// refConvert computes cvt.
func refConvert(mods []string, v uint64) uint64 {
	to, from := types[mods[len(mods)-2]], types[mods[len(mods)-1]]
	toName, fromName := mods[len(mods)-2], mods[len(mods)-1]
	has := func(s string) bool { return strings.Contains("."+strings.Join(mods, ".")+".", "."+s+".") }
	v &= uint64(math.MaxUint64) >> (64 - from.bits)
	if !from.float() && !to.float() {
		x := bigInt(v, from)
		if has("sat") {
			x = clamped(x, to)
		}
		return wrapped(x, to.bits)
	}
	var x *big.Float // nil: no number
	switch {
	case !from.float():
		x = new(big.Float).SetPrec(exactBits).SetInt(bigInt(v, from))
	case fromName == "f64":
		if d := math.Float64frombits(v); !math.IsNaN(d) {
			x = exact(d)
		}
	default:
		d := refFormats[fromName].value(v)
		if has("ftz") && fromName == "f32" {
			d = flushed(d)
		}
		if !math.IsNaN(d) {
			x = exact(d)
		}
	}
	mode := "rn"
	for _, m := range []string{"rz", "rm", "rp", "rna"} {
		if has(m) {
			mode = m
		}
	}
	if x != nil && !x.IsInf() {
		for _, m := range []string{"rni", "rzi", "rmi", "rpi"} {
			if has(m) {
				x = integral(x, m)
			}
		}
	}
	if !to.float() {
		if x == nil {
			return 0
		}
		if x.IsInf() {
			x = exact(math.Copysign(0x1p200, map[bool]float64{true: -1, false: 1}[x.Signbit()]))
		}
		i, _ := x.Int(nil)
		return wrapped(clamped(i, to), to.bits)
	}
	if has("sat") {
		switch {
		case x == nil || x.Sign() <= 0:
			return 0
		case x.Cmp(exact(1)) > 0:
			x = exact(1)
		}
	}
	switch {
	case x == nil && toName == "f64":
		return 0x7ff8000000000000
	case x == nil && toName == "tf32":
		return 0x7fffffff
	case x == nil:
		return 1<<(to.bits-1) - 1
	case toName == "f64":
		d, _ := x.Float64()
		return math.Float64bits(d)
	case toName == "tf32": // a float32 that lacks 13 bits
		f := refFormat{19, 10, 0x3fbff}
		return f.round(x, "rna") << 13
	}
	out := refFormats[toName].round(x, mode)
	if has("ftz") && toName == "f32" {
		out = flushedBits(out)
	}
	return out
}

func clamped(x *big.Int, t typ) *big.Int {
	one := big.NewInt(1)
	lo, hi := big.NewInt(0), new(big.Int).Sub(new(big.Int).Lsh(one, uint(t.bits)), one)
	if t.kind == 's' {
		lo = new(big.Int).Neg(new(big.Int).Lsh(one, uint(t.bits-1)))
		hi = new(big.Int).Sub(new(big.Int).Lsh(one, uint(t.bits-1)), one)
	}
	switch {
	case x.Cmp(lo) < 0:
		return lo
	case x.Cmp(hi) > 0:
		return hi
	}
	return x
}

// integral rounds to a whole number.
func integral(x *big.Float, mode string) *big.Float {
	i, accuracy := x.Int(nil) // towards zero
	rest := new(big.Float).SetPrec(exactBits).Sub(x, new(big.Float).SetPrec(exactBits).SetInt(i))
	away := false
	if accuracy != big.Exact {
		half := rest.Abs(rest).Cmp(exact(0.5))
		switch mode {
		case "rni":
			away = half > 0 || half == 0 && i.Bit(0) != 0
		case "rmi":
			away = x.Signbit()
		case "rpi":
			away = !x.Signbit()
		}
	}
	if away {
		step := big.NewInt(1)
		if x.Signbit() {
			step.Neg(step)
		}
		i.Add(i, step)
	}
	out := new(big.Float).SetPrec(exactBits).SetInt(i)
	if i.Sign() == 0 && x.Signbit() {
		out.Neg(out)
	}
	return out
}

// ulps returns how many float32 lie between two.
func ulps(a, b uint64) int {
	order := func(v uint64) int {
		if uint32(v)>>31 != 0 {
			return -int(v & 0x7fffffff)
		}
		return int(v)
	}
	d := order(a) - order(b)
	return max(d, -d)
}
