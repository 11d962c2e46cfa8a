package main

import (
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
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
