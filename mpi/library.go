//go:build linux || darwin || freebsd

package mpi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// handles holds the constants that differ between the ABIs of MPI.
type handles struct {
	abi               string
	world, bytes      uintptr // MPI_COMM_WORLD, MPI_BYTE
	inPlace, returned uintptr // MPI_IN_PLACE, MPI_ERRORS_RETURN
}

// library is an MPI library with the addresses of the called functions.
type library struct {
	handles
	path string

	initThread, finalize, abort, rank, size  uintptr
	allgatherv, alltoallv, bcast             uintptr
	setErrhandler, errorString, versionOfLib uintptr
}

// candidates lists the names of libraries in the order in which they are tried, by the launcher's environment.
func candidates(env func(string) string) []string {
	if name := env("LARGEMVC_MPI"); name != "" {
		return []string{name}
	}
	standard := []string{"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"}
	open := []string{"libmpi.so.40"}
	mpich := []string{"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12"}
	last := []string{"libmpi.so"}
	if runtime.GOOS == "darwin" {
		standard, open = []string{"libmpi_abi.1.dylib", "libmpi_abi.0.dylib", "libmpi_abi.dylib"}, []string{"libmpi.40.dylib"}
		mpich, last = []string{"libmpi.12.dylib", "libmpich.12.dylib"}, []string{"libmpi.dylib"}
	}
	var order [][]string
	switch {
	case env("OMPI_COMM_WORLD_SIZE") != "":
		order = [][]string{open, last, standard}
	case env("PMI_SIZE") != "" || env("PMI_RANK") != "":
		order = [][]string{standard, mpich, last}
	default: // PMIx, which both may use, or no launcher at all
		order = [][]string{open, standard, mpich, last}
	}
	var out []string
	for _, names := range order {
		out = append(out, names...)
	}
	return out
}

// launched lists the variables in which launchers give the number of processes. The first one that is set counts, because within
// a Slurm job mpirun may start fewer processes than the job has.
var launched = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}

// checkLauncher compares the size of the world with the launcher's. They differ if the library belongs to another MPI.
func checkLauncher(env func(string) string, w *World) error {
	var found string
	for _, name := range launched {
		n, err := strconv.Atoi(env(name))
		if err != nil {
			continue
		}
		if n != w.size {
			found = fmt.Sprintf("%s is %d", name, n)
		}
		break
	}
	if rank, err := strconv.Atoi(env("PMIX_RANK")); err == nil && found == "" && rank >= w.size {
		found = fmt.Sprintf("PMIX_RANK is %d", rank)
	}
	if found == "" {
		return nil
	}
	return fmt.Errorf("mpi: %s, but the size of %v is %d: it is not the launcher's MPI; set LARGEMVC_MPI to "+
		"the path of the launcher's library, or start the program with this library's launcher", found, w, w.size)
}

// load opens the first library that exists.
func load() (*library, error) {
	// UCX would replace Go's handler of SIGSEGV: a nil dereference that is recovered would end the process.
	if _, set := os.LookupEnv("UCX_ERROR_SIGNALS"); !set {
		if err := os.Setenv("UCX_ERROR_SIGNALS", ""); err != nil {
			return nil, err
		}
	}
	names := candidates(os.Getenv)
	var reasons []string
	for _, name := range names {
		// Open MPI loads parts of itself that need its symbols to be global.
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			reasons = append(reasons, strings.TrimSpace(err.Error()))
			continue
		}
		lib, err := bind(h, name)
		if err != nil {
			return nil, fmt.Errorf("mpi: %s cannot be used as an MPI library: %w", name, err)
		}
		return lib, nil
	}
	why := ""
	if len(names) == 1 && len(reasons) == 1 {
		why = ": " + reasons[0]
	}
	return nil, fmt.Errorf(
		"mpi: no MPI library was found; tried %s (LARGEMVC_MPI names another)%s", strings.Join(names, ", "), why,
	)
}

// bind looks up the functions and the handles of a library.
func bind(h uintptr, path string) (*library, error) {
	lib := &library{path: path}
	var errs []error
	symbol := func(name string) uintptr {
		p, err := purego.Dlsym(h, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("it has no %s", name))
		}
		return p
	}
	for _, f := range []struct {
		name string
		at   *uintptr
	}{
		{"MPI_Init_thread", &lib.initThread}, {"MPI_Finalize", &lib.finalize}, {"MPI_Abort", &lib.abort},
		{"MPI_Comm_rank", &lib.rank}, {"MPI_Comm_size", &lib.size},
		{"MPI_Allgatherv", &lib.allgatherv}, {"MPI_Alltoallv", &lib.alltoallv}, {"MPI_Bcast", &lib.bcast},
		{"MPI_Comm_set_errhandler", &lib.setErrhandler}, {"MPI_Error_string", &lib.errorString},
		{"MPI_Get_library_version", &lib.versionOfLib},
	} {
		*f.at = symbol(f.name)
	}
	has := func(name string) bool {
		_, err := purego.Dlsym(h, name)
		return err == nil
	}
	switch {
	case has("ompi_mpi_comm_world"):
		lib.handles = handles{
			"Open MPI", symbol("ompi_mpi_comm_world"), symbol("ompi_mpi_byte"), 1, symbol("ompi_mpi_errors_return"),
		}
	case strings.Contains(path, "mpi_abi") && has("MPI_Abi_get_version"):
		lib.handles = handles{"standard", 0x101, 0x247, 1, 0x142}
	default:
		lib.handles = handles{"MPICH", 0x44000000, 0x4c00010d, ^uintptr(0), 0x54000001}
	}
	return lib, errors.Join(errs...)
}

// check returns an error for a result code of MPI.
func (l *library) check(what string, code uintptr) error {
	if int32(code) == 0 {
		return nil
	}
	text := make([]byte, longestText)
	n := make([]int32, 1)
	purego.SyscallN(l.errorString, code, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n[0])))
	return fmt.Errorf("mpi: %s: %s", what, text[:min(max(int(n[0]), 0), len(text))])
}

// longestText bounds the bytes of the texts that MPI fills in, for any library.
const longestText = 8192

// version returns the first line of the library's version text.
func (l *library) version() string {
	text := make([]byte, longestText)
	n := make([]int32, 1)
	purego.SyscallN(l.versionOfLib, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n[0])))
	line, _, _ := strings.Cut(strings.TrimRight(string(text[:min(max(int(n[0]), 0), len(text))]), "\x00"), "\n")
	return strings.TrimSpace(line)
}

// number calls a function that writes an integer for the world.
func (l *library) number(what string, f uintptr) (int, error) {
	n := make([]int32, 1)
	code, _, _ := purego.SyscallN(f, l.world, uintptr(unsafe.Pointer(&n[0])))
	return int(n[0]), l.check(what, code)
}
