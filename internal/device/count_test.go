package device

import (
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// What is counted of a launch is what the simulator sees it do: all that it writes, the operations of its tiles, and no more
// read than the simulator reads, which counts what is read again.
func TestCountsAreWhatRuns(t *testing.T) {
	masked := shape(70, 20, 2, 24, 21) // all views are kept
	selu := shape(70, 5, 2, 12, 7)
	selu.Represent = engine.SELU
	for name, c := range map[string]struct {
		spec    engine.Spec
		tensors bool
	}{
		"float32": {shape(70, 5, 2, 12, 7), false}, "few columns": {masked, false}, "tensors": {masked, true},
		"SELU": {selu, false}, "fewer features than anchors": {shape(70, 20, 2, 24, 9), false},
	} {
		p := makeProblem(t, c.spec, 0, 3)
		for _, rho := range p.params.Rho { // every row has a residual above it
			rho[0], rho[1] = 0.1, 0.1
		}
		tune := tuning{worthMoving: 0, tensorRows: fewRows}
		if slices.Min(c.spec.Dims) < c.spec.Anchors { // how many steps a polar factor takes depends on the data there
			tune.worthMoving = math.MaxInt
		}
		if c.tensors {
			tune.tensorRows = 0
		}
		ran := map[string]*ptx.Stats{}
		run := func(drv Driver) {
			s, err := newShard(drv, &p.spec, views[float32](p), nil, nil, true, tune)
			if err != nil {
				t.Fatal(err)
			}
			net := netOf(t, p, s, nil)
			if c, ok := drv.(*counter); ok {
				c.wides = s.polar.wides
			}
			step(t, net, p.params, nil)
		}
		sim := &doubled{}
		sim.Observe = func(kernel string, _ Launch, s ptx.Stats) {
			if sim.double {
				kernel += " (float64)"
			}
			sum := ran[kernel]
			if sum == nil {
				sum = &ptx.Stats{}
				ran[kernel] = sum
			}
			sum.GlobalWritten += s.GlobalWritten
			sum.GlobalRead += s.GlobalRead
			sum.Float32 += s.Float32
			sum.Tensor += s.Tensor
		}
		run(sim)
		count := &counter{size: 4}
		run(count)
		for kernel, s := range ran {
			k := count.costs[kernel]
			if k == nil {
				t.Errorf("%s: %s is not counted", name, kernel)
				continue
			}
			if kernel == "direct_residual" || kernel == "subtract_direct" {
				continue // nothing is direct
			}
			if k.Written != s.GlobalWritten {
				t.Errorf("%s: %s writes %d bytes, %d are counted", name, kernel, s.GlobalWritten, k.Written)
			}
			if s.GlobalRead < k.Read {
				t.Errorf("%s: %s reads %d bytes, %d are counted", name, kernel, s.GlobalRead, k.Read)
			}
			switch {
			case kernel == smallTimes.name || kernel == smallSums.name:
				if r := float64(s.Float32) / float64(k.Executed); r < 1 || r > 1.2 {
					t.Errorf("%s: %s does %d operations, %d are counted", name, kernel, s.Float32, k.Executed)
				}
			case k.Unit == Tensors && s.Tensor != k.Executed:
				t.Errorf("%s: %s does %d operations on tensor cores, %d are counted", name, kernel, s.Tensor, k.Executed)
			}
		}
	}
}

// doubled is a simulator that says whether a launch is of a module for float64.
type doubled struct {
	simdevice.Sim
	doubles []bool
	double  bool
}

func (d *doubled) Load(text string) (Module, error) {
	d.doubles = append(d.doubles, isDouble(text))
	return d.Sim.Load(text)
}

func (d *doubled) Launch(m Module, name string, l Launch, args ...any) error {
	d.double = d.doubles[m]
	return d.Sim.Launch(m, name, l, args...)
}

// The algebra of an epoch: eight products with X where its anchors are learnt through two layers, five passes that read it.
func TestEpoch(t *testing.T) {
	spec := shape(195537, 100, 2, 944, 576, 512, 640)
	for _, tensors := range []bool{false, true} {
		e, err := CountEpoch[float32](&spec, tensors)
		if err != nil {
			t.Fatal(err)
		}
		if e.Passes != 5 || e.ReadsOfX != 8 {
			t.Errorf("%d passes read X, %d times together", e.Passes, e.ReadsOfX)
		}
		useful, executed, names := int64(0), int64(0), map[string]Cost{}
		for _, k := range e.Kernels {
			names[k.Kernel] = k
			if k.Useful > k.Executed {
				t.Errorf("%s: %d operations of %d that are executed", k.Kernel, k.Useful, k.Executed)
			}
		}
		products := []string{wideTimes.name, wideSums.name, hundredTimes.name, hundredSums.name}
		if tensors {
			products = []string{wideTensorTimes.name, wideTensorSums.name}
		}
		for _, name := range products {
			useful, executed = useful+names[name].Useful, executed+names[name].Executed
		}
		withX := int64(8) * 2 * 195537 * 2672 * 100
		if tensors {
			withX += 2 * 4 * 2 * 195537 * 100 * 104 // Hᵀdiag(w)H with the stride of H
		}
		if tensors && useful != withX || useful < withX {
			t.Errorf("tensors %v: %d operations, the products with X alone have %d", tensors, useful, withX)
		}
		if executed < useful {
			t.Error("tiles do less than the algebra")
		}
		if floor := e.Floor(&H100); math.Abs(floor-5*195537*2672*4/3e12) > 1e-9 || e.Seconds(&H100) < floor {
			t.Errorf("an epoch of %v s, the floor is %v s", e.Seconds(&H100), floor)
		}
		need, err := Bytes[float32](&spec, nil, false, true)
		if err != nil || need != e.Memory {
			t.Errorf("a plan of %d bytes, %d counted, %v", need, e.Memory, err)
		}
	}
}
