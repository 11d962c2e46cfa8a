package device

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/largemvc/largemvc/internal/driver"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
)

// Cost is what some launches do. Bytes are those that must move: every operand of a launch is counted once, whatever is read
// again from a cache, and so is every result.
type Cost struct {
	Kernel        string
	Launches      int
	Read, Written int64 // bytes of the device's memory
	// Useful is the operations of the algebra, Executed those of the tiles that are there for them, three products of halves
	// counting as three. Both count a fused multiply-add as two.
	Useful, Executed int64
	Unit             Unit
	// Blocks is the number of blocks, and Busy the operations for which the launches take the time: those executed, and those
	// that processors without a block, or with too few warps, do not do meanwhile.
	Blocks int64
	Busy   float64
}

// Unit is what does most of a kernel's operations.
type Unit int

// The units.
const (
	Single  Unit = iota // float32
	Double              // float64
	Tensors             // halves on tensor cores
)

// Card is what a kernel's time is estimated from. The figures are no measurements.
type Card struct {
	Name      string
	Bandwidth float64    // of memory, bytes/s
	Rates     [3]float64 // operations/s of each Unit
	Reached   [3]float64 // the share of a rate that kernels are assumed to reach
	Launch    float64    // seconds of a launch
	Block     float64    // seconds of a block that ends at once
	Bus       float64    // bytes/s of a transfer of memory that is made for copies
	Transfer  float64    // seconds that one takes besides
}

// The processors of an H100, and the warps of a processor with which kernels reach their share of its rate.
const (
	processors = 132
	fullWarps  = 8
)

// H100 has the rates of the data sheet of an H100 SXM, 3.0 TB/s of its 3.35, and assumed shares.
var H100 = Card{Name: "H100 SXM", Bandwidth: 3.0e12, Rates: [3]float64{66.9e12, 33.5e12, 989e12},
	Reached: [3]float64{0.65, 0.5, 0.5},
	Launch:  3e-6, Block: 0.45e-9, Bus: 25e9, Transfer: 15e-6}

// Seconds is the longest of the times for a cost's bytes, for its operations and for its blocks, and the time of its launches.
func (c *Card) Seconds(k Cost) float64 {
	work := k.Busy / (c.Rates[k.Unit] * c.Reached[k.Unit])
	return max(float64(k.Read+k.Written)/c.Bandwidth, work, c.Block*float64(k.Blocks)) + c.Launch*float64(k.Launches)
}

// busy is how much longer the blocks of a launch take than on processors that are all busy to the end.
func busy(blocks int64, threads int) float64 {
	each := float64((blocks + processors - 1) / processors)
	return each * processors / float64(blocks) * max(1, fullWarps*32/(each*float64(threads)))
}

// Epoch is the cost of an epoch: all passes of a forward and a backward sweep and the wide products of the Procrustes steps.
type Epoch struct {
	Kernels   []Cost // by name, the most bytes first
	Moved     int64  // bytes of transfers
	Transfers int
	Memory    int64   // of the device
	X         int64   // bytes of the rows
	Passes    int     // that read X
	ReadsOfX  int     // by all kernels
	Host      float64 // seconds of eigenvectors for which the device waits
}

// Seconds estimates an epoch. Of the host's own work it has the eigenvectors; the rest is small.
func (e *Epoch) Seconds(c *Card) float64 {
	s := e.Host + float64(e.Moved)/c.Bus + c.Transfer*float64(e.Transfers)
	for _, k := range e.Kernels {
		s += c.Seconds(k)
	}
	return s
}

// Floor is the time of reading X once in every pass that needs it.
func (e *Epoch) Floor(c *Card) float64 { return float64(e.X) * float64(e.Passes) / c.Bandwidth }

