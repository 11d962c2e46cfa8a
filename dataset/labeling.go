package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/textfile"
)

// Labeling holds the labels in one file, and the ids of their samples.
type Labeling struct {
	Path     string
	Column   string   // column or variable of the labels
	Labels   []int    // class of each row, 0 … len(Names)−1; −1 for a missing label of ReadKnown
	Names    []string // value that stands for each class in the file
	IDs      []string // nil without
	IDsNamed bool     // whether Options.IDs names the column of the ids

	idColumn string
}

// ReadLabels reads the labels in one file of any format, as [Open] reads a file of labels. [Options.Labels] names their column.
func ReadLabels(ctx context.Context, path string, o Options) (*Labeling, error) {
	if err := o.within(ctx); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &plan{o: &o, lim: newLimits(&o)}
	defer p.close()
	l, err := p.readLabeling(path)
	if err = p.unchanged(ctx, err); err != nil {
		return nil, err
	}
	return l, nil
}

func (p *plan) readLabeling(path string) (*Labeling, error) {
	s, err := p.open(path, roleLabels, p.o)
	if err != nil {
		return nil, err
	}
	v, err := s.soleVector(p.o)
	if err != nil {
		return nil, err
	}
	if s.ids, err = s.idVariable(p.o); err != nil {
		return nil, err
	}
	if err := s.checkOtherArrays(v, p.o, p.lim); err != nil {
		return nil, err
	}
	ids := s
	if in := s.modality[v]; in != nil {
		ids, in.ids = in, in.index
	}
	l := &Labeling{Path: path, Column: v.name}
	n, _ := v.vectorLen()
	if n == 0 {
		n, _, _ = v.shape2()
	}
	read := readAllLabels
	if p.o.someMissing {
		read = readLabels
	}
	if l.Labels, l.Names, err = read(v, n, p.lim); err != nil {
		return nil, err
	}
	if ids.ids != nil && ids.ids != v {
		asked, _ := ids.idsOf(p.o) // idVariable has returned its error
		l.idColumn, l.IDsNamed = ids.ids.name, ids.idsAsked || !ids.csv && asked != nil
		if l.IDs, err = ids.ids.readIDs(p.lim); err != nil {
			return nil, err
		}
		if len(l.IDs) != n {
			return nil, ids.ids.errorf("holds %d ids for %d labels", len(l.IDs), n)
		}
	}
	return l, nil
}

// ReadKnown reads the labels of some samples in one file, as [ReadLabels] does. In a table a label may be missing: it is −1.
func ReadKnown(ctx context.Context, path string, o Options) (*Labeling, error) {
	o.someMissing = true
	return ReadLabels(ctx, path, o)
}

// AlignSome returns the label of each of n samples, −1 without. The samples are found by their ids (nil without). If they have
// none, a column sample of numbers from 0 finds them, as files of results have it, or else their places, if there are as many
// rows as samples. It also returns what they were found by. A label without a sample is an error. other names the file of the
// samples, for errors.
func (l *Labeling) AlignSome(other string, ids []string, n int) (labels []int, by string, err error) {
	labels = slices.Repeat([]int{-1}, n)
	numbered := ids == nil && l.IDs != nil && strings.EqualFold(l.idColumn, "sample")
	switch {
	case numbered, l.IDs != nil && ids != nil:
	case len(l.Labels) == n:
		_, by, err := l.Align(other, ids, n)
		return slices.Clone(l.Labels), by, err
	case l.IDs == nil:
		return nil, "", fmt.Errorf("dataset: %s: has %s for the %d samples of %s, and does not name these samples: add "+
			"a column with their ids, or a column sample with their numbers from 0", l.Path,
			textfile.Count(len(l.Labels), "label"), n, other)
	default:
		return nil, "", mismatch(l.Path, l.idColumn, other)
	}
	if ids == nil {
		ids = rowNumbers(n)
	}
	at := placesOf(ids)
	for row, id := range l.IDs {
		i, ok := at[id]
		if !ok {
			return nil, "", fmt.Errorf("dataset: %s: has a label for %q, which is no sample of %s", l.Path, id, other)
		}
		labels[i] = l.Labels[row]
	}
	return labels, l.idColumn, nil
}

