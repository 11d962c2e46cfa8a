package device

import (
	"fmt"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// Products on tensor cores are as exact as a sum in float32, at any scale of what goes in.
func TestTensorTimes(t *testing.T) {
	for _, tl := range []tensorTile{wideTensorTimes, leanTensorTimes, narrowTensorTimes} {
		for _, c := range []struct {
			n, d, m   int
			x, factor float64
			positive  bool // sums cut towards zero would show
		}{{1, 1, 1, 1, 1, false}, {77, 3, 7, 1e3, 1e-4, false}, {130, 70, 110, 1e-6, 1e6, false}, {260, 33, 16, 1, 1e-12, false},
			{5, 3000, 2, 1, 1, true}} {
			b := newBench[float32](t, &simdevice.Sim{})
			ldx, ld := padded(c.d), stride(c.m)
			x, y := b.matrix(c.n, c.d, ldx), b.matrix(c.m, c.d, ldx)
			for i := range x {
				x[i] *= float32(c.x * math.Exp(3*b.rng.NormFloat64()))
			}
			for i := range y {
				y[i] *= float32(c.factor)
			}
			if c.positive {
				absolute(x)
				absolute(y)
			}
			var seen span
			for i := range c.n {
				seen.note(largest(x[i*ldx : (i+1)*ldx]))
			}
			in, most := seen.scale(), 0.0
			for _, e := range y {
				most = max(most, math.Abs(float64(e)))
			}
			scale, kp := powerScale(most), halved(ldx)
			hi, lo := empty[uint32](b, c.m*kp/2), empty[uint32](b, c.m*kp/2)
			b.k.launch(b.k.tensor, "split_rows", [3]int{ceil(kp/2, 128), c.m, 1}, 128, 0, hi, lo, put64(b, y), int32(ldx),
				int32(ldx), int32(kp), float32(scale))
			out := empty[float32](b, c.n*ld)
			b.k.launch(b.k.tensor, tl.name, [3]int{ceil(c.n, tl.rows) * ceil(ld, tl.columns), 1, 1}, tl.block, tl.shared, out,
				int32(ld), put64(b, x), int32(ldx), hi, lo, int32(c.n), int32(c.m), int32(kp), float32(in),
				float32(1/(in*scale)))
			what := fmt.Sprintf("%s, %v", tl.name, c)
			b.ran(what)
			got := get[float32](b, out, c.n*ld)
			var exact, plain, diff, plainDiff float64
			for i := range c.n {
				for j := range ld {
					s, f := 0.0, float32(0)
					for q := range c.d * int(toInt(j < c.m)) {
						s += float64(x[i*ldx+q]) * float64(y[j*ldx+q])
						f += x[i*ldx+q] * y[j*ldx+q]
					}
					exact += s * s
					diff += (float64(got[i*ld+j]) - s) * (float64(got[i*ld+j]) - s)
					plainDiff += (float64(f) - s) * (float64(f) - s)
					plain = max(plain, math.Abs(s))
				}
			}
			if e, p := math.Sqrt(diff/exact), math.Sqrt(plainDiff/exact); !(e <= 5e-7) {
				t.Errorf("%s: %.2g off, a loop in float32 %.2g", what, e, p)
			}
		}
	}
}

func TestTensorSums(t *testing.T) {
	for _, tl := range []tensorTile{wideTensorSums, leanTensorSums, narrowTensorSums} {
		for _, c := range []struct {
			n, d, m, chunk int
			a              float64
			heavy          float32
		}{{1, 1, 1, 16, 1, 1}, {77, 3, 7, 32, 1e-9, 1000}, {200, 70, 120, 64, 1e9, 0.1}, {4096, 3, 2, 4096, 1, 1}} {
			for mode := range 4 {
				if mode > 0 && c.chunk == c.n && !testutil.Slow {
					continue // long sums are added alike in all modes
				}
				weighted, itself := mode&1 == 1, mode&2 == 2 // AᵀX, or AᵀA
				b := newBench[float32](t, &simdevice.Sim{})
				ldx, lda := padded(c.d), stride(c.m)
				x, a, w := b.matrix(c.n, c.d, ldx), b.matrix(c.n, c.m, lda), b.vector(c.n)
				for i := range a {
					a[i] *= float32(c.a)
				}
				for i := range w { // a threshold below 0 gives weights above 1
					w[i] *= c.heavy
				}
				if c.chunk == c.n { // sums cut towards zero would show
					absolute(x)
					absolute(a)
				}
				if itself {
					c.d, ldx, x = c.m, lda, a
				}
				var seen span
				for i := range c.n {
					seen.note(largest(x[i*ldx : (i+1)*ldx]))
				}
				in, chunks, up := seen.scale(), ceil(c.n, c.chunk), put64(b, a)
				if itself {
					in = 0
				}
				most, part, weight := empty[float32](b, 2*maximaBlocks), empty[float32](b, chunks*c.m*c.d), Ptr(0)
				b.k.largest(most, up, len(a))
				if weighted {
					weight = put64(b, w)
					b.k.largest(most+4*maximaBlocks, weight, c.n)
				}
				b.k.launch(b.k.tensor, tl.name, [3]int{ceil(c.d, tl.columns), ceil(c.m, tl.rows), chunks}, tl.block, tl.shared,
					part, up, int32(lda), weight, put64(b, x), int32(ldx), int32(c.n), int32(c.m), int32(c.d), int32(c.chunk),
					float32(in), most, int32(maximaBlocks))
				what := fmt.Sprintf("%s, %v, weighted %v, itself %v", tl.name, c, weighted, itself)
				b.ran(what)
				top := 0.0
				for _, e := range a {
					top = max(top, math.Abs(float64(e)))
				}
				found := 0.0
				for _, e := range get[float32](b, most, maximaBlocks) {
					found = max(found, float64(e))
				}
				if found != top {
					t.Fatalf("%s: the largest value is %v, want %v", what, found, top)
				}
				want, got := make([]float64, chunks*c.m*c.d), get[float32](b, part, chunks*c.m*c.d)
				var exact, diff float64
				for i := range c.n {
					e := 1.0
					if weighted {
						e = float64(w[i])
					}
					for j := range c.m {
						for q := range c.d {
							want[i/c.chunk*c.m*c.d+j*c.d+q] += e * float64(a[i*lda+j]) * float64(x[i*ldx+q])
						}
					}
				}
				for i, s := range want {
					exact += s * s
					diff += (float64(got[i]) - s) * (float64(got[i]) - s)
				}
				if e := math.Sqrt(diff / exact); !(e <= 5e-7) {
					t.Errorf("%s: %.2g off", what, e)
				}
			}
		}
	}
}

// Where the left factor is zero, the sums are zero, however large the weights are.
func TestTensorSumsOfZeros(t *testing.T) {
	const n, m = 40, 3
	b := newBench[float32](t, &simdevice.Sim{})
	x, w, ld := b.matrix(n, m, stride(m)), make([]float32, n), stride(m)
	for i := range w {
		w[i] = 1000
	}
	a, weight := put64(b, make([]float32, n*ld)), put64(b, w)
	most, part := empty[float32](b, 2*maximaBlocks), empty[float32](b, m*m)
	b.k.largest(most, a, n*ld)
	b.k.largest(most+4*maximaBlocks, weight, n)
	tl := narrowTensorSums
	b.k.launch(b.k.tensor, tl.name, [3]int{1, 1, 1}, tl.block, tl.shared, part, a, int32(ld), weight, put64(b, x), int32(ld),
		int32(n), int32(m), int32(m), int32(n), float32(1), most, int32(maximaBlocks))
	b.ran(tl.name)
	for i, e := range get[float32](b, part, m*m) {
		if e != 0 {
			t.Errorf("sum %d is %v", i, e)
		}
	}
}

// The largest value is found wherever it lies, and a NaN is above all.
func TestLargest(t *testing.T) {
	for n := range 10 {
		for at := range n {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i%3) - 1
			}
			for _, e := range []float32{-5, 5, float32(math.Inf(-1)), float32(math.NaN())} {
				x[at] = e
				want := math.Abs(float64(e))
				if got := largest(x); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("the largest of %v is %v", x, got)
				}
			}
		}
	}
	if got := largest([]float64{}); got != 0 {
		t.Errorf("the largest of nothing is %v", got)
	}
}

