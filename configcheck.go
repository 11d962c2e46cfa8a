package largemvc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/machine"
)

// checkConfig reports every field that is out of range for n samples and the given views.
func checkConfig(c *Config, n int, views []View) error {
	errs := slices.Concat(checkCounts(c, n), checkValues(c), checkOptions(c))
	errs = append(errs, checkModules(c, views)...)
	errs = append(errs, checkNeighbors(c)...)
	errs = append(errs, checkGivenStart(c, n, views)...)
	errs = append(errs, checkKnown(c, n)...)
	if c.Neighborhood.KnownWeight > 0 && views != nil { // else c is of a file, which has no labels
		errs = append(errs, checkKnownWeight(c, n))
	}
	if c.Machine.Overwrite {
		errs = append(errs, checkApart(views, c.Float64)...)
	}
	return errors.Join(errs...)
}

// checkCounts reports the numbers that are too small or too large for n samples.
func checkCounts(c *Config, n int) (errs []error) {
	most, of := n, "samples"
	if c.samples(n) {
		most, of = c.FitSamples, "samples that are trained on"
	}
	upTo := fmt.Sprintf("1 to the number of %s, %d", of, most)
	for _, f := range []struct {
		name  string
		value int
		ok    bool
		want  string
	}{
		{"Clusters", c.Clusters, c.Clusters >= 1 && c.Clusters <= most, upTo},
		{"Anchors", c.Anchors, c.Anchors >= 1 && c.Anchors <= most || c.Anchors == c.Clusters, upTo},
		{"Layers", c.Layers, c.Layers >= 1, fromOne},
		{"Epochs", c.Epochs, c.Epochs >= 1 || c.Epochs == None, fromOne + ", or None"},
		{"Restarts", c.Restarts, c.Restarts >= 1, fromOne},
		{"KMeansStarts", c.KMeansStarts, c.KMeansStarts >= 1, fromOne},
		{"FitSamples", c.FitSamples, c.FitSamples >= 0, fromZero},
		{"Machine.MaxMemory", int(c.Machine.MaxMemory), c.Machine.MaxMemory >= 0, fromZero},
		{"Machine.Workers", c.Machine.Workers, c.Machine.Workers >= 0, fromZero},
		{"Optimizer.Plateau", c.Optimizer.Plateau, c.Optimizer.Plateau >= 0, fromZero},
		{"Patience", c.Patience, c.Patience >= 0, fromZero},
		{"Checkpoint.Every", c.Checkpoint.Every, c.Checkpoint.Every >= 1, fromOne},
	} {
		if !f.ok {
			errs = append(errs, &FieldError{f.name, f.value, f.want})
		}
	}
	return append(errs, aboveLimits(
		limited{"Layers", c.Layers, maxLayers}, limited{"Epochs", c.Epochs, maxEpochs},
		limited{"Restarts", c.Restarts, maxRestarts}, limited{"KMeansStarts", c.KMeansStarts, maxKMeansStarts},
		limited{"Machine.Workers", c.Machine.Workers, maxWorkers},
		limited{"Neighborhood.Steps", c.Neighborhood.Steps, maxFilterSteps},
	)...)
}

// checkValues reports the values of the optimizer that are out of range or not finite.
func checkValues(c *Config) (errs []error) {
	if c.Optimizer.Solver != nil {
		errs = append(errs, checkSolver(c)...)
	} else {
		errs = append(errs, checkAdam(c)...)
	}
	if x := c.Tolerance; !(x >= 0) || math.IsInf(x, 1) {
		errs = append(errs, &FieldError{"Tolerance", x, fromZero})
	}
	return errs
}

