// Package presets names the two settings of the network that the studies compare.
package presets

import (
	"cmp"

	"github.com/largemvc/largemvc"
)

// Preset selects the values of the zero fields of a Config.
type Preset string

const (
	Default Preset = "default" // the library's defaults
	Paper   Preset = "paper"   // those of largemvc.PaperConfig
)

// Of returns c with the settings of the preset where it has none.
func (p Preset) Of(c largemvc.Config) largemvc.Config {
	if p != Paper {
		return c
	}
	paper := largemvc.PaperConfig(c.Clusters)
	if c.Represent == nil {
		c.Represent = paper.Represent
	}
	if c.Noise == nil {
		c.Noise = paper.Noise
	}
	c.Preprocess, c.Reduction = cmp.Or(c.Preprocess, paper.Preprocess), cmp.Or(c.Reduction, paper.Reduction)
	c.Neighborhood.Neighbors = cmp.Or(c.Neighborhood.Neighbors, paper.Neighborhood.Neighbors)
	c.PlainReadOut = true
	return c
}
