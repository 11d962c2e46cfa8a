// Command cudaenv makes the files that a build with -tags cuda needs besides CUDA's headers, and prints two variables for the
// build:
//
//	cd tools && eval "$(go run ./cudaenv -include /usr/local/cuda/include)"
//	cd .. && go build -tags cuda ./...
//
// Gorgonia's CUDA build needs cuDNN's header and links libcuda, libcublas and libcudnn. This library does not use cuDNN, and a
// program that links the other two does not start without an NVIDIA driver. So cudaenv writes
//
//   - cudnn.h and libcudnn.a: declarations from the calls of gorgonia.org/cu/dnn, and functions that answer "not supported";
//   - libcuda.a: a jump for each function that gorgonia.org/cu calls. The jumps go to libcuda.so.1 if it is found at the start of
//     the program. Without a driver the program still starts, and can report it;
//   - libcublas.a: the same for cuBLAS, which is loaded at Gorgonia's first call;
//   - cuda.h, which includes the toolkit's header and declares the functions that CUDA 13 has changed as gorgonia.org/cu expects.
//
// It needs the headers of CUDA 11.8, 12 or 13 (cuda.h and cublas_v2.h with their includes), gcc and ar, and Linux on x86-64. It
// needs neither nvcc nor a library of CUDA. docs/gpu.md says where to get the headers.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

// wanted is the package whose calls the shims answer.
const wanted = "gorgonia.org/cu"

func main() {
	var e environment
	flag.StringVar(&e.include, "include", "", "`FOLDER` of cuda.h; otherwise it is looked for where toolkits lie")
	flag.StringVar(&e.module, "module", "..", "`FOLDER` of the module that is built, which says the version of "+wanted)
	flag.StringVar(&e.out, "out", "", "`FOLDER` for what is written; otherwise one in the user's cache")
	flag.StringVar(&e.compiler, "cc", "gcc", "C `COMPILER`")
	program.Arguments("cudaenv [flags]", 0)
	err := e.write()
	if err == nil {
		e.print()
	}
	program.End("cudaenv", program.Failed, err)
}

// environment is one call of the command.
type environment struct {
	include, module, out, compiler string
	version                        int    // of CUDA, as 12040 for 12.4
	source                         string // folder of gorgonia.org/cu
}

// write makes the headers and the archives.
func (e *environment) write() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("shims are made for Linux on x86-64, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err := e.find(); err != nil {
		return err
	}
	if e.out == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("no cache folder (give -out): %w", err)
		}
		name := strings.ReplaceAll(filepath.Base(e.source), "@", "-")
		e.out = filepath.Join(cache, "largemvc", fmt.Sprintf("cudaenv-%s-cuda%d", name, e.version))
	}
	out, err := filepath.Abs(e.out)
	if err != nil {
		return err
	}
	e.out = out
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return err
	}
	for _, step := range []func() error{e.cudaHeader, e.cublasHeaders, e.cudnn, e.cuda, e.cublas} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// find looks for the headers and for the sources of gorgonia.org/cu.
func (e *environment) find() error {
	out, err := program.Run(e.module, "go", "mod", "download", "-json", wanted)
	if err != nil {
		return err
	}
	if e.source, err = downloaded(out); err != nil {
		return err
	}
	if e.include, err = headers(e.include); err != nil {
		return err
	}
	e.version, err = version(e.include)
	return err
}

// print prints the variables, as a shell reads them.
func (e *environment) print() {
	fmt.Printf("export CGO_ENABLED=1\n")
	fmt.Printf("export CGO_CFLAGS=%s\n", quoted("-I"+e.out+" -I"+e.include))
	fmt.Printf("export CGO_LDFLAGS=%s\n", quoted("-L"+e.out+" -ldl"))
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
