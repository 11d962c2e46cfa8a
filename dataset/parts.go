package dataset

import (
	"fmt"
	"strings"
)

// checkParts returns an error if two tables without ids name the same features: they may be parts of one table, or
// hold the same samples in their columns.
func (p *plan) checkParts(data int, o *Options) error {
	seen := map[string]*source{}
	for _, s := range p.sources[:data] {
		c := s.text
		if c == nil || c.header == nil || c.roles.id >= 0 || len(c.roles.features) < 2 || o.NoIDs ||
			o.Orientation != AutoOrientation {
			continue
		}
		var names []string
		for _, f := range c.roles.features {
			names = append(names, c.featureName(f))
		}
		key := strings.Join(names, "\x00")
		if other := seen[key]; other != nil {
			return fmt.Errorf("dataset: %s has the columns of %s (%s), and neither has ids: parts of one table, or views? "+
				"Put parts into one file; give Options.IDs none for views whose row i is the same sample, or "+
				"Options.Orientation columns if the columns are the samples", s.path, other.path, someNames(names))
		}
		seen[key] = s
	}
	return nil
}
