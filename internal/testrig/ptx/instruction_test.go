package ptx

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// edges are the values that instructions are tried on, by type.
func edges(t typ) []uint64 {
	var out []uint64
	floats := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -2.5, 3, 1.0 / 3, -100.7, 65504, 65519.9,
		65520, 1e-7, -6e-8,
		1e10, -1e20, 1e38, 0x1p-126, 0x1.fffffep-127, 0x1p-149, -0x1p-140, 0x1p-24, 0x1.8p-25, 255.5, -128.5, 32767.5,
		0x1.000001p0, -0x1.fffffep23, 2147483648, 4294967295.5, 9.3e18, math.Inf(1), math.Inf(-1), math.NaN()}
	switch {
	case t.kind == 'f' && t.bits == 64:
		for _, x := range append(floats, 0x1p-1074, -0x1p-1022, 1e308, 0x1.0000001p0, 0x1.00000010000001p0, 1e-300) {
			out = append(out, math.Float64bits(x))
		}
	case t.kind == 'f' && t.bits == 32 && t.pack == 1, t.kind == 't':
		for _, x := range floats {
			out = append(out, uint64(math.Float32bits(float32(x))))
		}
	case t.kind == 'f' && t.pack == 1:
		out = []uint64{0, 0x8000, 0x3c00, 0xbc00, 0x3800, 1, 0x8001, 0x3ff, 0x400, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
			0x7e00, 0x3c01, 0x5bff,
			0x3555, 0xb555, 0x1400, 0x6401, 0x4100, 0xc100}
	case t.kind == 'h' && t.pack == 1:
		out = []uint64{0, 0x8000, 0x3f80, 0xbf80, 0x3f00, 1, 0x8001, 0x7f, 0x80, 0x7f7f, 0xff7f, 0x7f80, 0xff80,
			0x7fc0, 0x3f81, 0x4b7f,
			0x3eab, 0xbeab, 0x0b80, 0x5f81, 0x4020, 0xc020}
	case t.pack == 2:
		half := edges(typ{t.kind, 16, 1})
		for i, v := range half {
			out = append(out, v|half[(i*7+3)%len(half)]<<16)
		}
	default:
		for _, v := range []uint64{0, 1, 2, 3, 5, 7, 8, 15, 16, 30, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256,
			0x1234, 0x7fff, 0x8000,
			0xffff, 0x12345678, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000001, 0x0123456789abcdef,
			0x4000002000000001,
			0x8000008000000000, 0x8000008000000001,
			0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffd, 0xffffffffffffffff} {
			if v = cut(v, t.bits); !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// combinations returns tuples of edge values: all of them, or where that is too many a share.
func combinations(src []typ) [][3]uint64 {
	var out [][3]uint64
	lists := [3][]uint64{{0}, {0}, {0}}
	total := 1
	for i, t := range src {
		lists[i] = edges(t)
		total *= len(lists[i])
	}
	most := 2500
	if !testutil.Slow {
		most = 150
	}
	stride := max(1, total/most)
	n := 0
	for _, a := range lists[0] {
		for _, b := range lists[1] {
			for _, c := range lists[2] {
				if n++; n%stride == 0 {
					out = append(out, [3]uint64{a, b, c})
				}
			}
		}
	}
	return out
}

var registerOf = map[int]string{8: "%h", 16: "%h", 32: "%r", 64: "%d"}

// operationKernel writes a kernel that stores the result of op for three operands, once computed by all lanes and once by the
// odd ones. Operands lie as 64-bit words at a, results at b.
func operationKernel(name, op string, dst typ, src []typ) string {
	var s strings.Builder
	fmt.Fprintf(&s, ".visible .entry %s(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n", name)
	s.WriteString(".reg .pred %p<3>;\n.reg .b16 %h<6>;\n.reg .b32 %r<12>;\n.reg .b64 %d<16>;\n")
	s.WriteString("ld.param.u64 %d10, [a];\nld.param.u64 %d11, [b];\nld.param.u32 %r8, [n];\n" +
		"mov.u32 %r9, %tid.x;\nmov.u32 %r10, %ctaid.x;\nmov.u32 %r11, %ntid.x;\nmad.lo.s32 %r9, %r10, %r11, %r9;\n" +
		"setp.ge.u32 %p1, %r9, %r8;\n@%p1 bra over;\n" +
		"mul.wide.u32 %d12, %r9, 24;\nadd.s64 %d10, %d10, %d12;\nmul.wide.u32 %d12, %r9, 16;\nadd.s64 %d11, %d11, %d12;\n")
	args := ""
	for i, t := range src {
		fmt.Fprintf(&s, "ld.global.u%d %s%d, [%%d10+%d];\n", t.bits, registerOf[t.bits], i+1, 8*i)
		args += fmt.Sprintf(", %s%d", registerOf[t.bits], i+1)
	}
	d := registerOf[dst.bits] + "0"
	fmt.Fprintf(&s, "mov.b64 %%d13, 0;\nst.global.u64 [%%d11], %%d13;\nst.global.u64 [%%d11+8], %%d13;\n")
	fmt.Fprintf(&s, "%s %s%s;\nst.global.u%d [%%d11], %s;\n", op, d, args, dst.bits, d)
	fmt.Fprintf(&s, "mov.b%d %s, 0;\nand.b32 %%r10, %%r9, 1;\nsetp.ne.u32 %%p2, %%r10, 0;\n", max(dst.bits, 16), d)
	fmt.Fprintf(&s, "@%%p2 %s %s%s;\nst.global.u%d [%%d11+8], %s;\nover:\nret;\n}\n", op, d, args, dst.bits, d)
	return s.String()
}

// TestOperations compares every operation of the table with the reference, on edge values, over whole and part warps.
func TestOperations(t *testing.T) {
	names := sortedKeys(table())
	if len(names) < 500 {
		t.Fatalf("%d operations", len(names))
	}
	for from := 0; from < len(names); from += 64 {
		var text strings.Builder
		text.WriteString(head)
		part := names[from:min(from+64, len(names))]
		for i, name := range part {
			text.WriteString(operationKernel(fmt.Sprintf("k%d", i), name, table()[name].dst, table()[name].src))
		}
		m, err := Parse(text.String())
		if err != nil {
			t.Fatalf("%v", err)
		}
		for i, name := range part {
			k, err := m.Kernel(fmt.Sprintf("k%d", i))
			if err != nil {
				t.Fatal(err)
			}
			operate(t, k, name, table()[name])
		}
	}
}

func operate(t *testing.T, k *Kernel, name string, o *operation) {
	cases := combinations(o.src)
	op := newOpcode(name)
	if op.base == "div" || op.base == "rem" { // TestPlantedFaults has the division of whole numbers by zero
		if ty, _ := op.typ(); !ty.float() {
			cases = slices.DeleteFunc(cases, func(c [3]uint64) bool { return c[1] == 0 })
		}
	}
	m := NewMemory(0)
	in := make([]uint64, 0, 3*len(cases))
	for _, c := range cases {
		in = append(in, c[:]...)
	}
	a, _ := m.Alloc("a", int64(8*len(in)))
	b, _ := m.Alloc("b", int64(16*len(cases)))
	if err := Upload(m, a, in); err != nil {
		t.Fatal(err)
	}
	_, err := k.Launch(context.Background(), m, Launch{Grid: [3]int{(len(cases) + 127) / 128}, Block: [3]int{128},
		Args: []any{a, b, len(cases)}})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	out := make([]uint64, 2*len(cases))
	if err := Download(m, out, b); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for i, c := range cases {
		want, slack := reference(op, o, c)
		got := out[2*i]
		if got != want && !(slack > 0 && ulps(got, want) <= slack) {
			if failures++; failures < 4 {
				t.Errorf("%s of %#x: %#x, not %#x", name, c[:len(o.src)], got, want)
			}
		}
		if odd := map[bool]uint64{true: got, false: 0}[i&1 != 0]; out[2*i+1] != odd {
			t.Errorf("%s of %#x for part of a warp: %#x, not %#x", name, c[:len(o.src)], out[2*i+1], odd)
		}
	}
}

// reference returns what an operation gives, and how many units in the last place of a float32 it may be off.
func reference(op opcode, o *operation, c [3]uint64) (uint64, int) {
	if op.base == "cvt" {
		last := op.mods[len(op.mods)-2]
		if len(o.src) == 2 { // two float32 into a pair
			half := strings.TrimSuffix(last, "x2")
			convert := func(v uint64) uint64 {
				if op.has("relu") && (math.Float32frombits(uint32(v)) <= 0) {
					return 0
				}
				return refConvert(append(op.without("relu", last, "f32"), half, "f32"), v)
			}
			return convert(c[0])<<16 | convert(c[1]), 0
		}
		return refConvert(op.mods, c[0]), 0
	}
	t, _ := op.typ()
	name := op.base
	for _, m := range op.without("ftz", "sat") {
		if _, ok := types[m]; !ok {
			name += "." + m
		}
	}
	switch {
	case !t.float():
		v, _ := refInteger(name, t, c[0], c[1], c[2])
		return v, 0
	case t.bits == 64:
		return refDouble(name, c[0], c[1], c[2]), 0
	case t.pack == 2:
		f := refFormats[map[byte]string{'f': "f16", 'h': "bf16"}[t.kind]]
		lo, _ := refFloat(name, f, false, c[0]&0xffff, c[1]&0xffff, c[2]&0xffff)
		hi, _ := refFloat(name, f, false, c[0]>>16, c[1]>>16, c[2]>>16)
		return lo | hi<<16, 0
	}
	f := refFormats[op.mods[len(op.mods)-1]]
	v, approximate := refFloat(name, f, op.has("ftz"), c[0], c[1], c[2])
	if op.has("sat") {
		switch x := math.Float32frombits(uint32(v)); {
		case !(x > 0):
			v = 0
		case x > 1:
			v = 0x3f800000
		}
	}
	if approximate {
		return v, 4
	}
	return v, 0
}
