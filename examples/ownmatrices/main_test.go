package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "cluster sizes: [120 120 120 120 120]") ||
		!strings.Contains(out.String(), "to ACC 1.00, NMI 1.00, ARI 1.00.\n") {
		t.Errorf("output:\n%s", out.String())
	}
}
