package ptx

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

func TestXPT(t *testing.T) {
	src, err := os.ReadFile("/work/shared/prototypes/gpu/kern/xpt.ptx")
	if err != nil { t.Skip(err) }
	mod, err := Parse(string(src))
	if err != nil { t.Fatal(err) }
	k, err := mod.Kernel("xpt")
	if err != nil { t.Fatal(err) }
	t.Log("slots", k.slots, "tracked", k.tracked, "preds", k.predicates, "code", len(k.code))
	for _, c := range []struct{ n, d, m int }{{130, 40, 100}, {77, 101, 7}, {128, 512, 104}} {
		r := rand.New(rand.NewPCG(1, 2))
		const NB, BK = 104, 32
		ldx := (c.d + 3) &^ 3
		dp := (c.d + BK - 1) / BK * BK
		x := make([]float32, c.n*ldx)
		for i := range c.n { for j := range c.d { x[i*ldx+j] = float32(r.NormFloat64()) } }
		p := make([]float64, c.m*c.d)
		bh, bl := make([]uint32, NB*dp/2), make([]uint32, NB*dp/2)
		for i := range c.m { for j := range c.d {
			v := float32(r.NormFloat64() / math.Sqrt(float64(c.d))); p[i*c.d+j] = float64(v)
			h := Half(v); l := Half((v - Unhalf(h)) * 2048)
			bh[(i*dp+j)/2] |= uint32(h) << (16 * (j & 1)); bl[(i*dp+j)/2] |= uint32(l) << (16 * (j & 1))
		} }
		mem := NewMemory(0)
		al := func(name string, n int) Ptr { p, err := mem.Alloc(name, int64(n)); if err != nil { t.Fatal(err) }; return p }
		X, BH, BL, Y := al("x", 4*len(x)), al("bh", 4*len(bh)), al("bl", 4*len(bl)), al("y", 4*c.n*NB)
		Upload(mem, X, x); Upload(mem, BH, bh); Upload(mem, BL, bl)
		began := time.Now()
		shared := 3*(128*36*4) + 2*3*104*20*4
		st, err := k.Launch(context.Background(), mem, Launch{Grid: [3]int{(c.n + 127) / 128, 1, 1}, Block: [3]int{256, 1, 1}, Shared: shared, Args: []any{Y, X, BH, BL, c.n, c.d, dp, ldx, NB}})
		if err != nil { t.Fatal(err) }
		el := time.Since(began)
		y := make([]float32, c.n*NB)
		if err := Download(mem, y, Y); err != nil { t.Fatal(err) }
		worst, one, scale := 0.0, 0.0, 0.0
		for i := range c.n { for j := range NB {
			want, f := 0.0, float32(0)
			if j < c.m { for q := range c.d { want += float64(x[i*ldx+q]) * p[j*c.d+q]; f += x[i*ldx+q] * float32(p[j*c.d+q]) } }
			worst = max(worst, math.Abs(float64(y[i*NB+j])-want)); one = max(one, math.Abs(float64(f)-want)); scale = max(scale, math.Abs(want))
		} }
		t.Logf("n %d d %d m %d: worst %.2g (plain f32 loop %.2g) of %.2g; %+v, %v", c.n, c.d, c.m, worst, one, scale, st, el)
		if worst > 4e-6*scale { t.Error("wrong") }
	}
}

func TestATX(t *testing.T) {
	src, err := os.ReadFile("/work/shared/prototypes/gpu/kern/atx.ptx")
	if err != nil { t.Skip(err) }
	mod, err := Parse(string(src))
	if err != nil { t.Fatal(err) }
	k, _ := mod.Kernel("atx")
	fold, _ := mod.Kernel("fold")
	for _, c := range []struct{ n, d int }{{70, 40}, {100, 101}} {
		r := rand.New(rand.NewPCG(3, 4))
		const NA = 104
		ldx, ldp, rows := (c.d+3)&^3, (c.d+63)/64*64, 64
		parts := (c.n + rows - 1) / rows
		x, h, w := make([]float32, c.n*ldx), make([]float32, c.n*NA), make([]float32, (c.n+3)&^3)
		for i := range c.n { w[i] = r.Float32(); for j := range c.d { x[i*ldx+j] = float32(r.NormFloat64()) }; for j := range 100 { h[i*NA+j] = r.Float32() } }
		mem := NewMemory(0)
		al := func(name string, n int) Ptr { p, err := mem.Alloc(name, int64(n)); if err != nil { t.Fatal(err) }; return p }
		X, H, W, P, M := al("x", 4*len(x)), al("h", 4*len(h)), al("w", 4*len(w)), al("part", 4*parts*NA*ldp), al("m", 8*NA*ldp)
		Upload(mem, X, x); Upload(mem, H, h); Upload(mem, W, w)
		shared := 3 * 4 * (32*68 + 32*108 + 32)
		st, err := k.Launch(context.Background(), mem, Launch{Grid: [3]int{ldp / 64, parts, 1}, Block: [3]int{128, 1, 1}, Shared: shared, Args: []any{P, X, H, W, c.n, c.d, rows, ldx, ldp}})
		if err != nil { t.Fatal(err) }
		t.Logf("%+v", st)
		if _, err = fold.Launch(context.Background(), mem, Launch{Grid: [3]int{(NA*ldp + 255) / 256, 1, 1}, Block: [3]int{256, 1, 1}, Args: []any{M, P, parts, NA*ldp}}); err != nil { t.Fatal(err) }
		m := make([]float64, NA*ldp)
		if err := Download(mem, m, M); err != nil { t.Fatal(err) }
		worst, scale := 0.0, 0.0
		for j := range NA { for q := range c.d { want := 0.0
			for i := range c.n { want += float64(h[i*NA+j]) * float64(w[i]) * float64(x[i*ldx+q]) }
			worst = max(worst, math.Abs(m[j*ldp+q]-want)); scale = max(scale, math.Abs(want)) } }
		t.Logf("n %d d %d: worst %.2g of %.2g", c.n, c.d, worst, scale)
		if worst > 4e-6*scale { t.Error("wrong") }
	}
}