// checkSolver reports settings that a solver of the caller cannot have.
func checkSolver(c *Config) (errs []error) {
	o := c.Optimizer
	if o.Solver = nil; !reflect.ValueOf(o).IsZero() {
		errs = append(errs, errors.New("largemvc: Optimizer.Solver is set, and other fields of Optimizer too: these are "+
			"settings of Adam; leave them zero and give the solver its settings where Solver makes it"))
	}
	if c.Checkpoint.Path != "" {
		errs = append(errs, errors.New("largemvc: a checkpoint cannot hold the state of Optimizer.Solver: leave out "+
			"Checkpoint.Path or Solver"))
	}
	return errs
}

// checkAdam reports the values of Adam that are out of range or not finite.
func checkAdam(c *Config) (errs []error) {
	o := c.Optimizer
	if rate := o.LearningRate; rate <= 0 {
		errs = append(errs, &FieldError{"Optimizer.LearningRate", rate, "a number above 0"})
	} else {
		errs = append(errs, finiteField("Optimizer.LearningRate", rate, !c.Float64)) // a step is of its size
	}
	check := func(name string, value float64, ok bool, want string) {
		if !ok {
			errs = append(errs, &FieldError{"Optimizer." + name, value, want})
		}
	}
	check("Beta1", o.Beta1, o.Beta1 >= 0 && o.Beta1 < 1, "from 0 to below 1")
	check("Beta2", o.Beta2, o.Beta2 >= 0 && o.Beta2 < 1, "from 0 to below 1")
	check("Epsilon", o.Epsilon, o.Epsilon > 0 && o.Epsilon <= 1, "a number above 0, up to 1")
	check("WeightDecay", o.WeightDecay, o.WeightDecay >= 0 && !math.IsInf(o.WeightDecay, 1), fromZero)
	check("Factor", o.Factor, o.Factor >= 0 && o.Factor <= 1, "from 0 to 1")
	return errs
}

// checkOptions reports the enumerations with a value that does not exist.
func checkOptions(c *Config) (errs []error) {
	for _, o := range []struct {
		name   string
		value  int
		option *option
	}{
		{"Preprocess", int(c.Preprocess), &preprocessOption}, {"Reduction", int(c.Reduction), &reductionOption},
	} {
		if !o.option.has(o.value) {
			errs = append(errs, &FieldError{o.name, o.value, fmt.Sprintf("one of %q", o.option.names)})
		}
	}
	if !c.Machine.Device.Known() {
		errs = append(errs, &FieldError{"Machine.Device", int(c.Machine.Device), "auto, cpu or cuda"})
	}
	return errs
}

// checkRanks reports what cannot be done on several ranks; whole says that each of them does all of the fit.
func checkRanks(c *Config, views []View, whole bool) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("largemvc: on several ranks "+format, args...))
	}
	if whole {
		return nil
	}
	if perModule(c) || c.ExtraLoss != nil {
		bad("a network is made of the modules of this package alone, without Machine.PerModule or an ExtraLoss, which would " +
			"see some samples only")
	}
	if c.Neighborhood.KnownWeight > 0 {
		bad("the loss has known labels for at most Config.Neighborhood.Exact samples (%d); set Config.Neighborhood.KnownWeight "+
			"to 0", max(c.Neighborhood.Exact, 0))
	}
	measured := c.Preprocess == PreprocessBalanced || c.Preprocess == PreprocessZScore
	for v, x := range views {
		if x.in.Present != nil && c.Start.Anchors == nil && c.Neighborhood.Neighbors == None {
			bad("k-means does not run on rows that are partly absent, and %s has a mask: want neighbours (Neighborhood)",
				x.in.Label(v))
		}
		switch {
		case x.in.Sparse == nil:
		case c.Neighborhood.Neighbors != None:
			bad("%s is sparse, which neighbours of more than Neighborhood.Exact samples cannot be", x.in.Label(v))
		case measured:
			bad("%s is sparse, and its columns are not measured: Preprocess is %v, want %v",
				x.in.Label(v), c.Preprocess, PreprocessSample)
		}
	}
	return errors.Join(errs...)
}

