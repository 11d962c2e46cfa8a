package ptx

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// A product of matrices as the manual lays its elements out: row and column of element e of each operand in a lane.
type layout struct {
	name    string
	m, n, k int
	inA     func(lane, e int) (row, col int)
	inB     func(lane, e int) (row, col int)
	countA  int // elements of A in a lane
	countB  int
	format  string
}

func layouts() []layout {
	group := func(lane int) (int, int) { return lane / 4, lane % 4 }
	return []layout{
		{name: "m16n8k16.row.col.f32.f16.f16.f32", m: 16, n: 8, k: 16, countA: 8, countB: 4, format: "f16",
			inA: func(lane, e int) (int, int) {
				g, t := group(lane)
				row := g
				if e == 2 || e == 3 || e == 6 || e == 7 {
					row += 8
				}
				col := t*2 + e%2
				if e >= 4 {
					col += 8
				}
				return row, col
			},
			inB: func(lane, e int) (int, int) {
				g, t := group(lane)
				row := t*2 + e%2
				if e >= 2 {
					row += 8
				}
				return row, g
			}},
		{name: "m16n8k8.row.col.f32.f16.f16.f32", m: 16, n: 8, k: 8, countA: 4, countB: 2, format: "f16",
			inA: func(lane, e int) (int, int) { g, t := group(lane); return g + e/2*8, t*2 + e%2 },
			inB: func(lane, e int) (int, int) { g, t := group(lane); return t*2 + e, g }},
		{name: "m16n8k16.row.col.f32.bf16.bf16.f32", m: 16, n: 8, k: 16, countA: 8, countB: 4, format: "bf16",
			inA: func(lane, e int) (int, int) { g, t := group(lane); return g + e/2%2*8, t*2 + e%2 + e/4*8 },
			inB: func(lane, e int) (int, int) { g, t := group(lane); return t*2 + e%2 + e/2*8, g }},
		{name: "m16n8k8.row.col.f32.bf16.bf16.f32", m: 16, n: 8, k: 8, countA: 4, countB: 2, format: "bf16",
			inA: func(lane, e int) (int, int) { g, t := group(lane); return g + e/2*8, t*2 + e%2 },
			inB: func(lane, e int) (int, int) { g, t := group(lane); return t*2 + e, g }},
		{name: "m16n8k8.row.col.f32.tf32.tf32.f32", m: 16, n: 8, k: 8, countA: 4, countB: 2, format: "tf32",
			inA: func(lane, e int) (int, int) { g, t := group(lane); return g + e%2*8, t + e/2*4 },
			inB: func(lane, e int) (int, int) { g, t := group(lane); return t + e*4, g }},
		{name: "m16n8k4.row.col.f32.tf32.tf32.f32", m: 16, n: 8, k: 4, countA: 2, countB: 1, format: "tf32",
			inA: func(lane, e int) (int, int) { g, t := group(lane); return g + e*8, t },
			inB: func(lane, e int) (int, int) { g, t := group(lane); return t, g }},
		{name: "m8n8k4.row.col.f64.f64.f64.f64", m: 8, n: 8, k: 4, countA: 1, countB: 1, format: "f64",
			inA: func(lane, e int) (int, int) { g, t := group(lane); return g, t },
			inB: func(lane, e int) (int, int) { g, t := group(lane); return t, g }},
	}
}

// inC is the layout of C and D of all shapes.
func (l layout) inC(lane, e int) (int, int) { return lane/4 + e/2*8, lane%4*2 + e%2 }

// encode packs elements into the words that a lane loads.
func (l layout) encode(values []float64) []uint32 {
	var out []uint32
	for i, v := range values {
		switch l.format {
		case "f64":
			b := math.Float64bits(v)
			out = append(out, uint32(b), uint32(b>>32))
		case "tf32":
			out = append(out, math.Float32bits(float32(v)))
		default:
			h := uint32(0x7fff)
			if !math.IsNaN(v) {
				h = uint32(refFormats[l.format].round(exact(v), "rn"))
			}
			if i%2 == 0 {
				out = append(out, h)
			} else {
				out[len(out)-1] |= h << 16
			}
		}
	}
	return out
}

