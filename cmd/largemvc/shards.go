package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/parallel"
)

// shards are the views of a data set on disk, each in one file or in some that have its rows one after the other.
type shards struct {
	sets  []*dataset.RowSet
	views []shardedView
	ids   []string // of all samples; nil: they have none
	alone bool     // one process reads them
	notes []string // on how the values are changed
}

// sharded says whether a path of the data stands for several files.
func (o *dataOptions) sharded() bool { return slices.ContainsFunc(o.data, isPattern) }

// shardedView is one view.
type shardedView struct {
	name, source string
	rows, cols   int
	features     []string
	parts        []*dataset.Rows
	has          []bool                // the rows that masks say are there; those beyond its end are
	by           *dataset.Preparation  // how values are changed, and what was left out; nil: they are as in the files
	prepared     *dataset.PreparedRows // reads the rows and changes them; nil: they stay as in the files
}

// openShards opens the data for several processes, or for one alone. Labels of parts are in files of their own.
func (o *dataOptions) openShards(ctx context.Context, alone bool) (*shards, error) {
	options := o.options(32)
	if alone && !o.sharded() {
		s := &shards{alone: true}
		return s.closing(s.add(ctx, "", [][]string{o.data}, options))
	}
	options.Labels, options.NoLabels = "", true
	options.MissingRows = false // finding them takes a pass over all rows; each process looks at its own
	// They learn from the rows of all files together.
	options.Impute, options.Transform = dataset.NoImpute, nil
	s, err := openShards(ctx, o.data, options, alone)
	if err != nil {
		return nil, err
	}
	return s.closing(o.learn(ctx, s))
}

// openShards opens what -data names. A path with %d stands for the files 0, 1, … that its manifest lists.
func openShards(ctx context.Context, paths []string, o dataset.Options, alone bool) (*shards, error) {
	s := &shards{alone: alone}
	if !slices.ContainsFunc(paths, isPattern) {
		return s.closing(s.add(ctx, "", [][]string{paths}, o))
	}
	if o.MaskFile != "" {
		return nil, usagef("-mask cannot be given with %%d in -data: write absent rows as NaN and give -missing-rows")
	}
	for _, pattern := range paths {
		if err := s.open(ctx, pattern, o); err != nil {
			return s.closing(err)
		}
	}
	for _, v := range s.views {
		if v.rows != s.samples() {
			return s.closing(fmt.Errorf("%s has %s, %s has %d", v.source, count(v.rows, "row"), s.views[0].source, s.samples()))
		}
	}
	return s, nil
}

// isPattern says whether a path stands for several files.
func isPattern(path string) bool { return strings.Contains(path, "%d") && !isAddress(path) }

// isAddress says whether a path is the address of a file on a server.
func isAddress(path string) bool {
	return strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://")
}

