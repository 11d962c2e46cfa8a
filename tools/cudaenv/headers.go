package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// places are where toolkits have their headers.
var places = []string{"/usr/local/cuda/include", "/opt/cuda/include", "/usr/include", "/usr/lib/cuda/include"}

// headers returns the folder of cuda.h, which is given or one of the places.
func headers(given string) (string, error) {
	list := places
	if home := os.Getenv("CUDA_HOME"); home != "" {
		list = append([]string{filepath.Join(home, "include")}, list...)
	}
	if given != "" {
		list = []string{given}
	}
	for _, folder := range list {
		if _, err := os.Stat(filepath.Join(folder, "cuda.h")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, "cublas_v2.h")); err != nil {
			return "", fmt.Errorf("%s has cuda.h, but not cublas_v2.h (in NVIDIA's packages it is one of cuBLAS): put both "+
				"into one folder", folder)
		}
		return filepath.Abs(folder)
	}
	return "", fmt.Errorf("no cuda.h in %s: give the folder of CUDA's headers by -include", strings.Join(list, ", "))
}

var cudaVersion = regexp.MustCompile(`(?m)^#define CUDA_VERSION\s+(\d+)`)

// oldest is the first version whose headers gorgonia.org/cu was built with here.
const oldest = 11080

func version(folder string) (int, error) {
	text, err := os.ReadFile(filepath.Join(folder, "cuda.h"))
	if err != nil {
		return 0, err
	}
	m := cudaVersion.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%s/cuda.h does not say its CUDA_VERSION", folder)
	}
	v, err := strconv.Atoi(string(m[1]))
	if err == nil && v < oldest {
		err = fmt.Errorf("%s/cuda.h is of CUDA %d.%d; 11.8 or later is needed", folder, v/1000, v%1000/10)
	}
	return v, err
}

// downloaded reads the folder of a module from what 'go mod download -json' prints.
func downloaded(text []byte) (string, error) {
	var m struct{ Dir, Error string }
	if err := json.Unmarshal(text, &m); err != nil {
		return "", err
	}
	if m.Dir == "" {
		return "", errors.New(m.Error)
	}
	return m.Dir, nil
}

// older are functions whose names stand for something else in headers of CUDA 13, with their symbols and parameters of CUDA 12:
// libcuda.so.1 still has them.
var older = []struct{ name, symbol, parameters string }{
	{"cuCtxCreate", "cuCtxCreate_v2", "CUcontext *, unsigned int, CUdevice"},
	{"cuDeviceGetUuid", "cuDeviceGetUuid", "CUuuid *, CUdevice"},
	{"cuEventElapsedTime", "cuEventElapsedTime", "float *, CUevent, CUevent"},
	{"cuGraphAddDependencies", "cuGraphAddDependencies", "CUgraph, const CUgraphNode *, const CUgraphNode *, size_t"},
	{"cuGraphGetEdges", "cuGraphGetEdges", "CUgraph, CUgraphNode *, CUgraphNode *, size_t *"},
	{"cuMemAdvise", "cuMemAdvise", "CUdeviceptr, size_t, CUmem_advise, CUdevice"},
	{"cuMemPrefetchAsync", "cuMemPrefetchAsync", "CUdeviceptr, size_t, CUdevice, CUstream"},
}

// cublasHeaders writes what cublas_v2.h includes without a use for it in C, where the toolkit's other packages are missing.
func (e *environment) cublasHeaders() error {
	if _, err := os.Stat(filepath.Join(e.include, "nv", "target")); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(e.out, "nv"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.out, "nv", "target"), []byte("/* Written by cudaenv: for C++ alone. */\n"), 0o644)
}

// cudaHeader writes the cuda.h that stands before the toolkit's. gorgonia.org/cu calls functions by their parameters in CUDA 12
// and names enumerators that later headers lack; a name that the toolkit does not know gets a value that no call takes.
func (e *environment) cudaHeader() error {
	var b strings.Builder
	b.WriteString("/* Written by cudaenv: the toolkit's cuda.h as gorgonia.org/cu knows it. */\n#pragma once\n" +
		"#include_next <cuda.h>\n#if CUDA_VERSION >= 13000\n")
	for _, f := range older {
		fmt.Fprintf(&b, "#undef %s\n", f.name)
		fmt.Fprintf(&b, "CUresult CUDAAPI %s(%s);\n", f.symbol, f.parameters)
		if f.symbol != f.name {
			fmt.Fprintf(&b, "#define %s %s\n", f.name, f.symbol)
		}
	}
	b.WriteString("#endif\n")
	path := filepath.Join(e.out, "cuda.h")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return err
	}
	used, err := namesIn(e.source)
	if err != nil {
		return err
	}
	constants := used.with("CU_", "CUDA_")
	missing, err := e.missing("cuda.h", constants)
	if err != nil || len(missing) == 0 {
		return err
	}
	for i, name := range missing {
		fmt.Fprintf(&b, "enum { %s = 0x%x };\n", name, 0x7f000000+i)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
