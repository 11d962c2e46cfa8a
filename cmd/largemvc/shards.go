package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/parallel"
)

// shards are the views of a data set on disk, each in one file or in some that have its rows one after the other.
type shards struct {
	sets  []*dataset.RowSet
	views []shardedView
}

// shardedView is one view.
type shardedView struct {
	name, source string
	rows, cols   int
	features     []string
	parts        []*dataset.Rows
}

// openShards opens what -data names. A path with %d stands for the files 0, 1, … that its manifest lists.
func openShards(ctx context.Context, paths []string, o dataset.Options) (*shards, error) {
	s := &shards{}
	for _, pattern := range paths {
		if err := s.open(ctx, pattern, o); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	for _, v := range s.views {
		if v.rows != s.views[0].rows {
			return nil, errors.Join(fmt.Errorf("%s has %d rows, %s has %d", v.source, v.rows, s.views[0].source, s.views[0].rows),
				s.close())
		}
	}
	return s, nil
}

// open opens the files of one pattern, which have the rows that its manifest says.
func (s *shards) open(ctx context.Context, pattern string, o dataset.Options) error {
	if !strings.Contains(pattern, "%d") {
		return s.add(ctx, pattern, []string{pattern}, o)
	}
	files, err := numberedFiles(pattern)
	if err != nil {
		return err
	}
	first := len(s.sets)
	if err := s.add(ctx, pattern, files, o); err != nil {
		return err
	}
	return checkManifest(pattern, files, rowsOf(s.sets[first:]))
}

// numbered puts a number in the place of %d.
func numbered(pattern string, k int) string {
	return strings.Replace(pattern, "%d", strconv.Itoa(k), 1)
}

// add opens the files of one pattern, which have the same views.
func (s *shards) add(ctx context.Context, pattern string, files []string, o dataset.Options) error {
	first := len(s.views)
	for k, file := range files {
		set, err := dataset.OpenRows(ctx, []string{file}, o)
		switch {
		case errors.Is(err, dataset.ErrNotByRows):
			return fmt.Errorf("%s %w: several processes read only arrays that lie row after row and uncompressed in it "+
				"(numpy.save)", file, dataset.ErrNotByRows)
		case err != nil:
			return err
		}
		s.sets = append(s.sets, set)
		if set.Present != nil {
			return fmt.Errorf("%s lists the samples that lack views, which several processes do not read: give rows that are "+
				"wholly NaN, and -missing-rows", file)
		}
		if k > 0 && len(set.Views) != len(s.views)-first {
			return fmt.Errorf("%s has %d views, %s has %d", file, len(set.Views), files[0], len(s.views)-first)
		}
		for i, x := range set.Views {
			n, d := x.Dims()
			if k == 0 {
				name := x.Name
				if len(files) > 1 || file != pattern {
					name = strings.Trim(strings.Replace(name, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)),
						strings.TrimSuffix(filepath.Base(pattern), filepath.Ext(pattern)), 1), "-_. ")
					name = strings.Trim(strings.Replace(name, "%d", "", 1), "-_. ")
				}
				s.views = append(s.views, shardedView{name: name, source: pattern, cols: d, features: x.Features})
			}
			v := &s.views[first+i]
			if d != v.cols {
				return fmt.Errorf("%s has %d columns, %s has %d", file, d, files[0], v.cols)
			}
			v.rows += n
			v.parts = append(v.parts, x)
		}
	}
	return nil
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
		x := make([]float32, (hi-lo)*v.cols)
		err := parallel.Blocks(ctx, workers, hi-lo, readBlock, func(a, b int) error {
			return v.ReadRows(ctx, lo+a, x[a*v.cols:b*v.cols])
		})
		if err != nil {
			return nil, err
		}
		out[i] = v.view(largemvc.DenseView(hi-lo, v.cols, x), present(missing, v.cols, x))
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
		out[i] = v.view(largemvc.RowsView(&rowsBetween{&v, rowRange{lo, hi}}), has)
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

// view names a view and its features, and leaves out the rows that it lacks.
func (v *shardedView) view(x largemvc.View, has []bool) largemvc.View {
	x = x.Named(v.name).WithFeatures(v.features)
	if slices.Contains(has, false) {
		return x.WithPresent(has)
	}
	return x
}

// Dims is the size of the view in all files together.
func (v *shardedView) Dims() (n, d int) { return v.rows, v.cols }

// ReadRows reads rows from the number first on, which may lie in several files.
func (v *shardedView) ReadRows(ctx context.Context, first int, dst []float32) error {
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