// closing returns s, or closes it after an error.
func (s *shards) closing(err error) (*shards, error) {
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// input returns what is known of the data before their rows are read.
func (s *shards) input() *input {
	set := s.sets[0]
	in := &input{samples: s.samples(), ids: s.ids, close: s.close, shards: s, reading: set.Reading, labels: set.Labels,
		classNames: set.LabelNames, classes: len(set.LabelNames)}
	if len(s.sets) > 1 {
		in.reading = dataset.Reading{IDColumn: set.Reading.IDColumn, LeftOut: set.Reading.LeftOut}
		if s.ids != nil {
			in.reading.IDs = fmt.Sprintf("%d, from the files of %s", len(s.ids), s.views[0].source)
		}
	}
	in.reading.Notes = slices.Concat(in.reading.Notes, s.notes)
	for _, v := range s.views {
		in.dims, in.names = append(in.dims, v.cols), append(in.names, v.name)
		if len(s.sets) > 1 {
			in.reading.Views = append(in.reading.Views, dataset.ViewReading{
				Name: v.name, Samples: v.rows, Features: v.cols, Named: v.features != nil, Example: firstAndLast(v.features),
				Source: fmt.Sprintf("%s, in %s", v.source, count(len(v.parts), "file")),
			})
		}
	}
	return in
}

// open opens the files of one pattern, which have the rows that its manifest says.
func (s *shards) open(ctx context.Context, pattern string, o dataset.Options) error {
	if !isPattern(pattern) {
		return s.add(ctx, pattern, [][]string{{pattern}}, o)
	}
	files, err := numberedFiles(pattern)
	if err != nil {
		return err
	}
	first := len(s.sets)
	if err := s.add(ctx, pattern, slices.Collect(slices.Chunk(files, 1)), o); err != nil {
		return err
	}
	return checkManifest(pattern, files, rowsOf(s.sets[first:]))
}

// numbered puts a number in the place of %d.
func numbered(pattern string, k int) string {
	return strings.Replace(pattern, "%d", strconv.Itoa(k), 1)
}

// add opens the files of one pattern, which have the same views, or without a pattern one group of files with all views.
func (s *shards) add(ctx context.Context, pattern string, groups [][]string, o dataset.Options) error {
	first, ids := len(s.views), []string(nil)
	for k, files := range groups {
		set, err := dataset.OpenRows(ctx, files, o)
		switch {
		case errors.Is(err, dataset.ErrNotByRows) && !s.alone:
			return fmt.Errorf("%s %w: several processes read only arrays that lie row after row and uncompressed in it "+
				"(numpy.save)", strings.Join(files, " or "), dataset.ErrNotByRows)
		case err != nil:
			return err
		}
		s.sets, ids = append(s.sets, set), append(ids, set.IDs...)
		if k > 0 && len(set.Views) != len(s.views)-first {
			return fmt.Errorf("%s has %s, %s has %d", files[0], count(len(set.Views), "view"), groups[0][0], len(s.views)-first)
		}
		for i, x := range set.Views {
			n, d := x.Dims()
			if k == 0 {
				s.views = append(s.views, shardedView{
					name: nameOf(x, pattern, files[0]), source: cmp.Or(pattern, set.Reading.Views[i].Source), cols: d,
					features: x.Features,
				})
			}
			v := &s.views[first+i]
			if err := v.fits(x, files[0], groups[0][0]); err != nil {
				return err
			}
			if set.Present != nil {
				v.has = append(v.has, slices.Repeat([]bool{true}, v.rows-len(v.has))...)
				for _, present := range set.Present {
					v.has = append(v.has, present[i])
				}
			}
			v.rows += n
			v.parts = append(v.parts, x)
		}
	}
	return s.setIDs(pattern, first == 0, ids)
}

// fits refuses rows of a file that are no further rows of a view, which begins in another file.
func (v *shardedView) fits(x *dataset.Rows, file, first string) error {
	if len(v.parts) > 0 && !sameView(x.Name, v.parts[0].Name, file, first) {
		return fmt.Errorf("%s has the view %s where %s has %s: write the same views in the same order, or name them in their "+
			"order with -views", file, x.Name, first, v.parts[0].Name)
	}
	if _, d := x.Dims(); d != v.cols {
		return fmt.Errorf("%s has %s, %s has %d", file, count(d, "column"), first, v.cols)
	}
	if (x.Features == nil) != (v.features == nil) {
		return fmt.Errorf("one of %s and %s has names of columns, the other none: write them in both or none", first, file)
	}
	if j := differ(x.Features, v.features); j >= 0 {
		return fmt.Errorf("%s has %s as column %d, %s has %s", file, x.Features[j], j, first, v.features[j])
	}
	return nil
}

// sameView reports whether two names in two files are one, or both are the names of these files, as of views without names of
// their own.
func sameView(name, other, file, otherFile string) bool {
	ofFile := func(name, file string) bool { return strings.HasPrefix(filepath.Base(file), name) }
	return name == other || ofFile(name, file) && ofFile(other, otherFile)
}

// differ returns the place of the first name that differs; −1: none does, or one list is empty.
func differ(names, others []string) int {
	for j := range min(len(names), len(others)) {
		if names[j] != others[j] {
			return j
		}
	}
	return -1
}

// setIDs sets the ids of the samples. Other files must have them too. Ids that count the rows where the first files, without ids,
// end say no more than the order (ranges of pandas).
func (s *shards) setIDs(pattern string, first bool, ids []string) error {
	n := s.samples()
	counted := len(ids) < n
	for i, id := range ids {
		counted = counted && id == strconv.Itoa(n-len(ids)+i)
	}
	if counted {
		ids = nil
	}
	if len(ids) > 0 && len(ids) != n || !first && !slices.Equal(ids, s.ids) {
		return fmt.Errorf("%s: its files have %d ids, and these are not the ids of all %d samples in their order: -id none "+
			"joins rows by their places", pattern, len(ids), n)
	}
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return fmt.Errorf("%s: its files have the id %q twice", pattern, id)
		}
		seen[id] = true
	}
	s.ids = ids
	return nil
}

