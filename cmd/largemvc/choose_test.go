package main

import (
	"encoding/xml"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

func TestChoose(t *testing.T) {
	data, figure := writeSet(t, 60, true), filepath.Join(t.TempDir(), "choose.svg")
	args := []string{"choose", "-data", data, "-from", "2", "-to", "5", "-seeds", "2", "-epochs", "5",
		"-figure", figure}
	status, stdout, stderr := runLine(args...)
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, want := range []string{"suggested: 3 clusters\n", "the structure of 3 clusters is clear (stability 1.00,",
		"the loss is lowest there too",
		"the data have 3 classes", "←"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	header := regexp.MustCompile(`(?m)^ +clusters .*smallest`).FindString(stdout)
	row := regexp.MustCompile(`(?m)^.*\d  ←`).FindString(stdout)
	if utf8.RuneCountInString(row) != len(header)+3 {
		t.Errorf("the mark moves the numbers:\n%s\n%s", header, row)
	}
	picture := readText(t, figure)
	if err := xml.Unmarshal([]byte(picture), new(any)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"suggested: 3</title>", "agreement of halves beyond noise", "3 clusters: ", "silhouette"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the figure lacks %q", want)
		}
	}
	status, stdout, _ = runLine(append(args[:len(args)-2], "-json", "-quiet")...)
	m := object(t, stdout)
	rows := m["choices"].([]any)
	if status != exitOK || m["suggested"] != 3.0 || m["clear"] != true || len(rows) != 4 || m["classes"] != 3.0 {
		t.Errorf("status %d: %s", status, stdout)
	}
	if three := rows[1].(map[string]any); three["structure"] != "clear" || three["stability"] != 1.0 ||
		three["seed_ari"] != 1.0 || three["eigengap"] == nil ||
		three["loss"] == nil {
		t.Errorf("three clusters: %v", three)
	}
}

func TestChooseWrongUse(t *testing.T) {
	data := writeSet(t, 30, false)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{}, "-data FILE is missing"},
		{[]string{"-data", data, "-from", "1"}, "-from is 1"},
		{[]string{"-data", data, "-from", "5", "-to", "4"}, "-to is 4, below -from"},
		{[]string{"-data", data, "-to", "30"}, "-to is 30, want less than the number of samples, 30"},
		{[]string{"-data", data, "-to", "5", "-seeds", "0"}, "-seeds is 0"},
		{[]string{"-data", data, "-to", "5", "-epochs", "0"}, "-epochs is 0"},
		{[]string{"-data", data, "-to", "5", "-json", "-figure", "-"}, "-json writes to standard output too"},
		{[]string{"-data", data, "-to", "5", "-figure", data}, "would overwrite"},
	} {
		status, stdout, stderr := runLine(append([]string{"choose"}, test.args...)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: status %d, %q, want %q", test.args, status, stderr, test.want)
		}
	}
}

// TestAutoClusters: fit chooses the number of clusters of plain groups, says how, and keeps an unsure number no secret.
func TestAutoClusters(t *testing.T) {
	data := writeSet(t, 60, false)
	args := []string{"fit", "-data", data, "-clusters", "auto", "-epochs", "5", "-quiet"}
	status, stdout, stderr := runLine(args...)
	if want := "chosen among 2 to 20 on 60 samples: 3 stands out"; status != exitOK || !strings.Contains(stdout, want) {
		t.Errorf("status %d: %s%s, want %q", status, stdout, stderr, want)
	}
	if testutil.Slow { // TestKnownChoose has a choice in JSON, too
		_, stdout, _ = runLine(append(args, "-json")...)
		m := object(t, stdout)
		chosen, ok := m["chosen"].(map[string]any)
		if !ok || m["clusters"] != 3.0 || chosen["clusters"] != 3.0 || chosen["clear"] != true ||
			len(chosen["reasons"].([]any)) < 3 {
			t.Errorf("%s", stdout)
		}
	}
	if text := (&picked{Clusters: 4, From: 2, To: 9, Samples: 10}).String(); text !=
		"chosen among 2 to 9 on 10 samples: 4 is a guess: no number stands out" {
		t.Error(text)
	}
	for _, test := range [][]string{
		{"-mpi"}, {"-from-disk"}, {"-resume", data}, {"-start", data}, {"-set", "FitSamples=30"},
	} {
		status, _, stderr := runLine(append(args, test...)...)
		if status != exitUsage || !strings.Contains(stderr, "-clusters auto") {
			t.Errorf("%v: status %d, %s", test, status, stderr)
		}
		if test[0] == "-start" {
			continue
		}
		status, _, stderr = runLine(append([]string{"fit", "-data", data, "-start", "careful"}, test...)...)
		if status != exitUsage || !strings.Contains(stderr, "-start careful") {
			t.Errorf("%v: status %d, %s", test, status, stderr)
		}
	}
	if status, _, stderr := runLine("fit", "-data", data, "-clusters", "some"); status != exitUsage ||
		!strings.Contains(stderr, "must be a whole number, or auto") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestCarefulStart: plain groups keep the default's start, and the summary says what was compared.
func TestCarefulStart(t *testing.T) {
	data := writeSet(t, 60, true)
	args := []string{"fit", "-data", data, "-start", "careful", "-epochs", "5", "-quiet"}
	status, stdout, stderr := runLine(args...)
	if want := "smoothed views (smoothed views: evenness "; status != exitOK || !strings.Contains(stdout, want) {
		t.Errorf("status %d: %s%s, want %q", status, stdout, stderr, want)
	}
	_, stdout, _ = runLine(append(args, "-json")...)
	m := object(t, stdout)
	starts, ok := m["starts"].([]any)
	if !ok || len(starts) != 3 || starts[0].(map[string]any)["chosen"] != true {
		t.Errorf("%s", stdout)
	}
	if status, _, stderr := runLine("fit", "-data", data, "-start", "careful", "-preset", "paper"); status != exitUsage ||
		!strings.Contains(stderr, "-start careful needs neighbours") {
		t.Errorf("status %d, %s", status, stderr)
	}
}
