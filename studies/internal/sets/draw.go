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

// OpenAll opens the chosen sets. It returns an error if there is none.
func OpenAll(ctx context.Context, c Choice) ([]*Set, error) {
	if c.Path == "" && c.Digits > 0 {
		d, err := Digits(ctx, c.Digits)
		if err != nil {
			return nil, err
		}
		return []*Set{d}, nil
	}
	var out []*Set
	for path := range strings.SplitSeq(c.Path, ",") {
		found, err := c.openAt(ctx, path)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if c.Only != "" {
		var chosen []*Set
		for name := range strings.SplitSeq(c.Only, ",") {
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
