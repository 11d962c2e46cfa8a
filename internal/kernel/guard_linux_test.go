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

// guardedBytes is guarded for n bytes, a multiple of 4.
func guardedBytes(t *testing.T, n int, before bool) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(guarded[float32](t, n/4, before)))), n)
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
			for _, m := range []int{32, 64, 65, 100, 128, 200} { // a single row through several strips
				pageProducts[T](t, mulShape{1, k, m}, before)
			}
			pageSparse[T](t, mulShape{3, k, 1 + k%23}, before)
			pageGram(t, 1+k%5, 1+k%7, k, before)
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
		RowLerpAxpy(c, a, b, s, ld)
		RowSplit(c, b, a, s, ld)
		var low [Lanes]T
		LaneMinima(a, &low)
		Below(a, 0, make([]int32, len(a)+Lanes))
		DotRows(onPage(t, normal[T](r, DotUnit), before), onPage(t, normal[T](r, 5*DotUnit), before), []int32{0, 4, 2, 4, 0, 1},
			onPage(t, normal[T](r, 6), before))
		bytes := guardedBytes(t, rows*ld, before)
		for i := range rows {
			ByteRow(a[i*ld:(i+1)*ld], bytes[i*ld:(i+1)*ld])
		}
		var panel BytePanel[T]
		PackBytes(&panel, ld, 37, make([]uint8, 37*ld), ld, normal[T](r, 37))
		MulBytes(rows, bytes, ld, &panel, s, guarded[T](t, rows*Pad(37), before), Pad(37))
		Softmax(c, a, s, ld-3, ld)
		SoftmaxGrad(c, a, b, s, ld, ld)
		bits := guardedBytes(t, rows*ld/4, before)
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
			squares, norms := guarded[float64](t, n+1, before), onPage(t, normal[float64](r, n+1), before)
			AddNorms(squares, norms, 1e-3)
			Shrink(x, y, squares, 0.1, 1)
			dt, minus := onPage(t, normal[T](r, n+1), before), guarded[T](t, n+1, before)
			if v, _ := ShrinkGrad(y, minus, x, dt, 0.1, 1); v != v {
				t.Fatal("the derivative by ρ is NaN")
			}
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

// pageSparse runs the products with sparse rows on guarded memory and compares them with the same on plain memory.
func pageSparse[T Float](t *testing.T, s mulShape, before bool) {
	r, ld := generator(), Pad(s.m)
	ptr, cols, values := []int{0}, []int32(nil), []T(nil)
	for range s.n {
		for j := range s.k {
			if r.IntN(2) == 0 {
				cols, values = append(cols, int32(j)), append(values, T(r.NormFloat64()))
			}
		}
		ptr = append(ptr, len(cols))
	}
	if len(cols) == 0 {
		return
	}
	b, a := state[T](r, s.k, s.m), state[T](r, s.n, s.m)
	shift, common := normal[T](r, s.n), state[T](r, 1, s.m)
	valuesOn, colsOn := onPage(t, values, before), guardedColumns(t, cols, before)
	bOn, aOn := onPage(t, b, before), onPage(t, a, before)
	want, got := make([]T, s.n*ld), guarded[T](t, s.n*ld, before)
	MulSparseShifted(ptr, cols, values, s.m, b, shift, common, want, ld)
	MulSparseShifted(ptr, colsOn, valuesOn, s.m, bOn, onPage(t, shift, before), onPage(t, common, before), got, ld)
	sameBits(t, "MulSparse"+shape(s.n, s.k, s.m), got, want)
	cw, cg := make([]T, s.m*s.k), guarded[T](t, s.m*s.k, before)
	TMulAddSparse(ptr, cols, values, s.m, s.k, a, ld, cw, s.k)
	TMulAddSparse(ptr, colsOn, valuesOn, s.m, s.k, aOn, ld, cg, s.k)
	sameBits(t, "TMulAddSparse"+shape(s.n, s.k, s.m), cg, cw)
}

// guardedColumns copies column numbers to a guarded page.
func guardedColumns(t *testing.T, cols []int32, before bool) []int32 {
	floats := guarded[float32](t, len(cols), before) // of the same size
	c := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(floats))), len(cols))
	copy(c, cols)
	return c
}

// pageGram runs MulRowsT on guarded memory and compares it with the same on plain memory.
func pageGram(t *testing.T, n, m, k int, before bool) {
	r := generator()
	x, y := normal[float64](r, n*k), normal[float64](r, m*k)
	want, got := make([]float64, n*m), guarded[float64](t, n*m, before)
	MulRowsT(n, m, k, x, k, y, k, want, m)
	MulRowsT(n, m, k, onPage(t, x, before), k, onPage(t, y, before), k, got, m)
	sameBits(t, "MulRowsT"+shape(n, m, k), got, want)
}
