//go:build slow

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out, 300, 5); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"without encoder: loss", "with encoder:    loss", "anchors of 32 columns",
		"The encoder is trained with the clustering"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}
