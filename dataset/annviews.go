package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// annPath is the path of a variable of AnnData, in MuData below its modality.
func (s *source) annPath(v *variable) string {
	if in := s.modality[v]; in != nil {
		return strings.TrimPrefix(v.name, in.prefix)
	}
	return v.name
}

// annViews are the views of AnnData that the options do not name: X, of MuData of every modality. layers, raw and obsm/X_… are
// other forms of X. Another matrix of obsm may be a view of its own, and is an error, and so is a modality without X.
func (s *source) annViews(taken map[*variable]bool, o *Options) ([]*variable, error) {
	var vs []*variable
	var more []string
	for _, v := range s.vars {
		obsm, of := strings.CutPrefix(s.annPath(v), "obsm/")
		switch {
		case taken[v]:
		case s.annPath(v) == "X":
			vs = append(vs, v)
		case of && !strings.HasPrefix(obsm, "X_"):
			more = append(more, v.name)
		}
	}
	for _, m := range s.modalities {
		x := m.prefix + "X"
		if !slices.ContainsFunc(s.vars, func(v *variable) bool { return v.name == x }) && !o.leavesOut(x) {
			return nil, fmt.Errorf("dataset: %s: has no %s: name the views with Options.Views, or give Options.LeaveOut %[2]s; "+
				"it holds %s", s.path, x, s.listing())
		}
	}
	switch {
	case len(vs) == 0:
		return nil, fmt.Errorf("dataset: %s: has no X: name the views with Options.Views; it holds %s", s.path, s.listing())
	case len(more) == 0:
		return vs, nil
	}
	return nil, fmt.Errorf("dataset: %s: has %s beside X, which may be views too (layers, raw and obsm/X_… are forms of X): "+
		"give Options.Views their paths, for example Options.Views %s or Options.Views %s", s.path, someNames(more), vs[0].name,
		vs[0].name+","+more[0])
}

// annLeft lists what an AnnData file has and is not read.
func (s *source) annLeft(used map[*variable]bool, o *Options) []Omission {
	out := s.left
	var columns []string
	example, coded := "", false
	for _, v := range s.vars {
		switch {
		case used[v] || v == s.index:
		case strings.HasPrefix(s.annPath(v), "obs/"):
			c := strings.HasPrefix(v.class, "categories")
			if columns = append(columns, v.name); example == "" || c && !coded {
				example, coded = v.name, c
			}
		default:
			why := byChoice(v, o)
			if len(o.Views) == 0 && !o.leavesOut(v.name) {
				why = "no view unless Options.Views names it"
			}
			out = append(out, Omission{v.file, v.name + " (" + v.shapeString() + " " + v.class + ")", why})
		}
	}
	if len(columns) > 0 {
		out = append(out, Omission{s.path, someNames(columns), "columns of samples; Options.Labels " + example +
			" reads one as classes"})
	}
	return out
}

// withModalities are the files and, after each, its modalities.
func (p *plan) withModalities() []*source {
	var out []*source
	for _, s := range p.sources {
		out = append(append(out, s), s.modalities...)
	}
	return out
}

// wholeFirst puts a MuData file before its modalities, so that its samples keep their order.
func wholeFirst(sources []*source) {
	k := slices.IndexFunc(sources, func(s *source) bool { return len(s.modalities) > 0 })
	for ; k > 0; k-- {
		sources[k], sources[k-1] = sources[k-1], sources[k]
	}
}