// run multiplies on the simulator.
func (l layout) run(t *testing.T, a, b, c [][]float64) [][]float64 {
	t.Helper()
	out := 4
	if l.format == "f64" {
		out = 2
	}
	collect := func(n int, in func(lane, e int) (int, int), x [][]float64, lane int) []float64 {
		var v []float64
		for e := range n {
			row, col := in(lane, e)
			v = append(v, x[row][col])
		}
		return v
	}
	sums := l
	if l.format != "f64" {
		sums.format = "tf32" // C is float32
	}
	var words []uint32
	var sizes [3]int
	for lane := range 32 {
		parts := [][]uint32{l.encode(collect(l.countA, l.inA, a, lane)), l.encode(collect(l.countB, l.inB, b, lane)),
			sums.encode(collect(out, l.inC, c, lane))}
		for i, p := range parts {
			sizes[i] = len(p)
			words = append(words, p...)
		}
	}
	per := sizes[0] + sizes[1] + sizes[2]
	width, reg, factor := 1, "%f", "%r"
	if l.format == "f64" {
		width, reg, factor = 2, "%d", "%d"
	}
	var body strings.Builder
	fmt.Fprintf(&body, "mul.wide.u32 %%d0, %%r30, %d;\nadd.s64 %%d0, %%d30, %%d0;\nmul.wide.u32 %%d1, %%r30, %d;\n"+
		"add.s64 %%d1, %%d31, %%d1;\n",
		4*per, 4*sizes[2])
	at, next := 0, 10
	names := [3][]string{}
	for i := range sizes {
		for range sizes[i] / width {
			r := fmt.Sprint(factor, next)
			if i == 2 {
				r = fmt.Sprint(reg, next)
			}
			fmt.Fprintf(&body, "ld.global.b%d %s, [%%d0+%d];\n", 32*width, r, 4*at)
			names[i] = append(names[i], r)
			at += width
			next++
		}
		next = 10 + 4*(i+1)
		if i == 1 && reg == "%f" {
			next = 10
		}
	}
	list := func(s []string) string { return "{" + strings.Join(s, ", ") + "}" }
	fmt.Fprintf(&body, "mma.sync.aligned.%s %s, %s, %s, %s;\n", l.name, list(names[2]), list(names[0]),
		list(names[1]), list(names[2]))
	for i, r := range names[2] {
		fmt.Fprintf(&body, "st.global.b%d [%%d1+%d], %s;\n", 32*width, 4*width*i, r)
	}
	k := kernel(t, entry(2, body.String()))
	m := NewMemory(0)
	p := alloc(t, m, "in", len(words), false)
	q := alloc(t, m, "out", 32*sizes[2], false)
	if err := Upload(m, p, words); err != nil {
		t.Fatal(err)
	}
	if err := launch(k, m, 1, 32, p, q); err != nil {
		t.Fatal(err)
	}
	d := matrixOf(l.m, l.n, func(int, int) float64 { return 0 })
	var value func(i int) float64
	if l.format == "f64" {
		x := make([]float64, 64)
		if err := Download(m, x, q); err != nil {
			t.Fatal(err)
		}
		value = func(i int) float64 { return x[i] }
	} else {
		x := make([]float32, 128)
		if err := Download(m, x, q); err != nil {
			t.Fatal(err)
		}
		value = func(i int) float64 { return float64(x[i]) }
	}
	for lane := range 32 {
		for e := range out {
			row, col := l.inC(lane, e)
			d[row][col] = value(lane*out + e)
		}
	}
	return d
}

func matrixOf(m, n int, f func(i, j int) float64) [][]float64 {
	x := make([][]float64, m)
	for i := range x {
		x[i] = make([]float64, n)
		for j := range x[i] {
			x[i][j] = f(i, j)
		}
	}
	return x
}

// TestMatrixExact multiplies whole numbers, whose products every format holds: a misplaced element shows.
func TestMatrixExact(t *testing.T) {
	for _, l := range layouts() {
		r := rand.New(rand.NewPCG(1, 2))
		whole := func(int, int) float64 { return float64(r.IntN(31) - 15) }
		a, b, c := matrixOf(l.m, l.k, whole), matrixOf(l.k, l.n, whole), matrixOf(l.m, l.n, whole)
		d := l.run(t, a, b, c)
		for i := range l.m {
			for j := range l.n {
				want := c[i][j]
				for q := range l.k {
					want += a[i][q] * b[q][j]
				}
				if d[i][j] != want {
					t.Fatalf("%s: element %d, %d is %v, not %v", l.name, i, j, d[i][j], want)
				}
			}
		}
	}
}

// TestMatrixRounding compares with the sum as it is described: terms cut at the 25th bit below the largest, the sum cut once.
func TestMatrixRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range layouts()[:5] {
		for range 20 {
			f := refFormats[l.format]
			wide := func(int, int) float64 {
				x := r.NormFloat64() * math.Ldexp(1, r.IntN(12)-6)
				if l.format == "tf32" {
					return float64(math.Float32frombits(uint32(tfloat(x))))
				}
				return f.value(f.round(exact(x), "rn"))
			}
			a, b := matrixOf(l.m, l.k, wide), matrixOf(l.k, l.n, wide)
			c := matrixOf(l.m, l.n, func(int, int) float64 {
				return float64(float32(r.NormFloat64() * math.Ldexp(1,
					r.IntN(30)-15)))
			})
			d := l.run(t, a, b, c)
			for i := range l.m {
				for j := range l.n {
					terms := []float64{c[i][j]}
					sum := exact(c[i][j])
					top := math.Ilogb(c[i][j])
					for q := range l.k {
						p := a[i][q] * b[q][j]
						terms = append(terms, p)
						sum.Add(sum, exact(p))
						top = max(top, math.Ilogb(a[i][q])+math.Ilogb(b[q][j]))
					}
					total := new(big.Int)
					for _, x := range terms { // in units of 2^(top−25), cut towards zero
						u := exact(x)
						u.SetMantExp(u, 25-top)
						cut, _ := u.Int(nil)
						total.Add(total, cut)
					}
					v := new(big.Float).SetPrec(exactBits).SetInt(total)
					v.SetMantExp(v, top-25)
					want := refFormats["f32"].round(v, "rz")
					if got := uint64(math.Float32bits(float32(d[i][j]))); got != want && !(want<<1 == 0 && got<<1 == 0) {
						t.Fatalf("%s: element %d, %d is %#x, not %#x", l.name, i, j, got, want)
					}
					true64, _ := sum.Float64()
					if off := math.Abs(d[i][j] - true64); off > math.Ldexp(float64(len(terms)),
						top-25)+math.Ldexp(math.Abs(true64), -23) {
						t.Fatalf("%s: element %d, %d is off by %g", l.name, i, j, off)
					}
				}
			}
		}
	}
	l := layouts()[6] // float64: fused in the order of k
	x := func(int, int) float64 { return r.NormFloat64() }
	a, b, c := matrixOf(8, 4, x), matrixOf(4, 8, x), matrixOf(8, 8, x)
	d := l.run(t, a, b, c)
	for i := range 8 {
		for j := range 8 {
			want := c[i][j]
			for q := range 4 {
				want = math.FMA(a[i][q], b[q][j], want)
			}
			if d[i][j] != want {
				t.Fatalf("element %d, %d is %v, not %v", i, j, d[i][j], want)
			}
		}
	}
}

