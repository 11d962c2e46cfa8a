package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// perThread runs a body on n threads of one block that leaves one word for each thread in %r0 (a holds the index).
func perThread(t *testing.T, n int, body string) []uint32 {
	t.Helper()
	k := kernel(t, entry(2, body+own+"st.global.u32 [%d2], %r0;\n"))
	m := NewMemory(0)
	a, b := alloc(t, m, "a", n, true), alloc(t, m, "b", n, false)
	if err := launch(k, m, 1, n, a, b); err != nil {
		t.Fatal(err)
	}
	return words(t, m, b, n)
}

// each thread's word must be want of its index.
func expect(t *testing.T, name string, n int, body string, want func(i int) uint32) {
	t.Helper()
	for i, v := range perThread(t, n, body) {
		if v != want(i) {
			t.Errorf("%s: thread %d has %#x, not %#x", name, i, v, want(i))
			return
		}
	}
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// TestComparisons tries every comparison of setp on edge values.
func TestComparisons(t *testing.T) {
	for _, name := range []string{"b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f16", "bf16", "f32",
		"f64", "ftz.f32"} {
		ty := types[strings.TrimPrefix(name, "ftz.")]
		ops := "eq ne"
		switch {
		case ty.float():
			ops = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
		case ty.kind == 'u':
			ops = "eq ne lt le gt ge lo ls hi hs"
		case ty.kind == 's':
			ops = "eq ne lt le gt ge"
		}
		list := edges(ty)
		if len(list) > 32 {
			list = list[:32]
		}
		if ty.kind == 'f' && ty.bits == 32 {
			list[0], list[1] = 0x7fc00000, 0x00000001
		} else if ty.kind == 'f' && ty.bits == 64 {
			list[0] = 0x7ff8000000000000
		}
		for _, op := range strings.Fields(ops) {
			compare(t, op, name, ty, list)
		}
	}
}

func compare(t *testing.T, op, name string, ty typ, list []uint64) {
	t.Helper()
	reg := map[int]string{16: "%h", 32: "%r", 64: "%d"}[ty.bits]
	// Thread i has value i; it compares with all values by a loop, and sets a bit for each that it holds for.
	n := len(list)
	body := fmt.Sprintf("mul.wide.u32 %%d0, %%r30, 8;\nadd.s64 %%d1, %%d30, %%d0;\nld.global.u%d %s1, [%%d1];\n"+
		"mov.u32 %%r5, 0;\n"+
		"mov.u32 %%r6, 0;\nmov.u32 %%r4, 1;\nmov.u64 %%d3, %%d30;\nagain:\nld.global.u%[1]d %[2]s2, [%%d3];\n"+
		"setp.%[3]s.%[4]s %%p1|%%p2, %[2]s1, %[2]s2;\n@%%p1 or.b32 %%r5, %%r5, %%r4;\n@%%p2 or.b32 %%r6, %%r6, %%r4;\n"+
		"add.s64 %%d3, %%d3, 8;\nadd.s32 %%r7, %%r4, 0;\nshl.b32 %%r4, %%r4, 1;\nsetp.ne.u32 %%p3, %%r7, %[5]d;\n"+
		"@%%p3 bra again;\n"+
		"mul.wide.u32 %%d0, %%r30, 8;\nadd.s64 %%d2, %%d31, %%d0;\nst.global.v2.u32 [%%d2], {%%r5, %%r6};\n",
		ty.bits, reg, op, name, uint32(1)<<(n-1))
	k := kernel(t, entry(2, body))
	m := NewMemory(0)
	a, b := alloc(t, m, "a", 2*n, false), alloc(t, m, "b", 2*n, false)
	if err := Upload(m, a, list); err != nil {
		t.Fatal(err)
	}
	if err := launch(k, m, 1, n, a, b); err != nil {
		t.Fatal(err)
	}
	out := words(t, m, b, 2*n)
	for i, x := range list {
		for j, y := range list {
			want := holds(op, name, ty, x, y)
			if got := out[2*i]>>j&1 != 0; got != want {
				t.Errorf("setp.%s.%s of %#x and %#x: %v", op, name, x, y, got)
			}
			if got := out[2*i+1]>>j&1 != 0; got != !want {
				t.Errorf("setp.%s.%s of %#x and %#x: the second result is %v", op, name, x, y, got)
			}
		}
	}
}

func holds(op, name string, ty typ, a, b uint64) bool {
	var sign int // of a − b
	unordered := false
	if ty.float() {
		var x, y float64
		switch {
		case ty.bits == 64:
			x, y = math.Float64frombits(a), math.Float64frombits(b)
		default:
			f := refFormats[strings.TrimPrefix(name, "ftz.")]
			if x, y = f.value(a), f.value(b); name == "ftz.f32" {
				x, y = flushed(x), flushed(y)
			}
		}
		unordered = x != x || y != y
		switch {
		case x < y:
			sign = -1
		case x > y:
			sign = 1
		}
	} else {
		sign = bigInt(a, ty).Cmp(bigInt(b, ty))
	}
	switch op {
	case "num":
		return !unordered
	case "nan":
		return unordered
	}
	if unordered {
		return len(op) == 3
	}
	switch op[:2] {
	case "eq":
		return sign == 0
	case "ne":
		return sign != 0
	case "lt", "lo":
		return sign < 0
	case "le", "ls":
		return sign <= 0
	case "gt", "hi":
		return sign > 0
	}
	return sign >= 0
}

// TestPredicates tries logic on predicates, joined comparisons, selp, set and testp.
func TestPredicates(t *testing.T) {
	const two = "and.b32 %r1, %r30, 1;\nsetp.ne.u32 %p1, %r1, 0;\nand.b32 %r2, %r30, 2;\nsetp.ne.u32 %p2, %r2, 0;\n"
	const store = "selp.u32 %r0, 1, 0, %p0;\n"
	for _, c := range []struct {
		text string
		want func(a, b bool) bool
	}{
		{"mov.pred %p0, %p1;", func(a, b bool) bool { return a }}, {"mov.pred %p0, 1;", func(a, b bool) bool { return true }},
		{"mov.pred %p0, -1;", func(a, b bool) bool { return true }}, {"mov.pred %p0, 0;", func(a, b bool) bool { return false }},
		{"not.pred %p0, %p2;", func(a, b bool) bool { return !b }},
		{"and.pred %p0, %p1, %p2;", func(a, b bool) bool { return a && b }},
		{"or.pred %p0, %p1, %p2;", func(a, b bool) bool { return a || b }},
		{"xor.pred %p0, %p1, %p2;", func(a, b bool) bool { return a != b }},
		{"setp.ne.and.u32 %p0, %r1, 0, %p2;", func(a, b bool) bool { return a && b }},
		{"setp.ne.or.u32 %p0, %r1, 0, !%p2;", func(a, b bool) bool { return a || !b }},
		{"setp.ne.xor.u32 %p0|%p3, %r1, 0, %p2;", func(a, b bool) bool { return a != b }},
		{"setp.ne.and.u32 %p3|%p0, %r1, 0, %p2;", func(a, b bool) bool { return !a && b }},
		{"mov.pred %p0, 0;\n@%p1 mov.pred %p0, %p2;", func(a, b bool) bool { return a && b }},
		{"mov.pred %p0, 1;\n@!%p1 mov.pred %p0, %p2;", func(a, b bool) bool { return a || b }},
		{"vote.sync.any.pred %p0, %p1, -1;", func(a, b bool) bool { return true }},
		{"vote.sync.all.pred %p0, %p1, -1;", func(a, b bool) bool { return false }},
		{"vote.sync.uni.pred %p0, %p1, -1;", func(a, b bool) bool { return false }},
		{"setp.lt.u32 %p4, %r30, 99;\nvote.sync.uni.pred %p0, %p4, -1;", func(a, b bool) bool { return true }},
	} {
		expect(t, c.text, 64, two+c.text+"\n"+store, func(i int) uint32 { return truth(c.want(i&1 != 0, i&2 != 0)) })
	}
	expect(t, "set", 64, "set.lt.u32.s32 %r0, %r30, 9;\n", func(i int) uint32 { return -truth(i < 9) })
	expect(t, "set.f32", 64, "set.ge.f32.u32 %f0, %r30, 9;\nmov.b32 %r0, %f0;\n",
		func(i int) uint32 { return truth(i >= 9) * math.Float32bits(1) })
	kinds := []uint32{0, 1, 0x80000001, 0x3f800000, 0x7f800000, 0xff800000, 0x7fc00001, 0x807fffff}
	for name, f := range map[string]func(x float64, v uint32) bool{
		"finite": func(x float64, _ uint32) bool { return x-x == 0 }, "infinite": func(x float64,
			_ uint32) bool {
			return math.IsInf(x, 0)
		},
		"number": func(x float64, _ uint32) bool { return x == x }, "notanumber": func(x float64,
			_ uint32) bool {
			return x != x
		},
		"normal":    func(x float64, _ uint32) bool { return math.Abs(x) >= 0x1p-126 && !math.IsInf(x, 0) },
		"subnormal": func(x float64, _ uint32) bool { return x != 0 && math.Abs(x) < 0x1p-126 },
	} {
		body := "mov.u32 %r1, 0;\n"
		for i, v := range kinds {
			body += fmt.Sprintf("setp.eq.u32 %%p1, %%r30, %d;\n@%%p1 mov.u32 %%r1, %d;\n", i, v)
		}
		body += "mov.b32 %f1, %r1;\ntestp." + name + ".f32 %p0, %f1;\n" + store
		expect(t, "testp."+name, len(kinds), body, func(i int) uint32 {
			return truth(f(float64(math.Float32frombits(kinds[i])), kinds[i]))
		})
	}
}

// TestSelect tries selp on both widths and under a predicate.
func TestSelect(t *testing.T) {
	const odd = "and.b32 %r1, %r30, 1;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.lt.u32 %p2, %r30, 20;\n"
	expect(t, "selp.b32", 64, odd+"selp.b32 %r0, %r30, 7, %p1;\n", func(i int) uint32 {
		if i&1 != 0 {
			return uint32(i)
		}
		return 7
	})
	expect(t, "selp.f64", 64, odd+"cvt.u64.u32 %d5, %r30;\nselp.f64 %d6, 0d4000000000000000, %d5, %p1;\n"+
		"mov.u32 %r0, 3;\nshr.u64 %d7, %d6, 32;\n@%p2 cvt.u32.u64 %r0, %d7;\n", func(i int) uint32 {
		switch {
		case i >= 20:
			return 3
		case i&1 != 0:
			return 0x40000000
		}
		return 0
	})
	expect(t, "selp under a predicate", 64, odd+"mov.u32 %r0, 5;\n@%p2 selp.b32 %r0, 1, 2, %p1;\n", func(i int) uint32 {
		if i >= 20 {
			return 5
		}
		return 2 - uint32(i&1)
	})
}

// TestBits tries the instructions with more operands than the table has.
func TestBits(t *testing.T) {
	expect(t, "bfi", 64, "bfi.b32 %r0, %r30, 0xffffffff, 4, 8;\n", func(i int) uint32 { return 0xfffff00f | uint32(i)<<4 })
	expect(t, "bfi by length", 64, "bfi.b32 %r0, 0, 0xffffffff, 30, %r30;\n", func(i int) uint32 {
		v := uint32(math.MaxUint32)
		for b := 30; b < 30+i && b < 32; b++ {
			v &^= 1 << b
		}
		return v
	})
	expect(t, "bfi by position", 64, "bfi.b64 %d5, 1, 0, %r30, 1;\nshr.u64 %d6, %d5, 32;\nxor.b64 %d5, %d5, %d6;\n"+
		"cvt.u32.u64 %r0, %d5;\n", func(i int) uint32 { return 1 << (i % 32) })
	const a, b, c = 0xf0, 0xcc, 0xaa
	for _, lut := range []int{0, 0x80, 0xfe, 0x96, 0x2d, 0xff} {
		text := fmt.Sprintf("mov.u32 %%r1, %d;\nmov.u32 %%r2, %d;\nlop3.b32 %%r0, %%r1, %%r2, %d, %d;\n"+
			"and.b32 %%r0, %%r0, 255;\n", a, b, c, lut)
		expect(t, "lop3", 32, text, func(int) uint32 { return uint32(lut) })
	}
	expect(t, "mov of halves", 64, "mov.b32 {%h1, %h2}, %r30;\nmov.b32 %r0, {%h2, %h1};\n",
		func(i int) uint32 { return uint32(i) << 16 })
	expect(t, "mov of words", 64, "mov.b64 %d5, {%r30, 9};\nmov.b64 {_, %r1}, %d5;\nmov.b64 {%r2, %r3}, %d5;\n"+
		"add.u32 %r0, %r1, %r2;\n",
		func(i int) uint32 { return uint32(i) + 9 })
	expect(t, "mov of quarters", 64, "cvt.u16.u32 %h1, %r30;\nmov.b64 %d5, {%h1, 2, %h1, 4};\n"+
		"mov.b64 {%h2, %h3, %h4, %h5}, %d5;\n"+
		"mov.b32 %r0, {%h4, %h5};\n", func(i int) uint32 { return uint32(i) | 4<<16 })
	expect(t, "sign in a wider register", 64, "neg.s32 %r1, %r30;\ncvt.s8.s32 %r0, %r1;\n",
		func(i int) uint32 { return uint32(-i) })
	expect(t, "signed byte", 64, "sub.s32 %r1, %r30, 8;\ncvt.u16.u32 %h1, %r1;\ncvt.s16.s8 %h2, %h1;\n"+
		"cvt.s32.s16 %r0, %h2;\n",
		func(i int) uint32 { return uint32(i - 8) })
}
