package largemvc

import "cmp"

// defaults are what the zero fields of a test's Config stand for.
type defaults string

const (
	byDefault defaults = "default"
	asPaper   defaults = "paper"
)

// of returns c with these defaults.
func (d defaults) of(c Config) Config {
	if d == asPaper {
		return paper(c)
	}
	return c
}

// paper returns c with the settings of PaperConfig where it has none.
func paper(c Config) Config {
	p := PaperConfig(c.Clusters)
	if c.Represent == nil {
		c.Represent = p.Represent
	}
	if c.Noise == nil {
		c.Noise = p.Noise
	}
	c.Preprocess, c.Reduction = cmp.Or(c.Preprocess, p.Preprocess), cmp.Or(c.Reduction, p.Reduction)
	c.Neighborhood.Neighbors = cmp.Or(c.Neighborhood.Neighbors, p.Neighborhood.Neighbors)
	c.PlainReadOut = true
	return c
}

// Paper is paper, for the tests from outside.
func Paper(c Config) Config { return paper(c) }
