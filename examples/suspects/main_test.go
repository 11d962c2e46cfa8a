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
	if err := run(context.Background(), 600, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var moved, of, found int
	last := lines[len(lines)-1]
	const form = "Of the %d rows that are trusted least, of %d, %d are exchanged ones."
	if _, err := fmt.Sscanf(last, form, &moved, &of, &found); err != nil {
		t.Fatalf("%q: %v", last, err)
	}
	if moved != 30 || found < moved/2 {
		t.Errorf("%s", out.String())
	}
}
