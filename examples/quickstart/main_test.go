package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	if err := run(context.Background(), settings{images: 300, epochs: 3, workers: 2}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"300 images", "HOG   324 features", "LargeMvC-Net, defaults",
		"LargeMvC-Net, as in the paper",
		"where it starts: k-means on smoothed views", "where it starts: k-means, samples standardised",
		"k-means, features standardised", "ACC", "seconds", "  9: ", "What to try next"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	if !strings.Contains(progress.String(), "step 3/3  loss ") {
		t.Errorf("progress is %q", progress.String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, settings{images: 100, epochs: 1}, &out, &progress); err == nil {
		t.Error("a cancelled run has no error")
	}
}

func TestParse(t *testing.T) {
	s, err := parse([]string{"-short", "-seed", "3"})
	if err != nil || s.images != 1000 || s.epochs != 20 || s.seed != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = parse(nil); err != nil || s.images != 10000 || s.epochs != 100 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, args := range [][]string{{"-n", "5"}, {"-n", "60001"}, {"-epochs", "0"}, {"more"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
