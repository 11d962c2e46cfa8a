package sets

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// orderStream separates the orders of rows from other draws with the same number.
const orderStream = 0x726f7773

// InOrder returns the set with its rows in the order of a draw. Files are often sorted by class, and results that depend on the
// order of rows would benefit from this.
func (d *Set) InOrder(draw int) *Set {
	return d.Pick(rand.New(rand.NewPCG(uint64(draw), orderStream)).Perm(d.N))
}

// OpenAll is Open for several files and folders, separated by commas in Choice.Path. It returns an error if there is no set.
func OpenAll(ctx context.Context, c Choice) ([]*Set, error) {
	var out []*Set
	only := c.Only
	c.Only = ""
	for _, path := range strings.Split(c.Path, ",") {
		c.Path = path
		found, err := Open(ctx, c)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if only != "" {
		var chosen []*Set
		for _, name := range strings.Split(only, ",") {
			k := slices.IndexFunc(out, func(d *Set) bool { return d.Name == name })
			if k < 0 {
				return nil, fmt.Errorf("no set %q among %s", name, Names(out))
			}
			chosen = append(chosen, out[k])
		}
		out = chosen
	}
	if len(out) == 0 {
		return nil, errors.New("no data set with labels found")
	}
	return out, nil
}
