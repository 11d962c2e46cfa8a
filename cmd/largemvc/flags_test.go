package main

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/kernel"
)

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"help"}, {"--help"}} {
		if status, stdout, stderr := runLine(args...); status != exitOK || stderr != "" || !strings.Contains(stdout,
			"largemvc fit") {
			t.Errorf("%v: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
	for name, made := range map[string]struct {
		f      *flags
		fewest int
	}{
		"fit": {fitFlags(&fitOptions{}), 40}, "predict": {predictFlags(&predictOptions{}), 11},
		"inspect": {inspectFlags(&inspectOptions{}), 8},
	} {
		status, stdout, stderr := runLine(name, "-h", "all")
		if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "Usage: largemvc "+name) {
			t.Fatalf("%s: status %d, %q", name, status, stderr)
		}
		if _, other, _ := runLine("help", name, "all"); other != stdout {
			t.Errorf("help %s says something else", name)
		}
		listed := 0
		made.f.VisitAll(func(fl *flag.Flag) {
			listed++
			if !strings.Contains(stdout, "\n  -"+fl.Name) {
				t.Errorf("%s: -%s is not explained", name, fl.Name)
			}
			argument, text := flag.UnquoteUsage(fl)
			if fl.DefValue != "" && !strings.Contains(stdout, "(default "+defaultText(fl)+")") {
				t.Errorf("%s: -%s has no default in the help", name, fl.Name)
			}
			if fl.DefValue == "" && fl.Name != "data" && !strings.Contains(text, "default") {
				t.Errorf("%s: -%s does not say what happens without it", name, fl.Name)
			}
			if argument == "value" || argument == "string" || argument == "int" || argument == "float" {
				t.Errorf("%s: -%s does not name its argument", name, fl.Name)
			}
		})
		if strings.Contains(stdout, "default default") {
			t.Errorf("%s: the help has a default without quotes", name)
		}
		if listed < made.fewest {
			t.Errorf("%s: %d flags", name, listed)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "-version", "--version"} {
		status, stdout, stderr := runLine(arg)
		if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "largemvc ") || !strings.Contains(stdout,
			runtime.Version()) {
			t.Errorf("%s: status %d, %q, %q", arg, status, stdout, stderr)
		}
		if lines := strings.Split(stdout, "\n"); len(lines) != 5 || !strings.HasPrefix(lines[1], "kernels  "+kernel.Path()) ||
			!strings.HasSuffix(lines[2], fmt.Sprintf("%d cores", runtime.NumCPU())) || !strings.HasPrefix(lines[3], "build    ") {
			t.Errorf("%s prints %q", arg, stdout)
		}
	}
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	if got := versionOf(info); got != "v1.2.3" {
		t.Error(got)
	}
	info = &debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"},
		}}
	if got := versionOf(info); got != "(devel) 0123456789ab, modified" {
		t.Error(got)
	}
	info.Settings = append(
		info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"},
		debug.BuildSetting{Key: "GOAMD64", Value: "v3"},
	)
	if got := buildOf(info); got != "commit 0123456789ab, modified, without cgo, GOAMD64=v3" {
		t.Error(got)
	}
}

func TestEveryFieldCanBeSet(t *testing.T) {
	texts := strings.Fields("3 2.5 0.1 true selu balanced mean cuda a [1,2] NoNoise FixedAnchors SoftThreshold")
	for _, name := range settings() {
		set := false
		for _, text := range texts {
			o, _, err := parseFit([]string{"-data", "a.npz", "-set", name + "=" + text})
			set = set || err == nil && len(o.given) == 3
		}
		if !set {
			t.Errorf("%s takes none of %q", name, texts)
		}
	}
	var all []string
	addSettings("", reflect.ValueOf(largemvc.Config{}), &all)
	if len(settings()) < 35 || len(all) < 30 {
		t.Errorf("%q of %q", settings(), all)
	}
	for _, name := range append(forPrograms, slices.Sorted(maps.Keys(ownFlags))...) {
		if !slices.Contains(all, name) {
			t.Errorf("there is no Config.%s", name)
		}
		if _, _, err := parseFit([]string{"-data", "a.npz", "-set", name + "=3"}); err == nil {
			t.Errorf("Config.%s is set by a text", name)
		}
	}
	listed := fitFlags(&fitOptions{})
	for field, flag := range fieldFlags {
		name, of := strings.TrimPrefix(field, "Config."), reflect.TypeFor[dataset.Options]()
		_, known := of.FieldByName(strings.TrimPrefix(field, "Options."))
		flag, _, _ = strings.Cut(flag, " ")
		if !known && !slices.Contains(all, name) || listed.Lookup(flag) == nil {
			t.Errorf("%s: there is no such field, or no flag -%s", field, flag)
		}
	}
	if n := len(listed.list) - 4; n > 45 {
		t.Errorf("fit has %d flags, want at most 45", n)
	}
}