// CountEpoch counts an epoch of a network in T, whose views have all samples and a range for tensor cores if tensors is set, by
// running its passes on a driver that computes nothing. No row is taken to need its residual directly.
func CountEpoch[T kernel.Float](spec *engine.Spec, tensors bool) (*Epoch, error) {
	drv := &counter{size: int64(size[T]())}
	s, err := emptyShard[T](drv, spec, make([]bool, len(spec.Dims)), false, true, tuning{worthMoving, fewRows})
	if err != nil {
		return nil, err
	}
	e := &Epoch{Memory: s.mem.total}
	for v, ldx := range s.plan.ldx {
		e.X += int64(s.plan.n) * int64(ldx) * s.plan.size
		if tensors && s.plan.mayTensor() {
			s.scales[v] = 1
		}
		drv.rows = append(drv.rows, s.state.x[v])
	}
	drv.wides = s.polar.wides
	q, start := engine.NewParams(spec), [][]float64{}
	for _, d := range spec.Dims {
		p := make([]float64, spec.Anchors*d)
		for i := range min(spec.Anchors, d) {
			p[i*d+i] = 1
		}
		start = append(start, p)
	}
	counted := &countedShard[T]{Shard: s, drv: drv}
	net, err := engine.NewNet(*spec, []engine.Shard{counted}, engine.InOrder{}, start)
	if err != nil {
		return nil, err
	}
	for range 2 { // the first epoch also copies what stays
		drv.moved, drv.transfers, drv.others, drv.reads, drv.costs, counted.passes = 0, 0, 0, 0, nil, 0
		if _, err := net.Forward(context.Background(), q, true); err != nil {
			return nil, err
		}
		if err := net.Backward(context.Background(), 1, engine.NewParams(spec)); err != nil {
			return nil, err
		}
	}
	e.Passes, e.ReadsOfX = counted.passes, drv.reads/len(spec.Dims)
	if len(s.polar.wides) < spec.Layers*len(spec.Dims) {
		// Eigenvectors of m = 100 take 2 ms, in the forward sweep and again in the backward one; views side by side.
		e.Host = 2 * float64(spec.Layers) * 2e-3 * math.Pow(float64(spec.Anchors)/100, 3)
	}
	e.Moved, e.Transfers = drv.moved, drv.transfers
	for _, k := range drv.costs {
		e.Kernels = append(e.Kernels, *k)
	}
	slices.SortFunc(e.Kernels, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(b.Read+b.Written, a.Read+a.Written), cmp.Compare(a.Kernel, b.Kernel))
	})
	if drv.others > 0 {
		return nil, fmt.Errorf("device: %d copies of memory that is not for copies", drv.others)
	}
	return e, drv.err
}

// countedShard counts the passes that read X.
type countedShard[T kernel.Float] struct {
	*Shard[T]
	drv    *counter
	passes int
}

func (s *countedShard[T]) Run(ctx context.Context, p *engine.Pass, tree *engine.Tree) error {
	before := s.drv.reads
	err := s.Shard.Run(ctx, p, tree)
	if s.drv.reads > before {
		s.passes++
	}
	return err
}

// counter is a driver that adds up what launches cost.
type counter struct {
	size      int64 // of an element of a shard's modules
	next      Ptr
	texts     []string
	rows      []Ptr // the views' X
	reads     int   // of them
	costs     map[string]*Cost
	hosts     [][]byte
	moved     int64 // bytes of transfers
	transfers int
	others    int // transfers of memory that is not for copies
	wides     []*wide
	err       error
}

func (c *counter) Alloc(_ string, bytes int64) (Ptr, error) {
	c.next += 1 << 44
	return c.next, nil
}
func (c *counter) Free(Ptr) error { return nil }
func (c *counter) Host(bytes int) ([]byte, error) {
	c.hosts = append(c.hosts, driver.Heap(bytes))
	return c.hosts[len(c.hosts)-1], nil
}
func (c *counter) FreeHost([]byte) error          { return nil }
func (c *counter) Upload(_ Ptr, src []byte) error { return c.transfer(src) }
func (c *counter) Download(dst []byte, _ Ptr) error {
	clear(dst)
	return c.transfer(dst)
}

