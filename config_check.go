package largemvc

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/largemvc/largemvc/internal/kernel"
)

// check reports every field that is out of range for n samples and the given views.
func (c *Config) check(n int, views []View) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("largemvc: "+format, args...)) }
	if c.Clusters < 1 || c.Clusters > n {
		bad("Clusters is %d, want 1 to the number of samples, %d", c.Clusters, n)
	}
	if (c.Anchors < 1 || c.Anchors > n) && c.Anchors != c.Clusters {
		bad("Anchors is %d, want 1 to the number of samples, %d", c.Anchors, n)
	}
	if c.Layers < 1 {
		bad("Layers is %d, want at least 1", c.Layers)
	}
	if c.Epochs < 1 && c.Epochs != NoTraining {
		bad("Epochs is %d, want at least 1, or NoTraining", c.Epochs)
	}
	if c.Restarts < 1 {
		bad("Restarts is %d, want at least 1", c.Restarts)
	}
	if c.KMeansStarts < 1 {
		bad("KMeansStarts is %d, want at least 1", c.KMeansStarts)
	}
	if c.Workers < 0 {
		bad("Workers is %d", c.Workers)
	}
	if c.Patience < 0 {
		bad("Patience is %d", c.Patience)
	}
	if c.CheckpointEvery < 1 {
		bad("CheckpointEvery is %d, want at least 1", c.CheckpointEvery)
	}
	for _, f := range []struct {
		name  string
		value float64
		ok    bool
	}{
		{"LearningRate", c.LearningRate, c.LearningRate > 0},
		{"Tolerance", c.Tolerance, c.Tolerance >= 0},
		{"Theta0", c.Theta0, c.Theta0 >= 0 || c.Signs != Nonnegative},
		{"Rho0", c.Rho0, c.Rho0 >= 0 || c.Signs != Nonnegative},
	} {
		if !f.ok || math.IsNaN(f.value) || math.IsInf(f.value, 0) {
			bad("%s is %v", f.name, f.value)
		}
	}
	if !(c.Lipschitz >= 1) || math.IsInf(c.Lipschitz, 1) {
		bad("Lipschitz is %v, want at least 1", c.Lipschitz)
	}
	for _, o := range []struct {
		name  string
		value int
		names []string
	}{
		{"Variant", int(c.Variant), variantNames}, {"Preset", int(c.Preset), presetNames},
		{"Preprocess", int(c.Preprocess), preprocessNames}, {"Start", int(c.Start), startNames},
		{"Float", int(c.Float), floatNames}, {"RhoScale", int(c.RhoScale), rhoScaleNames}, {"Signs", int(c.Signs), signsNames}, {"Rotate", int(c.Rotate), rotationNames},
		{"ReadOut", int(c.ReadOut), readOutNames},
		{"Activation", int(c.Activation), []string{"relu", "selu"}}, {"Reduction", int(c.Reduction), reductionNames},
	} {
		if o.value < 0 || o.value >= len(o.names) {
			bad("%s is %d, want one of %q", o.name, o.value, o.names)
		}
	}
	errs = append(errs, c.checkNeighbors()...)
	errs = append(errs, c.checkStart(n, views)...)
	if c.Overwrite {
		errs = append(errs, checkApart(views, c.Float)...)
	}
	return errors.Join(errs...)
}

// maxFilterSteps is where smoothing has long made all samples alike.
const maxFilterSteps = 1000

// checkNeighbors reports what is out of range, or without effect, of the fields that go with Neighbors.
func (c *Config) checkNeighbors() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("largemvc: "+format, args...)) }
	if c.Neighbors < 1 && c.Neighbors != None {
		bad("Neighbors is %d, want at least 1, or None", c.Neighbors)
	}
	for _, f := range []struct {
		name  string
		value float64
		none  bool // it may be None
	}{
		{"Directions", float64(c.Directions), true}, {"FilterSteps", float64(c.FilterSteps), true}, {"NeighborWeight", c.NeighborWeight, true}, {"HeldOutWeight", c.HeldOutWeight, true},
		{"Temperature", c.Temperature, false}, {"ExactNeighbors", float64(c.ExactNeighbors), true}, {"Landmarks", float64(c.Landmarks), false},
	} {
		switch {
		case c.Neighbors == None && f.value != 0:
			bad("%s is %g, which has no effect without Neighbors", f.name, f.value)
		case f.value == None && f.none:
		case !(f.value >= 0) || math.IsInf(f.value, 1):
			bad("%s is %g", f.name, f.value)
		}
	}
	if c.Neighbors == None && c.LowestInertia {
		bad("LowestInertia is set, which has no effect without Neighbors")
	}
	if c.FilterSteps > maxFilterSteps {
		bad("FilterSteps is %d, want at most %d", c.FilterSteps, maxFilterSteps)
	}
	if c.Landmarks == 1 {
		bad("Landmarks is 1, want at least 2, or 0")
	}
	switch {
	case c.Neighbors == None && c.Preprocess == Both:
		bad("Preprocess Both needs Neighbors")
	case c.Neighbors != None && c.StartAnchors != nil:
		bad("StartAnchors need Neighbors: None: with neighbours the network's inputs have coordinates of their own")
	}
	return errs
}

func (c *Config) checkStart(n int, views []View) (errs []error) {
	if c.StartLabels != nil && c.StartAnchors != nil {
		errs = append(errs, errors.New("largemvc: StartLabels and StartAnchors exclude each other"))
	}
	if c.StartLabels != nil && len(c.StartLabels) != n {
		errs = append(errs, fmt.Errorf("largemvc: %d StartLabels for %d samples", len(c.StartLabels), n))
	}
	for i, l := range c.StartLabels {
		if l < 0 || l >= c.Anchors {
			errs = append(errs, fmt.Errorf("largemvc: StartLabels[%d] is %d, want 0 to %d", i, l, c.Anchors-1))
			break
		}
	}
	if c.StartAnchors != nil && len(c.StartAnchors) != len(views) {
		return append(errs, fmt.Errorf("largemvc: StartAnchors has %d views, want %d", len(c.StartAnchors), len(views)))
	}
	for v, p := range c.StartAnchors {
		if p == nil || MatrixView(p).err != nil { // a nil pointer to a matrix, for one
			errs = append(errs, fmt.Errorf("largemvc: StartAnchors of %s are nil", views[v].in.Label(v)))
			continue
		}
		if r, d := p.Dims(); r != c.Anchors || d != views[v].in.Cols {
			errs = append(errs, fmt.Errorf("largemvc: StartAnchors of %s are %d×%d, want %d×%d", views[v].in.Label(v), r, d, c.Anchors, views[v].in.Cols))
			continue
		}
		for i := range c.Anchors {
			for j := range views[v].in.Cols {
				if x := p.At(i, j); math.IsNaN(x) || math.IsInf(x, 0) {
					errs = append(errs, fmt.Errorf("largemvc: StartAnchors of %s hold %v in row %d, column %d", views[v].in.Label(v), x, i, j))
					return errs
				}
			}
		}
	}
	return errs
}

// checkApart reports views in the same memory, which Overwrite would standardise twice. Views of another type are copied.
func checkApart(views []View, float Float) (errs []error) {
	for v, x := range views {
		for u, y := range views[:v] {
			shared := overlap(x.in.F32, y.in.F32)
			if float == Float64 {
				shared = overlap(x.in.F64, y.in.F64)
			}
			if x.in.Given && y.in.Given && shared {
				errs = append(errs, fmt.Errorf("largemvc: %s and %s share memory, which Overwrite would change twice", y.in.Label(u), x.in.Label(v)))
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
