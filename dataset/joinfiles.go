package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/textfile"
)

// chooseIDs looks for what names the samples in each file.
func (p *plan) chooseIDs() error {
	found := false
	for _, s := range p.sources {
		v, err := p.idsOf(s)
		if err != nil {
			return err
		}
		s.ids = v
		if s.role == roleLabels && len(p.labels) > 0 && p.labels[0].file == s.path {
			if err := s.checkOtherArrays(p.labels[0], p.o, p.lim); err != nil {
				return err
			}
		}
		// A file that lacks what the options name has chosen ids by itself.
		asked, _ := s.idsOf(p.o) // p.idsOf has returned its error
		found = found || v != nil && (s.idsAsked || !s.csv && asked != nil)
	}
	if p.o.IDs != "" && !found {
		return fmt.Errorf("dataset: %s: has no variable or column %s for the ids; it holds %s", p.sources[0].path, p.o.IDs,
			p.sources[0].listing())
	}
	return nil
}

// idsOf returns the ids of a file, and sets those of its modalities. Labels are no ids.
func (p *plan) idsOf(s *source) (*variable, error) {
	for _, m := range s.modalities {
		if m.ids = m.index; p.o.NoIDs {
			return nil, fmt.Errorf("dataset: %s: is MuData, whose modalities are joined by ids: leave out Options.NoIDs",
				s.path)
		}
	}
	v, err := s.idVariable(p.o)
	if slices.Contains(p.labels, v) {
		v = nil
	}
	return v, err
}

// readIDLists reads the ids of the files that have views, labels or the mask, and lists the files with and without ids.
func (p *plan) readIDLists() (with, without []*source, err error) {
	for _, s := range p.withModalities() {
		if !p.holdsView(s) && !p.givesLabels(s) && !slices.ContainsFunc(s.modalities, p.holdsView) &&
			(p.mask == nil || p.of[p.mask] != s) {
			continue
		}
		if (p.o.Triplets || p.index != nil) && p.holdsView(s) {
			s.ids = nil // the rows of the file are no samples
		}
		if s.ids == nil {
			without = append(without, s)
			continue
		}
		if s.idList, err = s.ids.readIDs(p.lim); err != nil {
			return nil, nil, err
		}
		with = append(with, s)
	}
	return with, without, nil
}

// joinFiles finds which rows of the files belong to one sample, by the ids of their samples or by their places.
func (p *plan) joinFiles() error {
	p.noteSources()
	with, without, err := p.readIDLists()
	if err != nil {
		return err
	}
	if len(without) > 0 {
		for _, s := range with {
			if !countsRows(s.idList) || s.ranged {
				return mismatch(s.path, s.ids.name, without[0].path)
			}
		}
		with = p.countedViews(with, slices.ContainsFunc(without, p.holdsView))
	}
	if len(with) == 0 {
		return nil
	}
	known := p.dataFirst(with)
	lists := make([][]string, len(with))
	for k, s := range with {
		lists[k] = s.idList
	}
	return p.apply(joinIDs(lists, known), with)
}

// mismatch is the error that one of two files has ids.
func mismatch(path, column, other string) error {
	in := ""
	if column != "" {
		in = " in " + titleOfName(column)
	}
	return fmt.Errorf("dataset: %s: has ids%s, and %s has none: add ids to the other file, or give Options.NoIDs if the "+
		"rows of all files are in the same order", path, in, other)
}

// countedViews keeps of files whose ids count their rows the first that has a view, unless other views have no ids. Its ids
// become the ids of the samples. The others are matched by their places.
func (p *plan) countedViews(with []*source, others bool) []*source {
	if k := slices.IndexFunc(with, p.holdsView); k >= 0 && !others {
		return with[k : k+1]
	}
	for _, s := range with {
		p.notes = append(p.notes, fmt.Sprintf("%s: its ids are row numbers; its rows are matched by their places", s.path))
	}
	return nil
}

// dataFirst puts the files of data before the others, for they decide the order of the samples. It returns the ids of the
// samples if there are other files, and nil if no file of data has ids: what a file of labels has beside the samples of the data
// does no harm.
func (p *plan) dataFirst(with []*source) (known map[string]bool) {
	var views, others []*source
	var ids []string
	for _, s := range with {
		if slices.Contains(p.sources[:p.data], cmp.Or(s.of, s)) && p.holdsView(s) {
			views, ids = append(views, s), append(ids, s.idList...)
		} else {
			others = append(others, s)
		}
	}
	copy(with, append(views, others...))
	if wholeFirst(with); len(ids) > 0 && len(others) > 0 {
		known = setOf(ids)
	}
	return known
}

