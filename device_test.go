package largemvc

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/ptx"
	"github.com/largemvc/largemvc/internal/testutil"
	"github.com/largemvc/largemvc/machine"
)

// simulated makes what open returns the GPU of the test; nil: the simulator.
func simulated(t *testing.T, open func() (device.Driver, error)) {
	t.Helper()
	if open == nil {
		open = func() (device.Driver, error) { return &device.Sim{}, nil }
	}
	device.Register("CUDA", open)
	t.Cleanup(func() { device.Unregister("CUDA") })
}

// on returns the configuration on a device.
func on(d machine.Device, c Config) Config {
	c.Machine.Device = d
	return c
}

// A whole fit by the default preset on the simulator has the labels of the CPU, and predicts them for its training samples: with
// exact neighbours, and with landmarks where samples lack views.
func TestDeviceFit(t *testing.T) {
	views, _ := blobViews(140, 3, 0.6, 4, 14, 9)
	masked, err := Mask(views, absent(140, 2, 0.2, 5))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		views  []View
		config Config
	}{
		"neighbours": {views, Config{Clusters: 3, Seed: 2, Epochs: 10}},
		"landmarks": {masked, Config{
			Clusters: 3, Seed: 2, Epochs: 2, Layers: 1, Neighborhood: Neighborhood{Exact: None, Landmarks: 130, Directions: 6},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "landmarks" {
				testutil.Long(t, "a second fit on the simulator takes seconds")
			}
			launches := map[string]int{}
			drv := &device.Sim{Observe: func(kernel string, _ device.Launch, _ ptx.Stats) { launches[kernel]++ }}
			simulated(t, func() (device.Driver, error) { return drv, nil })
			want, got := mustFit(t, x.views, on(machine.CPU, x.config)), mustFit(t, x.views, on(machine.CUDA, x.config))
			if !slices.Equal(got.Labels, want.Labels) {
				t.Errorf("labels %v, on the CPU %v", got.Labels, want.Labels)
			}
			// The numbers of the start's clusters hang on the last bits of random draws.
			if ari, err := ARI(got.StartLabels, want.StartLabels); err != nil || ari != 1 {
				t.Errorf("the start's labels agree to %v, %v", ari, err)
			}
			for e, x := range want.Loss {
				if math.Abs(got.Loss[e]-x) > 1e-4*math.Abs(x) {
					t.Errorf("epoch %d: the loss is %v, on the CPU %v", e, got.Loss[e], x)
				}
			}
			if got.Ran != (machine.Ran{Device: "the simulator", Why: "as was asked for"}) ||
				want.Ran != (machine.Ran{Device: "CPU", Why: "as was asked for"}) {
				t.Errorf("ran on %v and %v", got.Ran, want.Ran)
			}
			// Neighbours or landmarks, the start and the clusters of H; directions; the network with both terms.
			for _, kernel := range []string{"lowest", "transposed_times_small", "residual", "gather", "predict",
				"term_cotangent"} {
				if launches[kernel] == 0 {
					t.Errorf("no kernel %s was launched: %v", kernel, launches)
				}
			}
			checkPredict(t, x.views, got)
		})
	}
}

// shallow is a fit that takes little of the simulator.
func shallow() ([]View, Config) {
	views, _ := blobViews(40, 2, 0.5, 7, 5, 4)
	return views, Config{Clusters: 2, Layers: 1, Epochs: 4, Neighborhood: Neighborhood{Neighbors: None}, Rotate: None}
}

// broken is the simulator with something that is wrong with it.
type broken struct {
	device.Sim
	major    int   // of the capability, if not 0
	refused  error // what Load says
	launches int   // until it is lost; 0: it is not
}

func (b *broken) Capability() (major, minor int) {
	if b.major > 0 {
		return b.major, 1
	}
	return b.Sim.Capability()
}

func (b *broken) Load(text string) (device.Module, error) {
	if b.refused != nil {
		return 0, b.refused
	}
	return b.Sim.Load(text)
}

