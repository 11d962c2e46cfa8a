package device

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
)

var update = flag.Bool("update", false, "write the tables of README.md")

// trialLine is a line of the trial's file.
type trialLine struct {
	Step, What    string
	Calls, Epochs int
	Seconds       float64
	CPU           float64 `json:"cpu_seconds"`
	OK            *bool
}

// trialOfCard returns the lines of the trial that ran on a card.
func trialOfCard(t *testing.T) (lines []trialLine) {
	text, err := os.ReadFile("testdata/h100.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var l trialLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// measured returns the seconds of each kernel in an epoch of n samples, without the waiting after a launch, and the seconds of a
// whole epoch on the card and on its CPU.
func measured(t *testing.T, n int) (kernels map[string]float64, card, cpu float64) {
	kernels, wait := map[string]float64{}, 0.0
	lines := trialOfCard(t)
	for _, l := range lines {
		if l.Step == fmt.Sprintf("kernels of %d", n) && l.What == nextToNone {
			wait = l.Seconds
		}
	}
	for _, l := range lines {
		switch {
		case l.Step == fmt.Sprintf("kernels of %d", n) && l.Calls > 0:
			seconds := l.Seconds
			if !strings.HasPrefix(l.What, "copies") { // an epoch waits for its copies too
				seconds = max(0, seconds-wait*float64(l.Calls))
			}
			kernels[l.What] = seconds / float64(l.Epochs)
		case l.Step == fmt.Sprintf("network of %d", n) && strings.HasSuffix(l.What, "float32: seconds an epoch"):
			card, cpu = l.Seconds, l.CPU
		}
	}
	if wait == 0 || card == 0 {
		t.Fatalf("the trial has no epochs of %d samples", n)
	}
	return kernels, card, cpu
}

// tables returns the tables of README.md, kernels of less than 0.1 ms in one row.
func tables(t *testing.T) string {
	var out strings.Builder
	for _, c := range []struct {
		name string
		spec engine.Spec
	}{
		{"195,537 × 2,672 in four views, m = 100", shape(195537, 100, 2, 944, 576, 512, 640)},
		{"60,000 × 1,336 in three views, m = 10", shape(60000, 10, 2, 784, 392, 160)},
	} {
		e, err := CountEpoch[float32](&c.spec, true)
		if err != nil {
			t.Fatal(err)
		}
		launches := 0
		for _, k := range e.Kernels {
			launches += k.Launches
		}
		ran, card, cpu := measured(t, c.spec.Samples)
		fmt.Fprintf(&out, "\n### %s\n\n", c.name)
		fmt.Fprintf(&out, "**%.1f ms measured** (16 cores beside the card: %.0f ms), %.1f ms counted, floor %.2f ms. Memory "+
			"%.2f GiB. X is\n%.2f GB and read %d times in %d passes. %d launches; %d transfers of %.1f MB.\n\n",
			1e3*card, 1e3*cpu, 1e3*e.Seconds(&H100), 1e3*e.Floor(&H100), gib(e.Memory), float64(e.X)/1e9, e.ReadsOfX,
			e.Passes, launches, e.Transfers, float64(e.Moved)/1e6)
		fmt.Fprintln(&out, "| kernel | launches | MB | algebra, GFLOP | executed, GFLOP | counted, ms | measured, ms |")
		fmt.Fprintln(&out, "|---|---|---|---|---|---|---|")
		others, small, rest, restRan := 0, 0, 0.0, 0.0
		for _, k := range e.Kernels {
			name, _, _ := strings.Cut(k.Kernel, " ")
			ms, took := 1e3*H100.Seconds(k), 1e3*ran[name]
			if max(ms, took) < 0.1 {
				others, small, rest, restRan = others+1, small+k.Launches, rest+ms, restRan+took
				continue
			}
			fmt.Fprintf(&out, "| `%s` | %d | %.1f | %.2f | %.2f | %.2f | %.2f |\n", k.Kernel, k.Launches,
				float64(k.Read+k.Written)/1e6, float64(k.Useful)/1e9, float64(k.Executed)/1e9, ms, took)
		}
		fmt.Fprintf(&out, "| %d others | %d | | | | %.2f | %.2f |\n", others, small, rest, restRan)
		copies := 1e3 * (ran["copies to the device"] + ran["copies from the device"])
		fmt.Fprintf(&out, "| transfers | %d | %.1f | | | %.2f | %.2f |\n", e.Transfers, float64(e.Moved)/1e6,
			1e3*(float64(e.Moved)/H100.Bus+H100.Transfer*float64(e.Transfers)), copies)
	}
	return out.String()
}

// A card has passed every check of the trial whose file is committed.
func TestTrialOfCard(t *testing.T) {
	checks := 0
	for _, l := range trialOfCard(t) {
		if l.OK != nil && !*l.OK {
			t.Errorf("%s, %s: wrong", l.Step, l.What)
		}
		if l.OK != nil && l.What != "end" {
			checks++
		}
	}
	if checks < 25 {
		t.Errorf("the trial has %d checks", checks)
	}
}

// TestTablesAreInTheDocument compares the tables of README.md with CountEpoch; -update writes them.
func TestTablesAreInTheDocument(t *testing.T) {
	const path, begin, end = "README.md", "<!-- tables -->\n", "<!-- end of tables -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("README.md has no place for the tables")
	}
	made := tables(t) + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+made+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != made {
		t.Error("README.md has other tables than CountEpoch: go test ./internal/device -run Document -update")
	}
}
