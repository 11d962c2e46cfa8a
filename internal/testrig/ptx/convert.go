package ptx

import (
	"math"
	"math/bits"
)

var wholeTypes = []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}

// conversions adds cvt.
func conversions(t map[string]*operation) {
	add := func(name string, to, from typ, f func(v uint64) uint64) {
		n := from.bits
		t["cvt."+name] = &operation{dst: to, src: []typ{from}, one: func(v uint64) uint64 { return f(cut(v, n)) }}
	}
	for _, to := range wholeTypes {
		for _, from := range wholeTypes {
			a, b := types[to], types[from]
			add(to+"."+from, a, b, func(v uint64) uint64 { return cut(uint64(whole(v, b)), a.bits) })
			add("sat."+to+"."+from, a, b, func(v uint64) uint64 { return clampWhole(v, b, a) })
		}
		a := types[to]
		for mode, round := range map[string]func(float64) float64{
			"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil,
		} {
			for _, ftz := range []string{"", "ftz."} {
				for _, sat := range []string{"", "sat."} { // the result is clamped in any case
					add(mode+"."+ftz+sat+to+".f32", a, types["f32"], func(v uint64) uint64 {
						if ftz != "" {
							v = flush(v)
						}
						return toWhole(round(float64(f32(v))), a)
					})
				}
			}
			add(mode+"."+to+".f64", a, types["f64"], func(v uint64) uint64 { return toWhole(round(f64(v)), a) })
			add(mode+"."+to+".f16", a, types["f16"], func(v uint64) uint64 { return toWhole(round(halfValue[v]), a) })
		}
		for name, mode := range roundings {
			if name == "" {
				continue
			}
			add(name[1:]+".f32."+to, types["f32"], a, func(v uint64) uint64 { return round32(fromWhole(v, a), mode) })
			if mode == nearest {
				add("rn.f16."+to, types["f16"], a, func(v uint64) uint64 { return uint64(half(fromWhole(v, a))) })
				add("rn.f64."+to, types["f64"], a, func(v uint64) uint64 {
					if a.signed() {
						return math.Float64bits(float64(signed(v, a.bits)))
					}
					return math.Float64bits(float64(v))
				})
			}
		}
	}
	betweenFloats(t, add)
}