// sameOnRanks lists what has to be the same on all ranks.
func sameOnRanks(c *Config, views []View) ([]string, error) {
	out := []string{"the kernels are " + kernel.Path(), fmt.Sprint("the number of views is ", len(views))}
	for v, x := range views {
		out = append(out, fmt.Sprintf("view %d is %q of %d features", v, x.in.Name, x.in.Cols))
	}
	settings, err := saveConfig(c)
	if err != nil {
		return nil, err
	}
	settings.Machine = machine.Options{}
	flat, err := flatSettings(settings)
	if err != nil {
		return nil, err
	}
	flat["a path of the Checkpoint"] = fmt.Sprint(c.Checkpoint.Path != "")
	flat["Known with labels"] = fmt.Sprint(c.Known != nil)
	for _, name := range slices.Sorted(maps.Keys(flat)) {
		out = append(out, name+" is "+flat[name])
	}
	for v, p := range c.Start.Anchors {
		h := fnv.New64a()
		for _, x := range linalg.Values(p) {
			_ = binary.Write(h, binary.LittleEndian, x) // a hash has no errors
		}
		out = append(out, fmt.Sprintf("Start.Anchors of view %d have the sum %x", v, h.Sum64()))
	}
	out = append(out, fmt.Sprint("Start.H is given: ", c.Start.H != nil), fmt.Sprint("Start.E is given: ", c.Start.E != nil))
	return out, nil
}

// checkNeighbors reports what is out of range, or without effect, of the fields that go with Neighbors.
func checkNeighbors(c *Config) (errs []error) {
	bad := func(name string, value any, want string) {
		errs = append(errs, &FieldError{"Neighborhood." + name, value, want})
	}
	h := &c.Neighborhood
	if h.Neighbors < 1 && h.Neighbors != None {
		bad("Neighbors", h.Neighbors, fromOne+", or None")
	}
	for _, f := range []struct {
		name  string
		value float64
		none  bool // it may be None
	}{
		{"Directions", float64(h.Directions), true}, {"Steps", float64(h.Steps), true}, {"Weight", h.Weight, true},
		{"HeldOutWeight", h.HeldOutWeight, true}, {"KnownWeight", h.KnownWeight, false},
		{"Exact", float64(h.Exact), true}, {"Landmarks", float64(h.Landmarks), false},
	} {
		switch {
		case h.Neighbors == None && f.value != 0:
			bad(f.name, f.value, "0, for it has no effect without neighbours")
		case f.value == None && f.none:
		case !(f.value >= 0) || math.IsInf(f.value, 1):
			bad(f.name, f.value, fromZero)
		}
	}
	if h.Landmarks == 1 {
		bad("Landmarks", 1, "at least 2, or 0")
	}
	switch {
	case h.Neighbors == None && c.Preprocess == PreprocessBoth:
		errs = append(errs, errors.New("largemvc: PreprocessBoth needs neighbours (Neighborhood)"))
	case h.Neighbors != None && (c.Start.Anchors != nil || c.Start.free()):
		errs = append(errs, errors.New("largemvc: Start needs Neighborhood.Neighbors: None: with neighbours the inputs of the "+
			"network are not the views"))
	}
	return errs
}

// checkModules reports modules that are nil pointers, and what is out of range of those from this package for some views.
func checkModules(c *Config, views []View) (errs []error) {
	for _, m := range []struct {
		name   string
		module Module
	}{{"Represent", c.Represent}, {"Noise", c.Noise}, {"Anchor", c.Anchor}} {
		if v := reflect.ValueOf(m.module); v.Kind() == reflect.Pointer && v.IsNil() {
			errs = append(errs, fmt.Errorf("largemvc: %s is a nil %T", m.name, m.module))
			continue
		}
		switch x := m.module.(type) { // nil in files with a custom module
		case *SoftThreshold:
			errs = append(errs, x.check(!c.Float64), startsBelowZero("Represent.Theta0", x.Theta0, x.Unconstrained))
		case *RowShrink:
			errs = append(errs, x.check(!c.Float64), startsBelowZero("Noise.Rho0", x.Rho0, x.Unconstrained))
			if least, most := inputCounts(c, views); most > 0 && (len(x.Scale) < least || len(x.Scale) > most) {
				errs = append(errs, x.checkScales(most))
			}
		}
	}
	return errs
}

