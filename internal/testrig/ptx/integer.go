package ptx

import "math/bits"

// An integerType adds the operations of one type of whole numbers to a table.
type integerType struct {
	typ
	name  string
	table map[string]*operation
}

func (t integerType) one(op string, f func(a uint64) uint64) {
	t.table[op+"."+t.name] = &operation{dst: t.typ, src: []typ{t.typ}, one: f}
}

func (t integerType) two(op string, f func(a, b uint64) uint64) {
	t.table[op+"."+t.name] = &operation{dst: t.typ, src: []typ{t.typ, t.typ}, two: f}
}

// shift adds an operation whose second operand is a distance.
func (t integerType) shift(op string, f func(a, n uint64) uint64) {
	t.table[op+"."+t.name] = &operation{dst: t.typ, src: []typ{t.typ, types["u32"]}, two: f}
}

// integers adds the arithmetic of whole numbers.
func integers(t map[string]*operation) {
	for _, name := range []string{"u16", "s16", "u32", "s32", "u64", "s64"} {
		ty := integerType{types[name], name, t}
		w := ty.bits
		ty.two("add", func(a, b uint64) uint64 { return cut(a+b, w) })
		ty.two("sub", func(a, b uint64) uint64 { return cut(a-b, w) })
		ty.products()
		ty.shift("shr", shiftRight(ty.typ))
		if ty.signed() {
			ty.signedOps()
		} else {
			ty.unsignedOps()
		}
		if w >= 32 {
			u32 := types["u32"]
			t["bfe."+name] = &operation{dst: ty.typ, src: []typ{ty.typ, u32, u32}, tri: extract(ty.typ)}
		}
	}
}

// products adds multiplications, with and without a sum.
func (t integerType) products() {
	w, high := t.bits, highProduct(t.typ)
	t.two("mul.lo", func(a, b uint64) uint64 { return cut(a*b, w) })
	t.two("mul.hi", high)
	three := []typ{t.typ, t.typ, t.typ}
	t.table["mad.lo."+t.name] = &operation{dst: t.typ, src: three, tri: func(a, b, c uint64) uint64 { return cut(a*b+c, w) }}
	t.table["mad.hi."+t.name] = &operation{dst: t.typ, src: three,
		tri: func(a, b, c uint64) uint64 { return cut(high(a, b)+c, w) }}
	if w == 64 {
		return
	}
	wide := typ{t.kind, 2 * w, 1}
	product := func(a, b uint64) uint64 { return a * b }
	if t.signed() {
		product = func(a, b uint64) uint64 { return cut(uint64(signed(a, w)*signed(b, w)), 2*w) }
	}
	t.table["mul.wide."+t.name] = &operation{dst: wide, src: []typ{t.typ, t.typ}, two: product}
	t.table["mad.wide."+t.name] = &operation{dst: wide, src: []typ{t.typ, t.typ, wide},
		tri: func(a, b, c uint64) uint64 { return cut(product(a, b)+c, 2*w) }}
}

// highProduct returns what computes the upper half of a product.
func highProduct(t typ) func(a, b uint64) uint64 {
	w := t.bits
	switch {
	case w < 64 && t.signed():
		return func(a, b uint64) uint64 { return cut(uint64(signed(a, w)*signed(b, w)>>w), w) }
	case w < 64:
		return func(a, b uint64) uint64 { return cut(a*b>>w, w) }
	case t.signed():
		return func(a, b uint64) uint64 {
			h, _ := bits.Mul64(a, b) // two's complement: the product of the bit patterns is too large by these
			return h - (uint64(int64(a)>>63)&b + uint64(int64(b)>>63)&a)
		}
	}
	return func(a, b uint64) uint64 {
		h, _ := bits.Mul64(a, b)
		return h
	}
}

// signedOps adds div, rem, min, max, neg and abs of a signed type.
func (t integerType) signedOps() {
	w := t.bits
	t.two("div", func(a, b uint64) uint64 { return cut(uint64(signed(a, w)/signed(divisor(b), w)), w) })
	t.two("rem", func(a, b uint64) uint64 { return cut(uint64(signed(a, w)%signed(divisor(b), w)), w) })
	t.two("min", func(a, b uint64) uint64 { return cut(uint64(min(signed(a, w), signed(b, w))), w) })
	t.two("max", func(a, b uint64) uint64 { return cut(uint64(max(signed(a, w), signed(b, w))), w) })
	t.one("neg", func(a uint64) uint64 { return cut(-a, w) })
	t.one("abs", func(a uint64) uint64 {
		if signed(a, w) < 0 {
			return cut(-a, w)
		}
		return a
	})
}

