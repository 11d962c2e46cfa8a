package device

import (
	"errors"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
)

// crowded is the simulator beside another program: the device has less than it says.
type crowded struct{ simdevice.Sim }

func (c *crowded) Memory() (free, total int64, err error) { return 1 << 40, 1 << 40, nil }

// Memory that is not to be had, though it was free a moment before, is no failure of the device: auto leaves the network, or the
// rows of a stage, to the CPU, CUDA says what was missing, nothing stays taken, and the device goes on.
func TestMemoryThatIsGone(t *testing.T) {
	p := makeProblem(t, shape(64, 4, 1, 9, 5), 0, 1)
	need, err := Bytes[float32](&p.spec, nil, false, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, must := range []bool{false, true} {
		drv := &crowded{simdevice.Sim{Limit: need / 2}}
		g, err := usable(drv)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSession(g, must)
		shards, err := Factory[float32](s)(&p.spec, views[float32](p), nil, nil)
		var full *MemoryError
		switch {
		case must:
			if !errors.As(err, &full) || full.Need <= 0 || !strings.Contains(err.Error(), "GiB of device memory") {
				t.Errorf("CUDA: %v", err)
			}
		case err != nil || len(s.Left()) != 1 || s.Trains():
			t.Errorf("auto: %v, left to the CPU: %v", err, s.Left())
		default:
			if _, ok := shards[0].(*engine.Memory[float32]); !ok {
				t.Errorf("the shard is a %T", shards[0])
			}
		}
		if free, total, err := drv.Memory(); err != nil || free != total {
			t.Errorf("%d bytes are still taken, %v", total-free, err)
		}
		if s.Rows() == nil {
			t.Error("the device is taken for lost")
		}
		if _, err := g.Alloc("some", 100); err != nil {
			t.Errorf("the device does not go on: %v", err)
		}
	}
}

// failing is the simulator, lost at a launch; then every call is an error.
type failing struct {
	simdevice.Sim
	launches int // until then
}

var errLost = errors.New("an illegal memory access was encountered (700)")

func (f *failing) state() error {
	if f.launches <= 0 {
		return errLost
	}
	return nil
}

func (f *failing) Launch(m Module, kernel string, l Launch, args ...any) error {
	f.launches--
	return errors.Join(f.state(), f.Sim.Launch(m, kernel, l, args...))
}

func (f *failing) Free(p Ptr) error { return errors.Join(f.state(), f.Sim.Free(p)) }

func (f *failing) Upload(p Ptr, src []byte) error {
	return errors.Join(f.state(), f.Sim.Upload(p, src))
}

func (f *failing) Download(dst []byte, p Ptr) error {
	return errors.Join(f.state(), f.Sim.Download(dst, p))
}

// A device that is lost says so once: giving back its many arrays does not say it again for each.
func TestLostDeviceSaysSoOnce(t *testing.T) {
	p := makeProblem(t, shape(33, 5, 1, 9), 0, 1)
	g, err := usable(&failing{launches: 20})
	if err != nil {
		t.Fatal(err)
	}
	shard, err := New(g, &p.spec, views[float32](p), nil, nil, true)
	net := netOf(t, p, shard, err)
	_, err = net.Forward(t.Context(), p.params, true)
	err = errors.Join(err, shard.Close())
	var failed *FailedError
	if !errors.As(err, &failed) || !errors.Is(err, errLost) {
		t.Fatalf("%v", err)
	}
	if n := strings.Count(err.Error(), errLost.Error()); n != 1 {
		t.Errorf("a lost device says so %d times: %v", n, err)
	}
	if NewSession(g, false).Rows() != nil {
		t.Error("a lost device is given rows")
	}
}