// transfer counts a copy, which must have its other end in memory of Host.
func (c *counter) transfer(b []byte) error {
	at := uintptr(unsafe.Pointer(&b[0]))
	for _, h := range c.hosts {
		if from := uintptr(unsafe.Pointer(&h[0])); at >= from && at < from+uintptr(len(h)) {
			c.moved += int64(len(b))
			c.transfers++
			return nil
		}
	}
	c.others++
	return nil
}
func (c *counter) Zero(_ Ptr, bytes int64) error { return nil }
func (c *counter) Load(text string) (Module, error) {
	c.texts = append(c.texts, text)
	return Module(len(c.texts) - 1), nil
}
func (c *counter) Sync() error                            { return nil }
func (c *counter) Memory() (free, total int64, err error) { return 1 << 62, 1 << 62, nil }
func (c *counter) Capability() (major, minor int)         { return 8, 0 }
func (c *counter) SharedMemory() int                      { return ptx.MaxShared("sm_90") }
func (c *counter) Name() string                           { return "a count" }
func (c *counter) Close() error                           { return nil }

// Launch adds the cost of a launch.
func (c *counter) Launch(m Module, kernel string, l Launch, args ...any) error {
	size := c.size
	if isDouble(c.texts[m]) {
		size = 8
	}
	k, err := c.viewCost(kernel, l, args)
	if err == nil && k.Kernel == "" {
		k, err = costOf(kernel, l, size, args)
	}
	if err != nil {
		return err
	}
	for _, x := range c.rows {
		if kernel != "direct_residual" && kernel != "subtract_direct" && slices.Contains(args, any(x)) {
			c.reads++
		}
	}
	if c.costs == nil {
		c.costs = map[string]*Cost{}
	}
	name := kernel
	if size == 8 && c.size == 4 {
		name += " (float64)"
	}
	sum := c.costs[name]
	if sum == nil {
		sum = &Cost{Kernel: name, Unit: k.Unit}
		c.costs[name] = sum
	}
	sum.Launches++
	blocks := int64(l.Grid[0]) * int64(l.Grid[1]) * int64(l.Grid[2])
	sum.Blocks, sum.Busy = sum.Blocks+blocks, sum.Busy+float64(k.Executed)*busy(blocks, l.Block)
	sum.Read, sum.Written = sum.Read+k.Read, sum.Written+k.Written
	sum.Useful, sum.Executed = sum.Useful+k.Useful, sum.Executed+k.Executed
	return nil
}

// viewCost returns the cost of a kernel for several views, an empty one for others.
func (c *counter) viewCost(kernel string, l Launch, args []any) (Cost, error) {
	cost := Cost{Kernel: kernel, Unit: Double}
	at := func(i int) int64 { return int64(args[i].(int32)) }
	count := int64(l.Grid[len(l.Grid)-1])
	var first, k, ld int64
	switch kernel {
	case "view_products":
		first, k, ld = at(4), at(7), at(1)
	case "view_fold":
		first, k, ld = at(3), at(5), at(6)
	case "view_times":
		first, k, ld = at(4), at(7), at(2)
	case "view_norm":
		k, ld, count = at(2), at(3), int64(l.Grid[0])
		cost.Read, cost.Written, cost.Useful, cost.Executed = count*k*ld*8, count*8, 2*count*k*ld, 2*count*k*ld
		return cost, nil
	case "view_skew":
		k, ld, count = at(3), at(4), int64(l.Grid[1])
		cost.Read, cost.Written, cost.Useful, cost.Executed = count*k*(k+1)*8, count*k*ld*8, 3*count*k*k, 3*count*k*k
		return cost, nil
	default:
		return Cost{}, nil
	}
	for i := first; i < first+count; i++ {
		q, ldq := k, ld // squares
		if i < int64(len(c.wides)) {
			q, ldq = int64(c.wides[i].q), int64(c.wides[i].ldq)
		}
		parts := (q + polarColumns - 1) / polarColumns
		switch kernel {
		case "view_products":
			cost.Read += k * q * 8
			if args[5] != args[6] {
				cost.Read += k * q * 8
			}
			cost.Written += parts * k * ld * 8
			cost.Useful += 2 * k * k * q
			cost.Executed += 2 * up(k, int64(smallTimes.rows)) * up(ld, int64(smallTimes.columns)) * up(q, 8)
		case "view_fold":
			cost.Read, cost.Written = cost.Read+parts*k*ld*8, cost.Written+k*ld*8
			cost.Useful, cost.Executed = cost.Useful+parts*k*ld, cost.Executed+parts*k*ld
		case "view_times":
			cost.Read, cost.Written = cost.Read+(k*k+k*q)*8, cost.Written+k*ldq*8
			if args[9] != any(0.0) { // it keeps what was there
				cost.Read += k * ldq * 8
			}
			cost.Useful += 2 * k * k * q
			cost.Executed += 2 * up(k, 8) * up(k, int64(smallSums.rows)) * up(ldq, int64(smallSums.columns))
		}
	}
	return cost, nil
}

