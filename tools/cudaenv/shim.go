package main

import (
	_ "embed" // of the shims
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

var (
	//go:embed shims/cuda.c
	cudaShim string
	//go:embed shims/cublas.c
	cublasShim string
)

func (e *environment) cuda() error {
	used, err := namesIn(e.source)
	if err != nil {
		return err
	}
	return e.shim("cuda", "cuda.h", used.with("cu"), cudaShim)
}

func (e *environment) cublas() error {
	used, err := namesIn(filepath.Join(e.source, "blas"))
	if err != nil {
		return err
	}
	return e.shim("cublas", "cublas_v2.h", used.with("cublas"), cublasShim)
}

// shim makes an archive of jumps to the functions in list that the header declares.
func (e *environment) shim(name, header string, list []string, behind string) error {
	list = slices.DeleteFunc(list, func(s string) bool { return strings.HasSuffix(s, "_t") })
	missing, err := e.missing(header, list)
	if err != nil {
		return err
	}
	// What the header does not declare is a function of the Go package's own C sources, or cgo will say so.
	list = slices.DeleteFunc(list, func(s string) bool { return slices.Contains(missing, s) })
	symbols, err := e.symbols(header, list)
	if err != nil {
		return err
	}
	slices.Sort(symbols)
	return e.archive(name, jumps(name, slices.Compact(symbols))+behind)
}

// jumps writes the table of a library's functions and a jump through it for each.
func jumps(library string, symbols []string) string {
	var b strings.Builder
	table := "largemvc_" + library + "_table"
	fmt.Fprintf(&b, "/* Written by cudaenv. */\n#define COUNT %d\n", len(symbols))
	fmt.Fprintf(&b, "__attribute__((visibility(\"hidden\"))) void *%s[COUNT];\n", table)
	b.WriteString("static const char *const names[COUNT] = {\n")
	for _, s := range symbols {
		fmt.Fprintf(&b, "  %q,\n", s)
	}
	b.WriteString("};\n__asm__(\".text\\n\"\n")
	for i, s := range symbols {
		fmt.Fprintf(&b, "  \".globl %s\\n.type %s,@function\\n%s: jmp *%s+%d(%%rip)\\n\"\n", s, s, s, table, 8*i)
	}
	b.WriteString(");\n")
	return b.String()
}
