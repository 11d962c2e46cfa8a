package main

import (
	"go/types"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// graph records, for each file, the names of other files that it uses, and the line of the first use.
type graph map[string]map[string]map[string]int

// references returns the graph of the files of p.
func references(p *packages.Package) graph {
	file := func(o types.Object) string { return filepath.Base(p.Fset.Position(o.Pos()).Filename) }
	g := graph{}
	for _, f := range p.Syntax {
		g[filepath.Base(p.Fset.Position(f.FileStart).Filename)] = map[string]map[string]int{}
	}
	for use, o := range p.TypesInfo.Uses {
		if o.Pkg() != p.Types || !o.Pos().IsValid() {
			continue
		}
		if _, ok := o.(*types.PkgName); ok {
			continue
		}
		from, to := filepath.Base(p.Fset.Position(use.Pos()).Filename), file(o)
		if from == to {
			continue
		}
		if g[from][to] == nil {
			g[from][to] = map[string]int{}
		}
		if line := p.Fset.Position(use.Pos()).Line; g[from][to][o.Name()] == 0 || line < g[from][to][o.Name()] {
			g[from][to][o.Name()] = line
		}
	}
	return g
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (g graph) files() []string                { return sortedKeys(g) }
func (g graph) targets(from string) []string   { return sortedKeys(g[from]) }
func (g graph) names(from, to string) []string { return sortedKeys(g[from][to]) }

// line is the first line of a file that uses another one.
func (g graph) line(from, to string) int { return slices.Min(slices.Collect(maps.Values(g[from][to]))) }

// cycles returns the strongly connected components of more than one file, the largest first (R. Tarjan, SIAM J. Comput. 1,
// 1972).
func (g graph) cycles() [][]string {
	index, low, held := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var out [][]string
	var visit func(f string)
	visit = func(f string) {
		index[f] = len(index)
		low[f] = index[f]
		stack, held[f] = append(stack, f), true
		for _, to := range g.targets(f) {
			if _, seen := index[to]; !seen {
				visit(to)
				low[f] = min(low[f], low[to])
			} else if held[to] {
				low[f] = min(low[f], index[to])
			}
		}
		if low[f] != index[f] {
			return
		}
		at := slices.Index(stack, f)
		component := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, c := range component {
			held[c] = false
		}
		if len(component) > 1 {
			slices.Sort(component)
			out = append(out, component)
		}
	}
	for _, f := range g.files() {
		if _, seen := index[f]; !seen {
			visit(f)
		}
	}
	slices.SortStableFunc(out, func(a, b []string) int { return len(b) - len(a) })
	return out
}

// exported returns the number of exported top-level names of root, and how many of them other packages use.
func exported(root *packages.Package, all []*packages.Package) (names, outside int) {
	used := map[string]bool{}
	for _, p := range all {
		if p == root {
			continue
		}
		for _, o := range p.TypesInfo.Uses {
			// Other packages see the root by its export data, hence other objects: paths and names are compared.
			if o.Pkg() != nil && o.Pkg().Path() == root.PkgPath && o.Parent() == o.Pkg().Scope() {
				used[o.Name()] = true
			}
		}
	}
	for _, name := range root.Types.Scope().Names() {
		if root.Types.Scope().Lookup(name).Exported() {
			names++
			if used[name] {
				outside++
			}
		}
	}
	return names, outside
}
