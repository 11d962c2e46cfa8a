package device

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/largemvc/largemvc/internal/kernel"
)

// ceiling measures the highest rates of the kernels on a device: products X·Bᵀ for X of n×d and B of m×d, and a pass over X.
type ceiling[T kernel.Float] struct {
	Shard[T]
	tell func(map[string]any) error
}

// ceilings returns the step that measures the rates on at most the given number of rows. 60,000 rows have more blocks than a card
// runs at a time, and X is larger than its caches.
func ceilings(most int) func(context.Context, Driver, func(map[string]any) error) error {
	n, m, d := min(most, 60_000), min(most, 416), min(most, 1024)
	return func(ctx context.Context, drv Driver, tell func(map[string]any) error) error {
		if err := ceilingsOf[float32](ctx, drv, n, m, d, tell); err != nil {
			return err
		}
		return ceilingsOf[float64](ctx, drv, n, m, d, tell)
	}
}

func ceilingsOf[T kernel.Float](ctx context.Context, drv Driver, n, m, d int, tell func(map[string]any) error) error {
	k, err := loadKernels[T](drv)
	if err != nil {
		return err
	}
	k.ctx = ctx
	c := &ceiling[T]{tell: tell}
	c.k, c.mem, c.scales = k, memory{drv: drv}, []float64{0}
	c.plan = plan{n: n, m: m, ld: stride(m), dims: []int{d}, ldx: []int{padded(d)}, size: int64(size[T]())}
	return errors.Join(c.measure(), c.mem.release())
}

// measure fills X and B with the same rows in turn, all entries within ±1, and measures all rates.
func (c *ceiling[T]) measure() error {
	p, ldx := &c.plan, c.plan.ldx[0]
	x, b := c.mem.take(int64(p.n*ldx)*p.size, "X"), c.mem.take(int64(p.m*ldx)*p.size, "B")
	out := c.mem.take(p.rowBytes(), "the product")
	halves := int64(2 * p.m * halved(ldx))
	c.x, c.hi, c.lo = []Ptr{x}, c.mem.take(halves, "halves of B"), c.mem.take(halves, "lower halves of B")
	if c.mem.err != nil {
		return c.mem.err
	}
	rng, table := rand.New(rand.NewPCG(1, 1)), make([][]T, 251)
	for i := range table {
		table[i] = make([]T, p.dims[0])
		for j := range table[i] {
			table[i][j] = T(2*rng.Float64() - 1)
		}
	}
	set := func(i int, row []T) { copy(row, table[i%len(table)]) }
	if err := errors.Join(strips(c.k.drv, 0, x, p.n, ldx, set), strips(c.k.drv, 0, b, p.m, ldx, set)); err != nil {
		return err
	}
	want, last := make([]float64, p.m), table[(p.n-1)%len(table)]
	for j := range want {
		for q, e := range table[j%len(table)] {
			want[j] += float64(e) * float64(last[q])
		}
	}
	if err := c.product(out, b, want); err != nil || !kernel.Is32[T]() {
		return err
	}
	if c.k.hasTensor {
		c.scales[0] = powerScale(1)
		if err := c.product(out, b, want); err != nil {
			return err
		}
	}
	seconds, err := c.best(func() { c.k.byElement("one_less", p.n*ldx, x, x, int32(p.n*ldx)) })
	if err != nil {
		return err
	}
	return c.tell(map[string]any{"what": "one_less, read and written", "gb_per_second": 2 * 4 * float64(p.n*ldx) / seconds / 1e9})
}

// product measures the kernel that the scale of X chooses. It compares the last row of the product with the CPU.
func (c *ceiling[T]) product(out, b Ptr, want []float64) error {
	p := &c.plan
	seconds, err := c.best(func() { c.byRows(0, out, b, 1) })
	if err != nil {
		return err
	}
	got := make([]T, p.m)
	if err := c.k.drv.Download(rawBytes(got), out+Ptr(int64((p.n-1)*p.ld)*p.size)); err != nil {
		return err
	}
	check := Check{What: timesTile(p.n, p.ld).name + ", float64", Off: offBy(kernel.Float64s(got), want), Allowed: 1e-12}
	if kernel.Is32[T]() {
		check.What, check.Allowed = timesTile(p.n, p.ld).name+", float32", 1e-5
	}
	rate := 2 * float64(p.n) * float64(p.m) * float64(p.dims[0]) / seconds / 1e12
	found := map[string]any{}
	if c.scales[0] != 0 {
		check.What = tensorTimesTile(p.ld, c.k.drv.SharedMemory()).name + ", float32"
		found["tflops_of_halves"] = 3 * rate // each product is three products of halves
	}
	maps.Copy(found, check.Fields())
	delete(found, "cpu_error")
	found["rows"], found["columns"], found["inner"], found["tflops"] = p.n, p.m, p.dims[0], rate
	return c.tell(found)
}

// best returns the seconds of one launch in the fastest of five rounds, after an untimed launch. Many rows have ten launches a
// round, so that waiting for the device does not count.
func (c *ceiling[T]) best(launch func()) (float64, error) {
	launches, seconds := 1, math.Inf(1)
	if c.plan.n > fewRows {
		launches = 10
	}
	launch()
	for range 5 {
		if err := errors.Join(c.k.failed(), c.k.drv.Sync()); err != nil {
			return 0, err
		}
		began := time.Now()
		for range launches {
			launch()
		}
		if err := errors.Join(c.k.failed(), c.k.drv.Sync()); err != nil {
			return 0, err
		}
		seconds = min(seconds, time.Since(began).Seconds()/float64(launches))
	}
	return seconds, nil
}