// costOf returns the cost of a launch with elements of size bytes.
func costOf(kernel string, l Launch, size int64, args []any) (Cost, error) {
	at := func(i int) int64 { // an argument that is a number, or whether a pointer is there
		switch x := args[i].(type) {
		case int32:
			return int64(x)
		case int64:
			return x
		case Ptr:
			return int64(toInt(x != 0))
		}
		return 0
	}
	blocks := int64(l.Grid[0]) * int64(l.Grid[1]) * int64(l.Grid[2])
	k := Cost{Kernel: kernel}
	if size == 8 {
		k.Unit = Double
	}
	rows := func(reads, writes, numbers, perRow, operations int64, n, ld int) {
		cells := at(n) * at(ld)
		k.Read = reads*cells*size + numbers*at(n)
		k.Written = writes*cells*size + perRow*at(n)
		k.Useful = operations * cells
	}
	switch kernel {
	case wideTimes.name, hundredTimes.name, narrowTimes.name, smallTimes.name:
		ldOut, n, m, inner := at(2), at(7), at(8), at(9)
		k.Read = (n*inner + m*inner + at(10)*n*ldOut + at(11)*n) * size
		k.Written = n * ldOut * size
		if at(0) == int64(threshold) {
			k.Written += n * ldOut / 4
			k.Read += (1 - at(14)) * n * ldOut * size
		}
		t, step := timesShape(kernel)
		k.Useful, k.Executed = 2*n*m*inner, 2*blocks*int64(t.rows*t.columns)*up(inner, step)
		return k, nil
	case wideSums.name, hundredSums.name, narrowSums.name, smallSums.name:
		n, m, d, chunk := at(6), at(7), at(8), at(9)
		parts := (n + chunk - 1) / chunk
		k.Read, k.Written = (n*m+n*d+at(3)*n)*size, parts*m*d*size
		if args[1] == args[4] {
			k.Read -= n * d * size
		}
		t, step := sumsShape(kernel)
		k.Useful, k.Executed = 2*n*m*d, 2*up(m, int64(t.rows))*up(d, int64(t.columns))*steps(n, chunk, step)
		return k, nil
	case wideTensorTimes.name, leanTensorTimes.name, narrowTensorTimes.name:
		ldOut, ldx, n, m, inner := at(1), at(3), at(6), at(7), at(8)
		t := tensorTileOf(kernel)
		k.Read, k.Written, k.Unit = n*ldx*4+2*m*inner*2, n*ldOut*4, Tensors
		k.Useful, k.Executed = 2*n*m*ldx, 3*2*blocks*int64(t.rows*t.columns)*inner
		return k, nil
	case wideTensorSums.name, leanTensorSums.name, narrowTensorSums.name:
		n, m, d, chunk := at(6), at(7), at(8), at(9)
		t := tensorTileOf(kernel)
		parts := (n + chunk - 1) / chunk
		k.Read, k.Written, k.Unit = (n*m+n*d+at(3)*n)*4, parts*m*d*4, Tensors
		if args[1] == args[4] {
			k.Read -= n * d * 4
		}
		k.Useful = 2 * n * m * d
		k.Executed = 3 * 2 * up(m, int64(t.rows)) * up(d, int64(t.columns)) * steps(n, chunk, tensorStep)
		return k, nil
	case "split_rows":
		k.Read, k.Written = int64(l.Grid[1])*at(4)*4, int64(l.Grid[1])*at(5)*4
	case "largest":
		k.Read, k.Written, k.Useful = at(2)*4, blocks*4, at(2)
	case "fold":
		k.Read, k.Written, k.Useful, k.Unit = at(2)*at(3)*size, at(3)*8, at(2)*at(3), Double
	case "fold_doubles":
		k.Read, k.Written, k.Useful, k.Unit = at(2)*at(3)*8, at(3)*8, at(2)*at(3), Double
	case "squared_norms":
		k.Read, k.Written, k.Useful, k.Unit = at(3)*at(4)*size, at(3)*8, 2*at(3)*at(4), Double
	case "residual":
		different := toInt(args[3] != args[4])
		rows(2+int64(different), 0, 8, 9, 3, 6, 7)
		k.Unit = Double
	case "direct_residual": // rows that are not direct: their flags
		k.Read = at(7)
	case "subtract_direct":
		k.Read = at(8)
	case "trust":
		k.Read, k.Written, k.Useful, k.Unit = at(6)*(8+at(5)*size), at(6)*4*size, 8*at(6), Double
	case "narrow":
		k.Read, k.Written = at(2)*8, at(2)*size
	case "one_less":
		k.Read, k.Written, k.Useful = at(2)*size, at(2)*size, at(2)
	case "loss_terms":
		k.Read, k.Written = at(5)*(8+at(4)*size), at(5)*(8+at(2)*size)
	case "add_residual":
		rows(3-at(1), 1, 1+size, 0, 3, 6, 7)
	case "scale_add":
		replaces := toInt(args[1] == any(float32(0)) || args[1] == any(float64(0)))
		k.Read, k.Written, k.Useful = at(3)*size*(1-int64(replaces)+at(2)), at(3)*size, 2*at(3)
	case "anchor_cotangent":
		rows(2+2*at(5), 1, size*(2*at(5)+at(6)), size*at(5), 7, 7, 8)
	case "noise_cotangent":
		k.Read, k.Written, k.Useful, k.Unit = at(7)*2*size, at(7)*(2*size+at(2)*size+8), 8*at(7), Double
	case "threshold_cotangent":
		rows(1+at(1)*(1-at(4)), 1+at(1), size+8*(1-at(4)), 8, 6, 8, 9)
		k.Read += at(8) * at(9) / 4
	case "represent_cotangent":
		rows(4-at(2)+at(8)+1, 1+at(8), 2*size, size, 10, 10, 11)
	case "selu_threshold":
		rows(2-at(1), 1, size, 0, 60, 6, 8)
		k.Unit = Double
	case "selu_cotangent":
		rows(2+at(1)*(1-at(4)), 1+at(1), size+8*(1-at(4)), 8, 60, 10, 12)
		k.Unit = Double
	case "row_sums":
		k.Read, k.Written, k.Useful, k.Unit = at(3)*at(2)*8, blocks*8, at(3)*at(2), Double
	default:
		return k, fmt.Errorf("device: nothing is known of the cost of %s", kernel)
	}
	k.Executed = k.Useful
	return k, nil
}

