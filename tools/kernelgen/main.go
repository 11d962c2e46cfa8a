// Command kernelgen writes the assembly kernels of internal/kernel and the Go declarations that go with them. It is run
// by go generate in that package; the same generator always writes the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

func main() {
	out := flag.String("out", "", "folder of the package that receives the files")
	program.Arguments("kernelgen -out FOLDER", 0)
	program.End("kernelgen", program.Failed, run(*out))
}

// subject is the subject of a file of assembly: a few families of kernels.
type subject struct {
	name   string
	byType bool // long: a file for each element type
	amd64  func(*gen)
	arm64  func(*neon) // nil: none yet
}

var subjects = []subject{
	{name: "mul", byType: true, amd64: mulKernels, arm64: neonMul},
	{name: "strips", amd64: stripKernels},
	{name: "dot", byType: true, amd64: dotKernels, arm64: neonDot},
	{name: "tmul", byType: true, amd64: tmulKernels, arm64: neonTMul},
	{name: "gram", amd64: gramKernels, arm64: neonGram},
	{name: "rows", amd64: rowKernels, arm64: neonRows},
	{name: "threshold", amd64: thresholdKernels, arm64: neonThresholds},
	{name: "flat", amd64: flatKernels, arm64: neonFlat},
	{name: "shrink", amd64: shrinkKernels, arm64: neonShrink},
	{name: "candidates", amd64: candidateKernels},
	{name: "bytes", amd64: byteKernels},
	{name: "softmax", amd64: softmaxKernels},
	{name: "peak", amd64: peakKernels, arm64: neonPeak},
	{
		name: "sparse", byType: true,
		amd64: func(g *gen) { sparseKernels(g); sparseTMulKernels(g) },
		arm64: func(g *neon) { neonSparse(g); neonSparseTMul(g) },
	},
}

// types lists what goes into each file: all element types into one, or each into its own.
func (s *subject) types() [][]elem {
	if !s.byType {
		return [][]elem{elems}
	}
	var each [][]elem
	for _, e := range elems {
		each = append(each, []elem{e})
	}
	return each
}

// file names the file of some element types, an instruction set and an architecture.
func (s *subject) file(types []elem, set, arch string) string {
	parts := []string{s.name, set, arch}
	if s.byType {
		parts = []string{s.name, strings.ToLower(types[0].name), set, arch}
	}
	return strings.Join(parts, "_") + ".s"
}

// run writes the files of assembly, and for each subject and architecture one of declarations.
func run(dir string) error {
	if dir == "" {
		return fmt.Errorf("no -out folder given")
	}
	files := map[string][]byte{}
	amd64 := declarations{constraint: constraintAMD64}
	for _, set := range sets {
		amd64.sets = append(amd64.sets, set.name)
	}
	arm64 := declarations{constraint: constraintARM64, sets: []string{"NEON"}}
	for _, s := range subjects {
		amd64.subject, arm64.subject = s.name, s.name
		for _, set := range sets {
			for _, types := range s.types() {
				g := newGen(set, &amd64)
				for _, g.elem = range types {
					s.amd64(g)
				}
				if g.text.Len() > 0 {
					files[s.file(types, set.file, "amd64")] = g.bytes()
				}
			}
		}
		for _, types := range s.types() {
			if s.arm64 == nil {
				break
			}
			g := newNEON(&arm64)
			for _, g.elem = range types {
				s.arm64(g)
			}
			files[s.file(types, "neon", "arm64")] = g.bytes()
		}
		for arch, d := range map[string]*declarations{"amd64": &amd64, "arm64": &arm64} {
			source, err := d.source(s.name)
			if arch == "arm64" && s.arm64 == nil {
				source, err = amd64.lacking(s.name, arm64.constraint)
			}
			if err != nil {
				return err
			}
			files[fmt.Sprintf("asm_%s_%s.go", s.name, arch)] = source
		}
	}
	var err error
	if files["asm_stubs.go"], err = amd64.stubs(); err != nil {
		return err
	}
	for name, source := range files {
		if err := os.WriteFile(filepath.Join(dir, name), source, 0o644); err != nil {
			return err
		}
	}
	return nil
}
