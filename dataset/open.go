package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// Open reads the data set in a file, or in a folder of one file a view. The error names the file, the variable and, for a
// bad value, its place.
func Open(path string, o Options) (*Set, error) { return OpenFiles([]string{path}, o) }

// OpenFiles reads a data set that lies in several files, in this order: one view a file, or several. Labels may be in any of
// them, in a file named after them (y.npy, labels.csv …) or in [Options.LabelsFile].
func OpenFiles(paths []string, o Options) (*Set, error) {
	p, err := newPlan(paths, &o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.read(&o)
}

// Read reads a data set of one file of size bytes that is open already, or in memory (a bytes.Reader). name stands for it
// in errors.
func Read(name string, r io.ReaderAt, size int64, o Options) (*Set, error) {
	if o.LabelsFile != "" || o.MaskFile != "" {
		return nil, errors.New("dataset: LabelsFile and MaskFile are for Open")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &plan{name: baseName(name), lim: newLimits(&o)}
	s := &source{path: name, size: size, close: func() error { return nil }}
	if err := s.list(r, &o, p.lim); err != nil {
		return nil, named(name, err)
	}
	p.sources = []*source{s}
	if err := p.choose(1, &o); err != nil {
		return nil, err
	}
	return p.read(&o)
}

// plan is what was found in the files and how it is going to be read.
type plan struct {
	sources []*source // data files, then the files of labels and mask
	name    string
	views   []*variable
	labels  []*variable
	index   []*variable
	mask    *variable
	turned  bool
	why     string // of the orientation
	n       int    // 0 until the views are read, for triplets without labels
	lim     *limits
	notes   []string
}

func (p *plan) close() {
	for _, s := range p.sources {
		// The files were only read; closing them cannot lose anything.
		_ = s.close()
	}
}

// newPlan opens the files and chooses. On error the files are closed, and the plan has what was found until then.
func newPlan(paths []string, o *Options) (*plan, error) {
	p := &plan{}
	err := p.prepare(paths, o)
	if err != nil {
		p.close()
	}
	return p, err
}

func (p *plan) prepare(paths []string, o *Options) error {
	if err := o.check(); err != nil {
		return err
	}
	files, err := expand(paths)
	if err != nil {
		return err
	}
	p.lim = newLimits(o)
	p.name = baseName(strings.TrimRight(paths[0], `/\`))
	data := len(files)
	for _, f := range []string{o.LabelsFile, o.MaskFile} {
		if f != "" {
			files = append(slices.Clip(files), f)
		}
	}
	for _, f := range files {
		s, err := openSource(f, o, p.lim)
		if err != nil {
			return err
		}
		p.sources = append(p.sources, s)
	}
	return p.choose(data, o)
}

// choose decides what the variables of the files are. The first of them, as many as data says, hold views.
func (p *plan) choose(data int, o *Options) error {
	for _, s := range p.sources {
		p.notes = append(p.notes, s.notes...)
	}
	if err := p.chooseLabels(data, o); err != nil {
		return err
	}
	if err := p.chooseMask(data, o); err != nil {
		return err
	}
	if err := p.chooseViews(data, o); err != nil {
		return err
	}
	return p.settle(o)
}

// chooseLabels looks for labels in the data files and the file of labels.
func (p *plan) chooseLabels(data int, o *Options) error {
	for _, s := range p.sources[:data] {
		vs, err := s.labelVariables(o)
		if err != nil {
			return err
		}
		p.labels = append(p.labels, vs...)
	}
	if o.LabelsFile != "" {
		s := p.sources[data]
		v, err := s.soleVector(o)
		if err != nil {
			return err
		}
		p.labels = append(p.labels, v)
	}
	if o.Labels != "" && len(p.labels) == 0 {
		return fmt.Errorf("dataset: %s: has no variable %s for the labels; it holds %s", p.sources[0].path, o.Labels, p.sources[0].listing())
	}
	return nil
}

// soleVector is the vector of labels in a file that is there for them.
func (s *source) soleVector(o *Options) (*variable, error) {
	same := *o
	same.LabelsFile = ""
	vs, err := s.labelVariables(&same)
	if err == nil && len(vs) == 0 && len(s.vars) == 1 && s.vars[0].isLabels() {
		vs, err = s.vars[0].labelVectors()
	}
	if err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("dataset: %s: holds no vector of labels, but %s", s.path, s.listing())
	}
	return vs[0], nil
}

// chooseMask looks for what says which views are present.
func (p *plan) chooseMask(data int, o *Options) error {
	if o.MaskFile != "" {
		s := p.sources[len(p.sources)-1]
		p.mask = s.maskVariable(o.Mask)
		if p.mask == nil && len(s.vars) == 1 {
			p.mask = s.vars[0]
		}
		if p.mask == nil {
			return fmt.Errorf("dataset: %s: holds no mask, but %s", s.path, s.listing())
		}
		return nil
	}
	for _, s := range p.sources[:data] {
		if p.mask == nil {
			p.mask = s.maskVariable(o.Mask)
		}
		if p.index == nil {
			p.index = s.indexVariables()
			p.noteStatus(s)
		}
	}
	if o.Mask != "" && p.mask == nil {
		return fmt.Errorf("dataset: %s: has no variable %s for the mask; it holds %s", p.sources[0].path, o.Mask, p.sources[0].listing())
	}
	return nil
}

// noteStatus says that a status matrix next to an index is not used.
func (p *plan) noteStatus(s *source) {
	for _, v := range s.vars {
		if p.index != nil && strings.EqualFold(v.name, "MissingStatus") {
			p.notes = append(p.notes, v.name+" is not used: index and the NaN in the views say which rows are absent")
		}
	}
}

// chooseViews takes the views of every data file.
func (p *plan) chooseViews(data int, o *Options) error {
	taken := map[*variable]bool{p.mask: true}
	for _, v := range slices.Concat(p.labels, p.index) {
		taken[v] = true
	}
	names := o.Views
	for _, s := range p.sources[:data] {
		if data > 1 {
			if s.onlyTaken(taken) {
				continue // a file of labels or of a mask among those of the views
			}
			if names = s.has(o.Views); len(o.Views) > 0 && len(names) == 0 {
				continue
			}
		}
		vs, err := s.views(names, taken)
		if err != nil {
			return err
		}
		p.views = append(p.views, vs...)
	}
	if len(p.views) == 0 {
		return fmt.Errorf("dataset: %s: holds no view", p.sources[0].path)
	}
	return checkViews(p.views)
}

// onlyTaken tells whether a file among several is there for labels or mask: what else it holds is a number for each sample.
func (s *source) onlyTaken(taken map[*variable]bool) bool {
	some := false
	for _, v := range s.vars {
		switch {
		case taken[v]:
			some = true
		default:
			if !slices.Contains(append(labelNames, maskNames...), strings.ToLower(s.base())) {
				return false
			}
		}
	}
	return some
}

// has keeps the names that the file has.
func (s *source) has(names []string) []string {
	var out []string
	for _, n := range names {
		if s.find(n) != nil {
			out = append(out, n)
		}
	}
	return out
}

// settle decides the orientation and compares the numbers of samples and views.
func (p *plan) settle(o *Options) error {
	labels := 0
	for _, v := range p.labels {
		labels = max(labels, v.labelLen())
	}
	if p.index != nil && len(p.index) != len(p.views) {
		return fmt.Errorf("dataset: %s: index speaks of %d views, but there are %d", p.sources[0].path, len(p.index), len(p.views))
	}
	if o.Triplets {
		p.n, p.why = labels, "triplets"
		if !looksLikeTriplets(p.views) {
			return fmt.Errorf("dataset: %s: triplets need three columns (row, column, value); %s is %s",
				p.sources[0].path, p.views[0].name, p.views[0].shapeString())
		}
		return nil
	}
	var err error
	p.turned, p.n, p.why, err = orient(p.views, labels, o.Orientation)
	return err
}

// read reads the chosen variables and decides what is absent.
func (p *plan) read(o *Options) (*Set, error) {
	r, err := p.readRaw(o)
	if err != nil {
		return nil, err
	}
	if err := r.resolve(o); err != nil {
		return nil, err
	}
	return r.set, nil
}

// rawSet is a set as it stands in the files, with what they say about absent rows.
type rawSet struct {
	set       *Set
	vars      []*variable
	bad       []badValues
	mask      [][]bool // nil where the files say nothing
	fromIndex bool     // the mask was an index
}

func (p *plan) readRaw(o *Options) (*rawSet, error) {
	r := &rawSet{set: &Set{Name: p.name, Views: make([]View, len(p.views))}, vars: p.views}
	var err error
	if o.Float == 64 {
		r.bad, err = readViews[float64](p, r.set, o)
	} else {
		r.bad, err = readViews[float32](p, r.set, o)
	}
	if err != nil {
		return nil, err
	}
	p.n = r.set.Samples()
	if err := p.readLabels(r.set, o); err != nil {
		return nil, err
	}
	switch {
	case p.mask != nil:
		r.mask, err = readMask(p.mask, p.n, len(p.views), p.lim)
	case p.index != nil:
		r.fromIndex = true
		r.mask, err = readIndex(p.index, p.n, p.lim)
	}
	return r, err
}

func readViews[T elem.Float](p *plan, set *Set, o *Options) ([]badValues, error) {
	if o.Triplets {
		return readTriplets[T](p, set, o)
	}
	bad := make([]badValues, len(p.views))
	for i, v := range p.views {
		var err error
		if set.Views[i], bad[i], err = readView[T](v, p.turned, o, p.lim); err != nil {
			return nil, err
		}
	}
	return bad, nil
}

// readLabels reads the labels; where several variables hold them they must agree.
func (p *plan) readLabels(set *Set, o *Options) error {
	for i, v := range p.labels {
		labels, names, err := readLabels(v, p.n, p.lim)
		if err != nil {
			if v.kind == numeric && v.labelLen() == 0 && o.Labels == "" && o.LabelsFile == "" {
				// A matrix that only has the name of labels; the data are fine without it.
				p.notes = append(p.notes, "labels left out: "+strings.TrimPrefix(err.Error(), "dataset: "))
				continue
			}
			return err
		}
		if i > 0 && set.Labels != nil {
			if err := agree(set.Labels, labels, set.LabelNames, names); err != nil {
				return v.errorf("and %s %w", p.labels[0].name, err)
			}
			continue
		}
		set.Labels, set.LabelNames = labels, names
	}
	if o.Labels != "" && set.Labels == nil {
		return errors.New("dataset: no labels were read")
	}
	return nil
}
