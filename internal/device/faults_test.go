package device

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// altered is the simulator with another text of a module.
type altered struct {
	simdevice.Sim
	change func(text string) string
}

func (a *altered) Load(text string) (Module, error) { return a.Sim.Load(a.change(text)) }

// unlocked is the simulator on a system without page-locked memory.
type unlocked struct{ simdevice.Sim }

func (*unlocked) Host(int) ([]byte, error) { return nil, errors.New("no pages to lock") }

func (*unlocked) FreeHost([]byte) error { return errors.New("nothing is locked") }

// TestUnlockedMemory: without page-locked memory copies use other memory, and the device goes on.
func TestUnlockedMemory(t *testing.T) {
	drv, err := usable(&unlocked{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := drv.Host(64)
	if err != nil || len(b) != 64 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	p, err := drv.Alloc("x", 64)
	if err = errors.Join(err, drv.Upload(p, b), drv.FreeHost(b), drv.Free(p), drv.Close()); err != nil {
		t.Error(err)
	}
}

// without returns text without the n-th barrier of a kernel, and whether it has one.
func without(text, kernel string, n int) (string, bool) {
	from := strings.Index(text, ".entry "+kernel+"(")
	if from < 0 {
		return text, false
	}
	to := len(text)
	if next := strings.Index(text[from+1:], ".entry "); next >= 0 {
		to = from + 1 + next
	}
	body := text[from:to]
	const barrier = "bar.sync \t0;"
	if strings.Count(body, barrier) <= n {
		return text, false
	}
	parts := strings.Split(body, barrier)
	body = strings.Join(parts[:n+1], barrier) + strings.Join(parts[n+1:], barrier)
	return text[:from] + body + text[to:], true
}

// Every barrier of every kernel is needed, and the simulator shows it: without it there is a race, or a read of what nothing
// wrote.
func TestBarriersAreNeeded(t *testing.T) {
	found := 0
	for kernel, run := range withBarriers {
		for n := 0; ; n++ {
			some := false
			drv := &altered{change: func(text string) string {
				text, ok := without(text, kernel, n)
				some = some || ok
				return text
			}}
			b := newBench[float32](t, drv)
			if !some {
				if n == 0 {
					t.Errorf("%s has no barrier", kernel)
				}
				break
			}
			run(b)
			var fault *ptx.Fault
			if err := b.k.failed(); !errors.As(err, &fault) {
				t.Errorf("%s without its barrier %d: %v", kernel, n, err)
			} else if found++; fault.Kind != ptx.Race && fault.Kind != ptx.Uninitialized {
				t.Errorf("%s without its barrier %d: a fault of kind %v", kernel, n, fault.Kind)
			}
		}
		b := newBench[float32](t, &simdevice.Sim{})
		if run(b); b.k.err != nil {
			t.Errorf("%s as it is: %v", kernel, b.k.err)
		}
	}
	if found < 18 {
		t.Errorf("only %d barriers were found", found)
	}
}

// withBarriers runs each kernel that has barriers over several steps of what it does between them.
var withBarriers = map[string]func(b *bench[float32]){
	"times_transposed_wide":    func(b *bench[float32]) { someTimes(b, wideTimes) },
	"times_transposed_hundred": func(b *bench[float32]) { someTimes(b, hundredTimes) },
	"times_transposed_narrow":  func(b *bench[float32]) { someTimes(b, narrowTimes) },
	"times_transposed_small":   func(b *bench[float32]) { someTimes(b, smallTimes) },
	"transposed_times_wide":    func(b *bench[float32]) { someSums(b, wideSums) },
	"transposed_times_hundred": func(b *bench[float32]) { someSums(b, hundredSums) },
	"transposed_times_narrow":  func(b *bench[float32]) { someSums(b, narrowSums) },
	"transposed_times_small":   func(b *bench[float32]) { someSums(b, smallSums) },
	"row_sums": func(b *bench[float32]) {
		b.k.rowSums(empty[float64](b, 3), put64(b, make([]float64, 700)), 1, 700, 300)
	},
	"tensor_times_wide":   func(b *bench[float32]) { someTensorTimes(b, wideTensorTimes) },
	"tensor_times_narrow": func(b *bench[float32]) { someTensorTimes(b, narrowTensorTimes) },
	"tensor_sums_wide":    func(b *bench[float32]) { someTensorSums(b, wideTensorSums) },
	"tensor_sums_narrow":  func(b *bench[float32]) { someTensorSums(b, narrowTensorSums) },
	"tensor_times_lean":   func(b *bench[float32]) { someTensorTimes(b, leanTensorTimes) },
	"tensor_sums_lean":    func(b *bench[float32]) { someTensorSums(b, leanTensorSums) },
	"largest": func(b *bench[float32]) {
		b.k.launch(b.k.tensor, "largest", [3]int{1, 1, 1}, 256, 0, empty[float32](b, 1), put64(b, b.vector(500)), int64(500),
			int64(500))
	},
	"direct_residual": func(b *bench[float32]) { someDirect(b, "direct_residual", 0) },
	"subtract_direct": func(b *bench[float32]) { someDirect(b, "subtract_direct", 6*4) },
}

func someTimes(b *bench[float32], tl tile) {
	const n, d, m = 40, 50, 8
	ld := padded(d)
	b.k.timesTransposedBy(tl, product{out: empty[float32](b, n*m), ldOut: m, a: put64(b, b.matrix(n, d, ld)), lda: ld,
		b: put64(b, b.matrix(m, d, ld)), ldb: ld, n: n, m: m, k: d})
}

func someSums(b *bench[float32], tl tile) {
	const n, d, m = 60, 50, 8
	ld := padded(d)
	b.k.transposedTimesBy(tl, sums{part: empty[float32](b, m*d), a: put64(b, b.matrix(n, m, m)), lda: m,
		x: put64(b, b.matrix(n, d, ld)), ldx: ld, n: n, m: m, d: d, chunk: n})
}

func someTensorTimes(b *bench[float32], t tensorTile) {
	const n, d, m, kp = 40, 160, 8, 160
	b.k.launch(b.k.tensor, t.name, [3]int{1, 1, 1}, t.block, t.shared, empty[float32](b, n*m), int32(m),
		put64(b, b.matrix(n, d, d)),
		int32(d), put64(b, make([]uint32, m*kp/2)), put64(b, make([]uint32, m*kp/2)), int32(n), int32(m), int32(kp), float32(1),
		float32(1))
}

func someTensorSums(b *bench[float32], t tensorTile) {
	const n, d, m = 160, 50, 8
	b.k.launch(b.k.tensor, t.name, [3]int{1, 1, 1}, t.block, t.shared, empty[float32](b, m*d),
		put64(b, b.matrix(n, m, m)), int32(m),
		Ptr(0), put64(b, b.matrix(n, d, 52)), int32(52), int32(n), int32(m), int32(d), int32(n), float32(1),
		put64(b, []float32{1}), int32(1))
}

// Copies are waited for: with one less that must have come, a kernel reads what is still on its way.
func TestCopiesAreWaitedFor(t *testing.T) {
	for name, wait := range map[string][2]string{
		"tensor_times_narrow": {"cp.async.wait_group 1;", "cp.async.wait_group 2;"},
		"tensor_sums_narrow":  {"cp.async.wait_group 1;", "cp.async.wait_group 2;"},
		"tensor_times_lean":   {"cp.async.wait_group 0;", "cp.async.wait_group 1;"},
		"tensor_sums_lean":    {"cp.async.wait_group 0;", "cp.async.wait_group 1;"},
	} {
		changed := 0
		b := newBench[float32](t, &altered{change: func(text string) string {
			changed += strings.Count(text, wait[0])
			return strings.ReplaceAll(text, wait[0], wait[1])
		}})
		withBarriers[name](b)
		var fault *ptx.Fault
		if err := b.k.failed(); changed == 0 || !errors.As(err, &fault) || fault.Kind != ptx.Pending {
			t.Errorf("%s, %d places changed: %v", name, changed, err)
		}
	}
}

func someDirect(b *bench[float32], name string, shared int) {
	const n, d, m, ld, ldx = 3, 300, 6, 8, 300
	direct := put64(b, []byte{1, 0, 1})
	x, h, p := put64(b, b.matrix(n, d, ldx)), put64(b, b.matrix(n, m, ld)), put64(b, b.matrix(m, d, ldx))
	args := []any{put64(b, make([]float64, n)), direct, x, int32(ldx), h, int32(ld), p, int32(n), int32(m), int32(d)}
	if shared > 0 {
		args = append([]any{put64(b, b.matrix(n, ld, ld)), put64(b, b.vector(n))}, args[1:]...)
	}
	b.k.launch(b.k.rows, name, [3]int{n, 1, 1}, rowThreads, shared, args...)
}

// A plan that is wrong by one row, one column or one chunk does not go unseen.
func TestWrongSizesAreFaults(t *testing.T) {
	const n, d, m, ld, ldx, chunk = 70, 21, 5, 8, 24, 16
	for what, change := range map[string]func(s *sums, p *product, part *int){
		"as it is":                     func(*sums, *product, *int) {},
		"a row too many of the result": func(_ *sums, p *product, _ *int) { p.n++ },
		"a stride too long":            func(_ *sums, p *product, _ *int) { p.lda += 4 },
		"an anchor too many":           func(_ *sums, p *product, _ *int) { p.m += 8; p.ldOut += 8 },
		"a chunk too few for the sums": func(_ *sums, _ *product, part *int) { *part -= m * d },
		"a row too many of the sums":   func(s *sums, _ *product, _ *int) { s.n++ },
		"a stride that is not padded":  func(s *sums, _ *product, _ *int) { s.ldx-- },
	} {
		b := newBench[float32](t, &simdevice.Sim{})
		x, h, y := put64(b, b.matrix(n, d, ldx)), put64(b, b.matrix(n, m, ld)), put64(b, b.matrix(m, d, ldx))
		part := ceil(n, chunk) * m * d
		s := sums{a: h, lda: ld, x: x, ldx: ldx, n: n, m: m, d: d, chunk: chunk}
		p := product{a: x, lda: ldx, b: y, ldb: ldx, ldOut: ld, n: n, m: m, k: d}
		change(&s, &p, &part)
		s.part, p.out = empty[float32](b, part), empty[float32](b, n*ld)
		b.k.transposedTimesBy(smallSums, s)
		b.k.timesTransposedBy(smallTimes, p)
		var fault *ptx.Fault
		err := b.k.failed()
		if what == "as it is" {
			if err != nil {
				t.Error(err)
			}
		} else if !errors.As(err, &fault) {
			t.Errorf("%s: %v", what, fmt.Sprint(err))
		}
	}
}

// Few passes through the banks of shared memory are due to lanes that want different words of one bank.
func TestBankConflicts(t *testing.T) {
	for name, run := range withBarriers {
		b := newBench[float32](t, &simdevice.Sim{Observe: func(_ string, _ Launch, s ptx.Stats) {
			if s.SharedWavefronts == 0 || 5*s.SharedConflicts > s.SharedWavefronts {
				t.Errorf("%s: %d of %d passes through the banks are conflicts", name, s.SharedConflicts, s.SharedWavefronts)
			}
		}})
		run(b)
		b.ran(name)
	}
}
