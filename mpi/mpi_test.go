//go:build linux

package mpi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
)

// TestMain runs what the ranks of a test do where a test started them.
func TestMain(m *testing.M) {
	if what := os.Getenv("LARGEMVC_TEST_RANK"); what != "" {
		if err := beRank(what); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beRank is one process of a job.
func beRank(what string) error {
	if what == "small messages" {
		most = 1000
	}
	w, err := Init()
	if err != nil {
		return err
	}
	ctx := context.Background()
	sizes, total := make([]int, w.Size()), 0
	for r := range sizes {
		sizes[r] = 700 * r // none of rank 0
		total += sizes[r]
	}
	want := make([]byte, 0, total)
	for r, n := range sizes {
		for i := range n {
			want = append(want, byte(r*31+i))
		}
	}
	at := 0
	for _, n := range sizes[:w.Rank()] {
		at += n
	}
	for range 20 {
		all := make([]byte, total)
		if err := w.AllGather(ctx, want[at:at+sizes[w.Rank()]], sizes, all); err != nil {
			return err
		}
		if !slices.Equal(all, want) {
			return fmt.Errorf("rank %d has gathered other bytes", w.Rank())
		}
	}
	for range 20 { // 100·(2·from + to) bytes, and none between ranks 0 and 1
		count := func(from, to int) int {
			if from+to == 1 {
				return 0
			}
			return 100 * (2*from + to)
		}
		var mine, all, answer []byte
		var to, from []int
		for r := range w.Size() {
			to, from = append(to, count(w.Rank(), r)), append(from, count(r, w.Rank()))
			mine = append(mine, slices.Repeat([]byte{byte(10*w.Rank() + r)}, to[r])...)
			answer = append(answer, slices.Repeat([]byte{byte(10*r + w.Rank())}, from[r])...)
		}
		all = make([]byte, len(answer))
		if err := w.AllToAll(ctx, mine, to, all, from); err != nil {
			return err
		}
		if !slices.Equal(all, answer) {
			return fmt.Errorf("rank %d has been given other bytes", w.Rank())
		}
	}
	x := make([]byte, 12345)
	root := w.Size() - 1
	for i := range x {
		if w.Rank() == root {
			x[i] = byte(i * 7)
		}
	}
	if err := w.Broadcast(ctx, root, x); err != nil {
		return err
	}
	if what == "source" {
		return fitSource(ctx, w)
	}
	if err := w.AllGather(ctx, nil, []int{1}, nil); err == nil {
		return errors.New("sizes of another job: no error")
	}
	switch what {
	case "nil":
		if !recovered() {
			return errors.New("a nil dereference was not recovered")
		}
	case "abort":
		if w.Rank() == 1 {
			fmt.Println("rank 1 gives up")
			w.Abort(errors.New("any"))
		}
		time.Sleep(time.Minute)
	}
	fmt.Printf("rank %d of %d: %x by %v\n", w.Rank(), w.Size(), sha256.Sum256(append(want, x...)), w)
	if err := w.Close(); err != nil {
		return err
	}
	if err := w.Broadcast(ctx, 0, x); !errors.Is(err, errClosed) {
		return fmt.Errorf("a message after Close: %w", err)
	}
	return w.Close()
}

// TestNotOpen: a World that Init has not made sends nothing, and does not wait.
func TestNotOpen(t *testing.T) {
	w := &World{size: 1}
	if err := w.AllGather(t.Context(), []byte{1}, []int{1}, []byte{0}); !errors.Is(err, errClosed) {
		t.Errorf("AllGather: %v", err)
	}
	if err := w.Close(); !errors.Is(err, errClosed) {
		t.Errorf("Close: %v", err)
	}
}

func recovered() (yes bool) {
	defer func() { yes = recover() != nil }()
	var p *struct{ x [100]int }
	return p.x[50] == 1
}

// launchers are the commands that start ranks, of those that this machine has.
func launchers(t *testing.T) [][]string {
	var out [][]string
	if p, err := exec.LookPath("mpirun.openmpi"); err == nil {
		out = append(out, []string{p, "--oversubscribe", "--allow-run-as-root"})
	}
	if p, err := exec.LookPath("mpirun.mpich"); err == nil {
		out = append(out, []string{p})
	}
	if out == nil {
		t.Skip("there is neither mpirun.openmpi nor mpirun.mpich")
	}
	return out
}

// job runs this test as the ranks of a job.
func job(t *testing.T, launcher []string, ranks int, what string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(launcher[1:]), "-n", fmt.Sprint(ranks), exe)
	c := exec.CommandContext(t.Context(), launcher[0], args...)
	c.Env = append(os.Environ(), "LARGEMVC_TEST_RANK="+what)
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestMessages sends bytes among the ranks of jobs, by each library that this machine has.
func TestMessages(t *testing.T) {
	for _, l := range launchers(t) {
		for _, what := range []string{"large messages", "small messages", "nil"} {
			for _, ranks := range []int{1, 3} {
				out, err := job(t, l, ranks, what)
				if err != nil || strings.Count(out, " by ") != ranks {
					t.Errorf("%s, %d ranks, %s: %v\n%s", filepath.Base(l[0]), ranks, what, err, out)
				}
			}
		}
	}
}

// TestAbortEndsAllRanks: the others sleep for a minute.
func TestAbortEndsAllRanks(t *testing.T) {
	for _, l := range launchers(t) {
		began := time.Now()
		out, err := job(t, l, 2, "abort")
		if took := time.Since(began); err == nil || took > 20*time.Second || !strings.Contains(out, "rank 1 gives up") {
			t.Errorf("%s: %v after %v\n%s", filepath.Base(l[0]), err, took, out)
		}
	}
}

// TestNoLibrary: the error says what was tried.
func TestNoLibrary(t *testing.T) {
	t.Setenv("LARGEMVC_MPI", filepath.Join(t.TempDir(), "libmpi.so"))
	if _, err := Init(); err == nil || !strings.Contains(err.Error(), os.Getenv("LARGEMVC_MPI")) {
		t.Errorf("error %v", err)
	}
	t.Setenv("LARGEMVC_MPI", "libc.so.6")
	if _, err := Init(); err == nil || !strings.Contains(err.Error(), "MPI_Init_thread") {
		t.Errorf("a library of another kind: error %v", err)
	}
	for launcher, first := range map[string]string{
		"OMPI_COMM_WORLD_SIZE": "libmpi.so.40", "PMI_SIZE": "libmpi_abi.so.1", "": "libmpi.so.40",
	} {
		names := candidates(func(name string) string {
			if name == launcher {
				return "2"
			}
			return ""
		})
		if names[0] != first || len(names) < 4 {
			t.Errorf("%s: %q", launcher, names)
		}
	}
}

// A world that is not the launcher's is refused: each process would do all of the work, and write over the others' results.
func TestOtherLauncher(t *testing.T) {
	w := &World{size: 1, version: "Some MPI", lib: &library{path: "libother.so"}}
	for env, want := range map[string]string{
		"OMPI_COMM_WORLD_SIZE=4": "OMPI_COMM_WORLD_SIZE is 4", "PMI_SIZE=2": "PMI_SIZE is 2", "PMIX_RANK=3": "PMIX_RANK is 3",
		"SLURM_NTASKS=8": "SLURM_NTASKS is 8", "SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=1": "SLURM_STEP_NUM_TASKS is 2",
		"OMPI_COMM_WORLD_SIZE=1 SLURM_NTASKS=8": "", "PMI_SIZE=1": "", "PMIX_RANK=0": "", "": "", "SLURM_NTASKS=many": "",
	} {
		err := checkLauncher(func(name string) string {
			for _, x := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(x, name+"="); ok {
					return value
				}
			}
			return ""
		}, w)
		if (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want+", but the size of Some MPI (libother.so") {
			t.Errorf("%s: %v, want %q", env, err, want)
		}
	}
	// Without a launcher, the library makes a world of one process whatever the job has.
	launchers(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe)
	c.Env = append(os.Environ(), "LARGEMVC_TEST_RANK=small messages", "SLURM_NTASKS=8")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "SLURM_NTASKS is 8") {
		t.Errorf("%v\n%s", err, out)
	}
}

