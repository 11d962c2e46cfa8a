// Package plan estimates the resources of a fit before it begins: its memory, where it keeps rows and state, and the time of its
// phases. It reads only sizes, and opens nothing.
package plan

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
)

// Fit holds the properties of a fit that determine memory and time.
type Fit struct {
	Views  []view.View // of the samples of this process
	Sample int         // samples to draw and train on; 0: all
	Draws  int         // number of draws that are compared; 0: none
	Kinds  int         // number of standardisations of each view

	Smooth    *smooth.Options // nil: without neighbours
	Neighbors bool            // the loss has the term for neighbours
	HeldOut   bool            // the loss has the held-out term

	Start   int         // n×m matrices of a given initial state
	Spec    engine.Spec // of the network; Samples and Dims are not read
	Float64 bool
	Custom  bool // some module is not from this library
	Encoder bool // the Represent module is an encoder
	Whole   bool // a part of the fit needs the state of all samples at once: a term, an extra loss, a custom module

	Clusters int // of the result

	Known   int // samples whose class is known; 0: none
	Classes int // of these samples

	Epochs       int
	KMeansStarts int
	Judged       int  // samples that judge the structure; 0: it is not judged
	Unit         bool // k-means on H uses rows at norm 1
	Keeps        bool // the initial clusters may be kept
	Chooses      bool // neighbours select the start of k-means on H
	Hashed       bool // the rows are hashed, for a checkpoint

	MaxMemory int64 // bytes; 0: no limit
	Ranks     bool  // several processes could do the fit
}

func (f *Fit) samples() int { return f.Views[0].Rows }

// trained is the number of training samples of this process.
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

func (f *Fit) width() int {
	total := 0
	for _, x := range f.Views {
		total += x.Cols
	}
	return total
}

// Storage says where a fit keeps rows and state.
type Storage struct {
	Streamed bool   // rows outside memory are read in every pass
	Rows     bool   // rows are read into memory first: with neighbours, if no other part of the fit replaces them
	Again    bool   // every pass computes the state of the samples again
	Why      string // the reason; "" if there was no choice
}

// Place chooses where a fit keeps rows and state within MaxMemory, and returns the memory of this choice. If nothing fits, it
// returns an error.
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
	case resident.Total < read.Total: // few rows, which take less than the blocks for reading
		return f.recompute(resident, Storage{Rows: f.Smooth != nil}, "rows are in memory, ")
	}
	return f.recompute(read, Storage{Streamed: true}, why)
}

// recompute is Place for a fit that fits only if every pass computes the state again. begin is the beginning of the reason.
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

// room describes the memory of an estimate and the limit.
func (f *Fit) room(e estimate) string {
	return fmt.Sprintf("%.1f of %.1f MiB", mib(e.Total), mib(f.MaxMemory))
}

// otherWays lists settings that reduce the memory of a fit, given the estimates without and with recomputing.
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

// oneWorker suggests a single goroutine, if that fits: each goroutine has its own memory.
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
