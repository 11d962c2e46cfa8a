package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Data are arguments or follow -data; patterns are expanded, unless a file has that very name; -k is -clusters.
func TestArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"b.csv", "a.csv", "c[1].npy", "c1.npy"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		args, data []string
	}{
		{[]string{"one.npz", "-k", "7"}, []string{"one.npz"}},
		{[]string{"-data", "one.npz", "-k=7", "two.npz"}, []string{"one.npz", "two.npz"}},
		{[]string{"-k", "7", "*.csv"}, []string{"a.csv", "b.csv"}},
		{[]string{"-data", "?.csv", "-k", "7", "c[1].npy"}, []string{"a.csv", "b.csv", "c[1].npy"}},
		{[]string{"-", "--k", "7"}, []string{"-"}},
		{[]string{"x%d.npy", "-clusters", "7"}, []string{"x%d.npy"}},
	} {
		o, _, err := parseFit(x.args)
		if err != nil {
			t.Errorf("%q: %v", x.args, err)
			continue
		}
		if !slices.Equal(o.data, x.data) || o.config.Clusters != 7 || !o.given["clusters"] || o.given["k"] {
			t.Errorf("%q: data %q, %d clusters, flags %v", x.args, o.data, o.config.Clusters, slices.Sorted(maps.Keys(o.given)))
		}
	}
	if _, _, err := parseFit([]string{filepath.Join("none", "*.csv"), "-k", "2"}); err == nil {
		t.Error("no error for a pattern that nothing matches")
	}
}