// nameOf is the name of a view in the first file of a pattern, without what stands for its number.
func nameOf(x *dataset.Rows, pattern, file string) string {
	if !isPattern(pattern) {
		return x.Name
	}
	base := func(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }
	name := strings.Trim(strings.Replace(x.Name, base(file), base(pattern), 1), "-_. ")
	return strings.Trim(strings.Replace(name, "%d", "", 1), "-_. ")
}

// close closes the files.
func (s *shards) close() error {
	var errs []error
	for _, set := range s.sets {
		errs = append(errs, set.Close())
	}
	s.sets = nil
	return errors.Join(errs...)
}

// samples is the number of all rows.
func (s *shards) samples() int { return s.views[0].rows }

// readBlock is the number of rows that are read at once.
const readBlock = 4096

// read returns the rows from lo to hi−1 of all views, in memory. With missing, rows that are wholly NaN are absent.
func (s *shards) read(ctx context.Context, lo, hi, workers int, missing bool) ([]largemvc.View, error) {
	out := make([]largemvc.View, len(s.views))
	for i, v := range s.views {
		x, err := v.values(ctx, lo, hi, workers)
		if err != nil {
			return nil, err
		}
		out[i] = v.view(largemvc.DenseView(hi-lo, v.cols, x), present(missing, v.cols, x), func(k int) int { return lo + k })
	}
	return out, nil
}

// values returns the values of the rows from lo to hi−1.
func (v *shardedView) values(ctx context.Context, lo, hi, workers int) ([]float32, error) {
	x := make([]float32, (hi-lo)*v.cols)
	return x, parallel.Blocks(ctx, workers, hi-lo, readBlock, func(a, b int) error {
		return v.ReadRows(ctx, lo+a, x[a*v.cols:b*v.cols])
	})
}

// take returns some rows of all views, in memory.
func (s *shards) take(ctx context.Context, chosen []int, missing bool) ([]largemvc.View, error) {
	out := make([]largemvc.View, len(s.views))
	for i, v := range s.views {
		x := make([]float32, len(chosen)*v.cols)
		for k, row := range chosen {
			if err := v.ReadRows(ctx, row, x[k*v.cols:(k+1)*v.cols]); err != nil {
				return nil, err
			}
		}
		dense := largemvc.DenseView(len(chosen), v.cols, x)
		out[i] = v.view(dense, present(missing, v.cols, x), func(k int) int { return chosen[k] })
	}
	return out, nil
}

// onDisk returns the rows from lo to hi−1 of all views, which are read whenever they are needed. With missing, one pass finds the
// rows that are wholly NaN, which are absent.
func (s *shards) onDisk(ctx context.Context, lo, hi int, missing bool) ([]largemvc.View, error) {
	out := make([]largemvc.View, len(s.views))
	for i, v := range s.views {
		var has []bool
		x := make([]float32, min(readBlock, hi-lo)*v.cols)
		for a := lo; missing && a < hi; a += readBlock {
			block := x[:min(readBlock, hi-a)*v.cols]
			if err := v.ReadRows(ctx, a, block); err != nil {
				return nil, err
			}
			has = append(has, present(true, v.cols, block)...)
		}
		out[i] = v.view(largemvc.RowsView(&rowsBetween{&v, rowRange{lo, hi}}), has, func(k int) int { return lo + k })
	}
	return out, nil
}

