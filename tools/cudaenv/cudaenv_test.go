package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/tools/internal/program"
)

// toolkit writes headers as those of CUDA 13 are, as far as they matter here, and returns an environment for them.
func toolkit(t *testing.T) *environment {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	e := &environment{include: t.TempDir(), out: t.TempDir(), compiler: "gcc", source: t.TempDir()}
	write(t, filepath.Join(e.include, "cuda.h"), `#define CUDA_VERSION 13000
#define CUDAAPI
#include <stddef.h>
typedef int CUresult, CUdevice, CUmem_advise;
typedef unsigned long long CUdeviceptr;
typedef struct c *CUcontext; typedef struct e *CUevent; typedef struct s *CUstream; typedef struct u CUuuid;
typedef struct g *CUgraph; typedef struct n *CUgraphNode; typedef struct d CUgraphEdgeData;
typedef struct { int type, id; } CUmemLocation;
enum { CU_THERE = 3 };
#define cuCtxCreate cuCtxCreate_v4
#define cuDeviceGetUuid cuDeviceGetUuid_v2
#define cuEventElapsedTime cuEventElapsedTime_v2
#define cuGraphAddDependencies cuGraphAddDependencies_v2
#define cuGraphGetEdges cuGraphGetEdges_v2
#define cuMemAdvise cuMemAdvise_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemPrefetchAsync cuMemPrefetchAsync_v2
CUresult cuCtxCreate(CUcontext *, void *params, unsigned, CUdevice);
CUresult cuDeviceGetUuid(CUuuid *, CUdevice);
CUresult cuEventElapsedTime(float *, CUevent, CUevent);
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, const CUgraphEdgeData *, size_t);
CUresult cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, CUgraphEdgeData *, size_t *);
CUresult cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUmemLocation);
CUresult cuMemPrefetchAsync(CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream);
CUresult cuMemAlloc(CUdeviceptr *, size_t);
CUresult cuInit(unsigned);
`)
	write(t, filepath.Join(e.source, "api.go"), `package cu

// #include <cuda.h>
import "C"

func use() {
	C.cuInit(0)
	C.cuCtxCreate(nil, 0, 0)
	C.cuOwn(C.CU_THERE, C.CU_GONE)
}
`)
	write(t, filepath.Join(e.source, "batch.c"), "int f(void) { return cuMemAlloc(0, 0); }\n")
	return e
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestNames: names of C are found in Go and in C, and their symbols are those of CUDA 12, whatever the header says.
func TestNames(t *testing.T) {
	e := toolkit(t)
	if err := e.cudaHeader(); err != nil {
		t.Fatal(err)
	}
	used, err := namesIn(e.source)
	if err != nil {
		t.Fatal(err)
	}
	list := used.with("cu")
	if want := []string{"cuCtxCreate", "cuInit", "cuMemAlloc", "cuOwn"}; !slices.Equal(list, want) {
		t.Fatalf("functions %v, want %v", list, want)
	}
	missing, err := e.missing("cuda.h", list)
	if err != nil || !slices.Equal(missing, []string{"cuOwn"}) {
		t.Errorf("not declared: %v, %v", missing, err)
	}
	symbols, err := e.symbols("cuda.h", list[:3])
	if want := []string{"cuCtxCreate_v2", "cuInit", "cuMemAlloc_v2"}; err != nil || !slices.Equal(symbols, want) {
		t.Errorf("symbols %v, want %v (%v)", symbols, want, err)
	}
	out, complaint, err := e.compile("#include <cuda.h>\nint x[CU_GONE - CU_THERE > 99 ? 1 : -1];\n"+
		"int f(CUcontext *c) { return cuCtxCreate(c, 0, 0) + cuMemAdvise(0, 1, 2, 0) + cuMemPrefetchAsync(0, 1, 0, 0); }\n"+
		"int g(CUgraph a, CUgraphNode *n, size_t *k) {\n"+
		"  return cuGraphAddDependencies(a, n, n, 1) + cuGraphGetEdges(a, n, n, k);\n}\n", "-fsyntax-only", "-Werror")
	if err != nil {
		t.Errorf("%v\n%s%s", err, out, complaint)
	}
}

// TestJumps: a program linked with a shim begins without the library, and a function put behind a jump is called.
func TestJumps(t *testing.T) {
	e := toolkit(t)
	behind := `
void put(int i, void *f) { largemvc_small_table[i] = f; }
const char *name(int i) { return names[i]; }
`
	if err := e.archive("small", jumps("small", []string{"one", "two"})+behind); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(e.out, "main.c"), `#include <string.h>
int one(int), two(int), put(int, void *);
const char *name(int);
static int add(int x) { return x + 1; }
static int twice(int x) { return 2 * x; }
int main(void) {
  put(0, add);
  put(1, twice);
  return !(one(6) == 7 && two(6) == 12 && !strcmp(name(1), "two"));
}
`)
	main := filepath.Join(e.out, "main")
	if _, err := program.Run(e.out, "gcc", "-o", main, "main.c", "-L.", "-lsmall"); err != nil {
		t.Fatal(err)
	}
	if _, err := program.Run(e.out, main); err != nil {
		t.Error(err)
	}
}

// TestHeaders: headers that are missing, old or without cuBLAS are errors that say so.
func TestHeaders(t *testing.T) {
	folder := t.TempDir()
	if _, err := headers(folder); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("no headers: %v", err)
	}
	write(t, filepath.Join(folder, "cuda.h"), "#define CUDA_VERSION 11040\n")
	if _, err := headers(folder); err == nil || !strings.Contains(err.Error(), "cublas_v2.h") {
		t.Errorf("no cuBLAS: %v", err)
	}
	write(t, filepath.Join(folder, "cublas_v2.h"), "")
	if got, err := headers(folder); err != nil || got != folder {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := version(folder); err == nil || !strings.Contains(err.Error(), "11.4") {
		t.Errorf("an old version: %v", err)
	}
	if _, err := downloaded([]byte(`{"Error": "no such module"}`)); err == nil || err.Error() != "no such module" {
		t.Errorf("no module: %v", err)
	}
}

// TestStub: the header for gorgonia.org/cu/dnn and its functions compile, and the handle that Gorgonia makes is one of them.
func TestStub(t *testing.T) {
	e := toolkit(t)
	out, err := program.Run("../..", "go", "mod", "download", "-json", wanted)
	if err != nil {
		t.Skipf("the sources of %s cannot be had: %v", wanted, err)
	}
	folder, err := downloaded(out)
	if err != nil {
		t.Fatal(err)
	}
	e.source = folder
	if err := e.cudnn(); err != nil {
		t.Fatal(err)
	}
	h, err := os.ReadFile(filepath.Join(e.out, "cudnn.h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cudnnStatus_t cudnnCreate(cudnnHandle_t* a0);", "cudnnDestroy(", "CUDNN_STATUS_SUCCESS = 0,"} {
		if !strings.Contains(string(h), want) {
			t.Errorf("the header has no %s", want)
		}
	}
}
