package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// read reads the chosen variables and decides what is absent.
func (p *plan) read() (*Set, error) {
	r, err := p.readRaw()
	if err != nil {
		return nil, err
	}
	if err := r.resolve(p.o); err != nil {
		return nil, err
	}
	r.set.Reading = p.reading(r.set)
	return r.set, nil
}

// rawSet is a set as the files hold it, with what they say about absent rows.
type rawSet struct {
	lim       *limits
	set       *Set
	vars      []*variable
	bad       []badValues
	mask      [][]bool // nil where the files say nothing
	fromIndex bool     // the mask was an index
	turned    bool
	rowsOf    func(view int) []int // where the rows of the file are in the view; nil: as they stand
}

func (p *plan) readRaw() (*rawSet, error) {
	r := &rawSet{lim: p.lim, set: &Set{Name: p.name, Views: make([]View, len(p.views))}, vars: p.views, turned: p.turned ||
		p.o.Triplets,
		rowsOf: func(v int) []int { return p.rowsOf[p.of[p.views[v]]] }}
	var err error
	if p.o.Float == 64 {
		r.bad, err = readViews[float64](p, r.set, p.o)
	} else {
		r.bad, err = readViews[float32](p, r.set, p.o)
	}
	if err != nil {
		return nil, err
	}
	p.n = r.set.Samples()
	if err := p.readLabels(r.set); err != nil {
		return nil, err
	}
	p.warn(r.set, p.o.Labels != "")
	p.warnOfRounding(r.set, r.bad)
	if p.joined != nil {
		r.set.IDs = p.joined.ids
	}
	r.fromIndex = p.mask == nil && p.index != nil
	if r.mask, err = p.readGivenMask(); err != nil {
		return nil, err
	}
	joined, err := p.joinedMask(len(p.views))
	if err != nil {
		return nil, err
	}
	if joined != nil {
		r.mask, err = p.both(r.mask, joined)
	}
	return r, err
}

// both marks what the mask of the files, nil without, and the mask of a join mark.
func (p *plan) both(mask, joined [][]bool) ([][]bool, error) {
	for i := range mask {
		for v, present := range mask[i] {
			if present && !joined[i][v] && !p.o.MissingRows {
				return nil, p.mask.errorf("has 1 for sample %s in view %s, but %s lacks that sample; mend them, or give "+
					"Options.MissingRows if the views of such samples are absent", p.joined.ids[i], p.views[v].name,
					p.views[v].file)
			}
			joined[i][v] = joined[i][v] && present
		}
	}
	return joined, nil
}

func readViews[T elem.Float](p *plan, set *Set, o *Options) ([]badValues, error) {
	if o.Triplets {
		return readTriplets[T](p, set, o)
	}
	bad := make([]badValues, len(p.views))
	for i, v := range p.views {
		var err error
		if set.Views[i], bad[i], err = readView[T](v, p.turns(v), o, p.lim); err != nil {
			return nil, err
		}
		if rows := p.rowsOf[p.of[v]]; rows != nil {
			if err := placeRows(&set.Views[i], &bad[i], rows, p.n, p.lim); err != nil {
				return nil, v.wrap(err)
			}
		}
		if v.names != nil && !p.turns(v) {
			if err := p.lim.Take("the names of features", 16*int64(set.Views[i].Cols)); err != nil {
				return nil, v.wrap(err)
			}
			if set.Views[i].Features, err = v.names(); err != nil {
				return nil, v.wrap(err)
			}
		}
		if v.whole != nil {
			if err := pickColumns(v, &set.Views[i], &bad[i], p.lim); err != nil {
				return nil, v.wrap(err)
			}
		}
	}
	return bad, nil
}

// readLabels reads the labels; where several variables hold them they must agree.
func (p *plan) readLabels(set *Set) error {
	var read []*variable
	for i, v := range p.labels {
		used := p.lim.Used()
		if err := p.lim.Take("labels", labelBytes*int64(v.elements())); err != nil {
			return v.wrap(err)
		}
		labels, names, err := p.readLabelsOf(v)
		if err != nil {
			if n, _ := v.vectorLen(); v.kind == numeric && n == 0 && p.o.Labels == "" && p.o.LabelsFile == "" {
				// A matrix that only has the name of labels.
				if p.lim.Reset(used); !slices.Contains(p.views, v) {
					return fmt.Errorf("%w: it may be a view; name the views with Options.Views, or give Options.LeaveOut %s", err,
						v.name)
				}
				continue
			}
			return err
		}
		p.lim.Reset(used)
		if err := p.lim.Take("labels", heldLabels(labels, names)); err != nil {
			return v.wrap(err)
		}
		if read = append(read, v); strings.HasPrefix(v.class, enumeration) {
			p.notes = append(p.notes, v.name+" is an enumeration: its classes have its numbers, and not its names")
		}
		if i > 0 && set.Labels != nil {
			if err := agree(set.Labels, labels, set.LabelNames, names); err != nil {
				return v.errorf("and %s %w", p.labels[0].name, err)
			}
			continue
		}
		set.Labels, set.LabelNames = labels, names
	}
	p.labels = read
	if p.o.Labels != "" && set.Labels == nil {
		return errors.New("dataset: no labels were read")
	}
	return nil
}

// labelBytes is the most memory that turning a label into a class takes on the way, beside the texts themselves.
const labelBytes = 120

// heldLabels is the memory of labels and the names of their classes.
func heldLabels(labels []int, names []string) int64 {
	n := 8 * int64(len(labels))
	for _, name := range names {
		n += stringBytes + int64(len(name))
	}
	return n
}

// readLabelsOf reads one variable of labels, and puts them where the samples are.
func (p *plan) readLabelsOf(v *variable) ([]int, []string, error) {
	rows := p.rowsOf[p.of[v]]
	if rows == nil {
		return readAllLabels(v, p.n, p.lim)
	}
	labels, names, err := readAllLabels(v, len(rows), p.lim)
	if err != nil {
		return nil, nil, err
	}
	placed := make([]int, p.n)
	for i, to := range rows {
		if to >= 0 {
			placed[to] = labels[i]
		}
	}
	labels, names = usedClasses(placed, names)
	return labels, names, nil
}
