package progress

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestPlainLines(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "epoch")
	for e := 1; e <= 40; e++ {
		b.Show(e, 40, "loss 0.5", time.Duration(e)*time.Second)
	}
	b.End()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 11 { // the first step and ten tenths
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	if lines[0] != "epoch 1/40  loss 0.5  1s, 39s left" || lines[10] != "epoch 40/40  loss 0.5  40s" {
		t.Errorf("lines are %q … %q", lines[0], lines[10])
	}
	if strings.Contains(out.String(), "\r") {
		t.Error("a carriage return without a terminal")
	}
	out.Reset()
	b.Show(4, 40, "", time.Second) // a second run
	if out.Len() == 0 {
		t.Error("nothing is shown of a second run")
	}
}

func TestPlainOneStep(t *testing.T) {
	var out bytes.Buffer
	New(&out, "epoch").Show(1, 1, "", time.Minute+time.Millisecond)
	if got, want := out.String(), "epoch 1/1    1m0s\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	New(&out, "epoch").Show(1, 0, "", 0)
	if out.Len() > 0 {
		t.Errorf("no steps give %q", out.String())
	}
}

func TestTerminalLine(t *testing.T) {
	var out bytes.Buffer
	b := &Bar{w: &out, terminal: true, name: "epoch"}
	b.Show(1, 10, "a long note", 0)
	b.Show(2, 10, "hidden", 10*time.Millisecond) // too soon
	b.Show(5, 10, "x", time.Second)
	b.Show(10, 10, "y", time.Second+time.Millisecond) // the last one always
	b.End()
	b.End()
	s := out.String()
	if strings.Count(s, "\r") != 3 || strings.Contains(s, "hidden") || strings.Count(s, "\n") != 1 {
		t.Fatalf("%q", s)
	}
	drawn := strings.Split(strings.TrimSuffix(s, "\n"), "\r")[1:]
	if !strings.Contains(drawn[1], "["+strings.Repeat("#", 12)+strings.Repeat(".", 12)+"]  5/10  x  1s, 1s left") {
		t.Errorf("%q", drawn[1])
	}
	if len(drawn[1]) < len(drawn[0]) {
		t.Errorf("%q does not cover %q", drawn[1], drawn[0])
	}
}

func TestTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if Terminal(f) || Terminal(&bytes.Buffer{}) {
		t.Error("a file or a buffer passes for a terminal")
	}
}

func TestSay(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "")
	for s := range 35 {
		b.Say("reading", time.Duration(s)*time.Second)
	}
	if got, want := out.String(), "reading  10s\nreading  20s\nreading  30s\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	b = &Bar{w: &out, terminal: true}
	for ms := range 2000 {
		b.Say("reading", time.Duration(ms)*time.Millisecond)
	}
	if got := strings.Count(out.String(), "\rreading  1."); got != 9 {
		t.Errorf("%d lines are drawn: %q", got, out.String())
	}
}

// A line has room on a terminal of 80 columns, whatever is to be said.
func TestLineWidth(t *testing.T) {
	for _, note := range []string{"loss −3.1635 at weight 3", strings.Repeat("long ", 40)} {
		var out bytes.Buffer
		b := &Bar{w: &out, terminal: true, name: "epoch"}
		b.Show(1, 40, note, 100*time.Millisecond)
		line := strings.TrimPrefix(out.String(), "\r")
		if n := utf8.RuneCountInString(line); n > 79 || !strings.Contains(line, "1/40") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}
