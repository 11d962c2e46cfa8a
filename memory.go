package largemvc

import "github.com/largemvc/largemvc/internal/plan"

// Memory is an estimate of what Fit holds at the same time, in bytes.
type Memory struct {
	// the network's inputs in the arithmetic of the fit; the caller's own views where Config.Machine.Overwrite allows it,
	// else a copy; with neighbours the rows of a RowsView too where they are held
	Views     int64
	Neighbors int64 // the graph of neighbours, and what is kept to attach new samples to it; 0 without neighbours
	State     int64 // what is kept for each sample in training: H, Y = XPᵀ, residuals and their derivatives
	Network   int64 // anchors and their decompositions, and the sums of the chunks of rows in work
	Start     int64 // smoothing, and k-means of the start; given back before training
	Result    int64 // labels and trust
	Device    int64 // of a GPU, where the network is trained on one: rows and their state, without the terms; not in Total
	Total     int64 // Views + Neighbors + Result + the larger of Start and State + Network
}

// String returns the total and its parts in MiB.
func (m Memory) String() string { return plan.Memory(m).String() }

// EstimateMemory returns about how much memory Fit takes with this configuration for the views. It reads sizes alone, of sparse
// views the number of their entries: DenseView[float32](n, d, nil) will do. The caller's views come on top unless they are
// overwritten; so does what the Go runtime keeps for later, which debug.SetGCPercent bounds, and Config.ExtraLoss. Of modules
// that are not from this package it counts what the network keeps around them, the views of an Encoder included, and not what
// their own ops make. Views of low rank, which are trained in fewer columns, take less. It returns an error where Fit would, as
// far as the sizes tell.
func (c Config) EstimateMemory(views []View) (Memory, error) {
	n, err := sizes(views)
	if err != nil {
		return Memory{}, err
	}
	if err := checkPresence(views, n); err != nil {
		return Memory{}, err
	}
	c = c.WithDefaults()
	c.forSamples(n)
	f := planned(&c, n, views)
	if err := withName(f.Check()); err != nil {
		return Memory{}, err
	}
	if err := checkConfig(&c, n, views); err != nil {
		return Memory{}, err
	}
	_, m, err := f.Place()
	return Memory(m), withName(err)
}

// Check returns the error with which Fit would refuse the configuration for the views, as far as it can tell without reading
// their values, and nil if there is none. The message has a line for everything that is out of range; where nothing is, it may
// say that Machine.MaxMemory has no room for the fit.
func (c Config) Check(views []View) error {
	n, err := checkShapes(views)
	if err != nil {
		return err
	}
	c = c.WithDefaults()
	c.forSamples(n)
	err = checkConfig(&c, n, views)
	if err != nil || c.Machine.Comm != nil { // how many samples the other processes have is not known
		return err
	}
	_, err = place(&c, n, views)
	return err
}

// planned returns the fit of n samples here.
func planned(c *Config, n int, views []View) *plan.Fit {
	out := planOf(c, inner(views))
	out.Ranks = c.Machine.Comm == nil && !c.searched(n) && checkRanks(c, views, false) == nil
	return out
}

// place chooses where a fit of n samples here keeps rows and state, by a configuration that was checked, and refuses a fit that
// has no room.
func place(c *Config, n int, views []View) (plan.Storage, error) {
	f := planned(c, n, views)
	if err := withName(f.Check()); err != nil {
		return plan.Storage{}, err
	}
	where, _, err := f.Place()
	return where, withName(err)
}
