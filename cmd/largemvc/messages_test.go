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
	disk := append(large, "-from-disk", "-exact-neighbors", "none", "-max-memory")
	for _, test := range []struct {
		args []string
		want string
	}{
		{append(disk, "1"), "; several processes, joined by -mpi,"},
		{append(disk, "1"), "-max-memory allows 1.0 MiB; -fit-samples trains on some"},
		{append(large, "-fit-samples", "2"), "Clusters is 3, want 1 to the number of -fit-samples, 2"},
		{[]string{"inspect", "-view", "v=a", "-view", "v=b", table}, "two views (-view) are named v"},
		{[]string{"fit", "-data", table, "-resume", state, "-epochs", "2"}, "the number of -epochs can only grow"},
	} {
		status, _, stderr := runLine(test.args...)
		if status != exitError || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: status %d, %s", test.args, status, stderr)
		}
	}
}
