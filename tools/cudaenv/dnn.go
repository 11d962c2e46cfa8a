package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cudnn writes a header that declares the functions of cuDNN that gorgonia.org/cu/dnn calls, and functions that answer "not
// supported". cgo needs the declaration of every called name. Gorgonia itself only makes a handle and drops it; these two
// functions succeed.
func (e *environment) cudnn() error {
	h, c, err := stub(filepath.Join(e.source, "dnn"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(e.out, "cudnn.h"), []byte(h), 0o644); err != nil {
		return err
	}
	return e.archive("cudnn", c)
}

// fromC declares what the sources have from C besides cuDNN, in Go.
const fromC = `package cudnn

import "unsafe"

type (
	C_int int32
	C_uint uint32
	C_float float32
	C_double float64
	C_size_t uint64
	C_ulonglong uint64
	C_longlong int64
	C_int32_t int32
	C_uint32_t uint32
	C_int64_t int64
	C_uint8_t uint8
	C_char int8
	C_uchar uint8
	C_void [0]byte
)

const C_sizeof_int = 4

func C_free(any)
func C_malloc(any) unsafe.Pointer
func C_gocudnnNewConvolution(...any) C_cudnnStatus_t
func C_makeConvFwdAlgo(any) C_cudnnAlgorithm_t
func C_makeConvBwdFilterAlgo(any) C_cudnnAlgorithm_t
func C_makeConvBwdDataAlgo(any) C_cudnnAlgorithm_t
func C_makeRNNAlgo(any) C_cudnnAlgorithm_t
func C_makeCTCLossAlgo(any) C_cudnnAlgorithm_t
`

// calledInSources are the functions that the package's C sources call, which have no calls to read the parameters off.
var calledInSources = []string{
	"cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *a0)",
	"cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t a0, cudnnMathType_t a1)",
	"cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t a0, int a1)",
	"cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t a0, int a1, int a2, int a3, int a4, int a5, " +
		"int a6, cudnnConvolutionMode_t a7, cudnnDataType_t a8)",
	"cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t a0, int a1, const int *a2, const int *a3, " +
		"const int *a4, cudnnConvolutionMode_t a5, cudnnDataType_t a6)",
}

// sort of a type of cuDNN, by its name.
type sort int

const (
	enumeration sort = iota
	handle           // pointer to what nobody sees
	anyPointer       // void *
	structure
)

func sortOf(name string) sort {
	stem := strings.TrimSuffix(name, "_t")
	switch {
	case name == "cudnnAlgorithm_t", strings.HasSuffix(stem, "Perf"):
		return structure
	case name == "cudnnBackendDescriptor_t":
		return anyPointer
	}
	for _, s := range []string{"Descriptor", "Handle", "Plan", "Pack", "AlgorithmPerformance"} {
		if strings.HasSuffix(stem, s) {
			return handle
		}
	}
	return enumeration
}

// stub returns a header and the functions it declares, read off the sources of the Go package in a folder.
func stub(folder string) (header, functions string, err error) {
	used, err := namesIn(folder)
	if err != nil {
		return "", "", err
	}
	used["cudnnStatus_t"], used["cudnnAlgorithm_t"] = true, true
	var list, kinds []string
	for _, name := range used.with("cudnn") {
		if strings.HasSuffix(name, "_t") {
			kinds = append(kinds, name)
		} else {
			list = append(list, name)
		}
	}
	constants := used.with("CUDNN_")
	calls, err := parameters(folder, list, kinds, constants)
	if err != nil {
		return "", "", err
	}
	var h, c strings.Builder
	declareTypes(&h, kinds, constants)
	c.WriteString("/* Written by cudaenv: nothing but a handle can be had. */\n#include \"cudnn.h\"\n")
	declare := func(prototype, body string) {
		fmt.Fprintf(&h, "%s;\n", prototype)
		fmt.Fprintf(&c, "%s { %s }\n", prototype, body)
	}
	const no = "return (cudnnStatus_t)CUDNN_STATUS_NOT_SUPPORTED;"
	for _, name := range list {
		body := no
		switch name {
		case "cudnnCreate":
			body = "*a0 = (cudnnHandle_t)1; return (cudnnStatus_t)CUDNN_STATUS_SUCCESS;"
		case "cudnnDestroy":
			body = "return (cudnnStatus_t)CUDNN_STATUS_SUCCESS;"
		}
		declare(fmt.Sprintf("cudnnStatus_t %s(%s)", name, strings.Join(calls[name], ", ")), body)
	}
	for _, prototype := range calledInSources {
		name := strings.Fields(strings.ReplaceAll(prototype, "(", " "))[1]
		if !slices.Contains(list, name) {
			declare(prototype, no)
		}
	}
	return h.String(), c.String(), nil
}

func declareTypes(h *strings.Builder, kinds, constants []string) {
	h.WriteString("/* Written by cudaenv from the calls of gorgonia.org/cu/dnn, for builds without cuDNN. */\n#pragma once\n" +
		"#include <stddef.h>\n#include <stdint.h>\n#include <cuda.h>\nenum {\n")
	for i, name := range constants {
		value := 100 + i
		if name == "CUDNN_STATUS_SUCCESS" {
			value = 0
		}
		fmt.Fprintf(h, "  %s = %d,\n", name, value)
	}
	h.WriteString("};\n")
	for _, name := range kinds {
		switch sortOf(name) {
		case handle:
			fmt.Fprintf(h, "typedef struct stub_%s *%s;\n", name, name)
		case anyPointer:
			fmt.Fprintf(h, "typedef void *%s;\n", name)
		case enumeration:
			fmt.Fprintf(h, "typedef enum { stub_%s } %s;\n", name, name)
		}
	}
	h.WriteString("typedef struct {\n  union {\n    cudnnConvolutionFwdAlgo_t convFwdAlgo;\n" +
		"    cudnnConvolutionBwdFilterAlgo_t convBwdFilterAlgo;\n    cudnnConvolutionBwdDataAlgo_t convBwdDataAlgo;\n" +
		"    cudnnRNNAlgo_t RNNAlgo;\n    cudnnCTCLossAlgo_t CTCLossAlgo;\n  } algo;\n} cudnnAlgorithm_t;\n")
	for _, k := range []string{"Fwd", "BwdFilter", "BwdData"} {
		fmt.Fprintf(h, "typedef struct {\n  cudnnConvolution%sAlgo_t algo;\n  cudnnStatus_t status;\n  float time;\n"+
			"  size_t memory;\n  cudnnDeterminism_t determinism;\n  cudnnMathType_t mathType;\n  int reserved[3];\n"+
			"} cudnnConvolution%sAlgoPerf_t;\n", k, k)
	}
}

// parameters returns the C parameters of each function, by the types of what it is called with. For that, the sources are read
// as Go with C.x for C_x, and checked against declarations of all these names.
func parameters(folder string, list, kinds, constants []string) (map[string][]string, error) {
	paths, err := goFiles(folder)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	parse := func(name string, text any) error {
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		files = append(files, f)
		return err
	}
	for _, path := range paths {
		text, err := withoutC(path)
		if err != nil {
			return nil, err
		}
		if err := parse(path, text); err != nil {
			return nil, err
		}
	}
	if err := parse("declarations.go", goDeclarations(list, kinds, constants)); err != nil {
		return nil, err
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// What other modules declare is not read, so that some types are not known; those of arguments of cuDNN are.
	conf := types.Config{Importer: own{importer.ForCompiler(set, "source", nil)}, Error: func(error) {}}
	_, _ = conf.Check("cudnn", set, files, info)
	calls := map[string][]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			id, ok := call.Fun.(*ast.Ident)
			if !ok || !strings.HasPrefix(id.Name, "C_cudnn") || calls[id.Name[2:]] != nil {
				return true
			}
			for i, a := range call.Args {
				calls[id.Name[2:]] = append(calls[id.Name[2:]], fmt.Sprintf("%s a%d", typeOfC(info.Types[a].Type), i))
			}
			return true
		})
	}
	return calls, nil
}

