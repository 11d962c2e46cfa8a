package largemvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/plan"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
)

// run is one fit. open sets its fields; a stage that needs others works on a copy.
type run struct {
	processes
	own     *window         // the samples of this rank, if it has gathered all samples; nil: all samples here are its own
	config  *Config         // with its defaults
	views   []view.View     // of the samples here; rows outside memory are bound to reads
	storage plan.Storage    // where rows and state are kept
	device  *device.Session // that the network is trained on; nil: the CPU
	meter   *meter.Meter    // nil: there is no Progress callback
	reads   *rows.Reads     // of rows outside memory; its first error replaces the result; nil: all rows are in memory
	state   *resumed        // from which the fit goes on; nil: from the beginning
	keeper  *smooth.Keeper  // of the graphs for the checkpoint; nil: none
	began   time.Time
}

// open checks all but values, fills the defaults, chooses where rows and state are kept, and returns the context of the stages.
func (r *run) open(ctx context.Context, views []View, config Config) (context.Context, error) {
	n, err := r.settle(views, config)
	if err != nil {
		return nil, err
	}
	if r.group != nil && r.config.searched(r.group.Total(n)) {
		if views, err = r.gather(ctx, views); err != nil {
			return nil, err
		}
		n = r.team.Total(n)
	}
	c, all := r.config, r.group.Total(n)
	check := errors.Join(checkKnown(c, all)...)
	if !c.samples(all) || r.state == nil { // else the state has labels for the samples that are drawn
		check = checkConfig(c, all, views)
	}
	if check != nil {
		return nil, check
	}
	if r.storage, err = place(c, n, all, views); err != nil {
		return nil, err
	}
	r.views = placed(r.group, views)
	if err := withName(view.CheckWidths(r.group, r.views)); err != nil {
		return nil, err
	}
	if r.group != nil {
		if err := withName(view.Together(r.group, r.views)); err != nil {
			return nil, err
		}
	}
	if view.Outside(r.views) && !r.storage.Rows {
		r.reads, ctx = rows.NewReads(ctx)
		r.group.Watch(r.reads.Err)
		r.views = view.Bind(r.views, r.reads, c.Machine.Workers, !r.storage.Streamed)
	}
	return r.setMeter(ctx), nil
}

// settle sets the configuration with its defaults, on which all ranks agree, and returns the number of samples here.
func (r *run) settle(views []View, config Config) (int, error) {
	check := checkShapes
	if r.group != nil { // what masks say is known of all samples together
		check = checkSizes
	}
	n, err := check(views)
	if err != nil {
		return 0, err
	}
	c := config.WithDefaults()
	if r.group != nil {
		if err := joinRanks(&c, r.group, n, views, r.state != nil); err != nil {
			return 0, err
		}
	}
	c.forSamples(r.group.Total(n))
	adaptNeighbors(&c, &config, r.group.Total(n))
	r.config = &c
	return n, nil
}

// joinRanks exchanges the shapes and the known labels of the ranks before they do anything else together. A training
// that goes on has its own start labels.
func joinRanks(c *Config, group *ranks.Group, n int, views []View, goesOn bool) error {
	same, err := sameOnRanks(c, views)
	if err != nil {
		return err
	}
	if err := withName(group.Join(n, same)); err != nil {
		return err
	}
	sized, all := *c, group.Total(n)
	sized.forSamples(all)
	if err := checkRanks(c, views, sized.searched(all) || c.samples(all)); err != nil {
		return err
	}
	if c.Known, err = gatherLabels(group, "Known", c.Known, n); err != nil {
		return err
	}
	// Each rank keeps the start labels of its samples, unless it gets all samples.
	switch {
	case goesOn && !sized.searched(all) && !c.samples(all) && c.StartLabels != nil:
		if len(c.StartLabels) != all {
			return fmt.Errorf("largemvc: resuming: the views of all ranks have %d samples, the training had %d", all,
				len(c.StartLabels))
		}
		c.StartLabels = c.StartLabels[group.First() : group.First()+n]
	case goesOn:
	case sized.searched(all):
		c.StartLabels, err = gatherLabels(group, "StartLabels", c.StartLabels, n)
	default:
		err = checkLabels("StartLabels", c.StartLabels, n)
	}
	return err
}