// holdsView reports whether a file has one of the views.
func (p *plan) holdsView(s *source) bool {
	return slices.ContainsFunc(p.views, func(v *variable) bool { return p.of[v] == s })
}

// apply checks what a join leaves open, and keeps it.
func (p *plan) apply(j *join, with []*source) error {
	p.rowsOf = map[*source][]int{}
	var about []string
	for k, s := range with {
		p.rowsOf[s] = j.rows[k]
		if err := p.leaveStrangers(s, j); err != nil {
			return err
		}
	}
	for k, s := range with {
		origin := s.ids.origin()
		switch lacks := len(j.lack[k]); {
		case lacks > 0:
			if err := p.checkLack(s, j, j.lack[k]); err != nil {
				return err
			}
			origin += fmt.Sprintf(" (lacks %d)", lacks)
		case j.moved[k]:
			origin += " (in another order)"
		}
		about = append(about, origin)
	}
	if err := j.spelled(); err != nil {
		return named(with[0].path, err)
	}
	p.joined, p.idColumn = j, with[0].idColumn()
	verb := "from "
	if len(with) > 1 {
		verb = "the rows are joined by "
	}
	p.aboutIDs = fmt.Sprintf("%d, %s%s", len(j.ids), verb, strings.Join(about, ", "))
	return nil
}

// leaveStrangers lists the rows of a file of labels or a mask that belong to no sample.
func (p *plan) leaveStrangers(s *source, j *join) error {
	var ids []string
	for i, to := range p.rowsOf[s] {
		if to < 0 {
			ids = append(ids, s.idList[i])
		}
	}
	if len(ids) > 0 {
		p.left = append(p.left, Omission{s.path, fmt.Sprintf("%s (%s)", textfile.Count(len(ids), "row"), someNames(ids)),
			"no view has samples of these ids"})
		if countsRows(j.ids) {
			return p.mayBePlaces(s, fmt.Sprintf("has %s for %d samples", textfile.Count(len(s.idList), "row"), len(j.ids)))
		}
	}
	return nil
}

// mayBePlaces returns an error if the ids of a file count its rows, and no option names them. As the file has other samples than
// the rest, they may be no more than places.
func (p *plan) mayBePlaces(s *source, what string) error {
	if p.o.IDs != "" || !countsRows(s.idList) {
		return nil
	}
	return fmt.Errorf("dataset: %s: %s, and its ids in %s count its rows: give Options.IDs %s if they name the samples, "+
		"Options.NoIDs if the rows of all files are in the same order", s.path, what, titleOfName(s.ids.name),
		strings.TrimPrefix(s.ids.name, "column "))
}

// checkLack refuses a file that lacks samples, unless they may be absent from it.
func (p *plan) checkLack(s *source, j *join, lack []int) error {
	held := 0
	for _, l := range j.lack {
		held += len(j.ids) - len(l)
	}
	if held == len(j.ids) {
		return fmt.Errorf("dataset: %s: no id is in two files (it lacks %s): write the ids in the same way in all files, or "+
			"put parts of one table into one file. Options.NoIDs matches rows by their places", s.path, j.names(lack))
	}
	if (p.o.MissingRows || p.mask != nil || s.of != nil) && p.holdsView(s) && !p.givesLabels(s) {
		if s.of != nil || p.mask != nil || len(s.idList) < 3 {
			return nil
		}
		return p.mayBePlaces(s, fmt.Sprintf("lacks %d of the %d samples that the files have", len(lack), len(j.ids)))
	}
	cure := "add them, or give Options.MissingRows if these samples lack its views"
	if p.givesLabels(s) {
		cure = "add them, or give Options.NoLabels"
	}
	if s.role == roleMask {
		cure = "add them with 0 and 1 for each view"
	}
	return fmt.Errorf("dataset: %s: lacks %d of the %d samples that the files have, for example %s; %s. Options.NoIDs "+
		"matches rows by their places", s.path, len(lack), len(j.ids), j.names(lack), cure)
}

// givesLabels reports whether the labels come from a file.
func (p *plan) givesLabels(s *source) bool {
	return slices.ContainsFunc(p.labels, func(v *variable) bool { return p.of[v] == s })
}

