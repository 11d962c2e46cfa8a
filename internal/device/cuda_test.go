//go:build cuda

package device

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/cuda"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/fake"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// real says that there is a card, which the tests then use.
var real = cuda.Missing() == ""

// openCard opens the card, or the one of the simulator.
func openCard() (Driver, error) {
	if real {
		return OpenCUDA(findCUDA)
	}
	return OpenCUDA(fake.Symbol)
}

// withCard returns the driver of CUDA with a card of the simulator behind it where there is none.
func withCard(t *testing.T, c fake.Card) Driver {
	t.Helper()
	if !real {
		fake.Install(c)
	}
	drv, err := openCard()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drv.Close(); err != nil {
			t.Error(err)
		}
		if used := fake.Used(); !real && used != 0 {
			t.Errorf("%d bytes are still taken", used)
		}
	})
	return drv
}

// TestCUDADriver: passes through the driver give the bits that the simulator gives without it, in float32, float64 and on
// tensor cores, and with links and masks.
func TestCUDADriver(t *testing.T) {
	p := makeProblem(t, shape(77, 7, 2, 40, 13), 0.2, 3)
	many := makeProblem(t, shape(40, 20, 2, 24, 9), 0, 3)
	for name, c := range map[string]struct {
		p       *problem
		network func(t testing.TB, p *problem, drv Driver) *engine.Net
		card    fake.Card
	}{
		"float32":            {p, allOnDevice[float32], fake.Ampere},
		"float64":            {p, allOnDevice[float64], fake.Ampere},
		"tensor cores":       {p, onTensorCores, fake.Ampere},
		"many anchors":       {many, onTensorCores, fake.Ampere},
		"less shared memory": {many, onTensorCores, fake.Ada},
	} {
		t.Run(name, func(t *testing.T) {
			p, network := c.p, c.network
			drv := withCard(t, c.card)
			if c.card == fake.Ada { // a real card may have more
				drv = lean{drv}
			}
			got := step(t, network(t, p, drv), p.params, nil)
			tolerance := 0.0
			if real {
				tolerance = 1e-5
			}
			compare(t, got, step(t, network(t, p, &simdevice.Sim{}), p.params, nil), nil, tolerance)
			if real {
				return
			}
			if c := fake.Complaint(); c != "" {
				t.Error(c)
			}
			if n := fake.Launches(); n < 100 {
				t.Errorf("%d kernels were launched", n)
			}
		})
	}
}

// lean is a driver whose blocks may have the shared memory of a card for desks.
type lean struct{ Driver }

func (l lean) SharedMemory() int { return ptx.MaxShared("sm_89") }

// TestCUDAMemory: more memory than there is, is an error that says so, after which a card goes on.
func TestCUDAMemory(t *testing.T) {
	drv := withCard(t, fake.Ampere)
	if _, err := drv.Alloc("much", 1<<50); !errors.Is(err, ErrNoMemory) {
		t.Errorf("a pebibyte: %v", err)
	}
	p, err := drv.Alloc("little", 8)
	if err != nil {
		t.Fatal(err)
	}
	src, dst := []byte{1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 8)
	if err := errors.Join(drv.Upload(p, src), drv.Zero(p, 4), drv.Download(dst, p), drv.Free(p)); err != nil {
		t.Fatal(err)
	}
	if want := []byte{0, 0, 0, 0, 5, 6, 7, 8}; !slices.Equal(dst, want) {
		t.Errorf("%v, want %v", dst, want)
	}
	if n := drv.SharedMemory(); n < 64<<10 {
		t.Errorf("a block may have %d bytes of shared memory", n)
	}
}

// TestCUDAGolden: a golden model on the driver.
func TestCUDAGolden(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/golden/model_*.npz")
	if err != nil {
		t.Fatal(err)
	}
	drv, visited := withCard(t, fake.Ampere), 0
	for _, path := range paths {
		p, f := loadGolden(t, path)
		if p == nil || p.spec.Samples > 60 {
			continue
		}
		visited++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".npz"), func(t *testing.T) { compareGoldenOn(t, drv, *p, f, "full") })
	}
	if visited == 0 {
		t.Error("no golden model is small enough")
	}
}

