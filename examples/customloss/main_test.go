package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out, 8); err != nil {
		t.Fatal(err)
	}
	losses := regexp.MustCompile(`loss (\S+) → (\d+\.\d+)`).FindAllStringSubmatch(out.String(), -1)
	if len(losses) != 3 {
		t.Fatalf("output:\n%s", out.String())
	}
	for _, l := range losses {
		var first, last float64
		if _, err := fmt.Sscan(l[1]+" "+l[2], &first, &last); err != nil || !(last < first) {
			t.Errorf("%s: the loss does not fall (%v)", l[0], err)
		}
	}
	if !strings.HasSuffix(out.String(), "on a graph that you run yourself.\n") {
		t.Errorf("no sentence at the end:\n%s", out.String())
	}
	var share float64
	_, rest, _ := strings.Cut(out.String(), "with the entropy term ")
	if _, err := fmt.Sscan(rest, &share); err != nil || !(share > 0 && share <= 0.1*math.Log(4)) {
		t.Errorf("the entropy times 0.1 is %v (%v)", share, err)
	}
}
