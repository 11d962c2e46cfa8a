// Package plan reckons what a fit takes before it begins: its memory, where its rows and their state are kept, and the time of
// its phases. It reads sizes alone, and opens nothing.
package plan

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
)

// Fit is a fit, as far as memory and time depend on it.
type Fit struct {
	Views  []view.View // of the samples of this process
	Sample int         // samples that are drawn from them and trained on; 0: all
	Draws  int         // number of draws whose starts are compared; 0: none
	Kinds  int         // number of ways in which each view is prepared

	Smooth    *smooth.Options // nil: without neighbours
	Neighbors bool            // the loss has the term for neighbours
	HeldOut   bool            // the loss has the held-out term

	Spec    engine.Spec // of the network; Samples and Dims are not read
	Float64 bool
	Custom  bool // some module is not from this library
	Encoder bool // the Represent module is an encoder
	Whole   bool // something wants the state of all samples at once: a term, an extra loss, a custom module

	Known   int // samples whose class is known; 0: none
	Classes int // of these samples

	Epochs       int
	KMeansStarts int
	Judged       int  // samples by which the structure is judged; 0: it is not
	Unit         bool // k-means on H sees rows of norm 1
	Keeps        bool // clusters of the start may be kept
	Chooses      bool // k-means on H is chosen by neighbours
	Hashed       bool // the rows are hashed, for a checkpoint

	MaxMemory int64 // bytes; 0: no limit
	Ranks     bool  // several processes could do the fit
}

// samples is the number of samples of this process.
func (f *Fit) samples() int { return f.Views[0].Rows }

// trained is the number of samples of this process that are trained on.
func (f *Fit) trained() int {
	if f.Sample > 0 {
		return f.Sample
	}
	return f.samples()
}

// size is the number of bytes of a value.
func (f *Fit) size() int64 {
	if f.Float64 {
		return 8
	}
	return 4
}

// width is the number of features of all views.
func (f *Fit) width() int {
	total := 0
	for _, x := range f.Views {
		total += x.Cols
	}
	return total
}

// Storage is where a fit keeps rows and state.
type Storage struct {
	Streamed bool   // rows outside memory are read whenever they are needed
	Rows     bool   // they are read into memory first: with neighbours, where nothing else of the fit takes their place
	Again    bool   // of the samples' state nothing is kept: every pass computes it again
	Why      string // of these; "" where there was no choice
}

// Place chooses where a fit keeps rows and state, in the memory that it may use, and returns the memory that it takes then. A fit
// that has no room is an error.
func (f *Fit) Place() (Storage, Memory, error) {
	e := f.estimate()
	if !view.Outside(f.Views) || f.Sample > 0 {
		if f.MaxMemory == 0 || e.Total <= f.MaxMemory {
			return Storage{}, e.Memory, nil
		}
		return f.recompute(e, Storage{}, "")
	}
	resident, read := f.resident(e), f.streamed(e)
	const why = "rows are read whenever they are needed, "
	switch {
	case f.MaxMemory == 0:
		return Storage{Streamed: true, Why: why + "their state is in memory"}, read.Memory, nil
	case resident.Total <= f.MaxMemory:
		where := Storage{Rows: f.Smooth != nil, Why: "rows and state have room in memory: " + f.room(resident)}
		return where, resident.Memory, nil
	case read.Total <= f.MaxMemory:
		return Storage{Streamed: true, Why: why + "their state has room in memory: " + f.room(read)}, read.Memory, nil
	case resident.Total < read.Total: // few rows, which take less than the blocks that they are read in
		return f.recompute(resident, Storage{Rows: f.Smooth != nil}, "rows are in memory, ")
	}
	return f.recompute(read, Storage{Streamed: true}, why)
}

// recompute is Place for a fit that has no room unless it computes its state again in every pass. begin begins the reason.
func (f *Fit) recompute(least estimate, how Storage, begin string) (Storage, Memory, error) {
	again := f.recomputed(least)
	if again.Total <= f.MaxMemory && again.Total < least.Total {
		how.Again = true
		how.Why = begin + "the state of the samples is computed again in every pass, the rest has room in memory: " +
			f.room(again)
		return how, again.Memory, nil
	}
	return Storage{}, least.Memory, fmt.Errorf("the fit takes %v, and Config.Machine.MaxMemory allows %.1f MiB%s",
		least.Memory, mib(f.MaxMemory), f.otherWays(least, again))
}

// room says how much of the memory that is allowed an estimate takes.
func (f *Fit) room(e estimate) string {
	return fmt.Sprintf("%.1f of %.1f MiB", mib(e.Total), mib(f.MaxMemory))
}

// otherWays lists what makes room for a fit that has none, by the estimates without and with recomputing.
func (f *Fit) otherWays(least, again estimate) string {
	ways := ""
	if again.Total < least.Total {
		ways = fmt.Sprintf("; with state that is computed again in every pass it takes %.1f MiB", mib(again.Total))
	}
	if f.Sample > 0 {
		return ways + f.oneWorker()
	}
	if !view.Outside(f.Views) && f.Smooth == nil {
		ways += "; RowsView reads the views from disk"
	}
	ways += "; Config.FitSamples trains on some of the samples"
	if f.Ranks {
		ways += "; several processes, joined by Config.Machine.Comm, hold a part of the samples each"
	}
	return ways + f.oneWorker()
}

// oneWorker offers a fit with a single goroutine, where that has room: each has memory of its own.
func (f *Fit) oneWorker() string {
	if parallel.Workers(f.Spec.Workers) == 1 {
		return ""
	}
	one := *f
	one.setWorkers(1)
	_, alone, err := one.Place()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; with a single goroutine, Config.Machine.Workers 1, it takes %.1f MiB", mib(alone.Total))
}

func (f *Fit) setWorkers(n int) {
	f.Spec.Workers = n
	if f.Smooth != nil {
		o := *f.Smooth
		o.Workers = n
		f.Smooth = &o
	}
}
