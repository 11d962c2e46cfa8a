package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"both.npz: NumPy .npz", "view1.csv: CSV", "200 samples, 2 views", "4 classes: 0 (50)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	const end = "cluster sizes: [50 50 50 50]\nThe clusters of what was read agree with its classes to ACC 1.00"
	if strings.Count(out.String(), end) != 2 {
		t.Errorf("output:\n%s", out.String())
	}
	if err := run(context.Background(), []string{"none.mat"}, &out); err == nil || !strings.Contains(err.Error(), "none.mat") {
		t.Errorf("a missing file gives %v", err)
	}
}
