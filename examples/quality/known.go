package main

import (
	"slices"

	"github.com/largemvc/largemvc/examples/internal/sets"
)

// smallSets are the eleven smaller public sets that the default preset's constants were first chosen on.
var smallSets = []string{
	"3sources", "webkb", "msrcv1", "orl", "20newsgroups", "cub10", "reuters600", "skdigits3v", "ucidigit", "landuse21", "bdgp",
}

// moreSets are seventeen further sets, of which nothing had been seen when those constants were chosen.
var moreSets = []string{
	"acm", "aloi10", "buaa", "coil20", "cora", "eyaleb10", "gtzan", "hw2sources", "movies617", "nci60", "prokaryotic",
	"proteinfold", "reuters1200", "satellite", "tcgabrca150", "webkb1051", "yaleb1140",
}

// families are sets that share their samples or their source. Constants are judged on none of a family that they were
// chosen on.
var families = [][]string{
	{"webkb", "webkb1051"},
	{"reuters600", "reuters1200"},
	{"eyaleb10", "yaleb1140"},
	{"skdigits3v", "ucidigit", "hw2sources", "mnistusps", "mnist3v"},
}

// familyOf returns the family of a set, which may be alone in it.
func familyOf(name string) []string {
	for _, f := range families {
		if slices.Contains(f, name) {
			return f
		}
	}
	return []string{name}
}

// group is some of the sets.
type group struct {
	name string
	sets []int
}

const (
	elevenName    = "eleven"
	seventeenName = "seventeen"
	allName       = "all 28"
)

// groups are those that means are taken over: the eleven, the seventeen and both, as far as all of their sets are here;
// else all sets that are here.
func (r *results) groups() []group {
	pick := func(name string, names []string) (g group, whole bool) {
		g.name = name
		for i, d := range r.sets {
			if slices.Contains(names, d.Name) {
				g.sets = append(g.sets, i)
			}
		}
		return g, len(g.sets) == len(names)
	}
	var out []group
	for _, g := range []struct {
		name  string
		names []string
	}{{allName, slices.Concat(smallSets, moreSets)}, {elevenName, smallSets}, {seventeenName, moreSets}} {
		if found, whole := pick(g.name, g.names); whole {
			out = append(out, found)
		}
	}
	if out == nil {
		g, _ := pick("sets here", setNames(r.sets))
		out = append(out, g)
	}
	return out
}

// groupNamed returns the group of that name, if its sets are all here.
func (r *results) groupNamed(name string) (group, bool) {
	all := r.groups()
	if k := slices.IndexFunc(all, func(g group) bool { return g.name == name }); k >= 0 {
		return all[k], true
	}
	return group{}, false
}

func setNames(all []*sets.Set) []string {
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = d.Name
	}
	return out
}