func betweenFloats(t map[string]*operation, add func(name string, to, from typ, f func(v uint64) uint64)) {
	h, bh, s, d := types["f16"], types["bf16"], types["f32"], types["f64"]
	for _, ftz := range []string{"", "ftz."} {
		in := func(v uint64) uint64 { return v }
		if ftz != "" {
			in = flush
		}
		for _, sat := range []string{"", "sat."} {
			clamp := func(v uint64) uint64 { return v }
			if sat != "" {
				clamp = saturate
			}
			for name, mode := range roundings {
				if name != "" {
					add(name[1:]+"."+ftz+sat+"f32.f64", s, d, func(v uint64) uint64 {
						return clamp(in(round32(f64(v), mode)))
					})
				}
			}
			add(ftz+sat+"f32.f16", s, h, func(v uint64) uint64 { return clamp(b32(float32(halfValue[v]))) })
			add(ftz+sat+"f32.f32", s, s, func(v uint64) uint64 { return clamp(b32(f32(in(v)))) })
			for mode, round := range map[string]func(float64) float64{
				"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil,
			} {
				add(mode+"."+ftz+sat+"f32.f32", s, s, func(v uint64) uint64 {
					return clamp(b32(float32(round(float64(f32(in(v)))))))
				})
			}
		}
		add(ftz+"f32.bf16", s, bh, func(v uint64) uint64 { return in(b32(float32(unbfloat(v)))) })
		add(ftz+"f64.f32", d, s, func(v uint64) uint64 { return b64(float64(f32(in(v)))) })
		add("rn."+ftz+"f16.f32", h, s, func(v uint64) uint64 { return uint64(half(float64(f32(in(v))))) })
		add("rz."+ftz+"f16.f32", h, s, func(v uint64) uint64 {
			return uint64(narrow(float64(f32(in(v))), 11, -24, 15, toZero))
		})
	}
	add("rn.bf16.f32", bh, s, func(v uint64) uint64 { return uint64(bfloat(float64(f32(v)))) })
	add("rz.bf16.f32", bh, s, func(v uint64) uint64 { return uint64(narrow(float64(f32(v)), 8, -133, 127, toZero)) })
	add("f64.f16", d, h, func(v uint64) uint64 { return b64(halfValue[v]) })
	add("rn.f16.f64", h, d, func(v uint64) uint64 { return uint64(half(f64(v))) })
	add("rna.tf32.f32", types["tf32"], s, func(v uint64) uint64 { return tfloat(float64(f32(v))) })
	for mode, round := range map[string]func(float64) float64{
		"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil,
	} {
		add(mode+".f64.f64", d, d, func(v uint64) uint64 { return b64(round(f64(v))) })
		add(mode+".f16.f16", h, h, func(v uint64) uint64 { return uint64(half(round(halfValue[v]))) })
	}
	pair := func(name string, to typ, f func(x float64) uint64) {
		t["cvt."+name] = &operation{dst: to, src: []typ{s, s}, two: func(a, b uint64) uint64 {
			return f(float64(f32(a)))<<16 | f(float64(f32(b)))
		}}
	}
	relu := func(f func(x float64) uint64) func(x float64) uint64 {
		return func(x float64) uint64 {
			if x < 0 || x == 0 {
				return 0
			}
			return f(x)
		}
	}
	toHalf := func(x float64) uint64 { return uint64(half(x)) }
	toHalfZ := func(x float64) uint64 { return uint64(narrow(x, 11, -24, 15, toZero)) }
	toBfloat := func(x float64) uint64 { return uint64(bfloat(x)) }
	pair("rn.f16x2.f32", types["f16x2"], toHalf)
	pair("rz.f16x2.f32", types["f16x2"], toHalfZ)
	pair("rn.relu.f16x2.f32", types["f16x2"], relu(toHalf))
	pair("rn.bf16x2.f32", types["bf16x2"], toBfloat)
	pair("rn.relu.bf16x2.f32", types["bf16x2"], relu(toBfloat))
}

// tfloat rounds to the 19 bits that tensor cores read of a float32, ties away from zero.
func tfloat(x float64) uint64 {
	if x != x {
		return nan32
	}
	return uint64(narrow(x, 11, -136, 127, awayTies)) << 13
}

// whole returns the value of an integer modulo 2^64.
func whole(v uint64, t typ) int64 {
	if t.signed() {
		return signed(v, t.bits)
	}
	return int64(v)
}

// clampWhole converts with saturation.
func clampWhole(v uint64, from, to typ) uint64 {
	negative := from.signed() && signed(v, from.bits) < 0
	if negative {
		if !to.signed() {
			return 0
		}
		return cut(uint64(max(signed(v, from.bits), -1<<(to.bits-1))), to.bits)
	}
	most := cut(^uint64(0), to.bits)
	if to.signed() {
		most >>= 1
	}
	return min(v, most)
}

// toWhole converts a float without a fraction, clamped to the range of t; NaN becomes zero.
func toWhole(x float64, t typ) uint64 {
	if x != x {
		return 0
	}
	if !t.signed() {
		switch {
		case x <= 0:
			return 0
		case x >= math.Ldexp(1, t.bits):
			return cut(^uint64(0), t.bits)
		}
		return uint64(x)
	}
	switch limit := math.Ldexp(1, t.bits-1); {
	case x >= limit:
		return 1<<(t.bits-1) - 1
	case x <= -limit:
		return 1 << (t.bits - 1)
	}
	return cut(uint64(int64(x)), t.bits)
}

// fromWhole returns an integer as a float64 rounded to odd.
func fromWhole(v uint64, t typ) float64 {
	negative := t.signed() && signed(v, t.bits) < 0
	if negative {
		v = -uint64(signed(v, t.bits))
	}
	x := float64(v)
	if n := bits.Len64(v); n > 53 {
		m := v >> (n - 53)
		if v&(1<<(n-53)-1) != 0 {
			m |= 1
		}
		x = math.Ldexp(float64(m), n-53)
	}
	if negative {
		x = -x
	}
	return x
}