// TestAmounts gives numbers, and the words that stand for some.
func TestAmounts(t *testing.T) {
	neighbors := func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Neighbors) }
	for _, test := range []struct {
		args string
		of   func(*largemvc.Config) float64
		want float64
	}{
		{"", neighbors, 0},
		{"-set Neighborhood.Neighbors=none", neighbors, largemvc.None},
		{"-set Neighborhood.Neighbors=-1", neighbors, largemvc.None},
		{"-set Neighborhood.Steps=6", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Steps) }, 6},
		{"-set Neighborhood.Weight=None", func(c *largemvc.Config) float64 { return c.Neighborhood.Weight }, largemvc.None},
		{"-set Neighborhood.Weight=1.5", func(c *largemvc.Config) float64 { return c.Neighborhood.Weight }, 1.5},
		{"-epochs 7 -set Epochs=9", func(c *largemvc.Config) float64 { return float64(c.Epochs) }, 9},
		{"", func(c *largemvc.Config) float64 { return float64(c.Epochs) }, 0}, // the default of Config
		{"-epochs 0", func(c *largemvc.Config) float64 { return float64(c.Epochs) }, largemvc.None},
		{"-clusters auto -set Clusters=5", func(c *largemvc.Config) float64 { return float64(c.Clusters) }, 5},
	} {
		o, _, err := parseFit(append(strings.Fields(test.args), "-data", "a.npz"))
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}
		if got := test.of(&o.config); got != test.want {
			t.Errorf("%s gives %v, want %v", test.args, got, test.want)
		}
	}
}

func TestParseFit(t *testing.T) {
	o, _,
		err := parseFit(strings.Fields("-data a.npz -data b.npz -set Represent.Unconstrained=true -set Represent.OneSided=true " +
		"-set Noise.Unconstrained=true -set Anchor.Detach=true " +
		"-set Reduction=mean -set Tolerance=1e-4 -set Patience=9 -preset paper " +
		"-set PlainReadOut=false"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(o.data, " ") != "a.npz b.npz" {
		t.Errorf("data %q", o.data)
	}
	c := o.config
	soft, ok := c.Represent.(*largemvc.SoftThreshold)
	shrink, also := c.Noise.(*largemvc.RowShrink)
	if !ok || !also || !soft.Unconstrained || !soft.OneSided || !shrink.Unconstrained {
		t.Errorf("the modules are %+v, %+v", c.Represent, c.Noise)
	}
	if p, ok := c.Anchor.(*largemvc.Procrustes); !ok || !p.Detach {
		t.Errorf("the anchors' module is %+v", c.Anchor)
	}
	if c.Neighborhood.Neighbors != largemvc.None || c.PlainReadOut || c.Reduction != largemvc.ReductionMean ||
		c.Tolerance != 1e-4 || c.Patience != 9 {
		t.Errorf("%+v", c)
	}
}

// TestEmptyValues: no flag of any command takes an empty value for one that was not given, and no argument is empty.
func TestEmptyValues(t *testing.T) {
	for name, f := range map[string]*flags{
		"fit": fitFlags(&fitOptions{}), "predict": predictFlags(&predictOptions{}), "inspect": inspectFlags(&inspectOptions{}),
		"choose": chooseFlags(&chooseOptions{}), "report": reportFlags(&reportOptions{}), "device": deviceFlags(&deviceOptions{}),
		"compare": compareFlags(&compareOptions{}),
	} {
		f.VisitAll(func(fl *flag.Flag) {
			status, stdout, stderr := runLine(name, "-"+fl.Name+"=")
			checkFailure(t, name+" -"+fl.Name, exitUsage, status, stdout, stderr, "-"+fl.Name)
			value, _ := flag.UnquoteUsage(fl)
			for _, named := range []string{"FILE", "NAME", "FOLDER", "TEXT"} {
				if strings.HasPrefix(value, named) && !strings.Contains(value, "=") &&
					!strings.Contains(stderr, "must not be empty") {
					t.Errorf("%s -%s: %s", name, fl.Name, stderr)
				}
			}
		})
	}
	for _, args := range [][]string{{"compare", "", "b.csv"}, {"inspect", ""}, {"fit", "-data", "a.npz", ""}} {
		status, stdout, stderr := runLine(args...)
		checkFailure(t, strings.Join(args, " "), exitUsage, status, stdout, stderr, "must not be empty")
	}
}
