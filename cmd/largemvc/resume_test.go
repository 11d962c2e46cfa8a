package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoCheckpoint: what cannot be gone on from is said before the data are read, which here are not even there.
func TestNoCheckpoint(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	model, state := filepath.Join(folder, "model"), filepath.Join(folder, "state")
	status, _, stderr := runLine("fit", "-data", path, "-quiet", "-epochs", "1", "-save", model, "-checkpoint", state)
	if status != exitOK {
		t.Fatal(stderr)
	}
	whole := contents(t, state)
	damaged := filepath.Join(folder, "damaged")
	if err := os.WriteFile(damaged, []byte(whole[:len(whole)-9]), 0o644); err != nil {
		t.Fatal(err)
	}
	for resume, want := range map[string]string{
		filepath.Join(folder, "none"): "no such file",
		folder:                        "cannot be gone on from",
		path:                          "give a file that -checkpoint wrote",
		model:                         `the file's format is "largemvc-model"`,
		damaged:                       "cannot be gone on from",
	} {
		status, stdout, stderr := runLine("fit", "-data", "nothing.npz", "-quiet", "-resume", resume)
		checkFailure(t, resume, exitError, status, stdout, stderr, want)
	}
}
