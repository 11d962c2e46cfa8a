package dataset

import (
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/lists"
)

// splitMatrix makes the views of Options.Table of the only matrix of files of arrays. Each view gets some of the columns. The
// views of tables are made where their columns are found.
func (p *plan) splitMatrix() error {
	fromTable := func(v *variable) bool { return v.fromTable }
	switch {
	case len(p.o.Table) == 0, slices.ContainsFunc(p.views, fromTable):
		return nil
	case p.o.Triplets:
		return fmt.Errorf("dataset: %s: Options.Table makes views of columns, and triplets have none", p.views[0].file)
	case len(p.views) > 1:
		return fmt.Errorf("dataset: %s: Options.Table makes views of the columns of one matrix, and there are %d; name it with "+
			"Options.Views", p.views[0].file, len(p.views))
	}
	whole := p.views[0]
	p.views = nil
	for _, t := range p.o.Table {
		part := *whole
		part.name, part.whole = t.Name, whole
		p.views = append(p.views, &part)
	}
	return nil
}

// splitColumns finds the columns of each part of a matrix, once it is known which of its axes they are.
func (p *plan) splitColumns() error {
	if len(p.o.Table) == 0 || p.views[0].whole == nil {
		return nil
	}
	whole := p.views[0].whole
	rows, cols, _ := whole.shape2()
	if p.turned {
		cols = rows
	}
	in := columns{fields: cols}
	if whole.names != nil && !p.turned {
		var err error
		if in.header, err = whole.names(); err != nil {
			return whole.wrap(err)
		}
	}
	if err := p.lim.Take("what is noted of its columns", 2*int64(cols)); err != nil {
		return whole.wrap(err)
	}
	used, taken := make([]bool, cols), make([]bool, cols)
	for k, v := range p.views {
		clear(taken)
		for _, part := range p.o.Table[k].Columns {
			some, err := in.of(part, func(int) bool { return false })
			if err != nil {
				return whole.errorf("%w; view %s (Options.Table) wants it", err, v.name)
			}
			for _, j := range some {
				if !taken[j] {
					v.pick = append(v.pick, j)
				}
				taken[j], used[j] = true, true
			}
		}
		if err := p.lim.Take("the columns of a view", 8*int64(len(v.pick))); err != nil {
			return whole.wrap(err)
		}
	}
	if some := in.without(used); some != "" {
		p.left = append(p.left, Omission{whole.file, "columns " + some + " of " + whole.name, "in no view of the table"})
	}
	return nil
}

// pickNames returns the names of the columns of a part, of all names; nil without.
func (v *variable) pickNames(all []string) []string {
	if all == nil {
		return nil
	}
	return lists.Texts(v.pick, func(j int) string { return all[j] })
}

// pickColumns takes the columns of a part from the whole matrix, which is not used any more.
func pickColumns(v *variable, view *View, bad *badValues, lim *limits) error {
	part := View{Name: v.name, Rows: view.Rows, Cols: len(v.pick), Features: v.pickNames(view.Features)}
	held := view.Bytes()
	if err := lim.Take("some columns of "+v.whole.name, min(held, 8*int64(part.Rows)*int64(part.Cols))); err != nil {
		return err
	}
	if view.Sparse != nil {
		to := slices.Repeat([]int32{-1}, view.Cols)
		for k, j := range v.pick {
			to[j] = int32(k)
		}
		part.Sparse = view.Sparse.arrange(to)
	} else {
		part.Float32, part.Float64 = slices.Clone(arrange(view.Float32, view.Cols, v.pick)),
			slices.Clone(arrange(view.Float64, view.Cols, v.pick))
	}
	found := badValues{}
	if bad.nan != nil || bad.hasInf {
		for i := range part.Rows {
			var err error
			part.entries(i, func(j int, x float64) {
				if err == nil && x-x != 0 {
					err = found.note(lim, part.Rows, i, j, x)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	for _, c := range bad.lossy {
		if k := slices.Index(v.pick, c.column); k >= 0 {
			c.column = k
			found.lossy = append(found.lossy, c)
		}
	}
	slices.SortFunc(found.lossy, func(a, b lossyColumn) int { return a.column - b.column })
	*view, *bad = part, found
	lim.Give(held)
	return nil
}
