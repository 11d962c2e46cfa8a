package main

import (
	"slices"
)

// smallSets are the eleven smaller public sets that the default preset's constants were first chosen on.
var smallSets = []string{
	"3sources", "webkb", "msrcv1", "orl", "20newsgroups", "cub10", "reuters600", "skdigits3v", "ucidigit", "landuse21", "bdgp",
}

// moreSets are seventeen further sets, all unseen when those constants were chosen.
var moreSets = []string{
	"acm", "aloi10", "buaa", "coil20", "cora", "eyaleb10", "gtzan", "hw2sources", "movies617", "nci60", "prokaryotic",
	"proteinfold", "reuters1200", "satellite", "tcgabrca150", "webkb1051", "yaleb1140",
}

// group is some of the sets.
type group struct {
	name string
	sets []int
}

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
	}{{"all 28", slices.Concat(smallSets, moreSets)}, {"eleven", smallSets}, {"seventeen", moreSets}} {
		if found, whole := pick(g.name, g.names); whole {
			out = append(out, found)
		}
	}
	if out == nil {
		g := group{name: "sets here"}
		for i := range r.sets {
			g.sets = append(g.sets, i)
		}
		out = append(out, g)
	}
	return out
}
