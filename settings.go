package largemvc

import (
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/plan"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/structure"
	"github.com/largemvc/largemvc/internal/view"
)

// inputCounts returns how many inputs the network has for some views, at least and at most: with neighbours it takes their values
// to tell. Without views there are none.
func inputCounts(c *Config, views []View) (least, most int) {
	if c.Neighborhood.Neighbors == None {
		return len(views), len(views)
	}
	return smooth.InputCounts(inner(views), c.Preprocess.kind())
}

// smoothOptions returns what internal/smooth reads of the configuration. The ranks of the group have the samples together; nil:
// one process has all.
func smoothOptions(c *Config, group *ranks.Group) smooth.Options {
	h := &c.Neighborhood
	return smooth.Options{
		Kind: c.Preprocess.kind(), Neighbors: h.Neighbors, Directions: max(h.Directions, 0), Steps: max(h.Steps, 0),
		Exact: h.Exact, Landmarks: h.Landmarks, Seed: c.Seed, Workers: c.Machine.Workers,
		Overwrite: c.Machine.Overwrite && c.Known == nil, // else the views are needed after the training
		Group:     group,
	}
}

// mayRotate reports whether views of low rank may be trained in fewer columns. This changes the result by rounding alone. A given
// start need not lie in the span of the rows, an ExtraLoss sees the anchors, and an untrained network is not worth the search.
func mayRotate(c *Config) bool {
	return c.Start.Anchors == nil && !c.Start.free() && !perModule(c) && c.ExtraLoss == nil && c.Epochs != None
}

// rotateOptions returns the settings that internal/prepare needs to rotate views.
func rotateOptions(c *Config) prepare.Rotate {
	return prepare.Rotate{Runs: c.Restarts, Layers: c.Layers, Anchors: c.Anchors, Workers: c.Machine.Workers}
}

// engineSpec is the shape of a network of stock modules.
func engineSpec(c *Config, samples int, dims []int, workers int) engine.Spec {
	out := engine.Spec{
		Samples: samples, Dims: dims, Anchors: c.Anchors, Layers: c.Layers, Anchored: !c.fixedAnchors(), Workers: workers,
	}
	if soft, ok := c.Represent.(*SoftThreshold); ok {
		out.Represent, out.OneSided = soft.Activation.sigma(), soft.OneSided
	}
	if shrink, ok := c.Noise.(*RowShrink); ok {
		out.Noise, out.Shrink = true, shrink.Activation.sigma()
	}
	return out
}

// planOf returns the properties of a fit that determine its memory and time. all is the number of samples of all ranks.
func planOf(c *Config, views []view.View, all int) *plan.Fit {
	out := &plan.Fit{
		Views: views, Kinds: len(c.Preprocess.kind().Parts()), Neighbors: c.hasNeighborLoss(), HeldOut: c.hasHeldOutLoss(),
		Spec: engineSpec(c, views[0].Rows, nil, c.Machine.Workers), Float64: c.Float64, Custom: perModule(c),
		Whole:  perModule(c) || c.ExtraLoss != nil || c.Start.free(),
		Start:  c.Start.states(),
		Epochs: c.Epochs, KMeansStarts: c.KMeansStarts, Unit: !c.PlainReadOut,
		Keeps: c.mayKeep(), Clusters: c.Clusters,
		Chooses: trainedOn(c, all) <= sharedReadOut && !c.beginsAtStart(), Hashed: c.Checkpoint.Path != "",
		MaxMemory: c.Machine.MaxMemory,
	}
	if c.samples(all) {
		out.Sample = c.FitSamples
	}
	if c.comparesDraws(all) {
		out.Draws = draws
	}
	if c.Known != nil {
		for _, l := range c.Known {
			if l != known.Unknown {
				out.Known++
			}
		}
		out.Classes = len(known.Seen(c.Known))
	}
	if !c.NoStructure {
		out.Judged = structure.Chosen(all, c.Clusters)
	}
	if c.Neighborhood.Neighbors != None {
		o := smoothOptions(c, nil)
		out.Smooth = &o
	}
	_, out.Encoder = c.Represent.(Encoder)
	return out
}

// structureSteps is the number of steps of smoothing in the judgement.
const structureSteps = 6

// structureOptions returns the options of the judgement of the structure.
func structureOptions(c *Config) structure.Options {
	return structure.Options{
		Clusters: c.Clusters, Kind: c.Preprocess.kind(), Neighbors: max(c.Neighborhood.Neighbors, 0), Steps: structureSteps,
		Seed: c.Seed, Workers: c.Machine.Workers,
	}
}
