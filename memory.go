package largemvc

import (
	"github.com/largemvc/largemvc/internal/plan"
	"github.com/largemvc/largemvc/internal/view"
)

// Memory is an estimate of the memory of a fit (bytes).
type Memory struct {
	// Views is the memory of the inputs of the network, in its arithmetic: your own views if Config.Machine.Overwrite is set,
	// else copies. With neighbours it includes the rows of a RowsView that are kept in memory.
	Views     int64
	Neighbors int64 // neighbour graph, and the data that link new samples to it; 0 without neighbours
	State     int64 // state of each sample in training: H, Y = XPᵀ, residuals and their derivatives
	Network   int64 // anchors, their decompositions and the sums of the rows in work
	Start     int64 // smoothing and initial clustering; released before training
	Result    int64 // labels and trust
	Device    int64 // memory of the GPU, if it trains the network: rows and their state; not in Total
	Total     int64 // Views + Neighbors + Result + the larger of Start and State + Network
}

// String returns the total and its parts in MiB.
func (m Memory) String() string { return plan.Memory(m).String() }

// EstimateMemory returns the approximate memory of a fit with this configuration. It reads the sizes of the views, and of
// sparse views the number of entries: DenseView[float32](n, d, nil) is enough.
//
// Your own views are not included unless Machine.Overwrite is set, nor are Config.ExtraLoss, the ops of custom modules and
// the reserve of the Go runtime (debug.SetGCPercent). Views of low rank take less than the estimate. EstimateMemory returns
// the errors of Fit that sizes show.
func (c Config) EstimateMemory(views []View) (Memory, error) {
	n, err := sizes(views)
	if err != nil {
		return Memory{}, err
	}
	if err := checkPresence(views, n); err != nil {
		return Memory{}, err
	}
	if err := checkWidths(&c, views); err != nil {
		return Memory{}, err
	}
	given := c
	c = c.WithDefaults()
	c.forSamples(n)
	adaptNeighbors(&c, &given, n)
	f := planned(&c, n, n, views)
	if err := withName(f.Check()); err != nil {
		return Memory{}, err
	}
	if err := checkConfig(&c, n, views); err != nil {
		return Memory{}, err
	}
	_, m, err := f.Place()
	return Memory(m), withName(err)
}

// Check returns the error of Fit for this configuration and these views, as far as it is known without reading values, or nil.
// The message has a line for each setting out of range. If none is, the error may be that the fit exceeds Machine.MaxMemory.
func (c Config) Check(views []View) error {
	n, err := checkShapes(views)
	if err == nil {
		err = checkWidths(&c, views)
	}
	if err != nil {
		return err
	}
	given := c
	c = c.WithDefaults()
	c.forSamples(n)
	adaptNeighbors(&c, &given, n)
	err = checkConfig(&c, n, views)
	if err != nil || c.Machine.Comm != nil { // how many samples the other processes have is not known
		return err
	}
	_, err = place(&c, n, n, views)
	return err
}

// checkWidths refuses sparse views with too many features, unless other processes may have samples with them.
func checkWidths(c *Config, views []View) error {
	if c.Machine.Comm != nil {
		return nil
	}
	return withName(view.CheckWidths(nil, inner(views)))
}

// planned returns the fit of n samples here, of all.
func planned(c *Config, n, all int, views []View) *plan.Fit {
	out := planOf(c, inner(views), all)
	out.Ranks = c.Machine.Comm == nil && !c.searched(n) && checkRanks(c, views, false) == nil
	return out
}

// place chooses where a fit of n samples here, of all, keeps rows and state, by a configuration that was checked, and refuses a
// fit that has no room.
func place(c *Config, n, all int, views []View) (plan.Storage, error) {
	f := planned(c, n, all, views)
	if err := withName(f.Check()); err != nil {
		return plan.Storage{}, err
	}
	where, _, err := f.Place()
	return where, withName(err)
}
