package main

import (
	"flag"
	"fmt"
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
		"fit": {fitFlags(&fitOptions{}), 48}, "predict": {predictFlags(&predictOptions{}), 11},
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
			if fl.DefValue != "" && !strings.Contains(stdout, "(default "+fl.DefValue+")") {
				t.Errorf("%s: -%s has no default in the help", name, fl.Name)
			}
			if fl.DefValue == "" && fl.Name != "data" && !strings.Contains(text, "default") {
				t.Errorf("%s: -%s does not say what happens without it", name, fl.Name)
			}
			if argument == "value" || argument == "string" || argument == "int" || argument == "float" {
				t.Errorf("%s: -%s does not name its argument", name, fl.Name)
			}
		})
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
			!strings.HasSuffix(
				lines[2], fmt.Sprintf("%d cores", runtime.NumCPU()),
			) || !strings.HasPrefix(lines[3], "build    ") {
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

// apart are the fields of Config, and of its modules, that no flag sets, and why.
var apart = map[string]string{
	"StartAnchors": "for programs: matrices in memory", "Noise.Scale": "for programs: a number for each input",
	"Machine.Overwrite": "always: the command has read the only copy",
	"Progress":          "the bar", "ExtraLoss": "for programs: a function",
}

// elsewhere are the fields that a flag of fieldFlags sets when the data are there or the processes have been joined.
var elsewhere = []string{"StartLabels", "Known", "Machine.MaxMemory", "Machine.Comm"}

// leaves sets the fields of a struct by their paths, of the structs in it too; what is in pointers is followed.
func leaves(path string, v reflect.Value, to map[string]any) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() { // an interface that holds nothing
		to[path] = "nil"
		return
	}
	if v.Kind() != reflect.Struct {
		if v.Kind() == reflect.Func {
			to[path] = v.IsNil()
			return
		}
		to[path] = fmt.Sprint(v.Interface())
		return
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			leaves(strings.TrimPrefix(path+"."+f.Name, "."), v.Field(i), to)
		}
	}
}

func TestEveryOptionHasAFlag(t *testing.T) {
	settings := func(name, value string) map[string]any {
		o := &fitOptions{}
		f := fitFlags(o)
		if name != "" && f.Set(name, value) != nil {
			return nil
		}
		o.configure()
		out := map[string]any{}
		leaves("", reflect.ValueOf(o.config), out)
		return out
	}
	before, listed := settings("", ""), fitFlags(&fitOptions{})
	if len(before) < 35 {
		t.Errorf("there are %d settings", len(before))
	}
	for name := range before {
		flag := fieldFlags["Config."+name]
		if why := apart[name]; (flag == "") != (why != "") || flag != "" && listed.Lookup(flag) == nil {
			t.Errorf("Config.%s has the flag %q of fieldFlags, and stands apart: %q", name, flag, why)
		}
		changes := flag == "" || slices.Contains(elsewhere, name)
		for _, value := range []string{"3", "2.5", "true", "selu", "paper", "balanced", "64", "free", "mean", "plain", "cuda"} {
			changes = changes || settings(flag, value)[name] != before[name]
		}
		if !changes {
			t.Errorf("-%s does not set Config.%s", flag, name)
		}
	}
	for field, flag := range fieldFlags {
		name, ok := strings.CutPrefix(field, "Config.")
		known := before[name] != nil
		if option, is := strings.CutPrefix(field, "Options."); is {
			_, known = reflect.TypeFor[dataset.Options]().FieldByName(option)
			ok = true
		}
		if !ok || !known || listed.Lookup(flag) == nil {
			t.Errorf("%s: there is no such field, or no flag -%s", field, flag)
		}
	}
	for variant, want := range map[string]string{"large": "*largemvc.RowShrink *largemvc.Procrustes",
		"amvc": "*largemvc.NoNoise *largemvc.Procrustes", "rmvc": "*largemvc.NoNoise *largemvc.FixedAnchors"} {
		o, _, err := parseFit([]string{"-data", "a.npz", "-variant", variant})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%T %T", o.config.Noise, o.config.Anchor); got != want {
			t.Errorf("-variant %s: modules %s, want %s", variant, got, want)
		}
	}
}

// TestAmounts gives numbers, and the words that stand for some.
func TestAmounts(t *testing.T) {
	for _, test := range []struct {
		args string
		of   func(*largemvc.Config) float64
		want float64
	}{
		{"", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Neighbors) }, 0},
		{"-neighbors auto", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Neighbors) }, 0},
		{"-neighbors none", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Neighbors) }, largemvc.None},
		{"-neighbors 0", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Neighbors) }, largemvc.None},
		{"-neighbors 7", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Neighbors) }, 7},
		{"-directions all", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Directions) }, largemvc.None},
		{"-directions 64", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Directions) }, 64},
		{"-filter-steps none", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Steps) }, largemvc.None},
		{"-filter-steps auto", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Steps) }, 0},
		{"-filter-steps 6", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Steps) }, 6},
		{"-neighbor-weight none", func(c *largemvc.Config) float64 { return c.Neighborhood.Weight }, largemvc.None},
		{"-neighbor-weight 0", func(c *largemvc.Config) float64 { return c.Neighborhood.Weight }, largemvc.None},
		{"-held-out-weight none", func(c *largemvc.Config) float64 { return c.Neighborhood.HeldOutWeight }, largemvc.None},
		{"-held-out-weight 2.5", func(c *largemvc.Config) float64 { return c.Neighborhood.HeldOutWeight }, 2.5},
		{"-neighbor-weight 1.5", func(c *largemvc.Config) float64 { return c.Neighborhood.Weight }, 1.5},
		{"-exact-neighbors 0", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Exact) }, largemvc.None},
		{"-exact-neighbors 5000", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Exact) }, 5000},
		{"-landmarks 50", func(c *largemvc.Config) float64 { return float64(c.Neighborhood.Landmarks) }, 50},
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
	o, _, err := parseFit([]string{"-data", "a.npz", "-data", "b.npz", "-epochs", "0", "-signs", "free", "-detach",
		"-one-sided", "-reduction", "mean", "-tolerance", "1e-4", "-patience", "9"})
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
	if c.Epochs != largemvc.None || c.Reduction != largemvc.ReductionMean ||
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
