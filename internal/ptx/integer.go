package ptx

import "math/bits"

// integers adds the arithmetic of whole numbers.
func integers(t map[string]*operation) {
	for _, name := range []string{"u16", "s16", "u32", "s32", "u64", "s64"} {
		ty := types[name]
		w, sg := ty.bits, ty.signed()
		value := func(v uint64) int64 {
			if sg {
				return signed(v, w)
			}
			return int64(v)
		}
		less := func(a, b uint64) bool {
			if sg {
				return signed(a, w) < signed(b, w)
			}
			return a < b
		}
		two := func(op string, f func(a, b uint64) uint64) {
			t[op+"."+name] = &operation{dst: ty, src: []typ{ty, ty}, two: f}
		}
		two("add", func(a, b uint64) uint64 { return cut(a+b, w) })
		two("sub", func(a, b uint64) uint64 { return cut(a-b, w) })
		two("mul.lo", func(a, b uint64) uint64 { return cut(a*b, w) })
		high := func(a, b uint64) uint64 {
			if w < 64 {
				return cut(uint64(value(a)*value(b)>>w), w)
			}
			h, _ := bits.Mul64(a, b)
			if sg { // two's complement: the product of the bit patterns is too large by these
				h -= uint64(int64(a)>>63)&b + uint64(int64(b)>>63)&a
			}
			return h
		}
		if w < 64 && !sg {
			high = func(a, b uint64) uint64 { return cut(a*b>>w, w) }
		}
		two("mul.hi", high)
		two("div", func(a, b uint64) uint64 {
			if b == 0 {
				fail(Undefined, -1, "division by zero")
			}
			if sg {
				return cut(uint64(signed(a, w)/signed(b, w)), w)
			}
			return a / b
		})
		two("rem", func(a, b uint64) uint64 {
			if b == 0 {
				fail(Undefined, -1, "division by zero")
			}
			if sg {
				return cut(uint64(signed(a, w)%signed(b, w)), w)
			}
			return a % b
		})
		two("min", func(a, b uint64) uint64 {
			if less(b, a) {
				return b
			}
			return a
		})
		two("max", func(a, b uint64) uint64 {
			if less(a, b) {
				return b
			}
			return a
		})
		t["mad.lo."+name] = &operation{dst: ty, src: []typ{ty, ty, ty},
			tri: func(a, b, c uint64) uint64 { return cut(a*b+c, w) }}
		t["mad.hi."+name] = &operation{dst: ty, src: []typ{ty, ty, ty},
			tri: func(a, b, c uint64) uint64 { return cut(high(a, b)+c, w) }}
		if w < 64 {
			wide := typ{ty.kind, 2 * w, 1}
			product := func(a, b uint64) uint64 { return cut(uint64(value(a)*value(b)), 2*w) }
			t["mul.wide."+name] = &operation{dst: wide, src: []typ{ty, ty}, two: product}
			t["mad.wide."+name] = &operation{dst: wide, src: []typ{ty, ty, wide},
				tri: func(a, b, c uint64) uint64 { return cut(product(a, b)+c, 2*w) }}
		}
		if sg {
			t["neg."+name] = &operation{dst: ty, src: []typ{ty}, one: func(a uint64) uint64 { return cut(-a, w) }}
			t["abs."+name] = &operation{dst: ty, src: []typ{ty}, one: func(a uint64) uint64 {
				if signed(a, w) < 0 {
					return cut(-a, w)
				}
				return a
			}}
		}
		// Shifts take the distance as it is: one beyond the width leaves nothing but the sign.
		t["shr."+name] = &operation{dst: ty, src: []typ{ty, types["u32"]}, two: func(a, n uint64) uint64 {
			if sg {
				return cut(uint64(signed(a, w)>>min(n, 63)), w)
			}
			if n >= 64 {
				return 0
			}
			return a >> n
		}}
	}
	for _, name := range []string{"u32", "s32", "u64", "s64"} {
		ty := types[name]
		w, sg := ty.bits, ty.signed()
		t["bfe."+name] = &operation{dst: ty, src: []typ{ty, types["u32"], types["u32"]}, tri: func(a, pos, n uint64) uint64 {
			pos, n = pos&0xff, n&0xff
			if n == 0 {
				return 0
			}
			var v uint64
			if pos < uint64(w) {
				v = a >> pos
			}
			if sg { // bits beyond the width are copies of the field's last bit that exists
				last := min(pos+n-1, uint64(w-1))
				sign := a >> last & 1
				have := uint64(0)
				if pos < uint64(w) {
					have = min(n, uint64(w)-pos)
				}
				v = cut(v, int(have))
				if sign != 0 && have < 64 {
					v |= ^uint64(0) << have
				}
				return cut(v, w)
			}
			return cut(v, int(min(n, uint64(w))))
		}}
	}
}

