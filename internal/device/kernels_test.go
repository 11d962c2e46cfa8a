package device

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// bench has what a test of kernels needs: arrays of the device, each an allocation of its own.
type bench[T kernel.Float] struct {
	t   testing.TB
	k   *kernels[T]
	rng *rand.Rand
}

func newBench[T kernel.Float](t testing.TB, drv Driver) *bench[T] {
	t.Helper()
	k, err := loadKernels[T](drv)
	if err != nil {
		t.Fatal(err)
	}
	return &bench[T]{t: t, k: k, rng: rand.New(rand.NewPCG(1, 2))}
}

// matrix returns random rows with the stride ld and zeros at their ends.
func (b *bench[T]) matrix(n, d, ld int) []T {
	x := make([]T, n*ld)
	for i := range n {
		for j := range d {
			x[i*ld+j] = T(b.rng.NormFloat64())
		}
	}
	return x
}

func (b *bench[T]) vector(n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(b.rng.Float64())
	}
	return x
}

func put64[E any](b interface {
	driver() (testing.TB, Driver)
}, x []E) Ptr {
	t, drv := b.driver()
	t.Helper()
	p := empty[E](b, len(x))
	if err := drv.Upload(p, rawBytes(x)); err != nil {
		t.Fatal(err)
	}
	return p
}

