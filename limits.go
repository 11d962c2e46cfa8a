package largemvc

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/parallel"
)

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
			errs = append(errs, fmt.Errorf("largemvc: %s is %d, want at most %d", f.name, f.value, f.most))
		}
	}
	return errs
}