// bitwise adds the instructions on bits.
func bitwise(t map[string]*operation) {
	for _, name := range []string{"b16", "b32", "b64"} {
		ty := types[name]
		w := ty.bits
		two := func(op string, f func(a, b uint64) uint64) {
			t[op+"."+name] = &operation{dst: ty, src: []typ{ty, ty}, two: f}
		}
		two("and", func(a, b uint64) uint64 { return a & b })
		two("or", func(a, b uint64) uint64 { return a | b })
		two("xor", func(a, b uint64) uint64 { return a ^ b })
		t["not."+name] = &operation{dst: ty, src: []typ{ty}, one: func(a uint64) uint64 { return cut(^a, w) }}
		t["cnot."+name] = &operation{dst: ty, src: []typ{ty}, one: func(a uint64) uint64 {
			if a == 0 {
				return 1
			}
			return 0
		}}
		t["shl."+name] = &operation{dst: ty, src: []typ{ty, types["u32"]}, two: func(a, n uint64) uint64 {
			if n >= 64 {
				return 0
			}
			return cut(a<<n, w)
		}}
		t["shr."+name] = &operation{dst: ty, src: []typ{ty, types["u32"]}, two: t["shr.u"+name[1:]].two}
	}
	u32 := types["u32"]
	for _, name := range []string{"b32", "b64"} {
		ty := types[name]
		w := ty.bits
		t["popc."+name] = &operation{dst: u32, src: []typ{ty},
			one: func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) }}
		t["clz."+name] = &operation{dst: u32, src: []typ{ty},
			one: func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a) - 64 + w) }}
		t["brev."+name] = &operation{dst: ty, src: []typ{ty},
			one: func(a uint64) uint64 { return bits.Reverse64(a) >> (64 - w) }}
	}
	for _, name := range []string{"u32", "s32", "u64", "s64"} {
		ty := types[name]
		w, sg := ty.bits, ty.signed()
		find := func(a uint64) (uint64, bool) {
			if sg && signed(a, w) < 0 {
				a = cut(^a, w)
			}
			return uint64(63 - bits.LeadingZeros64(a)), a != 0
		}
		t["bfind."+name] = &operation{dst: u32, src: []typ{ty}, one: func(a uint64) uint64 {
			if at, ok := find(a); ok {
				return at
			}
			return 0xffffffff
		}}
		t["bfind.shiftamt."+name] = &operation{dst: u32, src: []typ{ty}, one: func(a uint64) uint64 {
			if at, ok := find(a); ok {
				return uint64(w) - 1 - at
			}
			return 0xffffffff
		}}
	}
	b32 := types["b32"]
	three := []typ{b32, b32, b32}
	t["shf.l.wrap.b32"] = &operation{dst: b32, src: []typ{b32, b32, u32},
		tri: func(a, b, n uint64) uint64 { return (b<<32 | a) << (n & 31) >> 32 }}
	t["shf.r.wrap.b32"] = &operation{dst: b32, src: []typ{b32, b32, u32},
		tri: func(a, b, n uint64) uint64 { return cut((b<<32|a)>>(n&31), 32) }}
	t["shf.l.clamp.b32"] = &operation{dst: b32, src: []typ{b32, b32, u32},
		tri: func(a, b, n uint64) uint64 { return (b<<32 | a) << min(n, 32) >> 32 }}
	t["shf.r.clamp.b32"] = &operation{dst: b32, src: []typ{b32, b32, u32},
		tri: func(a, b, n uint64) uint64 { return cut((b<<32|a)>>min(n, 32), 32) }}
	t["prmt.b32"] = &operation{dst: b32, src: three, tri: func(a, b, c uint64) uint64 {
		from, out := b<<32|a, uint64(0)
		for i := range 4 {
			sel := c >> (4 * i) & 15
			v := from >> (8 * (sel & 7)) & 0xff
			if sel&8 != 0 { // the sign of the byte, all over
				v = uint64(int64(v<<56)>>63) & 0xff
			}
			out |= v << (8 * i)
		}
		return out
	}}
}

// insert is bfi: the low n bits of a at pos of b.
func insert(a, b, pos, n uint64, w int) uint64 {
	pos, n = pos&0xff, n&0xff
	if pos >= uint64(w) || n == 0 {
		return b
	}
	mask := cut(cut(^uint64(0), int(min(n, 64)))<<pos, w)
	return b&^mask | a<<pos&mask
}

// logic3 is lop3: bit by bit, the entry of table that a, b and c choose.
func logic3(a, b, c, table uint64) uint64 {
	out := uint64(0)
	for i := range uint64(8) {
		if table>>i&1 == 0 {
			continue
		}
		x, y, z := a, b, c
		if i&4 == 0 {
			x = ^x
		}
		if i&2 == 0 {
			y = ^y
		}
		if i&1 == 0 {
			z = ^z
		}
		out |= x & y & z
	}
	return cut(out, 32)
}
