package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestLongIDs: an id that .npz has no room for is refused before the work, .csv takes it.
func TestLongIDs(t *testing.T) {
	table := func(length int) string {
		var b strings.Builder
		b.WriteString("id,a,b,c,d,e\n")
		for i := range 30 {
			id := fmt.Sprint("s", i)
			if i == 7 {
				id += strings.Repeat("ä", length-2)
			}
			fmt.Fprintf(&b, "%s,%d,%d,%d,%d,%d\n", id, i%3*50+i, i*i%7, i%3*20-i, i%3, i*i%11)
		}
		return writeText(t, "table.csv", b.String())
	}
	long, folder := table(longestID+1), t.TempDir()
	h, model := filepath.Join(folder, "h.npz"), filepath.Join(folder, "model")
	fit := []string{"fit", "-clusters", "3", "-epochs", "1", "-quiet", "-save", model, "-data"}
	status, stdout, stderr := runLine(append(fit, long, "-embedding", h)...)
	const want = "has 1025 characters; .npz takes at most 1024 (ids: 30, from column id of "
	checkFailure(t, "fit", exitError, status, stdout, stderr, "the id of sample 7 (from 0)")
	checkFailure(t, "fit", exitError, status, stdout, stderr, want)
	if status, _, stderr = runLine(append(fit, long, "-embedding", filepath.Join(folder, "h.csv"))...); status != exitOK {
		t.Error(stderr)
	}
	status, stdout, stderr = runLine("predict", "-model", model, "-data", long, "-embedding", h)
	checkFailure(t, "predict", exitError, status, stdout, stderr, want)
	if status, _, stderr = runLine(append(fit, table(longestID), "-embedding", h)...); status != exitOK {
		t.Error(stderr)
	}
	// The limit is the writer's.
	ids := dataset.Array{Name: "ids", Data: []string{strings.Repeat("x", longestID+1)}}
	if err := dataset.EncodeNPZ(io.Discard, false, ids); err == nil {
		t.Error("longer texts are written: longestID need not be")
	}
}
