//go:build slow

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), 1500, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	var classes, clusters float64
	const form = "accuracy without a known label: by class %f, by named cluster %f"
	if _, err := fmt.Sscanf(lines[1], form, &classes, &clusters); err != nil {
		t.Fatalf("%q: %v", lines[1], err)
	}
	if classes < 0.8 || classes < clusters || !strings.Contains(out.String(), "a mistake of ours") {
		t.Error(out.String())
	}
}