// orient decides the orientation. Where files are joined by ids, rows are samples.
func (p *plan) orient(labels int) error {
	different := p.joined != nil && slices.ContainsFunc(p.views, func(v *variable) bool { return p.rowsOf[p.of[v]] != nil })
	if !different {
		var err error
		if p.joined != nil {
			labels, p.counted = len(p.joined.ids), "ids"
		}
		orientation := p.o.Orientation
		if p.of[p.views[0]].annData {
			orientation = max(orientation, RowsAreSamples)
		}
		p.turned, p.n, p.why, err = orient(p.views, labels, cmp.Or(p.counted, "labels"), orientation)
		if orientation != p.o.Orientation {
			p.why = "AnnData"
		}
		return err
	}
	if p.o.Orientation == ColumnsAreSamples && slices.ContainsFunc(p.views, func(v *variable) bool { return !v.transposed }) {
		return fmt.Errorf("dataset: %s: Options.Orientation columns cannot be used: the files are joined by ids, so their rows "+
			"are the samples",
			p.views[0].file)
	}
	for _, v := range p.views {
		rows, _, _ := v.shape2()
		want := len(p.joined.ids)
		if s := p.of[v]; p.rowsOf[s] != nil {
			want = len(p.rowsOf[s])
		}
		if rows != want {
			return v.errorf("is %s, but there are %d ids", v.shapeString(), want)
		}
	}
	p.n, p.why = len(p.joined.ids), "rows are joined by ids"
	return nil
}

// place puts the rows of a view where they belong, and says which rows it does not have.
func placeRows(v *View, b *badValues, rows []int, n int, lim *limits) error {
	if err := lim.Take("a view in the order of the ids", v.Bytes()); err != nil {
		return err
	}
	if b.nan != nil {
		nan := make([]int32, n)
		for i, to := range rows {
			nan[to] = b.nan[i]
		}
		b.nan = nan
	}
	if b.hasInf {
		b.infR = rows[b.infR]
	}
	from := slices.Repeat([]int{-1}, n)
	for i, to := range rows {
		from[to] = i
	}
	v.Rows = n
	if c := v.Sparse; c != nil {
		v.Sparse = c.pick(from)
		return nil
	}
	v.Float32, v.Float64 = pickRows(v.Float32, from, v.Cols), pickRows(v.Float64, from, v.Cols)
	return nil
}

// pickRows returns the rows of a matrix in another order; those below 0 are zero.
func pickRows[T elem.Float](x []T, from []int, cols int) []T {
	if x == nil {
		return nil
	}
	out := make([]T, len(from)*cols)
	for i, r := range from {
		if r >= 0 {
			copy(out[i*cols:(i+1)*cols], x[r*cols:(r+1)*cols])
		}
	}
	return out
}

// pick returns the rows in another order; those below 0 are empty.
func (c *CSR) pick(from []int) *CSR {
	ptr := make([]int, len(from)+1)
	for i, r := range from {
		if ptr[i+1] = ptr[i]; r >= 0 {
			ptr[i+1] += c.RowPtr[r+1] - c.RowPtr[r]
		}
	}
	return &CSR{ptr, pickEntries(c.Col, c.RowPtr, from), pickEntries(c.Float32, c.RowPtr, from),
		pickEntries(c.Float64, c.RowPtr, from)}
}

// pickEntries returns the entries of rows in another order; x is nil or has those that ptr counts.
func pickEntries[T any](x []T, ptr, from []int) []T {
	if x == nil {
		return nil
	}
	out := make([]T, 0, len(x))
	for _, r := range from {
		if r >= 0 {
			out = append(out, x[ptr[r]:ptr[r+1]]...)
		}
	}
	return out
}

// joinedMask marks the views of samples that a file does not have; nil where every file has all.
func (p *plan) joinedMask(views int) (mask [][]bool, err error) {
	for v, x := range p.views {
		rows := p.rowsOf[p.of[x]]
		if rows == nil || len(rows) == p.n {
			continue
		}
		if mask == nil {
			if mask, err = bookedMask(p.n, views, p.lim); err != nil {
				return nil, x.wrap(err)
			}
		}
		for i := range mask {
			mask[i][v] = false
		}
		for _, to := range rows {
			mask[to][v] = true
		}
	}
	return mask, nil
}