func empty[E any](b interface {
	driver() (testing.TB, Driver)
}, n int) Ptr {
	t, drv := b.driver()
	t.Helper()
	p, err := drv.Alloc(fmt.Sprintf("array of %d", n), int64(n*size[E]()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get[E any](b interface {
	driver() (testing.TB, Driver)
}, p Ptr, n int) []E {
	t, drv := b.driver()
	t.Helper()
	x := make([]E, n)
	if err := drv.Download(rawBytes(x), p); err != nil {
		t.Fatal(err)
	}
	return x
}

func (b *bench[T]) driver() (testing.TB, Driver) { return b.t, b.k.drv }

// ran ends the test where a launch has failed.
func (b *bench[T]) ran(what string) {
	b.t.Helper()
	if err := b.k.failed(); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// near fails where an element is further from want than the rounding of sums of the given length.
func near[T kernel.Float](t testing.TB, what string, got []T, want []float64, terms int) {
	t.Helper()
	scale := 1.0
	for _, x := range want {
		scale = max(scale, math.Abs(x))
	}
	tol := 2 * kernel.Epsilon[T]() * math.Sqrt(float64(terms)+4) * scale
	for i, x := range want {
		if e := math.Abs(float64(got[i]) - x); !(e <= tol) {
			t.Fatalf("%s: element %d is %v, want %v (%.2g off, at most %.2g)", what, i, got[i], x, e, tol)
		}
	}
}

// eachType runs a test in both types of numbers.
func eachType(t *testing.T, f32 func(*testing.T), f64 func(*testing.T)) {
	t.Run("float32", f32)
	t.Run("float64", f64)
}

// firstType runs a test in float32, with the build tag slow in float64 too. It is for kernels that take long on the simulator.
func firstType(t *testing.T, f32 func(*testing.T), f64 func(*testing.T)) {
	t.Run("float32", f32)
	if testutil.Slow {
		t.Run("float64", f64)
	}
}

var oddShapes = []struct{ n, d, m int }{{1, 1, 1}, {77, 3, 7}, {33, 40, 100}, {130, 101, 104}, {5, 64, 130}, {257, 9, 16}}

// someShapes are those of oddShapes that tests try without the build tag slow.
func someShapes() []struct{ n, d, m int } {
	if testutil.Slow {
		return oddShapes
	}
	return oddShapes[1:4]
}

func TestTimesTransposed(t *testing.T) {
	firstType(t, testTimesTransposed[float32], testTimesTransposed[float64])
}

func testTimesTransposed[T kernel.Float](t *testing.T) {
	for _, tl := range []tile{wideTimes, hundredTimes, narrowTimes, smallTimes} {
		for _, c := range someShapes() {
			b := newBench[T](t, &simdevice.Sim{})
			lda, ld := padded(c.d), stride(c.m)
			x, y := b.matrix(c.n, c.d, lda), b.matrix(c.m, c.d, lda)
			base, row, before := b.matrix(c.n, c.m, ld), b.vector(c.n), b.matrix(c.n, c.m, ld)
			s := make([]float64, c.n*ld)
			for i := range c.n {
				for j := range c.m {
					for q := range c.d {
						s[i*ld+j] += float64(x[i*lda+q]) * float64(y[j*lda+q])
					}
				}
			}
			p := product{a: put64(b, x), lda: lda, b: put64(b, y), ldb: lda, ldOut: ld, n: c.n, m: c.m, k: c.d,
				base: put64(b, base), row: put64(b, row), theta: 0.3}
			for op, name := range []string{"store", "add", "lerp", "threshold", "threshold on one side"} {
				what := fmt.Sprintf("%s, %v, %s", tl.name, c, name)
				p.op, p.oneSd = epilogue(min(op, int(threshold))), op > int(threshold)
				p.out, p.pattern = put64(b, before), empty[byte](b, c.n*ld/4)
				if p.oneSd {
					p.theta = -0.3
				}
				b.k.timesTransposedBy(tl, p)
				b.ran(what)
				want := make([]float64, c.n*ld)
				for i := range want {
					w, a := float64(row[i/ld]), float64(base[i])
					switch {
					case i%ld >= c.m:
						continue
					case p.op == store:
						want[i] = s[i]
					case p.op == add:
						want[i] = s[i] + a
					case p.op == lerp:
						want[i] = w*a + (1-w)*s[i]
					default:
						want[i] = float64(before[i]) + w*max(s[i]+a-p.theta, 0)
						if !p.oneSd {
							want[i] -= w * max(-s[i]-a-p.theta, 0)
						}
					}
				}
				got := get[T](b, p.out, len(want))
				near(t, what, got, want, c.d)
				if p.op == threshold {
					checkPattern(t, what, get[byte](b, p.pattern, c.n*ld/4), got, before, c.n, c.m, ld)
				}
			}
		}
	}
}

// checkPattern fails where a bit does not say in which direction an element has moved.
func checkPattern[T kernel.Float](t *testing.T, what string, pattern []byte, got, before []T, n, m, ld int) {
	t.Helper()
	for i := range n {
		for j := range m {
			at := i*ld + j
			up, down := pattern[at/4]>>(j%4)&1 == 1, pattern[at/4]>>(4+j%4)&1 == 1
			if up && got[at] < before[at] || down && got[at] > before[at] || !up && !down && got[at] != before[at] {
				t.Fatalf("%s: element %d, %d went from %v to %v, the pattern says up %v, down %v", what, i, j, before[at],
					got[at], up, down)
			}
		}
	}
}

func TestTransposedTimes(t *testing.T) {
	eachType(t, testTransposedTimes[float32], testTransposedTimes[float64])
}

func testTransposedTimes[T kernel.Float](t *testing.T) {
	for _, tl := range []tile{wideSums, hundredSums, narrowSums, smallSums} {
		for _, c := range someShapes() {
			for _, weighted := range []bool{false, true} {
				b := newBench[T](t, &simdevice.Sim{})
				what := fmt.Sprintf("%s, %v", tl.name, c)
				lda, ldx, chunk := stride(c.m), padded(c.d), 32
				a, x, w := b.matrix(c.n, c.m, lda), b.matrix(c.n, c.d, ldx), b.vector(c.n)
				chunks, length := ceil(c.n, chunk), c.m*c.d
				s := sums{part: empty[T](b, chunks*length), a: put64(b, a), lda: lda, x: put64(b, x), ldx: ldx, n: c.n, m: c.m,
					d: c.d, chunk: chunk}
				if weighted {
					s.weight = put64(b, w)
				}
				b.k.transposedTimesBy(tl, s)
				dst := empty[float64](b, length)
				b.k.fold(dst, s.part, chunks, length)
				b.ran(what)
				parts := get[T](b, s.part, chunks*length)
				want := make([]float64, chunks*length)
				for i := range c.n {
					part := want[i/chunk*length:]
					for j := range c.m {
						e := float64(a[i*lda+j])
						if weighted {
							e *= float64(w[i])
						}
						for q := range c.d {
							part[j*c.d+q] += e * float64(x[i*ldx+q])
						}
					}
				}
				near(t, what, parts, want, chunk)
				checkFold(t, what, get[float64](b, dst, length), parts, chunks)
			}
		}
	}
}

// checkFold compares with the engine's tree, to the bit.
func checkFold[T kernel.Float](t *testing.T, what string, got []float64, parts []T, chunks int) {
	t.Helper()
	tree := parallel.NewVectorTree(len(got))
	for c := range chunks {
		part := tree.Part()
		for i, x := range parts[c*len(got) : (c+1)*len(got)] {
			part[i] = float64(x)
		}
		tree.Push(c, part)
	}
	for i, x := range tree.Total() {
		if got[i] != x {
			t.Fatalf("%s: sum %d is %v, in the tree %v", what, i, got[i], x)
		}
	}
}

func TestFold(t *testing.T) { eachType(t, testFold[float32], testFold[float64]) }

func testFold[T kernel.Float](t *testing.T) {
	for i, parts := range []int{1, 2, 3, 5, 7, 8, 9, 15, 48, 59, 64, 65, 100, 300, 382, 1025} {
		size := 5 + 40*(i%2)
		b := newBench[T](t, &simdevice.Sim{})
		x := b.matrix(parts, size, size)
		for i := range x {
			x[i] *= T(math.Exp(10 * b.rng.NormFloat64())) // so that the order shows
		}
		dst, again := empty[float64](b, size), empty[float64](b, size)
		b.k.fold(dst, put64(b, x), parts, size)
		doubles := kernel.Float64s(x)
		b.k.foldDoubles(again, put64(b, doubles), parts, size)
		b.ran("fold")
		checkFold(t, fmt.Sprintf("%d parts", parts), get[float64](b, dst, size), x, parts)
		checkFold(t, fmt.Sprintf("%d parts", parts), get[float64](b, again, size), doubles, parts)
	}
}

func TestRowSums(t *testing.T) {
	for _, c := range []struct{ n, columns, chunk int }{{1, 1, 16}, {77, 3, 32}, {700, 2, 512}} {
		b := newBench[float32](t, &simdevice.Sim{})
		values := make([]float64, c.n*c.columns)
		for i := range values {
			values[i] = b.rng.NormFloat64()
		}
		chunks := ceil(c.n, c.chunk)
		part := empty[float64](b, chunks*c.columns)
		b.k.rowSums(part, put64(b, values), c.columns, c.n, c.chunk)
		b.ran("row_sums")
		want := make([]float64, chunks*c.columns)
		for i, x := range values {
			want[i/c.columns/c.chunk*c.columns+i%c.columns] += x
		}
		near(t, fmt.Sprint(c), get[float64](b, part, len(want)), want, c.chunk)
	}
}

// The committed PTX is what the compiler makes of the sources.
func TestKernelsAreAsGenerated(t *testing.T) {
	testutil.Long(t, "it compiles all kernels")
	testutil.GeneratedPTX(t)
}