// TestCUDARefusals: what a card cannot do is an error that says why, and a later call on a lost card is one too.
func TestCUDARefusals(t *testing.T) {
	if real {
		t.Skip("the card at hand refuses nothing")
	}
	fake.Install(fake.Card{Memory: 1 << 20, Capability: 60})
	drv, err := openCard()
	if err != nil {
		t.Fatal(err)
	}
	if major, minor := drv.Capability(); major != 6 || minor != 0 {
		t.Errorf("capability %d.%d", major, minor)
	}
	if _, err := drv.Load(productsFloat()); err == nil || !strings.Contains(err.Error(), "no code for the card") {
		t.Errorf("an old card takes the kernels: %v", err)
	}
	_, err = drv.Alloc("much", 2<<20)
	if !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "2097152 bytes for much") {
		t.Errorf("more than the memory: %v", err)
	}
	if free, total, err := drv.Memory(); free != 1<<20 || total != 1<<20 || err != nil {
		t.Errorf("%d of %d bytes are free, %v", free, total, err)
	}
	if err := drv.Close(); err != nil {
		t.Error(err)
	}
	if err := drv.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	if err := drv.Free(256); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("a call after Close: %v", err)
	}

	fake.Install(fake.Card{Memory: 1 << 30, Capability: 90, Refuse: "ptxas fatal: of another world"})
	if drv, err = openCard(); err != nil {
		t.Fatal(err)
	}
	if _, err := drv.Load(productsFloat()); err == nil || !strings.Contains(err.Error(), "of another world") {
		t.Errorf("the compiler's message is missing: %v", err)
	}
	if err := drv.Close(); err != nil {
		t.Error(err)
	}

	for code, say := range map[int]string{
		221: "libnvidia-ptxjitcompiler.so.1", 222: "the driver is too old", 223: "CUDA_DISABLE_PTX_JIT",
	} {
		fake.Install(fake.Card{Memory: 1 << 30, Capability: 90, Refuse: "no", RefuseAs: code})
		drv, err := openCard()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := usable(drv); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("error %d of the compiler: %v", code, err)
		}
	}

	lost := fake.Ampere
	lost.Fail = 20
	fake.Install(lost)
	if drv, err = openCard(); err != nil {
		t.Fatal(err)
	}
	p := makeProblem(t, shape(33, 5, 1, 9), 0, 1)
	_, err = allOnDevice[float32](t, p, drv).Forward(t.Context(), p.params, true)
	if err == nil || !strings.Contains(err.Error(), "CUDA error 700") {
		t.Errorf("a lost card: %v", err)
	}
	if err := drv.Sync(); err == nil {
		t.Error("a lost card goes on")
	}
	_ = drv.Close() // it cannot do anything any more
}

// TestCUDALostAnywhere: a card that is lost at any launch of a step, which only later calls are told, makes the step an error;
// the last launch of a sweep is no exception.
func TestCUDALostAnywhere(t *testing.T) {
	if real {
		t.Skip("the card at hand is not to be lost")
	}
	p := makeProblem(t, shape(33, 5, 1, 9), 0, 1)
	step := func(fail int) (launches int, err error) {
		card := fake.Ampere
		card.Fail = fail
		fake.Install(card)
		drv, err := openCard()
		if err != nil {
			t.Fatal(err)
		}
		shard, err := New(drv, &p.spec, views[float32](p), nil, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		net, err := engine.NewNet(p.spec, []engine.Shard{shard}, engine.InOrder{}, p.start)
		if err == nil {
			_, err = net.Forward(t.Context(), p.params, true)
		}
		if err == nil {
			err = net.Backward(t.Context(), 1, engine.NewParams(&p.spec))
		}
		launches = fake.Launches()
		_ = drv.Close() // where the card is lost, that is an error too
		return launches, err
	}
	all, err := step(0)
	if err != nil || all < 20 {
		t.Fatalf("%d launches, %v", all, err)
	}
	for fail := 1; fail <= all; fail++ {
		if _, err := step(fail); err == nil || !strings.Contains(err.Error(), "CUDA error 700") {
			t.Errorf("lost at launch %d of %d: %v", fail, all, err)
		}
	}
}
