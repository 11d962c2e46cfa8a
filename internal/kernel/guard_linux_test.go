package kernel

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns n elements that end at the end of a page, behind which (or with before, in front of which) the next
// page may not be touched.
func guarded[T Float](t *testing.T, n int, before bool) []T {
	t.Helper()
	var v T
	size, page := n*int(unsafe.Sizeof(v)), os.Getpagesize()
	pages := (size + page - 1) / page
	mem, err := syscall.Mmap(-1, 0, (pages+2)*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{mem[:page], mem[(pages+1)*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	first := (pages+1)*page - size
	if before {
		first = page
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[first])), n)
}

// onPage copies s to a guarded page.
func onPage[T Float](t *testing.T, s []T, before bool) []T {
	c := guarded[T](t, len(s), before)
	copy(c, s)
	return c
}

// No kernel touches memory outside the rows that it was given: a fault would end the test.
func TestPageEnds(t *testing.T) { onPaths(t, testPageEnds[float32], testPageEnds[float64]) }

func testPageEnds[T Float](t *testing.T) {
	r := generator()
	for _, before := range []bool{false, true} {
		for k := 1; k <= 40; k++ {
			pageProducts[T](t, mulShape{5, k, 10}, before)
			pageProducts[T](t, mulShape{3, 96 + k, 1 + k%12}, before)
			pageProducts[T](t, mulShape{13, 7, k}, before)
			pageProducts[T](t, mulShape{2, k, 40}, before)
		}
		const rows, ld = 3, 48
		a, b, c := onPage(t, normal[T](r, rows*ld), before), onPage(t, normal[T](r, rows*ld), before),
			onPage(t, normal[T](r, rows*ld), before)
		s, sums := onPage(t, normal[T](r, rows), before), guarded[float64](t, rows, before)
		RowScale(c, a, s, ld)
		RowAxpy(c, a, s, ld)
		RowDiffAxpy(c, a, b, s, ld)
		RowLerp(c, a, b, s, ld)
		RowDot(sums, a, b, ld)
		RowResidual(sums, a, b, c, ld)
		bits := make([]uint8, rows*ld/4)
		Threshold(c, a, 0.1, s, bits, ld, false)
		ThresholdGrad(c, a, s, bits, ld)
		for n := range 50 {
			x, y, wide := onPage(t, normal[T](r, n+1), before), onPage(t, normal[T](r, n+1), before),
				guarded[float64](t, n+1, before)
			if v := Sum(x) + SumSquares(x, 0.5) + SquaredDistance(x, y); v != v {
				t.Fatal("sums are NaN")
			}
			Affine(y, x, 2, 1)
			AddTo(wide, x)
		}
	}
}

// pageProducts runs both products on guarded matrices and compares them with the same on plain memory.
func pageProducts[T Float](t *testing.T, s mulShape, before bool) {
	r := generator()
	x, a := normal[T](r, s.n*s.k), normal[T](r, s.n*s.m)
	var p Panel[T]
	Pack(&p, s.k, s.m, normal[T](r, s.k*s.m), s.m)
	ld := Pad(s.m)
	want, got := make([]T, s.n*ld), guarded[T](t, s.n*ld, before)
	Mul(s.n, x, s.k, &p, want, ld, false)
	xp := onPage(t, x, before)
	Mul(s.n, xp, s.k, &p, got, ld, false)
	sameBits(t, "Mul"+shape(s.n, s.k, s.m), got, want)
	cw, cg := make([]T, s.m*s.k), guarded[T](t, s.m*s.k, before)
	TMulAdd(s.n, s.m, s.k, a, s.m, x, s.k, cw, s.k)
	TMulAdd(s.n, s.m, s.k, onPage(t, a, before), s.m, xp, s.k, cg, s.k)
	sameBits(t, "TMulAdd"+shape(s.n, s.m, s.k), cg, cw)
}
