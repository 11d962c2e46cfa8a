package ptx

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// special exponents: larger than any other, and smaller
const (
	infinite  = 1 << 20
	notNumber = 1 << 21
	vanished  = -1 << 20
)

// split cuts a number of a format with so many exponent and fraction bits into digits and exponent: digits · 2^(exponent −
// fraction bits).
func split(v uint32, exponentBits, fractionBits int) (digits, exponent int32) {
	bias := int32(1)<<(exponentBits-1) - 1
	e := int32(v >> fractionBits & (1<<exponentBits - 1))
	m := int32(v & (1<<fractionBits - 1))
	switch {
	case e == 1<<exponentBits-1 && m != 0:
		return 1, notNumber
	case e == 1<<exponentBits-1:
		m, e = 1, infinite+bias
	case e|m == 0:
		return 0, vanished
	case e == 0:
		e = 1
	default:
		m |= 1 << fractionBits
	}
	if v>>(exponentBits+fractionBits)&1 != 0 {
		m = -m
	}
	return m, e - bias
}

// A series is a row of A or a column of B. What is beyond its end is zero.
type series struct{ digits, exponent [16]int32 }

func (s *series) set(i int, v uint32, exponentBits, fractionBits int) {
	s.digits[i], s.exponent[i] = split(v, exponentBits, fractionBits)
}

// sumBits is how many bits below the leading one of the largest term a tensor core keeps of every term of a sum.
const sumBits = 25

// dot returns c + Σ aᵢ·bᵢ as tensor cores of the Hopper generation are found to add (arXiv 2511.10909, 2512.07004): every
// product is exact; all terms, c among them, are aligned with the one of the largest exponent and cut towards zero sumBits below
// it; their sum is exact, and is cut towards zero to a float32. Nothing depends on the order of the terms. fraction is the number
// of fraction bits of the factors.
func dot(a, b *series, c uint32, fraction int) uint32 {
	z, top := split(c, 8, 23)
	of := top
	var exponent [16]int32
	for i := range exponent {
		e := a.exponent[i] + b.exponent[i]
		exponent[i] = e
		top = max(top, e)
	}
	switch {
	case top >= infinite/2:
		return dotSpecial(a, b, z, of)
	case top <= vanished/2:
		return 0
	}
	sum := cutShift(int64(z)<<(sumBits-23), top-of)
	up := uint(sumBits-2*fraction) & 63
	for i, e := range exponent {
		sum += cutShift(int64(a.digits[i])*int64(b.digits[i])<<up, top-e)
	}
	if sum == 0 {
		return 0
	}
	x := float64(sum) * math.Float64frombits(uint64(1023+int(top)-sumBits)<<52)
	y := float32(x)
	if math.Abs(float64(y)) > math.Abs(x) {
		return math.Float32bits(y) - 1
	}
	return math.Float32bits(y)
}

// cutShift returns v / 2^n cut towards zero, for |v| < 2^62.
func cutShift(v int64, n int32) int64 {
	k := uint(min(n, 62)) & 63
	return (v + v>>63&(1<<k-1)) >> k
}

// dotSpecial is dot where a term is infinite or no number.
func dotSpecial(a, b *series, z, of int32) uint32 {
	value := func(digits, exponent int32) float64 {
		switch {
		case exponent == notNumber:
			return math.NaN()
		case exponent == infinite:
			return math.Inf(int(digits))
		}
		return float64(digits)
	}
	sum := 0.0
	for i := range a.digits {
		p := value(a.digits[i], a.exponent[i]) * value(b.digits[i], b.exponent[i])
		if p != p || math.IsInf(p, 0) {
			sum += p
		}
	}
	if v := value(z, of); v != v || math.IsInf(v, 0) {
		sum += v
	}
	return uint32(b32(float32(sum)))
}

// A shape says which element of its matrices each register of each lane holds.
type shape struct {
	m, n, k  int
	per      int // elements in one register of A and B
	fraction int
	exponent int
}

var shapes = map[string]shape{
	"m16n8k16.row.col.f32.f16.f16.f32":   {16, 8, 16, 2, 10, 5},
	"m16n8k8.row.col.f32.f16.f16.f32":    {16, 8, 8, 2, 10, 5},
	"m16n8k16.row.col.f32.bf16.bf16.f32": {16, 8, 16, 2, 7, 8},
	"m16n8k8.row.col.f32.bf16.bf16.f32":  {16, 8, 8, 2, 7, 8},
	"m16n8k8.row.col.f32.tf32.tf32.f32":  {16, 8, 8, 1, 10, 8},
	"m16n8k4.row.col.f32.tf32.tf32.f32":  {16, 8, 4, 1, 10, 8},
}

var (
	zeros16 = func() (z [16]series) {
		for i := range z {
			for j := range z[i].exponent {
				z[i].exponent[j] = vanished
			}
		}
		return z
	}()
	zeros8 = [8]series(zeros16[:8])
)

// fill splits the elements in a register of A or B, which belong at first and after it.
func (s *shape) fill(to *series, first int, register uint32) {
	width := 1 + s.exponent + s.fraction
	if s.per == 1 {
		register >>= 32 - width // tf32 is the upper part of a float32
	}
	for e := range s.per {
		to.set(first+e, register>>(e*width), s.exponent, s.fraction)
	}
}

