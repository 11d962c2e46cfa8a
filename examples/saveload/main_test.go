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
	// Sample i is of class i mod 5, and clusters of equal size are numbered by their first sample.
	for _, want := range []string{"sample 500: cluster 0,", "sample 503: cluster 3,", "a sample\n",
		"by its second view alone: cluster 0\nA saved model gives clusters"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