// up returns the next multiple of by.
func up(n, by int64) int64 { return (n + by - 1) / by * by }

// steps returns the rows that sums over n rows in chunks go through, step rows at a time.
func steps(n, chunk, step int64) int64 {
	whole := n / chunk
	return whole*up(chunk, step) + up(n-whole*chunk, step)
}

// timesShape and sumsShape return a tile by its kernel's name and the rows of the inner dimension that it takes at a time.
func timesShape(kernel string) (tile, int64) {
	switch kernel {
	case wideTimes.name:
		return wideTimes, 16
	case hundredTimes.name:
		return hundredTimes, 8
	case narrowTimes.name:
		return narrowTimes, 16
	}
	return smallTimes, 8
}

func sumsShape(kernel string) (tile, int64) {
	switch kernel {
	case wideSums.name:
		return wideSums, 16
	case hundredSums.name:
		return hundredSums, 8
	case narrowSums.name:
		return narrowSums, 16
	}
	return smallSums, 8
}

// tensorTileOf returns the tile of a kernel's name, an empty one for other kernels.
func tensorTileOf(kernel string) tensorTile {
	for _, t := range []tensorTile{wideTensorTimes, leanTensorTimes, narrowTensorTimes, wideTensorSums, leanTensorSums,
		narrowTensorSums} {
		if t.name == kernel {
			return t
		}
	}
	return tensorTile{}
}
