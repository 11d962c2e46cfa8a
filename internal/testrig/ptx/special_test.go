package ptx

import (
	"encoding/binary"
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

// TestShuffles compares the four ways of shfl.sync, whole and in segments, with the manual's words.
func TestShuffles(t *testing.T) {
	for _, mode := range []string{"up", "down", "bfly", "idx"} {
		for _, segment := range []int{32, 16, 8, 4} {
			for _, b := range []int{0, 1, 3, 4, 9, 16, 31} {
				clamp := 31
				if mode == "up" {
					clamp = 0
				}
				c := (32-segment)<<8 | clamp
				text := fmt.Sprintf("add.u32 %%r1, %%r30, 100;\nshfl.sync.%s.b32 %%r2|%%p1, %%r1, %d, %d, -1;\n"+
					"selp.u32 %%r3, 1000, 0, %%p1;\n"+
					"add.u32 %%r0, %%r2, %%r3;\n", mode, b, c)
				expect(t, fmt.Sprint(mode, " ", segment, " ", b), 64, text, func(i int) uint32 {
					lane, first := i%32, i%32/segment*segment
					from, ok := 0, true
					switch mode {
					case "up":
						from, ok = lane-b, lane-b >= first
					case "down":
						from, ok = lane+b, lane+b < first+segment
					case "bfly":
						from, ok = lane^b, lane^b < first+segment
					case "idx":
						from = first + b%segment
					}
					if !ok {
						from = lane
					}
					return uint32(100+i-lane+from) + 1000*truth(ok)
				})
			}
		}
	}
	// Two halves of a warp, each for itself, after they parted.
	expect(t, "halves", 32, "setp.lt.u32 %p1, %r30, 16;\n@%p1 bra low;\n"+
		"shfl.sync.bfly.b32 %r0, %r30, 1, 31, 0xffff0000;\nbra over;\n"+
		"low:\nshfl.sync.bfly.b32 %r0, %r30, 2, 31, 0x0000ffff;\nover:\n", func(i int) uint32 {
		if i < 16 {
			return uint32(i ^ 2)
		}
		return uint32(i ^ 1)
	})
}

// TestVotes tries the other instructions of whole warps.
func TestVotes(t *testing.T) {
	expect(t, "ballot", 64, "and.b32 %r1, %r30, 3;\nsetp.eq.u32 %p1, %r1, 1;\nvote.sync.ballot.b32 %r0, %p1, -1;\n",
		func(int) uint32 { return 0x22222222 })
	expect(t, "ballot of the negated", 64, "setp.ge.u32 %p1, %r30, 40;\nvote.sync.ballot.b32 %r0, !%p1, -1;\n",
		func(i int) uint32 {
			if i < 32 {
				return 0xffffffff
			}
			return 0xff
		})
	expect(t, "activemask", 32, "mov.u32 %r0, 0;\nsetp.lt.u32 %p1, %r30, 5;\n@%p1 activemask.b32 %r0;\n", func(i int) uint32 {
		return 0x1f * truth(i < 5)
	})
	for op, want := range map[string]uint32{"add.s32": 31 * 16, "min.u32": 0, "max.s32": 31, "or.b32": 31,
		"and.b32": 0, "xor.b32": 0} {
		expect(t, "redux."+op, 32, "redux.sync."+op+" %r0, %r30, -1;\n", func(int) uint32 { return want })
	}
	expect(t, "match", 64, "and.b32 %r1, %r30, 7;\nmatch.any.sync.b32 %r0, %r1, -1;\n",
		func(i int) uint32 { return 0x01010101 << (i & 7) })
	expect(t, "lanes", 64, "mov.u32 %r1, %laneid;\nmov.u32 %r2, %lanemask_lt;\nmov.u32 %r3, %lanemask_ge;\n"+
		"mov.u32 %r4, %lanemask_eq;\n"+
		"mov.u32 %r5, %lanemask_le;\nmov.u32 %r6, %lanemask_gt;\nxor.b32 %r7, %r2, %r3;\nxor.b32 %r8, %r5, %r6;\n"+
		"and.b32 %r7, %r7, %r8;\n"+
		"and.b32 %r8, %r4, %r5;\nand.b32 %r8, %r8, %r3;\nclz.b32 %r8, %r8;\nadd.u32 %r8, %r8, %r1;\nadd.u32 %r0, %r7, %r8;\n",
		func(int) uint32 { return 30 }) // all ones and 31
}

// TestAtomics holds that atomics of all threads make the sum of what they add, and others what they say.
func TestAtomics(t *testing.T) {
	for _, c := range []struct {
		op, value string
		first     uint32
		want      uint32
	}{
		{"add.u32", "%r33", 5, 5 + 127*64}, {"min.s32", "%r33", 9, 0}, {"max.u32", "%r33", 9, 127}, {"or.b32", "%r33",
			0, 127},
		{"and.b32", "%r33", 0xff, 0}, {"xor.b32", "%r33", 1, 1}, {"inc.u32", "99", 3, (3 + 128) % 100}, {"dec.u32",
			"99", 3, (3 + 100 - 28) % 100},
	} {
		for _, form := range []string{"red.global.", "red.relaxed.gpu.global.", "atom.global.", "atom.", "shared"} {
			var body string
			switch {
			case form == "shared":
				body = sharedWords + fmt.Sprintf("setp.eq.u32 %%p1, %%r30, 0;\n@%%p1 st.shared.u32 [s], %d;\nbar.sync 0;\n"+
					"atom.shared.%s %%r1, [s], %s;\nbar.sync 0;\n@!%%p1 ret;\nld.shared.u32 %%r1, [s];\n"+
					"st.global.u32 [%%d30], %%r1;\n",
					c.first, c.op, c.value)
			case strings.HasPrefix(form, "red"):
				body = form + c.op + " [%d30], " + c.value + ";\n"
			default:
				body = form + c.op + " %r1, [%d30], " + c.value + ";\n"
			}
			k := kernel(t, entry(1, body))
			m := NewMemory(0)
			a := alloc(t, m, "a", 1, false)
			if err := Upload(m, a, []uint32{c.first}); err != nil {
				t.Fatal(err)
			}
			grid, block := 4, 32
			if form == "shared" {
				grid, block = 1, 128
			}
			if err := launch(k, m, grid, block, a); err != nil {
				t.Fatal(c, form, err)
			}
			if got := words(t, m, a, 1)[0]; got != c.want {
				t.Errorf("%s%s: %d, not %d", form, c.op, got, c.want)
			}
		}
	}
	// Each thread gets another ticket; a float sum of small whole numbers is exact in any order.
	expect(t, "cas and exch", 1, "atom.global.exch.b32 %r1, [%d30], 8;\natom.global.cas.b32 %r2, [%d30], 8, 9;\n"+
		"atom.global.cas.b32 %r3, [%d30], 8, 10;\nshl.b32 %r2, %r2, 8;\nshl.b32 %r3, %r3, 16;\nor.b32 %r0, %r1, %r2;\n"+
		"or.b32 %r0, %r0, %r3;\n",
		func(int) uint32 { return 0 | 8<<8 | 9<<16 })
	k := kernel(t, entry(1, "atom.global.add.f32 %f1, [%d30], 0f3F800000;\n"+
		"red.global.add.f64 [%d30+8], 0d3FE0000000000000;\n"+
		"red.global.add.u64 [%d30+16], 0x100000001;\n"))
	m := NewMemory(0)
	a, _ := m.Alloc("a", 24)
	if err := m.Fill(a, 0, 24); err != nil {
		t.Fatal(err)
	}
	if err := launch(k, m, 3, 32, a); err != nil {
		t.Fatal(err)
	}
	out := make([]uint64, 3)
	if err := Download(m, out, a); err != nil {
		t.Fatal(err)
	}
	if f := math.Float32frombits(uint32(out[0])); f != 96 || math.Float64frombits(out[1]) != 48 || out[2] != 96<<32|96 {
		t.Errorf("%v %v %#x", f, math.Float64frombits(out[1]), out[2])
	}
}

// TestMemories moves values of every width through every space.
func TestMemories(t *testing.T) {
	for _, space := range []string{"global", "shared", "local", "generic global", "generic shared", "generic local"} {
		for _, ty := range []string{"u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "f32", "u64", "s64",
			"b64", "f64"} {
			tt := types[ty]
			n := tt.bits / 8
			setup := map[string]string{
				"global": "add.s64 %d10, %d31, 0;\n",
				"shared": ".shared .align 8 .b8 s[1024];\nmov.u64 %d10, s;\n",
				"local":  ".local .align 8 .b8 l[16];\nmov.u64 %d10, l;\n",
			}[strings.TrimPrefix(space, "generic ")]
			mod := "." + space
			if name, generic := strings.CutPrefix(space, "generic "); generic {
				setup += "cvta." + name + ".u64 %d10, %d10;\n"
				mod = ""
			}
			if !strings.HasSuffix(space, "local") {
				setup += "mul.wide.u32 %d11, %r30, 8;\nadd.s64 %d10, %d10, %d11;\n"
			}
			setup += "cvt.u64.u32 %d12, %r30;\nmul.lo.u64 %d12, %d12, 0xfedcba9876543210;\nmov.u64 %d13, 0;\n" +
				"mov.u32 %r9, 0;\nmov.u16 %h1, 0;\n"
			body := setup + fmt.Sprintf("st%s.%s [%%d10], %%d12;\nld%[1]s.%[2]s %%d13, [%%d10];\n", mod, ty)
			if tt.kind == 'f' { // only whole numbers may be narrower than their register
				body = setup + fmt.Sprintf("mov.b64 {%%r1, %%r2}, %%d12;\nst%s.b%d [%%d10], %s;\n"+
					"ld%s.%s %s, [%%d10];\n", mod, tt.bits,
					map[int]string{32: "%r1", 64: "%d12"}[tt.bits], mod, ty, map[int]string{32: "%f1", 64: "%d13"}[tt.bits])
				if tt.bits == 32 {
					body += "mov.b32 %r1, %f1;\ncvt.u64.u32 %d13, %r1;\n"
				}
			}
			fold := "shr.u64 %d14, %d13, 32;\nxor.b64 %d13, %d13, %d14;\ncvt.u32.u64 %r0, %d13;\n"
			k := kernel(t, entry(3, body+fold+"mul.wide.u32 %d0, %r33, 4;\nadd.s64 %d2, %d32, %d0;\n"+
				"st.global.u32 [%d2], %r0;\n"))
			m := NewMemory(0)
			a, b, c := alloc(t, m, "a", 1, true), alloc(t, m, "b", 256, false), alloc(t, m, "c", 64, false)
			if err := launch(k, m, 1, 64, a, b, c); err != nil {
				t.Fatalf("%s %s: %v", space, ty, err)
			}
			for i, got := range words(t, m, c, 64) {
				v := uint64(i) * 0xfedcba9876543210
				v &= math.MaxUint64 >> (64 - 8*n)
				if tt.kind == 's' {
					v = uint64(int64(v<<(64-8*n)) >> (64 - 8*n))
				}
				if want := uint32(v>>32 ^ v); got != want {
					t.Fatalf("%s %s: thread %d has %#x, not %#x", space, ty, i, got, want)
				}
			}
		}
	}
}

// TestVectors loads and stores several elements at once.
func TestVectors(t *testing.T) {
	body := "mul.wide.u32 %d0, %r30, 16;\nadd.s64 %d1, %d30, %d0;\nadd.s64 %d2, %d31, %d0;\n" +
		"ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];\nld.global.v2.u64 {%d3, %d4}, [%d1];\n" +
		"ld.global.v2.f32 {%f1, _}, [%d1+8];\n" +
		"mov.b32 %r5, %f1;\ncvt.u32.u64 %r6, %d4;\nsub.u32 %r7, %r5, %r6;\nadd.u32 %r1, %r1, %r7;\n" +
		"st.global.v4.b32 [%d2], {%r4, %r3, %r2, %r1};\n"
	k := kernel(t, entry(2, body))
	m := NewMemory(0)
	a, b := alloc(t, m, "a", 128, true), alloc(t, m, "b", 128, false)
	if err := launch(k, m, 1, 32, a, b); err != nil {
		t.Fatal(err)
	}
	for i, v := range words(t, m, b, 128) {
		if int(v) != i&^3+3-i&3 {
			t.Fatalf("word %d is %d", i, v)
		}
	}
}

// TestParams reads parameters of every size, a struct among them.
func TestParams(t *testing.T) {
	text := head + `.visible .entry k(.param .u64 out, .param .u8 b, .param .u16 h, .param .f32 f, .param .f64 d,
		.param .align 8 .b8 s[24])
{
	.reg .b32 %r<9>;
	.reg .b64 %d<9>;
	.reg .f32 %f<3>;
	ld.param.u64 %d0, [out];
	ld.param.f32 %f1, [f];
	st.global.f32 [%d0], %f1;
	ld.param.u64 %d1, [d];
	st.global.u64 [%d0+8], %d1;
	ld.param.u32 %r1, [s+20];
	st.global.u32 [%d0+4], %r1;
	mov.b64 %d2, s;
	ld.param.u64 %d3, [%d2+8];
	st.global.u64 [%d0+16], %d3;
	ret;
}`
	k := kernel(t, strings.Replace(text, ".param .u8 b, .param .u16 h, ", "", 1))
	m := NewMemory(0)
	p, _ := m.Alloc("out", 24)
	s := make([]byte, 24)
	for i := range s {
		s[i] = byte(i + 1)
	}
	if err := launch(k, m, 1, 1, p, float32(1.5), 2.5, s); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 24)
	if err := m.Read(out, p); err != nil {
		t.Fatal(err)
	}
	if f := math.Float32frombits(binary.LittleEndian.Uint32(out)); f != 1.5 {
		t.Error(f)
	}
	if d := math.Float64frombits(binary.LittleEndian.Uint64(out[8:])); d != 2.5 {
		t.Error(d)
	}
	if string(out[4:8]) != string(s[20:]) || string(out[16:]) != string(s[8:16]) {
		t.Error(out)
	}
}

