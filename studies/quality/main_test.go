package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

// folder returns a folder with two small sets.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"apples", "pears"} {
		set, err := dataset.Synthetic(
			dataset.SyntheticConfig{Samples: 60 + 30*i, Clusters: 3, Dims: []int{12, 8}, Seed: uint64(i), Separation: 3},
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.WriteNPZ(filepath.Join(dir, name+".npz"), false); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRun writes every table, of which some figures are those of fits done by hand, and takes what is finished as it is.
func TestRun(t *testing.T) {
	data, out := folder(t), filepath.Join(t.TempDir(), "out")
	args := []string{"-data", data, "-out", out, "-draws", "2", "-epochs", "4"}
	var stdout bytes.Buffer
	if err := run(context.Background(), args, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stdout.String(), filepath.Join(out, "quality.md")) {
		t.Errorf("standard output is %q", stdout.String())
	}
	page, err := os.ReadFile(filepath.Join(out, "quality.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 draws", "apples: 60 samples, views of 12/8, 3 classes", "### ACC (%)", "### Seconds of one run",
		"| **default preset** |", "| paper preset |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	found, err := sets.OpenAll(context.Background(), sets.Choice{Path: filepath.Join(data, "pears.npz"), Warn: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]largemvc.Config{
		"**default preset**": {}, "paper preset": presets.Paper.Of(largemvc.Config{}),
		"default, reconstruction alone": {
			Neighborhood: largemvc.Neighborhood{Weight: largemvc.None, HeldOutWeight: largemvc.None},
		},
		"default, neighbours alone": {Neighborhood: largemvc.Neighborhood{HeldOutWeight: largemvc.None}},
		"default, held-out alone":   {Neighborhood: largemvc.Neighborhood{Weight: largemvc.None}},
		"default, untrained":        {Epochs: largemvc.None},
	} {
		want, wantStart := 0.0, 0.0
		for seed := range uint64(2) {
			c.Clusters, c.Seed = 3, seed
			if c.Epochs == 0 {
				c.Epochs = 4
			}
			set := found[0].InOrder(int(seed)) // a draw is an order and a seed
			r, err := largemvc.Fit(context.Background(), set.Views, c)
			if err != nil {
				t.Fatal(err)
			}
			want += 50 * accuracy(t, set.Labels, r.Labels)
			wantStart += 50 * accuracy(t, set.Labels, r.StartLabels)
		}
		checkCell(t, filepath.Join(out, "quality-acc.csv"), name, "pears", want)
		if name == "default, untrained" {
			checkCell(t, filepath.Join(out, "quality-acc.csv"), "default, no network", "pears", wantStart)
		}
	}
	first, err := os.ReadFile(filepath.Join(out, "quality-seconds.csv"))
	if err != nil {
		t.Fatal(err)
	}
	// Once more: nothing is measured again, the seconds included.
	if err := run(context.Background(), args, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(filepath.Join(out, "quality-seconds.csv")); err != nil || !bytes.Equal(first, second) {
		t.Error("the second run differs")
	}
	// Work of another build is not mixed with work of this one.
	mine, err := os.ReadFile(filepath.Join(out, "build"))
	if err = errors.Join(err, os.WriteFile(filepath.Join(out, "build"), []byte("another\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), args, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "another build") {
		t.Errorf("work of another build: %v", err)
	}
	if err := os.WriteFile(filepath.Join(out, "build"), mine, 0o666); err != nil {
		t.Fatal(err)
	}
	// The same sets given one by one, and a page elsewhere.
	page2 := filepath.Join(t.TempDir(), "page.md")
	both := filepath.Join(data, "apples.npz") + "," + filepath.Join(data, "pears.npz")
	if err := run(context.Background(), append(args, "-data", both, "-page", page2), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(page2); err != nil || !bytes.Equal(again, page) {
		t.Errorf("the page of sets given one by one differs (%v)", err)
	}
	// Some rows alone.
	if err := run(
		context.Background(), append(args, "-rows", "paper;default, no network", "-sets", "apples"), io.Discard,
		io.Discard,
	); err != nil {
		t.Fatal(err)
	}
	if page, err = os.ReadFile(filepath.Join(out, "quality.md")); err != nil ||
		strings.Contains(string(page), "| default, untrained |") || !strings.Contains(string(page), "| paper preset |") ||
		strings.Contains(string(page), "| default, no smoothing |") {
		t.Errorf("the chosen rows alone: %v\n%s", err, page)
	}
	// Uneven parts of a set.
	if err := run(
		context.Background(), append(args, "-rows", "no network", "-sets", "pears", "-uneven", "0.5,0.2"),
		io.Discard, io.Discard,
	); err != nil {
		t.Fatal(err)
	}
	if page, err = os.ReadFile(filepath.Join(out, "quality.md")); err != nil ||
		!strings.Contains(string(page), "| pears, uneven to 0.5 | pears, uneven to 0.2 |") {
		t.Errorf("uneven parts: %v\n%s", err, page)
	}
}

func accuracy(t *testing.T, classes, labels []int) float64 {
	t.Helper()
	scores, err := largemvc.Evaluate(classes, labels)
	if err != nil {
		t.Fatal(err)
	}
	return scores.ACC
}

// checkCell wants the mean in a cell of a CSV file.
func checkCell(t *testing.T, path, row, column string, want float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r[0] == row && r[1] == column {
			if got, err := strconv.ParseFloat(r[2], 64); err != nil || math.Abs(got-want) > 1e-9 {
				t.Errorf("%s on %s: %s, want %v", row, column, r[2], want)
			}
			return
		}
	}
	t.Errorf("%s has no cell for %s on %s", path, row, column)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, []string{"-data", folder(t), "-out", t.TempDir()}, io.Discard, io.Discard); !errors.Is(
		err, context.Canceled,
	) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestErrors(t *testing.T) {
	data := folder(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"extra"}, `"extra" is not a flag`},
		{[]string{"-draws", "0"}, "0 draws"},
		{[]string{"-uneven", "0.5,0"}, `"0" is no share`},
		{[]string{"-rows", "plum", "-data", data}, `no row has "plum"`},
		{[]string{"-data", filepath.Join(data, "none")}, "none"},
		{[]string{"-data", t.TempDir()}, "no data set"},
		{[]string{"-data", data, "-sets", "plums"}, `no set "plums"`},
	} {
		if err := run(context.Background(), test.args, io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
	if _, err := parse([]string{"-help"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("%v, want flag.ErrHelp", err)
	}
	if s, err := parse([]string{"-quick"}, io.Discard); err != nil || s.draws != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Rows that show parts of the same fit share its work.
func TestKeys(t *testing.T) {
	r := made([]string{"a"})
	main, plain, paper := r.rows[r.find(mainRow)], r.rows[r.find("default, plain rows of H")], r.rows[r.find("paper preset")]
	d := *r.sets[0]
	if main.key(&d, 1, 100) != plain.key(&d, 1, 100) || main.key(&d, 1, 100) == paper.key(&d, 1, 100) {
		t.Error("keys do not tell the same fit and another apart")
	}
	if main.key(&d, 1, 100) == main.key(&d, 2, 100) || main.key(&d, 1, 100) == main.key(&d, 1, 99) {
		t.Error("keys do not tell seeds or epochs apart")
	}
}
