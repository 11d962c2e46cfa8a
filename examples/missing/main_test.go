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
	if err := run(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 6 || !strings.HasSuffix(lines[5], "less there is to go by.") {
		t.Fatalf("output:\n%s", out.String())
	}
	for i, line := range lines[1:5] {
		var rate, acc, nmi, ari float64
		if _, err := fmt.Sscanf(line, "%f %% %f %f %f", &rate, &acc, &nmi, &ari); err != nil || acc < 0.8 ||
			i == 0 && acc < 0.99 {
			t.Errorf("%q: %v", line, err)
		}
	}
}
