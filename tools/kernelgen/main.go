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
		{"candidates", candidateKernels},
		{"softmax", softmaxKernels},
		{"peak", peakKernels},
		{"sparse", func(g *gen) { sparseKernels(g); sparseTMulKernels(g) }},
	}
	amd64 := declarations{constraint: constraintAMD64}
	for _, set := range sets {
		amd64.sets = append(amd64.sets, set.name)
	}
	files := map[string][]byte{}
	for _, s := range subjects {
		for _, set := range sets {
			g := newGen(set, &amd64)
			for _, t := range elems {
				g.elem = t
				s.emit(g)
			}
			if g.text.Len() > 0 {
				files[fmt.Sprintf("%s_%s_amd64.s", s.name, set.file)] = g.bytes()
			}
		}
	}
	arm64 := declarations{constraint: constraintARM64, sets: []string{"NEON"}}
	for _, s := range neonSubjects {
		g := newNEON(&arm64)
		for _, t := range elems {
			g.elem = t
			s.emit(g)
		}
		files[s.name+"_neon_arm64.s"] = g.bytes()
	}
	for name, source := range map[string]func() ([]byte, error){
		"asm_amd64.go": amd64.source,
		"asm_arm64.go": func() ([]byte, error) { return arm64.sourceBeside(&amd64) },
		"asm_stubs.go": amd64.stubs,
	} {
		src, err := source()
		if err != nil {
			return err
		}
		files[name] = src
	}
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
			return err
		}
	}
	return nil
}