func (b *broken) Launch(m device.Module, kernel string, l device.Launch, args ...any) error {
	if b.launches--; b.launches == 0 {
		b.launches = 1 // and so is all that comes after it
		return errors.New("an illegal memory access was encountered (700)")
	}
	return b.Sim.Launch(m, kernel, l, args...)
}

// Where a fit cannot run on a GPU, CUDA is an error that says why, before any work, and Auto is the CPU with its bits, which
// says why too.
func TestDeviceThatCannot(t *testing.T) {
	views, config := shallow()
	want := mustFit(t, views, on(machine.CPU, config))
	sparse := []View{SparseView(40, 3, make([]int, 41), nil, []float32{}), views[0]}
	for i := range 40 {
		sparse[0].in.Sparse.Ptr[i+1] = i + 1
		sparse[0].in.Sparse.Cols = append(sparse[0].in.Sparse.Cols, int32(i%3))
		sparse[0].in.Sparse.F32 = append(sparse[0].in.Sparse.F32, float32(i))
	}
	sparse[0] = sparse[0].Named("words")
	for name, x := range map[string]struct {
		open   func() (device.Driver, error) // nil: there is no driver in the program
		views  []View
		config Config
		say    []string
	}{
		"no driver in the program": {nil, views, config, []string{"without the tag cuda", "docs/gpu.md"}},
		"no driver on the machine": {
			func() (device.Driver, error) { return nil, errors.New("libcuda.so.1 was not found") }, views, config,
			[]string{"CUDA: libcuda.so.1 was not found"},
		},
		"an old card": {
			func() (device.Driver, error) { return &broken{major: 6}, nil }, views, config,
			[]string{"the simulator has the compute capability 6.1", "need 7.0"},
		},
		"the kernels are refused": {
			func() (device.Driver, error) { return &broken{refused: errors.New("ptxas: line 3")}, nil }, views, config,
			[]string{"the simulator does not take the kernels", "ptxas: line 3"},
		},
		"too little memory": {
			func() (device.Driver, error) { return &device.Sim{Limit: 10 << 10}, nil }, views, config,
			[]string{"a network of 40 samples takes 0.0", "GiB of device memory", "has 0.00 GiB free"},
		},
		"sparse views": {
			func() (device.Driver, error) { return &device.Sim{}, nil }, sparse, config, []string{"view 0 (words) is sparse"},
		},
		"a module of one's own": {
			func() (device.Driver, error) { return &device.Sim{}, nil }, views,
			func() Config { c := config; c.Noise = &ownNoise{}; return c }(), []string{"modules that are not from this package"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if x.open != nil {
				simulated(t, x.open)
			}
			_, err := Fit(context.Background(), x.views, on(machine.CUDA, x.config))
			got := mustFit(t, x.views, x.config)
			if got.Ran.Device != "CPU" {
				t.Errorf("Auto ran on %v", got.Ran)
			}
			for _, say := range x.say {
				if err == nil || !strings.Contains(err.Error(), say) || !strings.HasPrefix(err.Error(), "largemvc: ") {
					t.Errorf("CUDA: %v, want %q", err, say)
				}
				if !strings.Contains(got.Ran.Why, say) {
					t.Errorf("Auto: %v, want %q", got.Ran, say)
				}
			}
			if &x.views[0] == &views[0] && x.config.Noise == nil &&
				(!slices.Equal(got.Loss, want.Loss) || !slices.Equal(got.Labels, want.Labels)) {
				t.Error("Auto has other bits than the CPU")
			}
		})
	}
	bad := on(7, config)
	if _, err := Fit(context.Background(), views, bad); err == nil || !strings.Contains(err.Error(), "Machine.Device is 7") {
		t.Errorf("device 7: %v", err)
	}
}

// ownNoise is NoNoise in a type that is not of this package's modules.
type ownNoise struct{ NoNoise }