// unsignedOps adds div, rem, min and max of an unsigned type.
func (t integerType) unsignedOps() {
	t.two("div", func(a, b uint64) uint64 { return a / divisor(b) })
	t.two("rem", func(a, b uint64) uint64 { return a % divisor(b) })
	t.two("min", func(a, b uint64) uint64 { return min(a, b) })
	t.two("max", func(a, b uint64) uint64 { return max(a, b) })
}

// divisor returns b, which must not be 0.
func divisor(b uint64) uint64 {
	if b == 0 {
		fail(Undefined, -1, "division by zero")
	}
	return b
}

// shiftRight returns what shifts by the distance as it is: one beyond the width leaves nothing but the sign.
func shiftRight(t typ) func(a, n uint64) uint64 {
	if w := t.bits; t.signed() {
		return func(a, n uint64) uint64 { return cut(uint64(signed(a, w)>>min(n, 63)), w) }
	}
	return func(a, n uint64) uint64 { return a >> n }
}

// extract returns bfe of a type: n bits of a from pos on.
func extract(t typ) func(a, pos, n uint64) uint64 {
	w := t.bits
	return func(a, pos, n uint64) uint64 {
		pos, n = pos&0xff, n&0xff
		if n == 0 {
			return 0
		}
		have := uint64(0) // bits of the field that exist
		if pos < uint64(w) {
			have = min(n, uint64(w)-pos)
		}
		v := cut(a>>pos, int(have))
		// Bits of a signed field beyond the width are copies of the last one that exists.
		if last := min(pos+n-1, uint64(w-1)); t.signed() && a>>last&1 != 0 {
			v |= ^uint64(0) << have
		}
		return cut(v, w)
	}
}

// bitwise adds the instructions on bits.
func bitwise(t map[string]*operation) {
	for _, name := range []string{"b16", "b32", "b64"} {
		ty := integerType{types[name], name, t}
		w := ty.bits
		ty.two("and", func(a, b uint64) uint64 { return a & b })
		ty.two("or", func(a, b uint64) uint64 { return a | b })
		ty.two("xor", func(a, b uint64) uint64 { return a ^ b })
		ty.one("not", func(a uint64) uint64 { return cut(^a, w) })
		ty.one("cnot", func(a uint64) uint64 {
			if a == 0 {
				return 1
			}
			return 0
		})
		ty.shift("shl", func(a, n uint64) uint64 { return cut(a<<n, w) })
		ty.shift("shr", func(a, n uint64) uint64 { return a >> n })
	}
	u32 := types["u32"]
	for _, name := range []string{"b32", "b64"} {
		ty := integerType{types[name], name, t}
		w := ty.bits
		t["popc."+name] = &operation{dst: u32, src: []typ{ty.typ},
			one: func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) }}
		t["clz."+name] = &operation{dst: u32, src: []typ{ty.typ},
			one: func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a) - 64 + w) }}
		ty.one("brev", func(a uint64) uint64 { return bits.Reverse64(a) >> (64 - w) })
	}
	for _, name := range []string{"u32", "s32", "u64", "s64"} {
		ty := types[name]
		t["bfind."+name] = &operation{dst: u32, src: []typ{ty}, one: func(a uint64) uint64 { return cut(highestBit(a, ty), 32) }}
		t["bfind.shiftamt."+name] = &operation{dst: u32, src: []typ{ty}, one: func(a uint64) uint64 {
			if at := highestBit(a, ty); at < 64 {
				return uint64(ty.bits) - 1 - at
			}
			return 0xffffffff
		}}
	}
	b32 := types["b32"]
	for name, f := range map[string]func(a, b, n uint64) uint64{
		"shf.l.wrap.b32":  func(a, b, n uint64) uint64 { return (b<<32 | a) << (n & 31) >> 32 },
		"shf.r.wrap.b32":  func(a, b, n uint64) uint64 { return cut((b<<32|a)>>(n&31), 32) },
		"shf.l.clamp.b32": func(a, b, n uint64) uint64 { return (b<<32 | a) << min(n, 32) >> 32 },
		"shf.r.clamp.b32": func(a, b, n uint64) uint64 { return cut((b<<32|a)>>min(n, 32), 32) },
	} {
		t[name] = &operation{dst: b32, src: []typ{b32, b32, u32}, tri: f}
	}
	t["prmt.b32"] = &operation{dst: b32, src: []typ{b32, b32, b32}, tri: permute}
}

// highestBit returns the place of the highest bit that differs from the sign; all ones where no bit does.
func highestBit(a uint64, t typ) uint64 {
	if t.signed() && signed(a, t.bits) < 0 {
		a = cut(^a, t.bits)
	}
	return uint64(63 - bits.LeadingZeros64(a))
}

// permute is prmt: four bytes of a and b, which the digits of c choose.
func permute(a, b, c uint64) uint64 {
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