// Align finds the row of l for each of n samples, by their ids (nil without) or by their places, as [Open] joins files. It
// returns the rows and what they were found by. A sample without a label is an error, and so is a label without a sample. other
// names what has the samples.
func (l *Labeling) Align(other string, ids []string, n int) (rows []int, by string, err error) {
	switch {
	case l.IDs != nil && ids != nil:
		j := joinIDs([][]string{l.IDs, ids}, nil)
		switch none, extra := j.lack[0], j.lack[1]; {
		case len(none) > 0:
			return nil, "", fmt.Errorf("dataset: %s: has no label for %d of the %d samples of %s, for example %s", l.Path,
				len(none), len(ids), other, j.names(none))
		case len(extra) > 0:
			return nil, "", fmt.Errorf("dataset: %s: has labels for %d samples that %s lacks, for example %s", l.Path,
				len(extra), other, j.names(extra))
		}
		if j.same {
			return lists.Indices(len(ids)), l.idColumn, nil
		}
		return j.rows[1], l.idColumn, nil
	case l.IDs != nil && !countsRows(l.IDs):
		return nil, "", mismatch(l.Path, l.idColumn, other)
	case ids != nil && !countsRows(ids):
		return nil, "", mismatch(other, "", l.Path)
	case len(l.Labels) != n:
		return nil, "", fmt.Errorf("dataset: %s: has %s for the %d samples of %s", l.Path,
			textfile.Count(len(l.Labels), "label"), n, other)
	}
	return lists.Indices(n), "their places", nil
}

// Common returns the labels of the samples that l and other both have, in the order of l, and what they were found by. Without
// ids both must have all samples. Ids that count the rows of a file which lacks samples are an error unless [Options.IDs] names
// them: they may be no more than places.
func (l *Labeling) Common(other *Labeling) (a, b *Labeling, by string, err error) {
	if l.IDs == nil || other.IDs == nil {
		rows, by, err := other.Align(l.Path, l.IDs, len(l.Labels))
		return l, other.take(rows), by, err
	}
	at := placesOf(other.IDs)
	var rows [2][]int
	for i, id := range l.IDs {
		if k, ok := at[id]; ok {
			rows[0], rows[1] = append(rows[0], i), append(rows[1], k)
		}
	}
	shared := len(rows[0])
	for _, pair := range [][2]*Labeling{{l, other}, {other, l}} {
		if x, all := pair[0], len(pair[1].IDs); shared < all && countsRows(x.IDs) && !x.IDsNamed {
			none := ""
			if len(x.IDs) == all {
				none = ", Options.NoIDs if the rows are in the same order"
			}
			return nil, nil, "", fmt.Errorf("dataset: %s: lacks %d of the %d samples of %s, and its ids in %s "+
				"count its rows: give Options.IDs %s if they name the samples%s", x.Path, all-shared, all, pair[1].Path,
				titleOfName(x.idColumn), strings.TrimPrefix(x.idColumn, "column "), none)
		}
	}
	if shared == 0 {
		return nil, nil, "", fmt.Errorf("dataset: %s, %s: no id is in both files (%s, %s, …): write the ids in the same way in "+
			"both",
			l.Path, other.Path, l.IDs[0], other.IDs[0])
	}
	if err := joinIDs([][]string{l.IDs, other.IDs}, nil).spelled(); err != nil {
		return nil, nil, "", named(l.Path, err)
	}
	return l.take(rows[0]), other.take(rows[1]), other.idColumn, nil
}

// take returns the labels of some rows.
func (l *Labeling) take(rows []int) *Labeling {
	labels := make([]int, len(rows))
	for i, row := range rows {
		labels[i] = l.Labels[row]
	}
	out := &Labeling{Path: l.Path, Column: l.Column}
	out.Labels, out.Names = usedClasses(labels, l.Names)
	return out
}