// Rows lie at their places for any number of goroutines, with zeros after them.
func TestStrips(t *testing.T) {
	const n, d, ld = 3*stripRows + 5, 5, 8
	for _, workers := range []int{1, 3} {
		b := newBench[float32](t, &simdevice.Sim{})
		to := empty[float32](b, n*ld)
		err := strips(b.k.drv, workers, to, n, ld, func(i int, row []float32) {
			for j := range d {
				row[j] = float32(1 + i*d + j)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for at, x := range get[float32](b, to, n*ld) {
			i, j := at/ld, at%ld
			if want := float32(1+i*d+j) * float32(toInt(j < d)); x != want {
				t.Fatalf("%d workers: element %d of row %d is %v, want %v", workers, j, i, x, want)
			}
		}
	}
}

func absolute(x []float32) {
	for i, e := range x {
		x[i] = max(e, -e)
	}
}

// launches counts the kernels that a step runs.
func launches(
	t *testing.T, p *problem, drv *simdevice.Sim, net func(testing.TB, *problem, Driver) *engine.Net,
) (*result, map[string]int) {
	count := map[string]int{}
	drv.Observe = func(kernel string, _ Launch, _ ptx.Stats) { count[kernel]++ }
	return step(t, net(t, p, drv), p.params, nil), count
}

// A step with the products of X on tensor cores is as near to float64 as one in float32 in memory.
func TestStepOnTensorCores(t *testing.T) {
	names := []string{"missing views", "fewer columns than anchors", "two layers", "no noise"}
	for _, name := range names[:testutil.Few(2, len(names))] {
		p := cases(t)[name]
		want, other := step(t, inMemory[float64](t, p), p.params, nil), step(t, inMemory[float32](t, p), p.params, nil)
		got, count := launches(t, p, &simdevice.Sim{}, onTensorCores)
		t.Run(name, func(t *testing.T) { compare(t, got, want, other, 1e-5) })
		if count["tensor_times_narrow"] == 0 || count["tensor_sums_narrow"] == 0 {
			t.Errorf("%s: launches %v", name, count)
		}
		again, _ := launches(t, p, &simdevice.Sim{Order: 9}, onTensorCores)
		same(t, "another order", again, got)
	}
}

// On a card whose blocks may have 99 KB of shared memory, a step of many anchors runs by tiles that fit it, and has the bits that
// it has on one with more; on one with less there are none.
func TestStepWithLessSharedMemory(t *testing.T) {
	p := makeProblem(t, shape(40, 20, 2, 24, 9), 0, 3)
	want, count := launches(t, p, &simdevice.Sim{}, onTensorCores)
	if count["tensor_times_wide"] == 0 || count["tensor_sums_wide"] == 0 {
		t.Fatalf("launches %v", count)
	}
	for _, target := range []string{"sm_86", "sm_89", "sm_120"}[:testutil.Few(1, 3)] {
		got, count := launches(t, p, &simdevice.Sim{Target: target}, onTensorCores)
		if count["tensor_times_lean"] == 0 || count["tensor_sums_lean"] == 0 || count["tensor_times_wide"] != 0 {
			t.Errorf("%s: launches %v", target, count)
		}
		same(t, target, got, want)
	}
	for _, shared := range []int{0, 48 << 10} {
		if k, err := loadKernels[float32](&little{shared: shared}); err != nil || k.hasTensor {
			t.Errorf("with %d bytes of shared memory there are tensor cores: %v, %v", shared, k.hasTensor, err)
		}
	}
}

// little is the simulator with little shared memory.
type little struct {
	simdevice.Sim
	shared int
}

func (l *little) SharedMemory() int { return l.shared }

// A view of a range that halves do not hold, and a device that has not the instructions, get fused multiply-adds.
func TestRangeAndDeviceDecide(t *testing.T) {
	p := cases(t)["two layers"]
	_, count := launches(t, p, &simdevice.Sim{}, onTensorCores)
	all := count["tensor_times_narrow"]
	p.x[1][5] = 1e7 // one entry, far above all rows but its own
	_, count = launches(t, p, &simdevice.Sim{}, onTensorCores)
	if n := count["tensor_times_narrow"]; all == 0 || 2*n != all {
		t.Errorf("%d products on tensor cores, %d before one view of two had an outlier", n, all)
	}
	if _, count = launches(t, p, &simdevice.Sim{Target: "sm_70"}, onTensorCores); count["tensor_times_narrow"] != 0 {
		t.Errorf("a device without tensor cores: launches %v", count)
	}
	for _, c := range []struct {
		rows  [][]float32
		scale float64
	}{
		{[][]float32{{1, 2, 255}}, 64}, {[][]float32{{0, 0, 0.5}, {0, 0, 0}}, 1 << 14}, {[][]float32{{1}, {1}, {3e38}}, 0},
		{nil, 0},
		{[][]float32{{0}}, 0}, {[][]float32{{float32(math.NaN()), 1}}, 0}, {[][]float32{{1e-42}}, 0},
		{[][]float32{{1}, {1 << 20}}, 1. / (1 << 7)},
	} {
		var s span
		for _, row := range c.rows {
			s.note(largest(row))
		}
		if s.scale() != c.scale {
			t.Errorf("the scale of %v is %v, want %v", c.rows, s.scale(), c.scale)
		}
	}
}
