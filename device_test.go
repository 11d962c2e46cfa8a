package largemvc

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// The tests have the GPUs that they ask for, and no card of the machine.
func init() { device.Unregister("CUDA") }

// simulated makes what open returns the GPU of the test; nil: the simulator.
func simulated(t *testing.T, open func() (device.Driver, error)) {
	t.Helper()
	if open == nil {
		open = func() (device.Driver, error) { return &simdevice.Sim{}, nil }
	}
	device.Register("CUDA", open)
	least := leastTraining
	leastTraining = 0
	t.Cleanup(func() {
		device.Unregister("CUDA")
		leastTraining = least
	})
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
	masked, err := testutil.Masked(views, absent(140, 2, 0.2, 5))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		views  []View
		config Config
	}{
		"neighbours": {views, Config{Clusters: 3, Seed: 2, Epochs: testutil.Few(4, 10)}},
		"landmarks": {masked, Config{
			Clusters: 3, Seed: 2, Epochs: 2, Layers: 1, Neighborhood: Neighborhood{Exact: None, Landmarks: 130, Directions: 6},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "landmarks" {
				testutil.Long(t, "a second fit on the simulator takes seconds")
			}
			launches := map[string]int{}
			drv := &simdevice.Sim{Observe: func(kernel string, _ device.Launch, _ ptx.Stats) { launches[kernel]++ }}
			simulated(t, func() (device.Driver, error) { return drv, nil })
			want, got := mustFit(t, x.views, on(machine.CPU, x.config)), mustFit(t, x.views, on(machine.CUDA, x.config))
			if !slices.Equal(got.Labels, want.Labels) {
				t.Errorf("labels %v, on the CPU %v", got.Labels, want.Labels)
			}
			// The numbers of the start's clusters hang on the last bits of random draws.
			if ari, err := ariOf(got.StartLabels, want.StartLabels); err != nil || ari != 1 {
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
	return views, Config{Clusters: 2, Layers: 1, Epochs: 4, Neighborhood: Neighborhood{Neighbors: None}}
}

// broken is the simulator with something that is wrong with it.
type broken struct {
	simdevice.Sim
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
		"no driver in the program": {nil, views, config, []string{"no driver for GPUs", "docs/gpu.md"}},
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
			func() (device.Driver, error) { return &simdevice.Sim{Limit: 10 << 10}, nil }, views, config,
			[]string{"a network of 40 samples takes 0.0", "GiB of device memory", "has 0.00 GiB free"},
		},
		"sparse views": {
			func() (device.Driver, error) { return &simdevice.Sim{}, nil }, sparse, config, []string{"view 0 (words) is sparse"},
		},
		"a module of one's own": {
			func() (device.Driver, error) { return &simdevice.Sim{}, nil }, views,
			func() Config { c := config; c.Noise = &ownNoise{}; return c }(), []string{"modules that are not from this package"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if simulated(t, x.open); x.open == nil {
				device.Unregister("CUDA")
			}
			_, err := fitAlone(context.Background(), x.views, on(machine.CUDA, x.config))
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
	if _, err := fitAlone(context.Background(), views, bad); err == nil || !strings.Contains(err.Error(), "Machine.Device is 7") {
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
	leastTraining = 10e9
	if got := mustFit(t, views, config); got.Ran.Device != "CPU" || !strings.Contains(got.Ran.Why, "too short") {
		t.Errorf("a short training by Auto ran on %v", got.Ran)
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
	simdevice.Sim
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
	m, err := config.EstimateMemory(sized(40, 5, 4))
	if err != nil || m.Device != drv.top || drv.now != 0 {
		t.Errorf("an estimate of %d bytes, %d were held at most and %d are at the end, %v", m.Device, drv.top, drv.now, err)
	}
}

// Where the network fits a device and a stage does not, CUDA is an error with both figures, and Auto has the CPU do that stage
// and says so, with the CPU's labels.
func TestDeviceStageThatDoesNotFit(t *testing.T) {
	views, _ := blobViews(60, 3, 0.6, 8, 9, 6)
	config := Config{Clusters: 3, Seed: 2, Epochs: 2, Layers: 1}
	want := mustFit(t, views, on(machine.CPU, config))
	whole := &peak{held: map[device.Ptr]int64{}}
	simulated(t, func() (device.Driver, error) { return whole, nil })
	mustFit(t, views, on(machine.CUDA, config))
	device.Unregister("CUDA")
	limit := whole.top
	simulated(t, func() (device.Driver, error) { return &simdevice.Sim{Limit: limit}, nil })
	got := want
	for said := " left to the CPU: a matrix of "; !strings.Contains(got.Ran.Why, said); {
		limit -= limit / 10
		if got = mustFit(t, views, config); strings.Contains(got.Ran.Why, "a network of") {
			t.Fatalf("with %d bytes nothing fits, with a tenth more all did", limit)
		}
	}
	if got.Ran.Device != "the simulator" || !slices.Equal(got.Labels, want.Labels) {
		t.Errorf("labels %v on %v, on the CPU %v", got.Labels, got.Ran, want.Labels)
	}
	if strings.Count(got.Ran.Why, "takes 0.00 GiB of device memory, the simulator has 0.00 GiB free") != 1 {
		t.Errorf("what was left is said otherwise: %v", got.Ran)
	}
	_, err := fitAlone(t.Context(), views, on(machine.CUDA, config))
	var full *device.MemoryError
	if !errors.As(err, &full) || !strings.Contains(err.Error(), "a matrix of 60 samples takes") || full.Need <= full.Free {
		t.Errorf("CUDA: %v", err)
	}
}

// The views of a fit with neighbours may be sparse: their directions are sought on the CPU, all else is done on the device.
func TestDeviceSparseViews(t *testing.T) {
	dense, _ := blobViews(60, 3, 0.6, 8, 9, 6)
	x := SparseView(60, 9, make([]int, 61), nil, []float32{})
	for i := range 60 {
		row := make([]float64, 9)
		dense[0].in.Row(i, row)
		for j, e := range row {
			x.in.Sparse.Cols = append(x.in.Sparse.Cols, int32(j))
			x.in.Sparse.F32 = append(x.in.Sparse.F32, float32(e))
		}
		x.in.Sparse.Ptr[i+1] = len(x.in.Sparse.Cols)
	}
	views := []View{x, dense[1]}
	config := Config{Clusters: 3, Seed: 2, Epochs: 2, Layers: 1}
	launches := map[string]int{}
	drv := &simdevice.Sim{Observe: func(kernel string, _ device.Launch, _ ptx.Stats) { launches[kernel]++ }}
	simulated(t, func() (device.Driver, error) { return drv, nil })
	want, got := mustFit(t, views, on(machine.CPU, config)), mustFit(t, views, on(machine.CUDA, config))
	if !slices.Equal(got.Labels, want.Labels) || got.Ran.Device != "the simulator" {
		t.Errorf("labels %v on %v, on the CPU %v", got.Labels, got.Ran, want.Labels)
	}
	for _, kernel := range []string{"lowest", "residual", "gather"} { // neighbours, the network, its terms
		if launches[kernel] == 0 {
			t.Errorf("no kernel %s was launched: %v", kernel, launches)
		}
	}
}

// apart is the norm of the difference of two matrices over that of the second.
func apart(got, want mat.Matrix) float64 {
	norm, off := 0.0, 0.0
	n, m := want.Dims()
	for i := range n {
		for j := range m {
			a, b := want.At(i, j), got.At(i, j)
			norm, off = norm+a*a, off+(a-b)*(a-b)
		}
	}
	return math.Sqrt(off / norm)
}

// A device that is lost in training is an error that tells of the checkpoint, from which the training resumes on the CPU to the
// result of a device that was not lost.
func TestDeviceLost(t *testing.T) {
	views, config := shallow()
	config.Restarts = 1
	config.Checkpoint = Checkpoint{Path: filepath.Join(t.TempDir(), "state"), Every: 1}
	counted := 0
	whole := &simdevice.Sim{Observe: func(string, device.Launch, ptx.Stats) { counted++ }}
	simulated(t, func() (device.Driver, error) { return whole, nil })
	want := mustFit(t, views, on(machine.CUDA, config))
	device.Unregister("CUDA")
	simulated(t, func() (device.Driver, error) { return &broken{launches: counted * 3 / 5}, nil })
	c, err := fitAlone(context.Background(), views, on(machine.CUDA, config))
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
	if e := apart(got.H, want.H); !(e < 1e-5) {
		t.Errorf("H is %.2g off", e)
	}
	config.Checkpoint = Checkpoint{}
	if _, err = fitAlone(context.Background(), views, on(machine.CUDA, config)); err == nil ||
		!strings.Contains(err.Error(), "without a checkpoint") {
		t.Error(err)
	}
}

// New samples that are asked for on the simulator go through the network there, in one batch and in several, and get the labels
// and, to the last bits, the representation of the CPU: with noise and without, with absent views, with rows from memory and in
// blocks. A call without WithMachine stays on the CPU.
func TestDevicePredict(t *testing.T) {
	launches, batches := 0, 0
	sim := func() *simdevice.Sim {
		launches, batches = 0, 0
		return &simdevice.Sim{Observe: func(kernel string, _ device.Launch, _ ptx.Stats) {
			if launches++; kernel == "squared_norms" {
				batches++ // once a view
			}
		}}
	}
	drv := sim()
	simulated(t, func() (device.Driver, error) { return drv, nil })
	views, _ := blobViews(70, 3, 0.5, 31, 9, 6)
	masked, err := testutil.Masked(views, absent(70, 2, 0.2, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		views  []View
		config Config
	}{
		"default":       {views, Config{Clusters: 3, Epochs: 3}},
		"absent views":  {masked, Config{Clusters: 3, Epochs: 3, Neighborhood: Neighborhood{Neighbors: None}}},
		"paper":         {views, paper(Config{Clusters: 3, Epochs: 3, Layers: 3})},
		"float64, SELU": {views, Config{Clusters: 3, Epochs: 3, Float64: true, Represent: &SoftThreshold{Activation: SELU}}},
	} {
		t.Run(name, func(t *testing.T) {
			fit := mustFit(t, x.views, on(machine.CPU, x.config))
			if fit.Kept {
				t.Fatal("the network takes no part")
			}
			launches = 0
			want, err := fit.Assign(t.Context(), x.views)
			if err != nil {
				t.Fatal(err)
			}
			h, err := fit.Transform(t.Context(), x.views)
			if err != nil {
				t.Fatal(err)
			}
			if launches != 0 {
				t.Errorf("%d kernels were launched unasked", launches)
			}
			for _, memory := range []int64{0, 30_000} { // of which the second holds a part of the samples
				drv = sim()
				drv.Limit = memory
				there := fit.WithMachine(machine.Options{Device: machine.CUDA})
				got, err := there.Assign(t.Context(), x.views)
				if err != nil {
					t.Fatal(err)
				}
				if ran := got.Ran; launches == 0 || ran != (machine.Ran{Device: "the simulator", Why: "as was asked for"}) {
					t.Errorf("%d kernels were launched, ran on %v", launches, ran)
				}
				if (batches > len(fit.Inputs())) != (memory > 0) {
					t.Errorf("%d inputs of batches with %d bytes of memory", batches, memory)
				}
				if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Labels, fit.Labels) {
					t.Errorf("labels %v, on the CPU %v", got.Labels, want.Labels)
				}
				for i, near := range want.Near {
					if math.Abs(got.Near[i]-near) > 1e-3*want.Next[i] {
						t.Errorf("sample %d is at %g of its cluster, on the CPU at %g", i, got.Near[i], near)
					}
				}
				onDevice, err := there.Transform(t.Context(), x.views)
				if err != nil {
					t.Fatal(err)
				}
				if e := apart(onDevice, h); !(e < 1e-5) {
					t.Errorf("H differs by %.1e", e)
				}
				var labels []int
				err = there.AssignRows(t.Context(), x.views, func(_ int, a *Assignments) error {
					labels = append(labels, a.Labels...)
					return nil
				})
				if err != nil || !slices.Equal(labels, want.Labels) {
					t.Errorf("in blocks: %v, labels %v", err, labels)
				}
			}
		})
	}
}

// Where samples cannot go to a GPU, CUDA is an error that says why, and Auto is the CPU with its bits, which says why too: before
// any work, when a batch does not fit, and when the device is lost, with which nothing else is.
func TestDevicePredictThatCannot(t *testing.T) {
	views, config := shallow()
	plain := mustFit(t, views, on(machine.CPU, config))
	sparse := slices.Clone(views)
	sparse[1] = SparseView(40, 4, make([]int, 41), nil, []float32{}).Named("words")
	own := config
	own.Noise = &ownNoise{}
	for name, x := range map[string]struct {
		open  func() (device.Driver, error) // nil: there is no driver in the program
		fit   *Predictor
		views []View
		say   string
	}{
		"no driver in the program": {nil, plain.Predictor, views, "no driver for GPUs"},
		"an old card": {
			func() (device.Driver, error) { return &broken{major: 6}, nil }, plain.Predictor, views, "compute capability 6.1",
		},
		"too little memory": {
			func() (device.Driver, error) { return &simdevice.Sim{Limit: 1 << 10}, nil }, plain.Predictor, views,
			"a batch of 1 samples takes 0.00 GiB of device memory",
		},
		"lost": {
			func() (device.Driver, error) { return &broken{launches: 5}, nil }, plain.Predictor, views, "illegal memory",
		},
		"sparse views": {
			func() (device.Driver, error) { return &simdevice.Sim{}, nil }, plain.Predictor, sparse, "(words) is sparse",
		},
		"a module of one's own": {
			func() (device.Driver, error) { return &simdevice.Sim{}, nil },
			mustFit(t, views, on(machine.CPU, own)).Predictor, views,
			"modules that are not from this package",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if x.open != nil {
				simulated(t, x.open)
			}
			want, err := x.fit.Assign(t.Context(), x.views)
			if err != nil {
				t.Fatal(err)
			}
			_, err = x.fit.WithMachine(machine.Options{Device: machine.CUDA}).Assign(t.Context(), x.views)
			if err == nil || !strings.Contains(err.Error(), x.say) || !strings.HasPrefix(err.Error(), "largemvc: ") {
				t.Errorf("CUDA: %v, want %q", err, x.say)
			}
			got, err := x.fit.WithMachine(machine.Options{}).Assign(t.Context(), x.views)
			if err != nil {
				t.Fatal(err)
			}
			ran := got.Ran
			got.Ran = want.Ran
			if !reflect.DeepEqual(got, want) {
				t.Error("Auto has other bits than the CPU")
			}
			if ran.Device != "CPU" || !strings.Contains(ran.Why, x.say) {
				t.Errorf("Auto ran on %v, want %q", ran, x.say)
			}
		})
	}
	_, err := plain.WithMachine(machine.Options{Device: 7}).Predict(t.Context(), views)
	if err == nil || !strings.Contains(err.Error(), "WithMachine is 7") {
		t.Errorf("device 7: %v", err)
	}
	simulated(t, nil)
	config.Float64 = true
	double := mustFit(t, views, on(machine.CPU, config))
	a, err := double.WithMachine(machine.Options{Device: machine.CUDA}).Assign(t.Context(), views)
	if err != nil || a.Ran.Device != "the simulator" {
		t.Errorf("float64 where it was asked for: %v, %v", err, a)
	}
	a, err = double.WithMachine(machine.Options{}).Assign(t.Context(), views)
	if err != nil || !strings.Contains(a.Ran.Why, "float64") {
		t.Errorf("float64 by Auto: %v, %v", err, a)
	}
}