// gatherLabels returns the labels of the samples of all ranks; nil if there are none. This rank has n samples.
func gatherLabels(group *ranks.Group, name string, labels []int, n int) ([]int, error) {
	if err := checkLabels(name, labels, n); err != nil || labels == nil {
		return nil, err
	}
	all, err := ranks.GatherAll(group, name, labels, group.Total(n))
	return all, withName(err)
}

func checkLabels(name string, labels []int, n int) error {
	if labels != nil && len(labels) != n {
		return fmt.Errorf("largemvc: Config.%s has %s for the %d samples of this rank", name,
			textfile.Count(len(labels), "label"), n)
	}
	return nil
}

// gather returns the views of the samples of all ranks, so few that their neighbours are searched among all of them: every rank
// does the same with all samples, and returns what concerns its own.
func (r *run) gather(ctx context.Context, views []View) ([]View, error) {
	in, whole := placed(r.group, views), make([]View, len(views))
	if err := withName(view.CheckFinite(ctx, in, r.config.Machine.Workers)); err != nil {
		return nil, err
	}
	for v, x := range in {
		var err error
		if whole[v].in, err = view.Gather(ctx, r.group, v, x, r.group.Total(x.Rows)); err != nil {
			return nil, withName(err)
		}
	}
	r.own = &window{r.group.First(), r.group.First() + views[0].in.Rows}
	r.group = nil
	_, err := checkShapes(whole)
	return whole, err
}

// setMeter makes the meter if there is a Progress callback. The context that it returns ends with the error of the callback.
func (r *run) setMeter(ctx context.Context) context.Context {
	c := r.config
	if c.Progress == nil {
		return ctx
	}
	f := planOf(c, r.views, r.group.Total(r.views[0].Rows))
	o := meter.Options{Restarts: c.Restarts, Restart: r.state.training().Next, Costs: f.Costs(), Loops: f.Loops()}
	ctx, r.meter = meter.New(ctx, func(m meter.Report) error {
		return c.Progress(Progress{
			Phase: m.Phase.String(), Done: m.Done, Total: m.Total, Left: m.Left, Restart: m.Restart, Restarts: c.Restarts,
			Epochs: max(c.Epochs, 0), Elapsed: m.Elapsed,
		})
	}, o)
	return ctx
}

// placed returns the views of the samples here, with their offset among the samples of all ranks.
func placed(group *ranks.Group, views []View) []view.View {
	out := inner(views)
	for v := range out {
		out[v].Offset = group.First()
	}
	return out
}

// close releases what only the fit needs.
func (r *run) close() {
	r.meter.Stop()
	if r.reads != nil {
		r.reads.End()
	}
}

// with returns a copy of the fit with another configuration.
func (r *run) with(c *Config) *run {
	out := *r
	out.config = c
	return &out
}

// onDevice is where a fit runs.
type onDevice struct {
	session *device.Session // nil: the CPU
	why     string          // of the device, or of the CPU
}

// openDevice opens the device that the configuration asks for, before any work. Where the fit cannot run on it, auto is the CPU
// and CUDA an error.
func (r *run) openDevice() (onDevice, error) {
	c := r.config
	if c.Machine.Device == machine.CPU {
		return onDevice{why: "as was asked for"}, nil
	}
	if op.HasEngine && c.Machine.Device == machine.CUDA && c.Machine.Comm == nil && perModule(c) {
		return onDevice{why: "but for Gorgonia's operations of custom modules, which run on the GPU"}, nil
	}
	session, err := r.tryDevice()
	switch {
	case err == nil && c.Machine.Device == machine.CUDA:
		return onDevice{session, "as was asked for"}, nil
	case err == nil:
		return onDevice{session, "which is there"}, nil
	case c.Machine.Device == machine.CUDA:
		return onDevice{}, fmt.Errorf("largemvc: the fit cannot run on a GPU: %w", err)
	}
	return onDevice{why: err.Error()}, nil
}

