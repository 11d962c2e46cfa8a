package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out, 10); err != nil {
		t.Fatal(err)
	}
	var a, b int
	var first, last, w1, w2, v1, v2 float64
	_, err := fmt.Sscanf(out.String(), "epoch %d: loss %f, widths %f and %f\nepoch %d: loss %f, widths %f and %f\n",
		&a, &first, &w1, &w2, &b, &last, &v1, &v2)
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	if !(last < first) {
		t.Errorf("the loss goes from %v to %v", first, last)
	}
	if w1 == v1 || w2 == v2 {
		t.Errorf("the widths are not trained: %v, %v", v1, v2)
	}
}