// TestMatrixSpecial puts infinities and NaN into one row and one column.
func TestMatrixSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, l := range layouts()[:1] {
		one := func(int, int) float64 { return 1 }
		for _, v := range []struct{ a, b, c, want float64 }{
			{inf, 1, 1, inf}, {-inf, 1, 1, -inf}, {inf, 0, 1, nan}, {nan, 1, 1, nan}, {inf, 1, -inf, nan}, {1, 1, inf,
				inf}, {1, 1, nan, nan},
			{0, 0, 0, 15}, {65504, 65504, 0, 65504*65504 + 15 - 15}, {5.9604644775390625e-08, 1, 0, 15},
		} {
			a, b, c := matrixOf(l.m, l.k, one), matrixOf(l.k, l.n, one), matrixOf(l.m, l.n, func(int,
				int) float64 {
				return 0
			})
			a[3][5], b[5][2], c[3][2] = v.a, v.b, v.c
			d := l.run(t, a, b, c)
			want := v.want
			if got := d[3][2]; got != want && !(got != got && want != want) && math.Abs(got-want) > 1e-6*math.Abs(want) {
				t.Errorf("%v·%v + %v with 15 ones: %v, not %v", v.a, v.b, v.c, got, want)
			}
			if d[0][0] != 16 {
				t.Errorf("an element beside has %v", d[0][0])
			}
		}
	}
	zero := func(int, int) float64 { return 0 }
	l := layouts()[0]
	for _, row := range l.run(t, matrixOf(16, 16, zero), matrixOf(16, 8, zero), matrixOf(16, 8, zero)) {
		for _, v := range row {
			if v != 0 {
				t.Fatalf("zeros make %v", v)
			}
		}
	}
}

// TestLoadMatrix loads four matrices, as they are and transposed.
func TestLoadMatrix(t *testing.T) {
	for _, trans := range []string{"", ".trans"} {
		for _, count := range []int{1, 2, 4} {
			list := strings.Join([]string{"%r1", "%r2", "%r3", "%r4"}[:count], ", ")
			// Element e of the four matrices holds e; each row has an odd multiple of 16 bytes to itself.
			body := ".shared .align 16 .b8 s[2048];\nmov.u32 %r10, s;\nshl.b32 %r11, %r30, 5;\n" +
				"add.u32 %r11, %r11, %r10;\nshl.b32 %r12, %r30, 3;\n" +
				"cvt.u16.u32 %h1, %r12;\n"
			for i := range 8 {
				body += fmt.Sprintf("st.shared.u16 [%%r11+%d], %%h1;\nadd.u16 %%h1, %%h1, 1;\n", 2*i)
			}
			body += "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\nbar.warp.sync -1;\n"
			body += fmt.Sprintf("ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%s}, [%%r11];\n", count, trans, list)
			body += "mul.wide.u32 %d0, %r30, 16;\nadd.s64 %d1, %d30, %d0;\nst.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};\n"
			k := kernel(t, entry(1, body))
			m := NewMemory(0)
			p := alloc(t, m, "a", 128, false)
			if err := launch(k, m, 1, 32, p); err != nil {
				t.Fatal(err)
			}
			for i, v := range words(t, m, p, 128) {
				lane, q := i/4, i%4
				row, col, row2, col2 := lane/4, lane%4*2, lane/4, lane%4*2+1
				if trans != "" {
					row, col, row2, col2 = col, row, col2, row2
				}
				want := uint32(64*q+8*row+col) | uint32(64*q+8*row2+col2)<<16
				if q >= count {
					want = 0
				}
				if v != want {
					t.Fatalf("x%d%s: register %d of lane %d is %#x, not %#x", count, trans, q, lane, v, want)
				}
			}
		}
	}
}