// Auto takes a GPU that is there.
func TestDeviceAuto(t *testing.T) {
	simulated(t, nil)
	views, config := shallow()
	config.Epochs = 1
	if got := mustFit(t, views, config); got.Ran != (machine.Ran{Device: "the simulator", Why: "which is there"}) {
		t.Errorf("Auto ran on %v", got.Ran)
	}
	config.Float64 = true
	if got := mustFit(t, views, config); got.Ran.Device != "CPU" || !strings.Contains(got.Ran.Why, "float64") {
		t.Errorf("float64 by Auto ran on %v", got.Ran)
	}
	if got := mustFit(t, views, on(machine.CUDA, config)); got.Ran.Device != "the simulator" {
		t.Errorf("float64 where it was asked for ran on %v", got.Ran)
	}
}

// peak is the simulator that notes the most memory that it has held.
type peak struct {
	device.Sim
	held     map[device.Ptr]int64
	now, top int64
}

func (p *peak) Alloc(name string, bytes int64) (device.Ptr, error) {
	at, err := p.Sim.Alloc(name, bytes)
	p.held[at] = (bytes + 255) &^ 255
	p.now += p.held[at]
	p.top = max(p.top, p.now)
	return at, err
}

func (p *peak) Free(at device.Ptr) error {
	p.now -= p.held[at]
	return p.Sim.Free(at)
}

// What the estimate says of a device is what a training holds there, and all of it is given back.
func TestDeviceMemory(t *testing.T) {
	drv := &peak{held: map[device.Ptr]int64{}}
	simulated(t, func() (device.Driver, error) { return drv, nil })
	views, config := shallow()
	config.Epochs = 1
	mustFit(t, views, on(machine.CUDA, config))
	m, err := config.EstimateMemory(40, []int{5, 4})
	if err != nil || m.Device != drv.top || drv.now != 0 {
		t.Errorf("an estimate of %d bytes, %d were held at most and %d are at the end, %v", m.Device, drv.top, drv.now, err)
	}
}

// A device that is lost in training is an error that tells of the checkpoint, from which the training resumes on the CPU to the
// result of a device that was not lost.
func TestDeviceLost(t *testing.T) {
	views, config := shallow()
	config.Restarts = 1
	config.Checkpoint = Checkpoint{Path: filepath.Join(t.TempDir(), "state"), Every: 1}
	counted := 0
	whole := &device.Sim{Observe: func(string, device.Launch, ptx.Stats) { counted++ }}
	simulated(t, func() (device.Driver, error) { return whole, nil })
	want := mustFit(t, views, on(machine.CUDA, config))
	device.Unregister("CUDA")
	simulated(t, func() (device.Driver, error) { return &broken{launches: counted * 3 / 5}, nil })
	c, err := Fit(context.Background(), views, on(machine.CUDA, config))
	var failed *device.FailedError
	if c != nil || !errors.As(err, &failed) || !strings.Contains(err.Error(), "resume from "+config.Checkpoint.Path) ||
		!strings.Contains(err.Error(), "illegal memory access") {
		t.Fatalf("%v, %v", c, err)
	}
	got := mustResume(t, views, config.Checkpoint.Path, func(c *Config) { c.Machine.Device = machine.CPU })
	if got.Ran.Device != "CPU" || got.Epochs != want.Epochs || !slices.Equal(got.Labels, want.Labels) {
		t.Errorf("resumed on %v to epoch %d with the labels %v, want %d and %v", got.Ran, got.Epochs, got.Labels, want.Epochs,
			want.Labels)
	}
	norm, off := 0.0, 0.0
	for i := range 40 {
		for j := range 2 {
			a, b := want.H.At(i, j), got.H.At(i, j)
			norm, off = norm+a*a, off+(a-b)*(a-b)
		}
	}
	if !(math.Sqrt(off) < 1e-5*math.Sqrt(norm)) {
		t.Errorf("H is %.2g off", math.Sqrt(off/norm))
	}
	config.Checkpoint = Checkpoint{}
	if _, err = Fit(context.Background(), views, on(machine.CUDA, config)); err == nil ||
		!strings.Contains(err.Error(), "without a checkpoint") {
		t.Error(err)
	}
}