// withoutC returns a source with C_x for C.x and no import of C.
func withoutC(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	ast.Inspect(f, func(n ast.Node) bool {
		if _, ok := nameOfC(n); ok {
			text[at(n.(*ast.SelectorExpr).X.End())] = '_'
		}
		return true
	})
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, spec := range g.Specs {
			if spec.(*ast.ImportSpec).Path.Value != `"C"` {
				continue
			}
			var gone ast.Node = spec
			if len(g.Specs) == 1 {
				gone = g
			}
			for i := at(gone.Pos()); i < at(gone.End()); i++ {
				text[i] = ' '
			}
		}
	}
	return string(text), nil
}

// goDeclarations declares the names of cuDNN in Go.
func goDeclarations(list, kinds, constants []string) string {
	var b strings.Builder
	b.WriteString(fromC)
	for _, name := range kinds {
		switch sortOf(name) {
		case handle:
			fmt.Fprintf(&b, "type T_%s struct{}\ntype C_%s *T_%s\n", name, name, name)
		case anyPointer:
			fmt.Fprintf(&b, "type C_%s = unsafe.Pointer\n", name)
		case structure:
			fmt.Fprintf(&b, "type C_%s struct{ algo, status, time, memory, determinism, mathType any }\n", name)
		default:
			fmt.Fprintf(&b, "type C_%s uint32\n", name)
		}
	}
	for i, name := range constants {
		fmt.Fprintf(&b, "const C_%s = %d\n", name, i)
	}
	for _, name := range list {
		fmt.Fprintf(&b, "func C_%s(...any) C_cudnnStatus_t\n", name)
	}
	return b.String()
}

// own imports the standard library, and other packages as if they were empty.
type own struct{ types.Importer }

func (o own) Import(path string) (*types.Package, error) {
	if strings.Contains(path, ".") {
		p := types.NewPackage(path, filepath.Base(path))
		p.MarkComplete()
		return p, nil
	}
	return o.Importer.Import(path)
}

// typeOfC returns the C type of an argument; an untyped number is an int.
func typeOfC(t types.Type) string {
	switch x := t.(type) {
	case nil:
		return "int"
	case *types.Basic:
		if x.Kind() == types.UnsafePointer || x.Kind() == types.UntypedNil {
			return "void *"
		}
		return "int"
	case *types.Pointer:
		return typeOfC(x.Elem()) + "*"
	}
	name := t.String()
	name = strings.TrimPrefix(name[strings.LastIndex(name, ".")+1:], "C_")
	switch name {
	case "uint":
		return "unsigned int"
	case "ulonglong":
		return "unsigned long long"
	}
	return name
}
