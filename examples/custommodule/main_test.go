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
	if err := run(context.Background(), &out, 300, 8); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"stock network: loss", "own   network: loss", "labels 200 new digits",
		"stopped after 4 of 8 epochs and resumed: the same labels: true", "as the stock ones are.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "went from 0.5 to 0.500") {
		t.Errorf("the width is not trained:\n%s", text)
	}
}