// startsBelowZero is the error for a threshold that starts at a negative value, and would be put to 0 after a step.
func startsBelowZero(name string, value float64, unconstrained bool) error {
	if value < 0 && !unconstrained {
		return &FieldError{name, value, fromZero + " unless Unconstrained"}
	}
	return nil
}

// checkGivenStart reports what is wrong with given labels and anchors.
func checkGivenStart(c *Config, n int, views []View) (errs []error) {
	if c.StartLabels != nil && c.Start.Anchors != nil {
		errs = append(errs, errors.New("largemvc: StartLabels and Start.Anchors are both set: leave out one of them"))
	}
	if c.StartLabels != nil && len(c.StartLabels) != n && c.Machine.Comm == nil { // joinRanks has compared those of a rank
		errs = append(errs, fmt.Errorf("largemvc: StartLabels has %s for %d samples",
			textfile.Count(len(c.StartLabels), "label"), n))
	}
	for i, l := range c.StartLabels {
		if l < 0 || l >= c.Anchors {
			errs = append(errs, fmt.Errorf("largemvc: StartLabels[%d] is %d, want 0 to %d", i, l, c.Anchors-1))
			break
		}
	}
	if views == nil { // of a file
		return errs
	}
	return append(errs, errors.Join(checkStartPoint(c, views)...))
}

// checkStartPoint reports what is wrong with a given initial state. On ranks the views have the samples of one rank.
func checkStartPoint(c *Config, views []View) (errs []error) {
	s := c.Start
	bad := func(text string) { errs = append(errs, errors.New("largemvc: "+text)) }
	if s.free() && c.FitSamples > 0 {
		bad("Start.H and Start.E are for all samples: leave out FitSamples")
	}
	if s.H != nil && s.Anchors == nil && c.StartLabels == nil {
		bad("Start.H needs the anchors that its columns stand for: set Start.Anchors or StartLabels")
	}
	if _, encoded := c.Represent.(Encoder); s.E != nil && encoded {
		bad("Start.E is for views, not for the codes of an Encoder")
	}
	if s.E != nil && c.noiseless() {
		bad("Start.E needs noise, and Noise is NoNoise")
	}
	return append(errs, checkStartSizes(c, views)...)
}

// checkStartSizes reports matrices of a given initial state of other sizes, or with entries that are not finite.
func checkStartSizes(c *Config, views []View) (errs []error) {
	s, n := c.Start, views[0].in.Rows
	check := func(name string, x mat.Matrix, rows, columns int) error {
		if x == nil || MatrixView(x).err != nil { // a nil pointer to a matrix, for one
			return fmt.Errorf("largemvc: %s is nil", name)
		}
		if r, d := x.Dims(); r != rows || d != columns {
			return fmt.Errorf("largemvc: %s is %d×%d, want %d×%d", name, r, d, rows, columns)
		}
		return checkEntries(name, x, !c.Float64)
	}
	if s.H != nil {
		errs = append(errs, check("Start.H", s.H, n, c.Anchors))
	}
	for _, f := range []struct {
		name string
		list []mat.Matrix
		rows int
	}{{"Start.Anchors", s.Anchors, c.Anchors}, {"Start.E", s.E, n}} {
		if f.list != nil && len(f.list) != len(views) {
			errs = append(errs, fmt.Errorf("largemvc: %s has %s, want %d", f.name,
				textfile.Count(len(f.list), "view"), len(views)))
			continue
		}
		for v, x := range f.list {
			errs = append(errs, check(f.name+" of "+views[v].in.Label(v), x, f.rows, views[v].in.Cols))
		}
	}
	return errs
}