// TestVariables reads the variables of a module.
func TestVariables(t *testing.T) {
	text := head + `.global .align 4 .u32 table[4] = {3, 5, -1, 0x10};
.const .align 8 .f64 half = 0d3FE0000000000000;
.global .align 4 .b8 count[4];
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<9>;
	.reg .b64 %d<9>;
	ld.param.u64 %d0, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %d1, %r1, 4;
	mov.u64 %d2, table;
	add.s64 %d2, %d2, %d1;
	ld.global.u32 %r2, [%d2];
	ld.global.u32 %r3, [table+4];
	ld.const.u64 %d3, [half];
	shr.u64 %d3, %d3, 52;
	cvt.u32.u64 %r4, %d3;
	add.u32 %r2, %r2, %r3;
	add.u32 %r2, %r2, %r4;
	add.s64 %d0, %d0, %d1;
	red.global.add.u32 [count], 1;
	st.global.u32 [%d0], %r2;
	ret;
}
.visible .entry counted(.param .u64 out)
{
	.reg .b32 %r<9>;
	.reg .b64 %d<9>;
	ld.param.u64 %d0, [out];
	ld.global.u32 %r1, [count];
	st.global.u32 [%d0], %r1;
	ret;
}`
	k := kernel(t, text)
	m := NewMemory(0)
	p := alloc(t, m, "out", 4, false)
	for range 2 {
		if err := launch(k, m, 1, 4, p); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range words(t, m, p, 4) {
		if want := []uint32{3, 5, math.MaxUint32, 16}[i] + 5 + 0x3fe; v != want {
			t.Errorf("%d: %#x, not %#x", i, v, want)
		}
	}
	c, err := k.module.Kernel("counted")
	if err != nil {
		t.Fatal(err)
	}
	if err := launch(c, m, 1, 1, p); err != nil {
		t.Fatal(err)
	}
	if v := words(t, m, p, 1)[0]; v != 8 {
		t.Errorf("the variable lived over two launches of 4 threads, and is %d", v)
	}
	k = kernel(t, strings.Replace(text, "ld.const.u64 %d3, [half];", "mov.u64 %d3, half;\nst.global.u64 [%d3], %d1;", 1))
	faultOf(t, launch(k, NewMemory(0), 1, 1, Ptr(0)), OutOfBounds)
}

// TestParting runs loops and branches that part warps in many ways, and compares with the same program in Go.
func TestParting(t *testing.T) {
	// Collatz: every lane loops as often as its number takes, with a branch in the loop, and all meet at the shuffle.
	text := "add.u32 %r1, %r30, 1;\nmov.u32 %r2, 0;\nagain:\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra out;\n" +
		"and.b32 %r3, %r1, 1;\n" +
		"setp.ne.u32 %p2, %r3, 0;\n@%p2 bra odd;\nshr.u32 %r1, %r1, 1;\nbra next;\nodd:\nmad.lo.u32 %r1, %r1, 3, 1;\n" +
		"next:\n" +
		"add.u32 %r2, %r2, 1;\nbra again;\nout:\nshfl.sync.bfly.b32 %r0, %r2, 1, 31, -1;\n"
	collatz := func(n uint32) (steps uint32) {
		for ; n != 1; steps++ {
			if n&1 != 0 {
				n = 3*n + 1
			} else {
				n /= 2
			}
		}
		return steps
	}
	expect(t, "collatz", 96, text, func(i int) uint32 { return collatz(uint32(i^1) + 1) })
	// The code after the branch lies before it, so that the lanes that go on are those behind.
	expect(t, "backwards", 64, "setp.lt.u32 %p1, %r30, 10;\nbra start;\nfirst:\nadd.u32 %r0, %r30, 100;\nbra over;\n"+
		"start:\n@%p1 bra first;\n"+
		"add.u32 %r0, %r30, 200;\nover:\nshfl.sync.idx.b32 %r1, %r0, 0, 31, -1;\nadd.u32 %r0, %r0, %r1;\n",
		func(i int) uint32 {
			v := func(i int) uint32 {
				if i < 10 {
					return uint32(i) + 100
				}
				return uint32(i) + 200
			}
			return v(i) + v(i&^31)
		})
	expect(t, "table", 64, "t: .branchtargets zero, one, two, one;\nand.b32 %r1, %r30, 3;\nmov.u32 %r0, 9;\n"+
		"setp.lt.u32 %p1, %r30, 60;\n"+
		"@%p1 brx.idx %r1, t;\nbra over;\nzero:\nmov.u32 %r0, 10;\nbra over;\none:\nmov.u32 %r0, 11;\nbra over;\ntwo:\n"+
		"mov.u32 %r0, 12;\nover:\n",
		func(i int) uint32 {
			if i >= 60 {
				return 9
			}
			return []uint32{10, 11, 12, 11}[i&3]
		})
	// Lanes wait at the shuffle, which lies before the code that the others come from.
	expect(t, "waiting", 64, "mov.u32 %r2, 5;\nsetp.lt.u32 %p1, %r30, 40;\nbra start;\nhere:\n"+
		"shfl.sync.bfly.b32 %r0, %r2, 31, 31, -1;\nbra out;\nstart:\n@%p1 bra here;\nmov.u32 %r2, 6;\nbra here;\nout:\n",
		func(i int) uint32 { return 5 + truth(i^31 >= 40) })
	// Lanes end one after the other; those that are left go on.
	expect(t, "ending", 64, "mov.u32 %r0, 1;\nsetp.gt.u32 %p1, %r30, 63;\n@%p1 exit;\nmov.u32 %r2, 0;\nloop:\n"+
		"add.u32 %r2, %r2, 1;\n"+
		"setp.lt.u32 %p2, %r2, %r30;\n@%p2 bra loop;\nadd.u32 %r0, %r2, 1;\n",
		func(i int) uint32 { return max(uint32(i), 1) + 1 })
}

// TestScopes holds that inline assembly has names of its own.
func TestScopes(t *testing.T) {
	expect(t, "scopes", 64, "mov.u32 %r1, 3;\n{\n.reg .b32 x;\nmov.u32 x, %r30;\n{\n.reg .b32 x, %r<2>;\n"+
		"mov.u32 x, 9;\nmov.u32 %r1, x;\n"+
		"setp.eq.u32 %p1, %r1, 8;\n@%p1 bra end;\nend:\n}\nadd.u32 x, x, %r1;\nmov.u32 %r0, x;\nbra end;\nend:\n}\n",
		func(i int) uint32 { return uint32(i) + 3 })
}

// TestSharedLayout holds static and dynamic shared memory apart.
func TestSharedLayout(t *testing.T) {
	text := strings.Replace(entry(1, ".shared .align 4 .b8 one[20];\n.shared .align 8 .b8 two[16];\nmov.u32 %r1, one;\n"+
		"mov.u32 %r2, two;\n"+
		"mov.u32 %r3, raw;\nmov.u32 %r4, raw+4;\nst.global.v4.u32 [%d30], {%r1, %r2, %r3, %r4};\n"+
		"st.shared.u32 [raw+60], %r1;\n"),
		".visible", ".extern .shared .align 16 .b8 raw[];\n.visible", 1)
	k := kernel(t, text)
	if k.SharedBytes() != 40 {
		t.Errorf("%d static bytes", k.SharedBytes())
	}
	m := NewMemory(0)
	p := alloc(t, m, "a", 4, false)
	l := Launch{Shared: 64, Args: []any{p}}
	if _, err := k.Launch(t.Context(), m, l); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(words(t, m, p, 4)); got != "[0 24 48 52]" {
		t.Error(got)
	}
	l.Shared = 60
	_, err := k.Launch(t.Context(), m, l)
	faultOf(t, err, OutOfBounds)
}

// TestThreeDimensions compares the indices of threads and blocks.
func TestThreeDimensions(t *testing.T) {
	text := entry(1, "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\nmov.u32 %r4, %ntid.x;\n"+
		"mov.u32 %r5, %ntid.y;\n"+
		"mov.u32 %r6, %ntid.z;\nmad.lo.u32 %r7, %r3, %r5, %r2;\nmad.lo.u32 %r7, %r7, %r4, %r1;\n"+
		"mov.u32 %r8, %ctaid.x;\nmov.u32 %r9, %ctaid.y;\n"+
		"mov.u32 %r10, %ctaid.z;\nmov.u32 %r11, %nctaid.x;\nmov.u32 %r12, %nctaid.y;\nmov.u32 %r13, %nctaid.z;\n"+
		"mad.lo.u32 %r14, %r10, %r12, %r9;\n"+
		"mad.lo.u32 %r14, %r14, %r11, %r8;\nmul.lo.u32 %r15, %r4, %r5;\nmul.lo.u32 %r15, %r15, %r6;\n"+
		"mad.lo.u32 %r16, %r14, %r15, %r7;\n"+
		"mul.wide.u32 %d1, %r16, 4;\nadd.s64 %d1, %d30, %d1;\nmad.lo.u32 %r17, %r13, 1000, %r16;\n"+
		"st.global.u32 [%d1], %r17;\n")
	k := kernel(t, text)
	m := NewMemory(0)
	n := 2 * 3 * 4 * 5 * 3 * 2
	p := alloc(t, m, "a", n, false)
	if _, err := k.Launch(t.Context(), m, Launch{Grid: [3]int{2, 3, 4}, Block: [3]int{5, 3, 2}, Args: []any{p}}); err != nil {
		t.Fatal(err)
	}
	for i, v := range words(t, m, p, n) {
		if v != uint32(4000+i) {
			t.Fatalf("word %d is %d", i, v)
		}
	}
}
