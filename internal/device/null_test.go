//go:build linux && !android && (amd64 || arm64) && !nogpu

package device

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// nullLibrary builds testdata/null.c and returns how its functions are found.
func nullLibrary(t *testing.T, flags ...string) func(name string) (uintptr, error) {
	t.Helper()
	gcc := testutil.Program(t, "gcc", "the driver is not tried on a library that computes nothing (Debian: gcc, libc6-dev)")
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	command := exec.Command(gcc, append(flags, "-shared", "-fPIC", "-o", path, "testdata/null.c")...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) (uintptr, error) { return purego.Dlsym(library, name) }
}

// On a card that takes every call and computes nothing, no check of the selftest is ok, and no session begins.
func TestNullCard(t *testing.T) {
	Unregister("CUDA")
	t.Cleanup(func() { Unregister("CUDA") })
	find := nullLibrary(t)
	Register("CUDA", func() (Driver, error) { return OpenCUDA(find) })
	if l := List(); len(l) != 1 || l[0].Err != nil || l[0].Name != "null card" || l[0].Major != 9 || l[0].Total != 80<<30 {
		t.Errorf("the list is %+v", l)
	}
	s, err := OpenSession(false, 0)
	if s != nil || err == nil || !strings.Contains(err.Error(), "null card computes something wrong") {
		t.Errorf("a session on the null card: %v", err)
	}
	drv, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	checks := 0
	if err := Selftest(t.Context(), drv, 100, func(c Check) error {
		if math.IsNaN(c.Off) {
			return nil
		}
		if checks++; c.OK() {
			t.Errorf("%s is ok on a card that computes nothing", c.What)
		}
		return nil
	}); err != nil || checks < 11 {
		t.Errorf("%d checks, %v", checks, err)
	}
	if err := drv.Close(); err != nil {
		t.Error(err)
	}
}

// What the driver does with its calls: copies, memory, refused texts and launches, and calls after Close.
func TestNullCalls(t *testing.T) {
	t.Setenv("LARGEMVC_CUDA_SYNC", "1")
	drv, err := OpenCUDA(nullLibrary(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := drv.Alloc("eight", 8)
	if err != nil {
		t.Fatal(err)
	}
	src, dst := []byte{1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 8)
	if err := errors.Join(drv.Upload(p, src), drv.Zero(p, 2), drv.Download(dst, p), drv.Free(p), drv.Sync()); err != nil ||
		string(dst) != "\x00\x00\x03\x04\x05\x06\x07\x08" {
		t.Errorf("%v came back, %v", dst, err)
	}
	if _, err := drv.Alloc("much", math.MaxInt64); !errors.Is(err, ErrNoMemory) {
		t.Errorf("more than the memory: %v", err)
	}
	_, err = drv.Load("no kernels")
	if err == nil || !strings.Contains(err.Error(), "the driver rejects the kernels (CUDA error 218): a log") {
		t.Errorf("a text without kernels: %v", err)
	}
	m, err := drv.Load(rowsFloat())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := drv.Load(rowsFloat()); again != m || err != nil {
		t.Errorf("the same text is module %d and then %d, %v", m, again, err)
	}
	one := Launch{Grid: [3]int{1, 1, 1}, Block: 32}
	if err := drv.Launch(m, "trust", one, Ptr(1), int32(2), int64(3), float32(4), 5.0); err != nil {
		t.Error(err)
	}
	for _, x := range []struct {
		kernel string
		l      Launch
		args   []any
		say    string
	}{
		{"nosuch", one, nil, "kernel nosuch: wrong (CUDA error 500)"},
		{"trust", one, []any{"text"}, "argument 0 is a string"},
		{"trust", one, make([]any, 33), "33 arguments"},
		{"trust", Launch{Grid: one.Grid, Block: 2048}, nil, "CUDA error 1)"},
		{"trust", Launch{Grid: one.Grid, Block: 32, Shared: 1 << 20}, nil, "1048576 bytes of shared memory"},
		{"trust", Launch{Grid: [3]int{1, 1 << 16, 1}, Block: 32}, nil, "exceeds the limits of a launch"},
	} {
		if err := drv.Launch(m, x.kernel, x.l, x.args...); err == nil || !strings.Contains(err.Error(), x.say) {
			t.Errorf("%s %v: %v, want %q", x.kernel, x.l, err, x.say)
		}
	}
	if err := errors.Join(drv.Close(), drv.Close()); err != nil {
		t.Error(err)
	}
	if err := drv.Free(p); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("a call after Close: %v", err)
	}
	if _, err := drv.Load(rowsFloat()); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("kernels after Close: %v", err)
	}
}

// Where there is no card, the error says what is missing.
func TestNoCard(t *testing.T) {
	for say, find := range map[string]func(string) (uintptr, error){
		"libcuda.so.1 lacks cuFuncSetAttribute:": nullLibrary(t, "-DLACKING"),
		"no card is to be seen (CUDA error 100)": nullLibrary(t, "-DEMPTY"),
	} {
		if drv, err := OpenCUDA(find); drv != nil || err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, %v, want %q", drv, err, say)
		}
	}
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("there is an NVIDIA driver")
	}
	if _, err := OpenCUDA(findCUDA); err != nil && !strings.Contains(err.Error(), "no NVIDIA driver: libcuda.so.1") {
		t.Errorf("without the library: %v", err)
	}
}
