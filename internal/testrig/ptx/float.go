package ptx

import "math"

const (
	nan32 = 0x7fffffff // what arithmetic on float32 gives for every NaN
	nan64 = 0x7ff8000000000000
)

func f32(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func f64(v uint64) float64 { return math.Float64frombits(v) }

// b32 returns the bits of x, for a NaN those of the canonical one.
func b32(x float32) uint64 {
	if x != x {
		return nan32
	}
	return uint64(math.Float32bits(x))
}

func b64(x float64) uint64 {
	if x != x {
		return nan64
	}
	return math.Float64bits(x)
}

// flush replaces a subnormal by a zero of its sign.
func flush(v uint64) uint64 {
	if v&0x7f800000 == 0 {
		return v & 0x80000000
	}
	return v
}

// saturate clamps to [0, 1]; NaN becomes zero.
func saturate(v uint64) uint64 {
	switch x := f32(v); {
	case !(x > 0):
		return 0
	case x > 1:
		return 0x3f800000
	}
	return v
}

// oddSum returns x + y rounded to odd: where the sum is no float64, the neighbour whose last bit is one. A second rounding to a
// format of at most 51 digits is then as if it were the only one.
func oddSum(x, y float64) float64 {
	s := x + y
	if math.IsInf(s, 0) || s != s {
		return s
	}
	z := s - x
	rest := (x - (s - z)) + (y - z)
	if rest == 0 {
		return s
	}
	b := math.Float64bits(s)
	if b&1 == 0 { // nearest even: step towards the rest, whose neighbour is odd
		if rest > 0 == (s > 0) {
			b++
		} else {
			b--
		}
	}
	return math.Float64frombits(b)
}

// round32 rounds a float64, itself rounded at most to odd, to float32.
func round32(x float64, mode rounding) uint64 { return uint64(narrow(x, 24, -149, 127, mode)) }

// sum32 adds x and y, which are float32 or a product of two, and rounds once.
func sum32(x, y float64, mode rounding) uint64 {
	s := oddSum(x, y)
	if s == 0 && mode == down && (math.Signbit(x) || math.Signbit(y)) {
		return 0x80000000
	}
	return round32(s, mode)
}

// fma32 returns a·b + c with one rounding, to nearest.
func fma32(a, b, c float32) float32 {
	p := float64(float64(a) * float64(b)) // exact
	s := p + float64(c)
	// Two roundings differ from one only where the first ends halfway between two float32, and float32's subnormals have fewer
	// digits, so that halfway is elsewhere.
	v := math.Float64bits(s)
	if v&(1<<29-1) != 1<<28 && v<<1>>53 > 1023-126 || s == 0 {
		return float32(s)
	}
	return math.Float32frombits(uint32(round32(oddSum(p, float64(c)), nearest)))
}

var roundings = map[string]rounding{"": nearest, ".rn": nearest, ".rz": toZero, ".rm": down, ".rp": up}

// min and max: a NaN gives way to a number, and −0 is less than +0.
func fmin(x, y float64) float64 {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return math.Min(x, y)
}

func fmax(x, y float64) float64 {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return math.Max(x, y)
}

// fminNaN and fmaxNaN: a NaN prevails.
func fminNaN(x, y float64) float64 {
	if x != x || y != y {
		return math.NaN()
	}
	return math.Min(x, y)
}

func fmaxNaN(x, y float64) float64 {
	if x != x || y != y {
		return math.NaN()
	}
	return math.Max(x, y)
}

// floats adds the arithmetic of float32 and float64.
func floats(t map[string]*operation) {
	for name, mode := range roundings {
		for _, ftz := range []string{"", ".ftz"} {
			for _, sat := range []string{"", ".sat"} {
				sums32(t, name, mode, ftz, sat)
			}
		}
	}
	for _, ftz := range []string{"", ".ftz"} {
		functions32(t, ftz)
	}
	s := types["f32"]
	t["tanh.approx.f32"] = &operation{dst: s, src: []typ{s}, work: float32Op,
		one: func(a uint64) uint64 { return b32(float32(math.Tanh(float64(f32(a))))) }}
	t["copysign.f32"] = &operation{dst: s, src: []typ{s, s},
		two: func(a, b uint64) uint64 { return a&(1<<31) | b&^(1<<31) }}
	floats64(t)
}

// sums32 adds the sums and products of float32 with one rounding, with or without a flush of subnormals and a clamp.
func sums32(t map[string]*operation, name string, mode rounding, ftz, sat string) {
	s := types["f32"]
	in, out := func(v uint64) uint64 { return v }, func(v uint64) uint64 { return v }
	if ftz != "" {
		in, out = flush, flush
	}
	if sat != "" {
		before := out
		out = func(v uint64) uint64 { return saturate(before(v)) }
	}
	tail := name + ftz + sat + ".f32"
	add := func(a, b uint64) uint64 { return b32(f32(a) + f32(b)) }
	sub := func(a, b uint64) uint64 { return b32(f32(a) - f32(b)) }
	mul := func(a, b uint64) uint64 { return b32(f32(a) * f32(b)) }
	fma := func(a, b, c uint64) uint64 { return b32(fma32(f32(a), f32(b), f32(c))) }
	if mode != nearest {
		add = func(a, b uint64) uint64 { return sum32(float64(f32(a)), float64(f32(b)), mode) }
		sub = func(a, b uint64) uint64 { return sum32(float64(f32(a)), -float64(f32(b)), mode) }
		mul = func(a, b uint64) uint64 { return round32(float64(f32(a))*float64(f32(b)), mode) }
		fma = func(a, b, c uint64) uint64 { return sum32(float64(f32(a))*float64(f32(b)), float64(f32(c)), mode) }
	}
	plain := ftz == "" && sat == ""
	wrap := func(f func(a, b uint64) uint64) *operation {
		o := &operation{dst: s, src: []typ{s, s}, work: float32Op, two: f}
		if !plain {
			o.two = func(a, b uint64) uint64 { return out(f(in(a), in(b))) }
		}
		return o
	}
	t["add"+tail], t["sub"+tail], t["mul"+tail] = wrap(add), wrap(sub), wrap(mul)
	if name == "" {
		return // fma must name its rounding
	}
	o := &operation{dst: s, src: []typ{s, s, s}, work: float32FMA, tri: fma}
	if !plain {
		o.tri = func(a, b, c uint64) uint64 { return out(fma(in(a), in(b), in(c))) }
	}
	t["fma"+tail], t["mad"+tail] = o, o
}

// functions32 adds the functions of float32 that round to nearest, with or without a flush of subnormals.
func functions32(t map[string]*operation, ftz string) {
	s := types["f32"]
	in := func(v uint64) uint64 { return v }
	if ftz != "" {
		in = flush
	}
	one := func(name string, f func(x float32) float32) {
		t[name+ftz+".f32"] = &operation{dst: s, src: []typ{s}, work: float32Op,
			one: func(a uint64) uint64 { return in(b32(f(f32(in(a))))) }}
	}
	two := func(name string, f func(x, y float32) float32) {
		t[name+ftz+".f32"] = &operation{dst: s, src: []typ{s, s}, work: float32Op,
			two: func(a, b uint64) uint64 { return in(b32(f(f32(in(a)), f32(in(b))))) }}
	}
	quotient := func(x, y float32) float32 { return x / y }
	two("div.rn", quotient)
	two("div.full", quotient)
	two("div.approx", quotient)
	two("min", func(x, y float32) float32 { return float32(fmin(float64(x), float64(y))) })
	two("max", func(x, y float32) float32 { return float32(fmax(float64(x), float64(y))) })
	two("min.NaN", func(x, y float32) float32 { return float32(fminNaN(float64(x), float64(y))) })
	two("max.NaN", func(x, y float32) float32 { return float32(fmaxNaN(float64(x), float64(y))) })
	root := func(x float32) float32 { return float32(math.Sqrt(float64(x))) }
	inverse := func(x float32) float32 { return 1 / x }
	one("sqrt.rn", root)
	one("sqrt.approx", root)
	one("rcp.rn", inverse)
	one("rcp.approx", inverse)
	one("rsqrt.approx", func(x float32) float32 { return float32(1 / math.Sqrt(float64(x))) })
	one("ex2.approx", func(x float32) float32 { return float32(math.Exp2(float64(x))) })
	one("lg2.approx", func(x float32) float32 { return float32(math.Log2(float64(x))) })
	one("sin.approx", func(x float32) float32 { return float32(math.Sin(float64(x))) })
	one("cos.approx", func(x float32) float32 { return float32(math.Cos(float64(x))) })
	// The sign alone changes, a NaN's too.
	t["neg"+ftz+".f32"] = &operation{dst: s, src: []typ{s}, one: func(a uint64) uint64 { return in(a) ^ 1<<31 }}
	t["abs"+ftz+".f32"] = &operation{dst: s, src: []typ{s}, one: func(a uint64) uint64 { return in(a) &^ (1 << 31) }}
}

// floats64 adds the arithmetic of float64.
func floats64(t map[string]*operation) {
	d := types["f64"]
	t["copysign.f64"] = &operation{dst: d, src: []typ{d, d},
		two: func(a, b uint64) uint64 { return a&(1<<63) | b&^(1<<63) }}
	two := func(f func(x, y float64) float64, names ...string) {
		for _, n := range names {
			t[n+".f64"] = &operation{dst: d, src: []typ{d, d}, work: float64Op,
				two: func(a, b uint64) uint64 { return b64(f(f64(a), f64(b))) }}
		}
	}
	two(func(x, y float64) float64 { return x + y }, "add", "add.rn")
	two(func(x, y float64) float64 { return x - y }, "sub", "sub.rn")
	two(func(x, y float64) float64 { return x * y }, "mul", "mul.rn")
	two(func(x, y float64) float64 { return x / y }, "div.rn")
	two(fmin, "min")
	two(fmax, "max")
	one := func(name string, kind work, f func(a uint64) uint64) {
		t[name+".f64"] = &operation{dst: d, src: []typ{d}, work: kind, one: f}
	}
	one("sqrt.rn", float64Op, func(a uint64) uint64 { return b64(math.Sqrt(f64(a))) })
	one("rcp.rn", float64Op, func(a uint64) uint64 { return b64(1 / f64(a)) })
	one("neg", noWork, func(a uint64) uint64 { return a ^ 1<<63 })
	one("abs", noWork, func(a uint64) uint64 { return a &^ (1 << 63) })
	t["fma.rn.f64"] = &operation{dst: d, src: []typ{d, d, d}, work: float64FMA,
		tri: func(a, b, c uint64) uint64 { return b64(math.FMA(f64(a), f64(b), f64(c))) }}
	t["mad.rn.f64"] = t["fma.rn.f64"]
}

// halves adds the arithmetic of float16 and bfloat16, one or two in a register.
func halves(t map[string]*operation) {
	type format struct {
		name string
		get  func(v uint64) float64
		put  func(x float64) uint64
	}
	for _, f := range []format{
		{"f16", func(v uint64) float64 { return halfValue[v&0xffff] }, func(x float64) uint64 { return uint64(half(x)) }},
		{"bf16", func(v uint64) float64 { return unbfloat(v & 0xffff) }, func(x float64) uint64 { return uint64(bfloat(x)) }},
	} {
		two := func(op string, g func(x, y float64) float64) {
			h := func(a, b uint64) uint64 { return f.put(g(f.get(a), f.get(b))) }
			t[op+"."+f.name] = &operation{dst: types[f.name], src: []typ{types[f.name], types[f.name]}, two: h}
			pair := types[f.name+"x2"]
			t[op+"."+f.name+"x2"] = &operation{dst: pair, src: []typ{pair, pair},
				two: func(a, b uint64) uint64 { return h(a, b) | h(a>>16, b>>16)<<16 }}
		}
		for _, rn := range []string{"", ".rn"} {
			two("add"+rn, oddSum)
			two("sub"+rn, func(x, y float64) float64 { return oddSum(x, -y) })
			two("mul"+rn, func(x, y float64) float64 { return x * y })
		}
		two("min", fmin)
		two("max", fmax)
		fma := func(a, b, c uint64) uint64 { return f.put(oddSum(f.get(a)*f.get(b), f.get(c))) }
		one, pair := types[f.name], types[f.name+"x2"]
		t["fma.rn."+f.name] = &operation{dst: one, src: []typ{one, one, one}, tri: fma}
		t["fma.rn."+f.name+"x2"] = &operation{dst: pair, src: []typ{pair, pair, pair},
			tri: func(a, b, c uint64) uint64 { return fma(a, b, c) | fma(a>>16, b>>16, c>>16)<<16 }}
		for width, ty := range map[string]typ{"": one, "x2": pair} {
			sign := uint64(0x8000)
			if ty == pair {
				sign = 0x80008000
			}
			tail := "." + f.name + width
			t["neg"+tail] = &operation{dst: ty, src: []typ{ty}, one: func(a uint64) uint64 { return a ^ sign }}
			t["abs"+tail] = &operation{dst: ty, src: []typ{ty}, one: func(a uint64) uint64 { return a &^ sign }}
		}
	}
}