// failing holds rows, some of which cannot be read twice.
type failing struct {
	n, d  int
	rank  int
	reads atomic.Int64
}

func (f *failing) Dims() (n, d int) { return f.n, f.d }

func (f *failing) ReadRows(_ context.Context, first int, dst []float32) error {
	for j := range dst {
		dst[j] = float32(math.Sin(float64(first*f.d+j) * float64(1+f.rank)))
	}
	if f.rank == 1 && first+len(dst)/f.d > 700 && f.reads.Add(1) > 1 {
		return errors.New("the disk is gone")
	}
	return nil
}

// fitSource fits rows that one of the ranks cannot read any more.
func fitSource(ctx context.Context, w *World) error {
	lo, hi, err := comm.Share(3000, w.Rank(), w.Size())
	if err != nil {
		return err
	}
	views := []largemvc.View{
		largemvc.RowsView(&failing{n: hi - lo, d: 20, rank: w.Rank()}),
		largemvc.RowsView(&failing{n: hi - lo, d: 30, rank: w.Rank()}),
	}
	c := largemvc.PaperConfig(3)
	c.Epochs = 1000
	c.Machine.Comm = w
	_, err = largemvc.Fit(ctx, views, c)
	if err == nil {
		return errors.New("rows that could not be read: no error")
	}
	fmt.Printf("rank %d ends: %v\n", w.Rank(), err)
	w.Abort(err)
	return err
}

// TestSourceFails: what a rank cannot read ends the fit on all of them.
func TestSourceFails(t *testing.T) {
	for _, l := range launchers(t) {
		began := time.Now()
		out, err := job(t, l, 2, "source")
		if took := time.Since(began); err == nil || took > 20*time.Second || !strings.Contains(out, "rank 1: reading view ") ||
			!strings.Contains(out, "the disk is gone") {
			t.Errorf("%s: %v after %v\n%s", filepath.Base(l[0]), err, took, out)
		}
	}
}