// matrix decodes mma.sync.
func (c *compiler) matrix(st *step) error {
	in := c.in
	mods := in.op.mods
	if len(mods) < 3 || mods[0] != "sync" || mods[1] != "aligned" {
		return c.unknown()
	}
	st.kind = collective
	name := strings.Join(mods[2:], ".")
	if name == "m8n8k4.row.col.f64.f64.f64.f64" {
		return c.matrix64(st)
	}
	s, ok := shapes[name]
	if !ok {
		return c.unknown()
	}
	group := 4 * s.per // columns of A that the four lanes of a row hold in one register
	r, err := c.fragments(types["f32"], types["b32"], 2*s.k/group, s.k/group, 4)
	if err != nil {
		return err
	}
	ops := int64(2 * s.m * s.n * s.k)
	st.run = func(w *warp, _ uint32) {
		a, b := zeros16, zeros8
		for l := range 32 {
			g, t := l>>2, l&3
			for i, reg := range r[1] {
				s.fill(&a[g+8*(i&1)], i>>1*group+t*s.per, uint32(w.r[reg][l]))
			}
			for i, reg := range r[2] {
				s.fill(&b[g], i*group+t*s.per, uint32(w.r[reg][l]))
			}
		}
		var out [4]lanes
		for l := range 32 {
			g, t := l>>2, l&3
			for i := range 4 {
				out[i][l] = uint64(dot(&a[g+8*(i>>1)], &b[2*t+i&1], uint32(w.r[r[3][i]][l]), s.fraction))
			}
		}
		for i, reg := range r[0] {
			w.r[reg] = out[i]
		}
		w.worker.stats.Tensor += ops
	}
	return nil
}

// matrix64 decodes the product of float64 matrices: fused multiply-adds in the order of k.
func (c *compiler) matrix64(st *step) error {
	d := types["f64"]
	r, err := c.fragments(d, d, 1, 1, 2)
	if err != nil {
		return err
	}
	st.run = func(w *warp, _ uint32) {
		var out [2]lanes
		for l := range 32 {
			g, t := l>>2, l&3
			for i := range 2 {
				x := f64(w.r[r[3][i]][l])
				for k := range 4 {
					x = math.FMA(f64(w.r[r[1][0]][4*g+k]), f64(w.r[r[2][0]][4*(2*t+i)+k]), x)
				}
				out[i][l] = b64(x)
			}
		}
		for i, reg := range r[0] {
			w.r[reg] = out[i]
		}
		w.worker.stats.Tensor += 2 * 8 * 8 * 4
	}
	return nil
}

// fragments returns the slots of D, A, B and C, which have so many registers.
func (c *compiler) fragments(sum, factor typ, a, b, cd int) ([4][]int, error) {
	var r [4][]int
	if err := c.arguments(4); err != nil {
		return r, err
	}
	for i, n := range []int{cd, a, b, cd} {
		list := elements(&c.in.args[i])
		if len(list) != n {
			return r, c.wrong("operand %d has %d registers, not %d", i, len(list), n)
		}
		t := factor
		if i == 0 || i == 3 {
			t = sum
		}
		for j := range list {
			var s int
			var err error
			if i == 0 {
				s, err = c.target(&list[j], t, false)
			} else {
				s, err = c.source(&list[j], t, false)
			}
			if err != nil {
				return r, err
			}
			if s < 0 {
				return r, c.wrong("_ among the registers")
			}
			r[i] = append(r[i], s)
		}
	}
	return r, nil
}

// matrixCounts are the numbers of matrices that the forms of ldmatrix load.
var matrixCounts = map[string]int{"sync.aligned.m8n8.x1.b16": 1, "sync.aligned.m8n8.x2.b16": 2, "sync.aligned.m8n8.x4.b16": 4}

// loadMatrix decodes ldmatrix.
func (c *compiler) loadMatrix(st *step) error {
	in := c.in
	trans := in.op.has("trans")
	form := strings.Join(in.op.without("trans", "shared::cta"), ".")
	count := matrixCounts[strings.Replace(form, ".shared.b16", ".b16", 1)]
	if count == 0 || !slices.ContainsFunc(in.op.mods, func(m string) bool { return strings.HasPrefix(m, "shared") }) {
		return c.unknown()
	}
	if err := c.arguments(2); err != nil {
		return err
	}
	list := elements(&in.args[0])
	if len(list) != count {
		return c.wrong("%s registers, not %d", strconv.Itoa(len(list)), count)
	}
	var to []int
	for i := range list {
		d, err := c.target(&list[i], types["b32"], false)
		if err != nil {
			return err
		}
		to = append(to, d)
	}
	addr, offset, _, _, err := c.address(&in.args[1])
	st.kind = collective
	st.run = func(w *warp, _ uint32) {
		a := w.r[addr]
		for i, d := range to {
			w.traffic("shared", &a, offset, 16, 0xff<<(8*i))
			var e [8][8]uint16
			for row := range 8 {
				lane := 8*i + row
				b := w.sharedRow(a[lane]+offset, lane)
				for col := range 8 {
					e[row][col] = uint16(b[2*col]) | uint16(b[2*col+1])<<8
				}
			}
			if d < 0 {
				continue
			}
			for l := range 32 {
				g, t := l>>2, 2*(l&3)
				lo, hi := e[g][t], e[g][t+1]
				if trans {
					lo, hi = e[t][g], e[t+1][g]
				}
				w.r[d][l] = uint64(lo) | uint64(hi)<<16
			}
		}
	}
	return err
}

func (w *warp) sharedRow(addr uint64, lane int) []byte {
	return w.sharedRead(addr, 16, lane)
}