// leastTraining is the time of the training (ns of one processor, estimated) from which auto looks for a GPU. A GPU takes about
// 2 s to start.
var leastTraining = 10e9

// forCPU says why the fit does not go to a GPU, whatever GPU there is. With must, one is asked for.
func (r *run) forCPU(must bool) error {
	c, views := r.config, r.views
	if c.Machine.Comm != nil {
		return errors.New("several processes compute on their CPUs")
	}
	if c.Machine.PerModule {
		return errors.New("Config.Machine.PerModule trains on the CPU")
	}
	if !c.stock() {
		return errors.New("modules that are not from this package are trained on the CPU")
	}
	if c.Start.free() {
		return errors.New("a given Start.H or Start.E is for the CPU")
	}
	for v, x := range views {
		if x.Sparse != nil && c.Neighborhood.Neighbors == None {
			return fmt.Errorf("%s is sparse, and without neighbours sparse views are trained on the CPU", x.Label(v))
		}
	}
	if slices.ContainsFunc(views, view.View.Streams) && c.Neighborhood.Neighbors == None {
		return errors.New("rows that are read whenever they are needed are trained on the CPU")
	}
	if c.Float64 && !must {
		return errors.New("float64 is for the CPU unless a GPU is asked for")
	}
	if costs := planOf(c, views, r.group.Total(views[0].Rows)).Costs(); !must && costs[meter.Training] < leastTraining {
		return errors.New("the training is too short for a GPU to pay")
	}
	return nil
}

// tryDevice opens a device, or says why the fit cannot run on one.
func (r *run) tryDevice() (*device.Session, error) {
	c, views := r.config, r.views
	must := c.Machine.Device == machine.CUDA
	if err := r.forCPU(must); err != nil {
		return nil, err
	}
	s, err := device.OpenSession(must, c.Machine.Workers)
	if err != nil {
		return nil, err
	}
	dims, size := make([]int, len(views)), int64(4)
	for v, x := range views {
		dims[v] = x.Cols
	}
	if c.Float64 {
		size = 8
	}
	if c.Neighborhood.Neighbors != None {
		dims = smoothOptions(c, r.group).Bytes(views, size).Columns
	}
	spec := engineSpec(c, views[0].Rows, dims, c.Machine.Workers)
	if err := s.Fits(&spec, nil, c.Float64); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ran says where the fit has run.
func (d *onDevice) ran() machine.Ran {
	if d.session == nil {
		return machine.Ran{Device: "CPU", Why: d.why}
	}
	left := strings.Join(d.session.Left(), "; ")
	switch {
	case d.session.Trains() && left == "":
		return machine.Ran{Device: d.session.Name(), Why: d.why}
	case d.session.Trains():
		return machine.Ran{Device: d.session.Name(), Why: d.why + "; left to the CPU: " + left}
	}
	return machine.Ran{Device: "CPU", Why: cmp.Or(left, "nothing was trained")}
}

// close closes the device. What it held is nothing that the result needs.
func (d *onDevice) close() { _ = d.session.Close() }

// explained adds to an error of a device the way to go on.
func (d *onDevice) explained(err error, c *Config) error {
	var failed *device.FailedError
	if !errors.As(err, &failed) {
		return err
	}
	if c.Checkpoint.Path == "" {
		return fmt.Errorf("largemvc: %w; what it held is lost, and without a checkpoint the training starts over, on the CPU "+
			"if need be", err)
	}
	return fmt.Errorf("largemvc: %w; what it held is lost: resume from %s, on the CPU if need be", err, c.Checkpoint.Path)
}

// window are consecutive samples.
type window struct{ lo, hi int }
