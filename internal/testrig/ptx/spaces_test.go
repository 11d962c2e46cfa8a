package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

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
