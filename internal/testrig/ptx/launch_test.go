package ptx

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLaunchChecks holds that a launch that no driver would take is an error before anything runs.
func TestLaunchChecks(t *testing.T) {
	text := head + ".visible .entry k(.param .u64 p, .param .u32 n, .param .f64 x, .param .align 4 .b8 s[12])\n" +
		".maxntid 64, 1, 1\n{\n" +
		".shared .align 4 .b8 s0[1024];\n.reg .b32 %r<3>;\nst.shared.u32 [s0], 1;\nret;\n}\n"
	k := kernel(t, text)
	if k.MaxThreads() != 64 || k.SharedBytes() != 1024 || k.Name() != "k" || len(k.Params()) != 4 || k.Params()[3].Size != 12 {
		t.Errorf("%d threads, %d bytes, %v", k.MaxThreads(), k.SharedBytes(), k.Params())
	}
	m := NewMemory(0)
	good := []any{Ptr(0), int32(1), 1.0, make([]byte, 12)}
	change := func(i int, v any) []any {
		out := append([]any(nil), good...)
		out[i] = v
		return out
	}
	for _, c := range []struct {
		name string
		l    Launch
		says string
	}{
		{"nothing", Launch{Args: good}, ""},
		{"int for 32 bits", Launch{Args: change(1, 7)}, ""},
		{"int for 64 bits", Launch{Args: change(0, 7)}, ""},
		{"grid", Launch{Grid: [3]int{1, 70000}, Args: good}, "grid"},
		{"negative grid", Launch{Grid: [3]int{-1}, Args: good}, "grid"},
		{"too many blocks", Launch{Grid: [3]int{1 << 30, 1 << 15}, Args: good}, "more than the simulator runs"},
		{"block", Launch{Block: [3]int{2000}, Args: good}, "block"},
		{"deep block", Launch{Block: [3]int{1, 1, 65}, Args: good}, "block"},
		{"threads", Launch{Block: [3]int{32, 33}, Args: good}, "1056 threads"},
		{"threads of the kernel", Launch{Block: [3]int{65}, Args: good}, "the kernel allows 64"},
		{"shared memory", Launch{Shared: 163 << 10, Args: good}, "1024 static"},
		{"shared memory of another card", Launch{Shared: 99 << 10, Args: good, Target: "sm_86"}, "sm_86 has 101376"},
		{"negative shared memory", Launch{Shared: -1, Args: good}, "shared"},
		{"too few arguments", Launch{Args: good[:3]}, "3 arguments for 4"},
		{"int too large", Launch{Args: change(1, 1<<33)}, "does not fit"},
		{"int for bytes", Launch{Args: change(3, 1)}, "does not fit"},
		{"wrong width", Launch{Args: change(0, int32(1))}, "a int32"},
		{"wrong float", Launch{Args: change(2, float32(1))}, "a float32"},
		{"bytes too short", Launch{Args: change(3, make([]byte, 8))}, "8 bytes"},
		{"bytes for a number", Launch{Args: change(2, make([]byte, 8))}, "8 bytes"},
		{"unknown type", Launch{Args: change(1, "one")}, "type string"},
		{"nil", Launch{Args: change(1, nil)}, "<nil>"},
	} {
		_, err := k.Launch(context.Background(), m, c.l)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v does not say %q", c.name, err, c.says)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := k.Launch(ctx, m, Launch{Args: good}); err != context.Canceled {
		t.Error(err)
	}
	if _, err := k.module.Kernel("other"); err == nil {
		t.Error("a kernel that is not there")
	}
	if k.module.Target() != "sm_80" || fmt.Sprint(k.module.Kernels()) != "[k]" {
		t.Errorf("%s %v", k.module.Target(), k.module.Kernels())
	}
	exact := kernel(t, strings.Replace(text, ".maxntid", ".reqntid", 1))
	if err := launch(exact, m, 1, 32, good...); err == nil {
		t.Error("32 threads where 64 are required")
	}
}

