package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// Messages of the packages name the flags of the command, not the fields that a program sets.
func TestMessagesNameFlags(t *testing.T) {
	const n = 4000
	path, x := filepath.Join(t.TempDir(), "x.npz"), make([]float32, n*40)
	for i := range x {
		x[i] = float32(i * 7919 % 1009)
	}
	if err := dataset.WriteNPZ(path, false, dataset.Array{Name: "X0", Shape: []int{n, 40}, Data: x}); err != nil {
		t.Fatal(err)
	}
	table, state := writeText(t, "t.csv", "a,b\n1,2\n3,4\n5,7\n"), filepath.Join(t.TempDir(), "state")
	if status, _, stderr := runLine(
		"fit", "-data", table, "-clusters", "2", "-epochs", "3", "-checkpoint", state, "-quiet",
	); status != exitOK {
		t.Fatal(stderr)
	}
	large := []string{"fit", "-data", path, "-clusters", "3", "-quiet", "-workers", "1"}
	disk := append(large, "-from-disk", "-set", "Neighborhood.Exact=none", "-max-memory")
	for _, test := range []struct {
		args []string
		want string
	}{
		{append(disk, "1"), "; several processes, joined by -mpi,"},
		{append(disk, "1"), "-max-memory allows 1.0 MiB; -set FitSamples trains on some"},
		{append(large, "-max-memory", "1"), "-max-memory allows 1.0 MiB"},
		{append(large, "-set", "FitSamples=2"), "-clusters is 3: must be 1 to the number of samples that are trained on, 2"},
		{[]string{"inspect", "-view", "v=a", "-view", "v=b", table}, "two views of -view are named v"},
		{append(large, "-set", "Layers=2000", "-set", "Restarts=20000"), ": -set Layers is 2000: must be at most 1000; " +
			"-set Restarts is 20000: must be at most 10000"},
		{[]string{"fit", "-data", table, "-resume", state, "-epochs", "2"}, "-epochs can only grow: it was 3 and is 2 now"},
	} {
		status, _, stderr := runLine(test.args...)
		if status == exitOK || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: status %d, %s", test.args, status, stderr)
		}
	}
}
