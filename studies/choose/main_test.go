package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "choose.svg")
	var out bytes.Buffer
	if err := run(context.Background(), path, &out); err != nil {
		t.Fatal(err)
	}
	const end = "suggested: 5 clusters\nThe table and the figure"
	if !strings.Contains(out.String(), end) || strings.Count(out.String(), "\n") != 10 {
		t.Errorf("output:\n%s", out.String())
	}
	picture, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "Silhouette", "Stability"} {
		if !bytes.Contains(picture, []byte(want)) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if err := run(context.Background(), path+".txt", &out); err == nil {
		t.Error("a picture of an unknown kind is drawn")
	}
}
