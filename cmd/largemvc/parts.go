package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/ranks"
)

// Data whose files have numbers in place of %d are read by one process as by several, which are in shards.go.

// openParts reads the parts of all views into memory.
func (o *dataOptions) openParts(ctx context.Context, bits int) (*dataset.Set, error) {
	if bits == 64 {
		return nil, usagef("%%d in -data is read as float32, and the fit or the model has Float64: give one file")
	}
	s, err := o.openShards(ctx, true)
	if err != nil {
		return nil, err
	}
	set, err := o.joinParts(ctx, s)
	return set, errors.Join(err, s.close())
}

// joinParts returns the rows of all parts.
func (o *dataOptions) joinParts(ctx context.Context, s *shards) (*dataset.Set, error) {
	in := s.input()
	if err := o.readClassesOf(ctx, in); err != nil {
		return nil, err
	}
	set := &dataset.Set{Labels: in.labels, LabelNames: in.classNames, IDs: in.ids, Reading: in.reading}
	most := int64(cmp.Or(o.maxMemory, 1<<40)) << 20
	for i := range s.views {
		v := &s.views[i]
		if most -= 4 * int64(v.rows) * int64(v.cols); most < 0 {
			return nil, fmt.Errorf("%s needs more memory than -max-memory %d allows: give more, or -from-disk", v.source,
				o.maxMemory)
		}
		x, err := v.values(ctx, 0, v.rows, 0)
		if err != nil {
			return nil, err
		}
		has := present(o.missingRows, v.cols, x)
		set.Views = append(set.Views, dataset.View{Name: v.name, Rows: v.rows, Cols: v.cols, Float32: x, Features: v.features,
			Prepared: v.by})
		if !v.lacks(&has, v.rows, func(k int) int { return k }) {
			continue
		}
		for k := len(set.Present); k < v.rows; k++ {
			set.Present = append(set.Present, make([]bool, len(s.views)))
			for j := range s.views {
				set.Present[k][j] = true
			}
		}
		for k := range has {
			set.Present[k][i] = has[k]
		}
	}
	return set, nil
}

// partsOnDisk gives the parts of all views to the network, which reads their rows whenever it needs them.
func (o *dataOptions) partsOnDisk(ctx context.Context) (*input, error) {
	s, err := o.openShards(ctx, true)
	if err != nil {
		return nil, err
	}
	in := s.input()
	if err = o.readClassesOf(ctx, in); err == nil {
		in.views, err = s.onDisk(ctx, 0, in.samples, o.missingRows)
	}
	if err == nil {
		err = in.countMissing(oneProcess())
	}
	if err != nil {
		return nil, in.closing(err)
	}
	return in, nil
}

// oneProcess is the world of one process.
func oneProcess() world { return solo{comm.Local(1)[0].(ranks.Exchanger)} }

// inspectParts prints how parts are read.
func (o *dataOptions) inspectParts(ctx context.Context, stdout io.Writer) error {
	s, err := o.openShards(ctx, true)
	if err != nil {
		return err
	}
	in := s.input()
	return in.closing(errors.Join(o.readClassesOf(ctx, in), say(stdout, &in.reading)))
}

// firstAndLast returns examples of names.
func firstAndLast(names []string) string {
	if len(names) < 3 {
		return strings.Join(names, ", ")
	}
	return names[0] + " … " + names[len(names)-1]
}
