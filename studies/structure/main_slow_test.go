//go:build slow

package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// Two clusters with an NMI of 63 are more than noise in these draws: webkb1051, in the folder that LARGEMVC_DATA_MORE names.
func TestTwoClustersAreNotNone(t *testing.T) {
	folder := os.Getenv("LARGEMVC_DATA_MORE")
	if folder == "" {
		t.Skip("LARGEMVC_DATA_MORE does not name the folder of webkb1051.npz")
	}
	var out bytes.Buffer
	args := []string{"-draws", "8", "-first", "60", "-only", "webkb1051", "-data", folder}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| webkb1051 | 8 | 0 |") {
		t.Error(out.String())
	}
}
