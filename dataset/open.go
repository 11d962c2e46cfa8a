package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Open reads the data set in a file, in a folder with one file for each view, or in several files in the given order. Labels may
// be in any of them, in a file named after them (y.npy, labels.csv …) or in Options.LabelsFile. Samples of files with ids are
// matched by their ids, in any order. The error names the file, the variable and, for a bad value, its place. If ctx is
// cancelled, Open soon returns its error.
func Open(ctx context.Context, paths []string, o Options) (*Set, error) {
	if err := o.within(ctx); err != nil {
		return nil, err
	}
	p, err := newPlan(paths, &o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	set, err := p.read()
	if err = p.unchanged(ctx, err); err != nil {
		return nil, err
	}
	return set, nil
}

// turns reports whether a variable is read the other way round.
func (p *plan) turns(v *variable) bool { return p.turned && !v.transposed }

// unchanged is [source.blamed] for all files: the first one that was changed counts.
func (p *plan) unchanged(ctx context.Context, reading error) error {
	for _, s := range slices.Backward(p.sources) {
		reading = s.blamed(ctx, reading)
	}
	return reading
}

// within sets the context that ends the reading.
func (o *Options) within(ctx context.Context) error {
	if ctx == nil {
		return errors.New("dataset: the context is nil")
	}
	o.ctx = ctx
	return nil
}

// Read reads a data set from one file of size bytes that is open already, or from memory (bytes.NewReader). Errors name the file
// name.
func Read(ctx context.Context, name string, r io.ReaderAt, size int64, o Options) (*Set, error) {
	if err := o.within(ctx); err != nil {
		return nil, err
	}
	if parallel.Nil(r) {
		return nil, fmt.Errorf("dataset: %s: the reader is nil", name)
	}
	if size < 0 {
		return nil, fmt.Errorf("dataset: %s: %d bytes", name, size)
	}
	if o.LabelsFile != "" || o.MaskFile != "" {
		return nil, errors.New("dataset: LabelsFile and MaskFile are for Open")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &plan{o: &o, data: 1, name: baseName(name), lim: newLimits(&o)}
	s := &source{path: name, size: size, close: func() error { return nil }}
	if err := s.list(r, &o, p.lim); err != nil {
		return nil, named(name, err)
	}
	p.sources = []*source{s}
	if err := p.choose(); err != nil {
		return nil, err
	}
	return p.read()
}

// plan holds what was found in the files, and how to read it.
type plan struct {
	o       *Options
	sources []*source // data files, then the files of labels and mask
	data    int       // the number of the files of data
	name    string
	views   []*variable
	labels  []*variable
	index   []*variable
	mask    *variable
	maskTo  []int // the view of each column of the mask
	turned  bool
	counted string // what has the number of samples, where it is not the labels

	why string // of the orientation
	n   int    // 0 until the views are read, for triplets without labels
	lim *limits

	labelsFile, maskFile *source
	of                   map[*variable]*source
	joined               *join
	rowsOf               map[*source][]int // where the rows of a file belong; nil: as they stand
	aboutIDs, idColumn   string
	left                 []Omission
	notes                []string
	warnings             []string
}

func (p *plan) close() {
	for _, s := range p.sources {
		// The files were only read; closing them cannot lose anything.
		_ = s.close()
	}
}

// newPlan opens the files and chooses. On error the files are closed, and the plan has what was found until then.
func newPlan(paths []string, o *Options) (*plan, error) {
	p := &plan{o: o}
	err := p.prepare(paths)
	if err != nil {
		err = p.unchanged(o.ctx, err)
		p.close()
	}
	return p, err
}

// joined are errors of several files or views, a line each.
type joined []error

func (j joined) Error() string {
	lines := make([]string, len(j))
	for i, err := range j {
		if lines[i] = err.Error(); i > 0 {
			lines[i] = strings.TrimPrefix(lines[i], "dataset: ")
		}
	}
	return strings.Join(lines, "\n")
}

func (j joined) Unwrap() []error { return j }

// mostWrong is the largest number of files whose errors are told.
const mostWrong = 10

func (p *plan) prepare(paths []string) error {
	if err := p.o.check(); err != nil {
		return err
	}
	files, err := expand(paths, p.o)
	if err != nil {
		return err
	}
	p.lim = newLimits(p.o)
	p.name = baseName(strings.TrimRight(paths[0], `/\`))
	p.left = append(p.left, files.left...)
	var wrong []error
	p.o.several = len(files.files) > 1
	for _, f := range files.files {
		as := roleData
		if len(files.files) > 1 {
			as = roleByName(f)
		}
		if err := p.openData(f, as); err != nil {
			if wrong = append(wrong, err); len(wrong) == mostWrong || p.lim.Spent() {
				break
			}
		}
	}
	p.data = len(p.sources)
	for _, x := range []struct {
		path string
		as   role
		to   **source
	}{{p.o.LabelsFile, roleLabels, &p.labelsFile}, {p.o.MaskFile, roleMask, &p.maskFile}} {
		if x.path != "" && !p.lim.Spent() {
			if *x.to, err = p.open(x.path, x.as, p.o); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	if len(wrong) > 0 {
		return joined(wrong)
	}
	return p.choose()
}

// openData opens a file of the data.
func (p *plan) openData(path string, as role) error {
	s, err := p.open(path, as, p.o)
	if err == nil && as == roleLabels && s.result != nil && p.o.Labels == "" && !p.o.NoLabels {
		err = fileError(path, s.result) // by its name it would give the classes
	}
	return err
}

// roleByName returns the role of a file among several, by its name.
func roleByName(path string) role {
	base := strings.ToLower(baseName(path))
	switch {
	case slices.Contains(labelNames, base):
		return roleLabels
	case slices.Contains(maskNames, base):
		return roleMask
	}
	return roleData
}

func (p *plan) open(path string, as role, o *Options) (*source, error) {
	if as != roleData && o.LeftOut != nil {
		own := *o
		own.LeftOut, o = nil, &own
	}
	s, err := openSource(path, as, o, p.lim)
	if err == nil {
		p.sources = append(p.sources, s)
	}
	return s, err
}

// choose decides what the variables of the files are.
func (p *plan) choose() error {
	for _, s := range p.sources {
		p.notes = append(p.notes, s.notes...)
	}
	for _, step := range []func() error{p.checkLacking, p.chooseLabels, p.turnProved, p.checkShared, p.checkColumns, p.checkParts,
		p.chooseIDs, p.chooseMask, p.chooseViews, p.tellApart, p.joinFiles, p.settle, p.splitColumns, p.checkTable, p.orderMask,
		p.account} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// noteSources notes the file of each variable.
func (p *plan) noteSources() {
	p.of = map[*variable]*source{}
	for _, s := range p.sources {
		for _, v := range s.vars {
			p.of[v] = cmp.Or(s.modality[v], s)
			if v.asText != nil {
				p.of[v.asText] = s
			}
			for _, c := range v.cells {
				p.of[c] = s
			}
		}
	}
	for _, v := range p.views {
		if v.whole != nil {
			p.of[v] = p.of[v.whole]
		}
	}
}

// checkLacking is an error if no table has a column of a view of the options, or several have while one lacks another view.
func (p *plan) checkLacking() error {
	for _, t := range p.o.Table {
		var without []error
		var with []string
		partly := false
		for _, s := range p.sources[:p.data] {
			partly = partly || len(s.lacking) > 0
			if err := s.lacking[t.Name]; err != nil {
				without = append(without, named(s.path, fmt.Errorf("%w; view %s (Options.Table) needs it", err, t.Name)))
			} else if s.lacking != nil {
				with = append(with, s.path)
			}
		}
		switch {
		case len(with) == 0 && len(without) > 0:
			return joined(without[:min(len(without), mostWrong)])
		case len(with) > 1 && partly:
			return fmt.Errorf("dataset: %s have columns of view %s (Options.Table): name columns that only one file has",
				strings.Join(with, " and "), t.Name)
		}
	}
	return nil
}

// checkTable looks for the views of the options in the tables.
func (p *plan) checkTable() error {
	for _, t := range p.o.Table {
		if !slices.ContainsFunc(p.views, func(v *variable) bool { return (v.fromTable || v.whole != nil) && v.name == t.Name }) {
			return fmt.Errorf("dataset: %s: has no view %s of Options.Table", p.sources[0].path, t.Name)
		}
	}
	return nil
}

// chooseLabels looks for labels in the data files and the file of labels.
func (p *plan) chooseLabels() error {
	for _, s := range p.sources[:p.data] {
		vs, err := s.labelVariables(p.o)
		if err != nil {
			return err
		}
		p.labels = append(p.labels, vs...)
		wanted := !p.o.NoLabels && p.o.Labels == "" && p.o.LabelsFile == ""
		if len(vs) == 0 && s.role == roleLabels && wanted {
			if err := p.labelsFrom(s, p.o); err != nil {
				return err
			}
		}
	}
	if p.labelsFile != nil {
		return p.labelsFrom(p.labelsFile, p.o)
	}
	if p.o.Labels == "" || len(p.labels) > 0 {
		return nil
	}
	info, err := os.Stat(p.o.Labels)
	if err != nil || info.IsDir() {
		return fmt.Errorf("dataset: %s: has no variable %s for the labels, nor is there a file of that name; it holds %s",
			p.sources[0].path, p.o.Labels, p.sources[0].listing())
	}
	alone := *p.o
	alone.Labels = ""
	if p.labelsFile, err = p.open(p.o.Labels, roleLabels, &alone); err != nil {
		return err
	}
	return p.labelsFrom(p.labelsFile, &alone)
}

// labelsFrom takes the labels of a file that is there for them.
func (p *plan) labelsFrom(s *source, o *Options) error {
	v, err := s.soleVector(o)
	if err != nil {
		return err
	}
	p.labels = append(p.labels, v)
	return nil
}

// soleVector is the vector of labels in a file that is there for them.
func (s *source) soleVector(o *Options) (*variable, error) {
	same := *o
	same.LabelsFile = ""
	vs, err := s.labelVariables(&same)
	var rest []*variable
	for _, v := range s.vars {
		if v != s.ids {
			rest = append(rest, v)
		}
	}
	if err == nil && len(vs) == 0 && o.Labels == "" && len(rest) == 1 && rest[0].isLabels() {
		vs, err = rest[0].labelVectors()
	}
	if err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("dataset: %s: holds no vector of labels, but %s%s", s.path, s.listing(), mayBeLabels(rest))
	}
	return vs[0], nil
}

// mayBeLabels advises on the categories of samples in AnnData, whose names are any.
func mayBeLabels(vs []*variable) string {
	var names []string
	for _, v := range vs {
		if strings.HasPrefix(v.class, "categories") {
			names = append(names, v.name)
		}
	}
	if names == nil {
		return ""
	}
	return ": give Options.Labels " + strings.Join(names, " or ")
}

// chooseMask looks for what says which views are present.
func (p *plan) chooseMask() (err error) {
	if p.maskFile != nil {
		p.mask, err = p.maskFile.maskIn(p.o, true)
		return err
	}
	for _, s := range p.sources[:p.data] {
		if p.mask == nil {
			if p.mask, err = s.maskIn(p.o, s.role == roleMask && s.csv && p.o.Mask == ""); err != nil {
				return err
			}
		}
		if p.index == nil {
			p.index = s.indexVariables()
		}
	}
	if p.o.Mask != "" && p.mask == nil {
		return fmt.Errorf("dataset: %s: has no variable %s for the mask; it holds %s", p.sources[0].path, p.o.Mask,
			p.sources[0].listing())
	}
	return nil
}

// chooseViews takes the views of every data file.
func (p *plan) chooseViews() error {
	taken, names := p.noViews(), p.o.Views
	for _, name := range names {
		if !slices.ContainsFunc(p.sources[:p.data], func(s *source) bool { return s.find(name) != nil }) {
			return fmt.Errorf("dataset: %s: has no variable %s of Options.Views, nor has another file; it holds %s",
				p.sources[0].path, name, p.sources[0].listing())
		}
	}
	for _, s := range p.sources[:p.data] {
		if p.data > 1 {
			names = s.has(p.o.Views)
			switch {
			case len(names) > 0:
			case len(p.o.Views) > 0, s.onlyTaken(taken):
				continue // for example a file of labels or of a mask among the files of views
			case s.role == roleLabels && (p.o.NoLabels || len(p.labels) > 0):
				p.left = append(p.left, Omission{s.path, "file", "it has a name of classes, which other files give " +
					"or the options do not want"})
				s.vars, s.left = nil, nil
				continue
			}
		}
		vs, err := s.views(names, taken, p.o)
		if err != nil {
			return err
		}
		p.views = append(p.views, vs...)
	}
	if len(p.views) == 0 {
		return fmt.Errorf("dataset: %s: holds no view", p.sources[0].path)
	}
	if err := checkViews(p.views); err != nil {
		return err
	}
	for _, s := range p.sources[:p.data] {
		if err := s.nameFeatures(p.views, p.o); err != nil {
			return err
		}
	}
	return p.splitMatrix()
}

// tellApart names views of one name by their files and folders, too, as in rna/X and protein/X.
func (p *plan) tellApart() error {
	rest := make([][]string, len(p.views)) // of each view, the parts of its path that its name lacks
	for i, v := range p.views {
		if rest[i] = strings.Split(filepath.ToSlash(filepath.Dir(v.file)), "/"); v.name != baseName(v.file) {
			rest[i] = append(rest[i], baseName(v.file))
		}
	}
	for again := true; again; {
		count := map[string]int{}
		for _, v := range p.views {
			count[v.name]++
		}
		again = false
		for i, v := range p.views {
			if last := len(rest[i]) - 1; count[v.name] > 1 && last >= 0 {
				v.name, rest[i], again = rest[i][last]+"/"+v.name, rest[i][:last], true
			}
		}
	}
	return nil
}

// served marks the variables that serve as views, labels, mask, index or ids.
func (p *plan) served() map[*variable]bool {
	used := map[*variable]bool{p.mask: true}
	for _, v := range slices.Concat(p.views, p.labels, p.index) {
		used[v], used[v.asText], used[v.namedBy], used[v.whole] = true, true, true, true
	}
	for _, s := range p.sources {
		used[s.ids] = true
	}
	delete(used, nil)
	return used
}

// noViews marks the variables that serve for something, and those that the options leave out.
func (p *plan) noViews() map[*variable]bool {
	taken := p.served()
	for _, s := range p.sources {
		for _, v := range s.vars {
			taken[v] = taken[v] || !s.csv && p.o.leavesOut(v.name)
		}
	}
	return taken
}

// onlyTaken reports whether a file among several is there for labels or mask: what else it holds is a number for each sample.
func (s *source) onlyTaken(taken map[*variable]bool) bool {
	usual, some := roleByName(s.path) != roleData, false
	for _, v := range s.vars {
		if taken[v] || v.asText != nil && taken[v.asText] {
			some = true
		} else if !usual {
			return false
		}
	}
	return some
}

// has keeps the names that the file has. Of names that differ in case it keeps the one of its variable.
func (s *source) has(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		v := s.find(name)
		return v == nil || v.name != name && slices.Contains(names, v.name)
	})
}

// settle decides the orientation and compares the numbers of samples and views.
func (p *plan) settle() error {
	labels := 0
	for _, v := range p.labels {
		n, _ := v.vectorLen()
		labels = max(labels, n)
	}
	for _, s := range p.sources {
		if n, ok := 0, false; s.ids != nil && s.role != roleMask && labels == 0 && p.joined == nil {
			if n, ok = s.ids.vectorLen(); ok {
				labels, p.counted = n, "ids"
			}
		}
	}
	if p.index != nil && len(p.index) != len(p.views) {
		return fmt.Errorf("dataset: %s: index lists %d views, but there are %d", p.sources[0].path, len(p.index), len(p.views))
	}
	if p.o.Triplets {
		p.n, p.why = labels, "triplets"
		for _, v := range p.views {
			if !looksLikeTriplets([]*variable{v}) {
				return v.errorf("is %s; triplets need three columns (row, column, value)", v.shapeString())
			}
		}
		return nil
	}
	return p.orient(labels)
}
