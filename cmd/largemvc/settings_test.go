package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/optim"
)

func TestConfigFile(t *testing.T) {
	path := writeText(t, "fit.json", `{"data": ["a.npz", "b.npz"], "views": ["X0", "X1"], "Clusters": 7, "Seed": 5,
		"labels": null,
		"Neighborhood": {"Steps": 8, "Weight": 0.5}, "Float64": true, "Represent": {"Unconstrained": true}, "quiet": true}`)
	o, _, err := parseFit([]string{"-seed", "4", "-config", path, "-set", "Neighborhood.Weight=2", "-set", "Checkpoint.Every=3"})
	if err != nil {
		t.Fatal(err)
	}
	c := o.config
	if c.Clusters != 7 || c.Seed != 4 || c.Neighborhood.Steps != 8 || c.Neighborhood.Weight != 2 || !c.Float64 ||
		c.Checkpoint.Every != 3 || !c.Represent.(*largemvc.SoftThreshold).Unconstrained {
		t.Errorf("%+v, %+v", c, c.Represent)
	}
	if strings.Join(o.data, " ") != "a.npz b.npz" || o.views != "X0,X1" || o.labels != "" || !o.quiet || !o.given["clusters"] {
		t.Errorf("data %q, views %q, labels %q, given %v", o.data, o.views, o.labels, o.given)
	}
	if o, _, err = parseFit([]string{"c.npz", "-config", path}); err != nil || strings.Join(o.data, " ") != "c.npz" {
		t.Errorf("data %q, %v", o.data, err)
	}
	none := []string{"c.npz", "-set", "Neighborhood.Neighbors=-1", "-set", "Float64=false", "-clusters", "2"}
	if o, _, err = parseFit(none); err != nil || o.config.Neighborhood.Neighbors != -1 || o.config.Float64 {
		t.Errorf("%+v, %v", o.config, err)
	}
}

// The published optimiser as a file: thresholds keep their first values.
func TestPublishedConfig(t *testing.T) {
	o, _, err := parseFit([]string{"a.npz", "-clusters", "3", "-config", "../../examples/recipes/published.json"})
	if err != nil {
		t.Fatal(err)
	}
	got, want := o.config.WithDefaults(), largemvc.PaperConfig(3)
	want.Represent, want.Noise = &largemvc.SoftThreshold{Unconstrained: true, Fixed: true},
		&largemvc.RowShrink{Rho0: 0.001, Unconstrained: true, Fixed: true}
	if want.Optimizer = optim.Published(); !reflect.DeepEqual(got, want.WithDefaults()) {
		t.Errorf("%+v, want %+v", got, want.WithDefaults())
	}
}

func TestConfigFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"Neighborhood": {"Setps": 8}}`: "no setting Neighborhood.Setps: did you mean Neighborhood.Steps?",
		`{"cluster": 3}`:                 "did you mean",
		`{"entirely-else": 3}`:           "there is no setting entirely-else: give a flag, or one of Clusters",
		`{"Clusters": [2, 3]}`:           `Clusters is [2,3]: must be a whole number`,
		`{"Known": [0, 1]}`:              "Known has no value here: give -known",
		`{"quiet": "maybe"}`:             `quiet is "maybe"`,
		`{"config": "b.json"}`:           "no setting config",
		`{"Clusters": 3} {}`:             "no JSON object",
		`[3]`:                            "no JSON object",
		`{"view": ["a=1"], "Noise": {"Type": "NoNoise", "Type": "RowShrink"}}`: "Noise.Type is there twice",
		`{"k": 3, "data": "x.npz", "Clusters": 4}`:                             "k and Clusters are one setting",
		`{"device": "cpu", "Machine": {"Device": "auto"}}`:                     "device and Machine.Device are one setting",
	} {
		path := writeText(t, "fit.json", text)
		status, stdout, stderr := runLine("fit", "x.npz", "-config", path)
		checkFailure(t, text, exitUsage, status, stdout, stderr, "-config "+path)
		if !strings.Contains(stderr, want) {
			t.Errorf("%s: %s, want %q", text, stderr, want)
		}
	}
	status, stdout, stderr := runLine("fit", "x.npz", "-set", "Layrs=3")
	checkFailure(t, "-set", exitUsage, status, stdout, stderr, "did you mean Layers?")
	status, stdout, stderr = runLine("fit", "x.npz", "-config", "none.json")
	checkFailure(t, "no file", exitError, status, stdout, stderr, "-config none.json")
}

// TestWriteConfig: a fit by the file that a fit or inspect wrote gives the same labels.
func TestWriteConfig(t *testing.T) {
	folder := t.TempDir()
	data, table := writeSet(t, 90, true), filepath.Join(folder, "t.csv")
	text := "id,a,b,c,d\n"
	for i := range 60 {
		text += fmt.Sprintf("s%d,%d,%d,%d,%d\n", i, i%3*10+i%4, i*i%7, i%3*5, i*i%11)
	}
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	some, _ := knownData(t)
	file := filepath.Join(folder, "fit.json")
	fit := func(args ...string) string {
		t.Helper()
		out := filepath.Join(folder, "out.csv")
		if status, _, stderr := runLine(append([]string{"fit", "-quiet", "-out", out}, args...)...); status != exitOK {
			t.Fatal(stderr)
		}
		labels, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(labels)
	}
	for i, args := range []string{
		data + " -mask " + writeMask(t, 90, 0.2, 3) + " -seed 18446744073709551615 -epochs 3",
		data + " -preset paper -set Noise=NoNoise -set Represent.Theta0=0.02 -epochs 0 -labels none -k 4",
		filepath.Join(some, "all.csv") + " -known species -leave-out d -epochs 2",
		table + " -view p=a,b -view q=c,d -transform p=log1p -clusters auto -start careful -set Restarts=2 -epochs 2",
	} {
		if i == 3 && !testutil.Slow { // seconds
			continue
		}
		want := fit(append(strings.Fields(args), "-write-config", file)...)
		if got := fit("-config", file); got != want {
			written, _ := os.ReadFile(file)
			t.Errorf("%s: other labels by\n%s", args, written)
		}
		written := readText(t, file)
		column := strings.Contains(written, `"known": "species"`) && strings.Contains(written, `"leave-out": "d"`)
		if column != (i == 2) {
			t.Errorf("%s: written\n%s", args, written)
		}
		again := filepath.Join(folder, "again.json")
		fit("-config", file, "-write-config", again)
		if a, b := readText(t, file), readText(t, again); a != b {
			t.Errorf("%s: written\n%s\nthen\n%s", args, a, b)
		}
	}
	fit(data, "-epochs", "0", "-missing-rows=false", "-write-config", file)
	if text := readText(t, file); !strings.Contains(text, `"missing-rows": false`) {
		t.Errorf("a flag of false is written as %s", text)
	}
	status, _, stderr := runLine("inspect", data, "-write", file)
	if status != exitOK || fit("-config", file) != fit(data) {
		t.Errorf("inspect: status %d, %s, %s", status, stderr, readText(t, file))
	}
	if text := readText(t, file); !strings.Contains(text, `"Epochs": 0,`) || !strings.Contains(text, `"KMeansStarts": 0,`) {
		t.Errorf("the file has defaults of one number of clusters: %s", text)
	}
	status, _, stderr = runLine("fit", data, "-write-config", data)
	if status != exitUsage || !strings.Contains(stderr, "-write-config") {
		t.Errorf("over the data: status %d, %s", status, stderr)
	}
}
