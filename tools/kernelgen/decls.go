package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

// declarations collects the kernels of one architecture for the Go side.
type declarations struct {
	constraint string
	sets       []string
	subject    string // of the kernels that are being written
	families   []*family
}

// family is a set of kernels that take the same arguments, in the order in which they were written: by instruction set,
// then by element type, then by variant.
type family struct {
	name, args string
	subject    string
	kernels    []string
	first      map[string]int // type and instruction set → number of the first kernel
}

// add notes a kernel of the instruction set for the element type. Where the name is new it begins a family.
func (d *declarations) add(name, args string, elem elem, set, kernel string) {
	var f *family
	for _, have := range d.families {
		if have.name == name {
			f = have
		}
	}
	if f == nil {
		f = &family{name: name, args: args, subject: d.subject, first: map[string]int{}}
		d.families = append(d.families, f)
	}
	key := elem.name + set
	if _, ok := f.first[key]; !ok {
		f.first[key] = len(f.kernels)
	}
	f.kernels = append(f.kernels, kernel)
}

// source is the Go file that declares the kernels of a subject and, for each family, a function that calls one of them by number. A
// switch of direct calls instead of a table of functions keeps the arguments, and what they point to, off the heap.
func (d *declarations) source(subject string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + d.constraint + "package kernel\n")
	for _, f := range d.families {
		if f.subject != subject {
			continue
		}
		title := f.title()
		fmt.Fprintf(&b, "\n// first%s holds the number of the first %s kernel by path and element type.\n", title, f.name)
		fmt.Fprintf(&b, "var first%s = [paths][2]int{\n", title)
		for _, set := range d.sets {
			fmt.Fprintf(&b, "\tpath%s: {%d, %d},\n", set, f.first[float32s.name+set], f.first[float64s.name+set])
		}
		fmt.Fprintf(&b, "}\n\n// call%s calls %s kernel number id.\n", title, f.name)
		fmt.Fprintf(&b, "func call%s(id int, a *%s) {\n\tswitch id {\n", title, f.args)
		for i, name := range f.kernels {
			fmt.Fprintf(&b, "\tcase %d:\n\t\t%s(a)\n", i, name)
		}
		b.WriteString("\t}\n}\n")
		for _, name := range f.kernels {
			fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *%s)\n", name, f.args)
		}
	}
	return format.Source(b.Bytes())
}

// stubs is the Go file for builds without assembly, in which no path leads to the kernels.
func (d *declarations) stubs() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + "//go:build !(amd64 || arm64) || noasm\n\npackage kernel\n\n")
	b.WriteString("// Without assembly every panel and every call takes the portable path: these are never reached.\n\nvar (\n")
	for _, f := range d.families {
		fmt.Fprintf(&b, "\tfirst%s [paths][2]int\n", f.title())
	}
	b.WriteString(")\n\n")
	for _, f := range d.families {
		fmt.Fprintf(&b, "func call%s(int, *%s) {}\n", f.title(), f.args)
	}
	return format.Source(b.Bytes())
}

// lacking is the Go file of a subject for an architecture that has no kernels of it.
func (d *declarations) lacking(subject, constraint string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header + constraint + "package kernel\n\n// There are no kernels of this subject: these are never reached.\n")
	for _, f := range d.families {
		if f.subject == subject {
			fmt.Fprintf(&b, "\nvar first%s [paths][2]int\n\nfunc call%s(int, *%s) {}\n", f.title(), f.title(), f.args)
		}
	}
	return format.Source(b.Bytes())
}

// title is the family's name with a capital letter.
func (f *family) title() string { return strings.ToUpper(f.name[:1]) + f.name[1:] }