// checkApart reports views in the same memory, which Machine.Overwrite would standardise twice. Views of another type are copied.
func checkApart(views []View, double bool) (errs []error) {
	for v, x := range views {
		for u, y := range views[:v] {
			shared := overlap(x.in.F32, y.in.F32)
			if double {
				shared = overlap(x.in.F64, y.in.F64)
			}
			if x.in.Given && y.in.Given && shared {
				errs = append(errs, fmt.Errorf(
					"largemvc: %s and %s share memory, which Machine.Overwrite would change twice",
					y.in.Label(u), x.in.Label(v),
				))
			}
		}
	}
	return errs
}

// overlap says whether two slices have an element in common.
func overlap[T kernel.Float](a, b []T) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	at := func(x *T) uintptr { return uintptr(unsafe.Pointer(x)) }
	return at(&a[0]) <= at(&b[len(b)-1]) && at(&b[0]) <= at(&a[len(a)-1])
}

// The largest values of the fields of Config that turn into memory or into a loop whatever the data are. They are far above what
// is of use, and low enough for a mistaken or hostile number, as a file may hold one, to do no harm before the context ends the
// work. The Neighbors, Directions, Exact and Landmarks of a Neighborhood have none: the samples bound them.
const (
	maxLayers       = 1_000
	maxEpochs       = 1_000_000_000
	maxRestarts     = 10_000
	maxKMeansStarts = 1_000
	maxWorkers      = parallel.MostWorkers
	maxFilterSteps  = 1_000 // where smoothing has long made all samples alike
)

// limited is a field with its largest value.
type limited struct {
	name        string
	value, most int
}

// aboveLimits reports the fields whose values are too large.
func aboveLimits(fields ...limited) (errs []error) {
	for _, f := range fields {
		if f.value > f.most {
			errs = append(errs, &FieldError{f.name, f.value, fmt.Sprintf("at most %d", f.most)})
		}
	}
	return errs
}

// checkKnown reports what is wrong with the known labels of n samples.
func checkKnown(c *Config, n int) (errs []error) {
	if c.Known == nil {
		return nil
	}
	if c.Neighborhood.Neighbors == None {
		errs = append(errs, &FieldError{"Neighborhood.Neighbors", None, fromOne + ", for Config.Known needs neighbours"})
	}
	if len(c.Known) != n {
		return append(errs, fmt.Errorf("largemvc: Config.Known has %s for %d samples", textfile.Count(len(c.Known), "label"), n))
	}
	for i, l := range c.Known {
		if l < known.Unknown || l >= n {
			return append(errs, fmt.Errorf("largemvc: Known[%d] is %d, want −1 (not known) or a class from 0 to %d", i, l, n-1))
		}
	}
	if len(known.Seen(c.Known)) < 2 {
		errs = append(errs, errors.New("largemvc: Config.Known has labels of fewer than two classes; give some of each"))
	}
	return errs
}

// checkKnownWeight returns an error if the loss cannot have the known labels of n samples.
func checkKnownWeight(c *Config, n int) error {
	classes := len(known.Seen(c.Known))
	switch {
	case c.Known == nil:
		return errors.New("largemvc: Config.Neighborhood.KnownWeight needs known labels (Config.Known)")
	case c.samples(n):
		return fmt.Errorf("largemvc: Config.Neighborhood.KnownWeight needs a training on all samples, but Config.FitSamples is "+
			"%d; set one of them to 0", c.FitSamples)
	case classes != c.Anchors:
		return fmt.Errorf("largemvc: Config.Neighborhood.KnownWeight needs an anchor for each class, but Config.Anchors is %d "+
			"and the known labels have %d classes; set Config.Clusters and Config.Anchors to %[2]d, or leave the weight out",
			c.Anchors, classes)
	}
	return nil
}