// TestSomeBlocks runs the last two blocks of a grid of two milliards, whose words begin far before what is allocated.
func TestSomeBlocks(t *testing.T) {
	k := kernel(t, entry(1, "mul.wide.u32 %d1, %r31, 4;\nadd.s64 %d1, %d1, %d30;\nst.global.u32 [%d1], %r31;"))
	const grid = 1<<31 - 1
	for _, order := range []uint64{0, 3} {
		m := NewMemory(0)
		p := alloc(t, m, "two words", 2, false)
		shift := uint64(4 * (grid - 2)) // the addresses before p wrap around
		_, err := k.Launch(context.Background(), m, Launch{Grid: [3]int{grid}, Args: []any{uint64(p) - shift},
			Only: []int{grid - 2, grid - 1}, Order: order})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint32, 2)
		if err := Download(m, got, p); err != nil || got[0] != grid-2 || got[1] != grid-1 {
			t.Errorf("%v, %v", got, err)
		}
	}
}

func TestMemory(t *testing.T) {
	m := NewMemory(1000)
	a, err := m.Alloc("a", 400)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Alloc("b", 600)
	if err != nil || m.Used() != 1000 || m.Limit() != 1000 || a%256 != 0 || b%256 != 0 {
		t.Fatal(err, m.Used(), a, b)
	}
	for name, err := range map[string]error{
		"beyond the limit":       func() error { _, err := m.Alloc("c", 1); return err }(),
		"negative":               func() error { _, err := m.Alloc("c", -1); return err }(),
		"read of nothing":        m.Read(make([]byte, 4), a),
		"beyond the end":         m.Write(a+398, make([]byte, 4)),
		"before the beginning":   m.Write(b-4, make([]byte, 4)),
		"nowhere":                m.Write(0, make([]byte, 4)),
		"fill beyond":            m.Fill(b, 1, 601),
		"fill of less than none": m.Fill(b, 1, -1),
		"forget beyond":          m.Forget(b, 601),
		"free of the middle":     m.Free(b + 4),
	} {
		if err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if err := m.Fill(a+100, 7, 8); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 8)
	if err := m.Read(out, a+100); err != nil || !bytes.Equal(out, bytes.Repeat([]byte{7}, 8)) {
		t.Error(err, out)
	}
	if err := m.Read(out, a+101); err == nil || !strings.Contains(err.Error(), "nothing wrote byte 108 of a") {
		t.Error(err)
	}
	if err := m.Forget(a+104, 1); err != nil {
		t.Fatal(err)
	}
	if err := m.Read(out, a+100); err == nil || !strings.Contains(err.Error(), "byte 104 of a") {
		t.Error(err)
	}
	x := []float32{1, float32(math.Inf(1)), -0.5}
	if err := Upload(m, b, x); err != nil {
		t.Fatal(err)
	}
	y := make([]float32, 3)
	if err := Download(m, y, b); err != nil || fmt.Sprint(x) != fmt.Sprint(y) {
		t.Error(err, y)
	}
	if err := Upload(m, b, []int64{}); err != nil {
		t.Error(err)
	}
	if err := m.Free(a); err != nil || m.Used() != 600 {
		t.Error(err, m.Used())
	}
	if err := m.Free(a); err == nil || !strings.Contains(err.Error(), "freed") {
		t.Error(err)
	}
	if err := m.Write(a, out); err == nil {
		t.Error("a write to freed memory")
	}
	c, err := m.Alloc("c", 400)
	if err != nil || c == a {
		t.Error(err, c)
	}
	empty, err := m.Alloc("empty", 0)
	if err != nil || m.Write(empty, nil) != nil || m.Write(empty, out) == nil {
		t.Error(err)
	}
}

// A product is the product of two matrices by the kernels of testdata, which clang made.
type product struct {
	n, d, m int
	memory  *Memory
	out     Ptr
	want    []float64
	launch  Launch
}