// present says which rows have a number; nil without missing.
func present(missing bool, cols int, x []float32) (out []bool) {
	for row := range slices.Chunk(x, cols) {
		if missing {
			out = append(out, slices.ContainsFunc(row, func(e float32) bool { return e == e }))
		}
	}
	return out
}

// view names a view and its features, and leaves out the rows that it lacks, by their values or by a mask. of returns the number
// among all of a row of x.
func (v *shardedView) view(x largemvc.View, has []bool, of func(k int) int) largemvc.View {
	n, _ := x.Dims()
	x = x.Named(v.name).WithFeatures(v.features)
	x = views.Prepared(x, v.by)
	if v.lacks(&has, n, of) {
		return x.WithPresent(has)
	}
	return x
}

// lacks reports whether some of n rows are absent, and completes has, what their values say, by the mask.
func (v *shardedView) lacks(has *[]bool, n int, of func(k int) int) bool {
	if *has == nil && v.has != nil {
		*has = slices.Repeat([]bool{true}, n)
	}
	for k, there := range *has {
		(*has)[k] = there && (of(k) >= len(v.has) || v.has[of(k)])
	}
	return slices.Contains(*has, false)
}

// prepare has rows changed as they are read, by one preparation for each view; nil: none. With learn each process passes over the
// rows of all, so that all learn the same bits. With missing, rows that are wholly NaN are absent.
func (s *shards) prepare(ctx context.Context, by []*dataset.Preparation, learn, missing bool) error {
	if by != nil && len(by) != len(s.views) {
		return fmt.Errorf("the model has %s, and the data have %d", count(len(by), "view"), len(s.views))
	}
	for i, p := range by {
		v := &s.views[i]
		if v.by = p; p.String() == "" {
			continue
		}
		if err := p.Fits(i, v.name, v.cols); err != nil {
			return err
		}
		raw := *v
		prepared := &dataset.PreparedRows{RowReader: &raw, Name: v.name, By: p, MissingRows: missing}
		if v.has != nil {
			prepared.Present = func(k int) bool { return k >= len(raw.has) || raw.has[k] }
		}
		notes := []string{fmt.Sprintf("%s: values are prepared as in the training (%v)", v.name, p)}
		if learn {
			var err error
			if notes, err = prepared.Learn(ctx); err != nil {
				return err
			}
		}
		v.prepared, s.notes = prepared, append(s.notes, notes...)
	}
	return nil
}

// learn prepares the rows as -impute and -transform say.
func (o *dataOptions) learn(ctx context.Context, s *shards) error {
	names := lists.Texts(s.views, func(v shardedView) string { return v.name })
	options := o.options(32)
	by, err := options.Preparations(names)
	if err != nil {
		return err
	}
	return s.prepare(ctx, by, true, o.missingRows)
}

// Dims is the size of the view in all files together.
func (v *shardedView) Dims() (n, d int) { return v.rows, v.cols }

// ReadRows reads rows from the number first on, which may lie in several files.
func (v *shardedView) ReadRows(ctx context.Context, first int, dst []float32) error {
	if v.prepared != nil {
		return v.prepared.ReadRows(ctx, first, dst)
	}
	for _, part := range v.parts {
		n, _ := part.Dims()
		if len(dst) == 0 {
			break
		}
		if first >= n {
			first -= n
			continue
		}
		now := dst[:min(len(dst), (n-first)*v.cols)]
		if err := part.ReadRows(ctx, first, now); err != nil {
			return err
		}
		dst, first = dst[len(now):], 0
	}
	return nil
}
