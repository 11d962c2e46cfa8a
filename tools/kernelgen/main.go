// Command kernelgen writes the assembly kernels of internal/kernel and the Go declarations that go with them. It is run
// by go generate in that package; the same generator always writes the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", "", "folder of the package that receives the files")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "kernelgen:", err)
		os.Exit(1)
	}
}

// run writes every file: one of assembly for each subject and instruction set, and one of declarations.
func run(dir string) error {
	if dir == "" {
		return fmt.Errorf("no -out folder given")
	}
	subjects := []struct {
		name string
		emit func(*gen)
	}{
		{"mul", mulKernels},
		{"dot", dotKernels},
		{"tmul", tmulKernels},
		{"gram", gramKernels},
		{"rows", rowKernels},
		{"flat", flatKernels},
		{"shrink", shrinkKernels},
		{"peak", peakKernels},
		{"sparse", func(g *gen) { sparseKernels(g); sparseTMulKernels(g) }},
	}
	var decls declarations
	for _, s := range subjects {
		for _, set := range sets {
			g := newGen(set, &decls)
			for _, t := range elems {
				g.elem = t
				s.emit(g)
			}
			file := fmt.Sprintf("%s_%s_amd64.s", s.name, set.file)
			if err := os.WriteFile(filepath.Join(dir, file), g.bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	for name, source := range map[string]func() ([]byte, error){
		"asm_amd64.go": decls.source,
		"asm_stubs.go": decls.stubs,
	} {
		src, err := source()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
			return err
		}
	}
	return nil
}