const productShared = 3*(128*36*4) + 2*3*104*20*4

func newProduct(t testing.TB, n, d, m int) *product {
	t.Helper()
	const columns, step = 104, 32
	r := rand.New(rand.NewPCG(1, 2))
	ld, dp := (d+3)&^3, (d+step-1)/step*step
	x := make([]float32, n*ld)
	for i := range n {
		for j := range d {
			x[i*ld+j] = float32(r.NormFloat64())
		}
	}
	b := make([]float64, m*d)
	high, low := make([]uint16, columns*dp), make([]uint16, columns*dp)
	for i := range m {
		for j := range d {
			v := float32(r.NormFloat64() / math.Sqrt(float64(d)))
			b[i*d+j] = float64(v)
			h := Half(v)
			high[i*dp+j], low[i*dp+j] = h, Half((v-Unhalf(h))*2048)
		}
	}
	p := &product{n: n, d: d, m: m, memory: NewMemory(0)}
	put := func(name string, size int) Ptr {
		a, err := p.memory.Alloc(name, int64(size))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	p.out = put("y", 4*n*columns)
	xs, hs, ls := put("x", 4*len(x)), put("high", 2*len(high)), put("low", 2*len(low))
	for _, err := range []error{Upload(p.memory, xs, x), Upload(p.memory, hs, high), Upload(p.memory, ls, low)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.want = make([]float64, n*columns)
	for i := range n {
		for j := range m {
			for q := range d {
				p.want[i*columns+j] += float64(x[i*ld+q]) * b[j*d+q]
			}
		}
	}
	p.launch = Launch{Grid: [3]int{(n + 127) / 128}, Block: [3]int{256}, Shared: productShared,
		Args: []any{p.out, xs, hs, ls, n, d, dp, ld, columns}}
	return p
}

// TestCompiledKernel runs a kernel of a compiler, with tensor cores, copies in flight and barriers, and compares with a plain
// loop; the bits may not depend on the order of blocks and warps, nor on how many run at once.
func TestCompiledKernel(t *testing.T) {
	m, err := Parse(sample(t, "xpt.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("xpt")
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range [][3]int{{1, 1, 1}, {77, 101, 7}, {300, 40, 100}, {130, 3, 104}} {
		p := newProduct(t, shape[0], shape[1], shape[2])
		var first []float32
		for _, l := range []Launch{{Workers: 1}, {Workers: 3}, {Workers: 1, Order: 1}, {Workers: 2, Order: 2}} {
			run := p.launch
			run.Workers, run.Order = l.Workers, l.Order
			if err := p.memory.Forget(p.out, int64(4*len(p.want))); err != nil {
				t.Fatal(err)
			}
			stats, err := k.Launch(context.Background(), p.memory, run)
			if err != nil {
				t.Fatal(err)
			}
			y := make([]float32, len(p.want))
			if err := Download(p.memory, y, p.out); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = y
				worst, scale := 0.0, 0.0
				for i, w := range p.want {
					worst, scale = max(worst, math.Abs(float64(y[i])-w)), max(scale, math.Abs(w))
				}
				if worst > 2e-6*scale {
					t.Errorf("%v: off by %g of %g", shape, worst, scale)
				}
				steps := (shape[1] + 31) / 32
				if want := int64(run.Grid[0]) * 8 * int64(steps) * 78 * 4096; stats.Tensor != want {
					t.Errorf("%v: %d operations on tensor cores, not %d", shape, stats.Tensor, want)
				}
				continue
			}
			for i := range y {
				if math.Float32bits(y[i]) != math.Float32bits(first[i]) {
					t.Fatalf("%v, %d workers, order %d: element %d is %v, not %v", shape, l.Workers, l.Order, i, y[i],
						first[i])
				}
			}
		}
	}
}

// TestCompiledFaults plants faults into that kernel, or into its launch.
func TestCompiledFaults(t *testing.T) {
	text := sample(t, "xpt.ptx")
	nth := func(old, new string, n int) string {
		parts := strings.Split(text, old)
		if len(parts) <= n {
			t.Fatalf("%q is there %d times", old, len(parts)-1)
		}
		return strings.Join(parts[:n], old) + new + strings.Join(parts[n:], old)
	}
	for _, c := range []struct {
		name, text string
		change     func(p *product)
		kind       Kind
	}{
		{name: "none", text: text},
		{name: "barrier between wait and read gone", text: nth("bar.sync \t0;", "", 2), kind: Race},
		// The barrier at the end of a step is not needed: the next step's comes before the copy to the stage that was read.
		{name: "barrier that is not needed gone", text: nth("bar.sync \t0;", "", 1)},
		{name: "waits for one group less", text: strings.Replace(text, "wait_group 1", "wait_group 2", 1), kind: Pending},
		{name: "shared memory too small", text: text, change: func(p *product) { p.launch.Shared /= 3 }, kind: OutOfBounds},
		{name: "more rows than there are", text: text, kind: OutOfBounds,
			change: func(p *product) { p.launch.Args[4], p.launch.Grid[0] = p.n+1, 2 }},
		{name: "panels too short", text: text, change: func(p *product) { p.launch.Args[6] = 160 }, kind: OutOfBounds},
		{name: "rows at odd addresses", text: text, change: func(p *product) { p.launch.Args[7] = p.d - 1 },
			kind: Misaligned},
		{name: "blocks write the same rows", text: strings.ReplaceAll(text, "%ctaid.x", "%ctaid.y"), kind: Race,
			change: func(p *product) { p.launch.Grid[0] = 2; p.launch.Workers = 1 }},
	} {
		m, err := Parse(c.text)
		if err != nil {
			t.Fatal(c.name, err)
		}
		k, err := m.Kernel("xpt")
		if err != nil {
			t.Fatal(err)
		}
		p := newProduct(t, 128, 128, 104)
		if c.change != nil {
			c.change(p)
		}
		_, err = k.Launch(context.Background(), p.memory, p.launch)
		if c.kind == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		t.Run(c.name, func(t *testing.T) { faultOf(t, err, c.kind) })
	}
}

func BenchmarkProduct(b *testing.B) {
	m, err := Parse(sample(b, "xpt.ptx"))
	if err != nil {
		b.Fatal(err)
	}
	k, err := m.Kernel("xpt")
	if err != nil {
		b.Fatal(err)
	}
	p := newProduct(b, 256, 512, 104)
	var stats Stats
	b.ResetTimer()
	for range b.N {
		if stats, err = k.Launch(context.Background(), p.memory, p.launch); err != nil {
			b.Fatal(err)
		}
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(stats.Instructions)/seconds/1e6, "Minstructions/s")
	b.ReportMetric(float64(stats.Tensor)/seconds/1e6, "Mtensor-flop/s")
}

func BenchmarkInstructions(b *testing.B) {
	k := kernel(b, entry(1, "mov.u32 %r1, 0;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f3F000000;\nagain:\n"+
		"fma.rn.f32 %f1, %f1, %f2, %f2;\n"+
		"add.u32 %r2, %r1, %r30;\nmul.lo.u32 %r3, %r2, 5;\nand.b32 %r4, %r3, 255;\nmul.f32 %f3, %f1, %f2;\n"+
		"add.f32 %f2, %f2, %f3;\n"+
		"mul.f32 %f2, %f2, 0f3F000000;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 1000;\n@%p1 bra again;\n"))
	m := NewMemory(0)
	var n int64
	for range b.N {
		stats, err := k.Launch(context.Background(), m, Launch{Grid: [3]int{8}, Block: [3]int{256},
			Args: []any{Ptr(0)}, Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		n += stats.Instructions
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Minstructions/s")
}
