package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	page := filepath.Join(t.TempDir(), "page.html")
	if err := run(t.Context(), 300, largemvc.Config{Clusters: clusters, Epochs: 3}, page, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"300 images", "324 histograms", "\nLargeMvC-Net  ", "initial clustering  ", "k-means, ", "ACC",
		"Next: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("Handwritten digits")) {
		t.Errorf("no report: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, 100, largemvc.Config{Clusters: clusters}, "", &out); err == nil {
		t.Error("a cancelled run has no error")
	}
	for _, n := range []int{5, 60001} {
		if err := run(t.Context(), n, largemvc.Config{Clusters: clusters}, "", &out); err == nil {
			t.Errorf("%d images: no error", n)
		}
	}
}
