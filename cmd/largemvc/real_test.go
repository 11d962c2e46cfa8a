package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// TestRealInspect looks at every MATLAB file as users have them.
func TestRealInspect(t *testing.T) {
	folder := filepath.Join(testutil.RealSets(t), "mat")
	for name, wants := range map[string][]string{
		"3-sources.mat": {"MATLAB v5", "169 samples, 3 views, rows are samples", "6 classes", "sparse",
			"suggested: no flags"},
		"MSRCV1.mat": {"MATLAB v5", "210 samples, 6 views, rows are samples", "7 classes", "suggested: no flags",
			"(-set Neighborhood.Neighbors=none) give -set Preprocess=balanced too"},
		"MSRCV1_v73.mat": {"MATLAB v7.3", "210 samples, 6 views, rows are samples", "7 classes", "suggested: no flags",
			"(-set Neighborhood.Neighbors=none) give -set Preprocess=balanced too"},
		"uci-digit.mat": {"MATLAB v5", "2000 samples, 3 views, rows are samples", "10 classes", "suggested: no flags"},
		"webkb.mat":     {"MATLAB v5", "203 samples, 3 views, rows are samples", "4 classes", "suggested: no flags"},
		"synthetic_v73.mat": {"MATLAB v7.3", "200 samples, 2 views, rows are samples", "4 classes", "suggested: no flags",
			"(-set Neighborhood.Neighbors=none) give -set Preprocess=balanced too"},
		"BDGP_fea_Per0.5.mat": {"MATLAB v5", "2500 samples, 3 views, columns are samples", "5 classes",
			"1250 samples without all views; 25.3 % of the view rows are absent", "MissingStatus is not used"},
	} {
		status, stdout, stderr := runLine("inspect", filepath.Join(folder, name))
		if status != exitOK || stderr != "" {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
		for _, want := range append(wants, "memory of a fit: about") {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: the report lacks %q:\n%s", name, want, stdout)
			}
		}
	}
	// Triplets have to be asked for.
	path := filepath.Join(folder, "reuters.mat")
	status, stdout, stderr := runLine("inspect", path)
	if status != exitError || !strings.Contains(stderr, "triplets, see -triplets") || !strings.Contains(stdout, "48686×3") {
		t.Errorf("reuters.mat: status %d, %s%s", status, stdout, stderr)
	}
	if !testutil.Slow {
		return
	}
	if status, stdout, stderr = runLine("inspect", "-triplets", path); status != exitOK || !strings.Contains(stdout,
		"600 samples, 5 views, triplets") {
		t.Errorf("reuters.mat -triplets: status %d, %s%s", status, stdout, stderr)
	}
}

// fitted fits a real file and returns the report and the labels.
func fitted(t *testing.T, args ...string) (map[string]any, []int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "labels.csv")
	status, stdout, stderr := runLine(append([]string{"fit", "-json", "-quiet", "-out", out, "-data"}, args...)...)
	if status != exitOK {
		t.Fatalf("%q: %s", args, stderr)
	}
	labels, _ := table(t, out)
	return object(t, stdout), labels
}

// TestRealFormats fits the same set from each format and wants the same clusters.
func TestRealFormats(t *testing.T) {
	testutil.Long(t, "it fits eleven files")
	folder := testutil.RealSets(t)
	for name, files := range map[string][]string{
		"msrcv1": {"msrcv1.npz", "mat/MSRCV1.mat", "mat/MSRCV1_v73.mat"}, "3sources": {"3sources.npz", "mat/3-sources.mat"},
		"webkb": {"webkb.npz", "mat/webkb.mat"}, "ucidigit": {"ucidigit.npz", "mat/uci-digit.mat"},
	} {
		var first []int
		for _, file := range files {
			m, labels := fitted(t, filepath.Join(folder, file))
			if first == nil {
				first = labels
			}
			scores, err := largemvc.Evaluate(first, labels)
			if err != nil || scores.ARI < 0.99 {
				t.Errorf("%s: ARI %v with the clusters of %s, %v", file, scores.ARI, files[0], err)
			}
			t.Logf("%s: %s ACC %v, ARI %v with %s", name, file, m["acc"], scores.ARI, files[0])
		}
	}
	// Views of two features, which need care before their rows go to norm 1.
	for _, flags := range [][]string{nil, {"-set", "Neighborhood.Neighbors=none", "-set", "Preprocess=balanced"}} {
		if m, _ := fitted(t, append([]string{filepath.Join(folder, "mat/synthetic_v73.mat")},
			flags...)...); !(m["acc"].(float64) > 0.95) {
			t.Errorf("synthetic_v73.mat with %q: ACC %v", flags, m["acc"])
		}
	}
}

// TestRealMissing trains on a file that is incomplete, and predicts from it.
func TestRealMissing(t *testing.T) {
	testutil.Long(t, "it trains on 2,500 incomplete samples")
	path, model := filepath.Join(testutil.RealSets(t), "mat", "BDGP_fea_Per0.5.mat"), filepath.Join(t.TempDir(), "model")
	m, _ := fitted(t, path, "-save", model)
	if rate := m["missing_rate"].(float64); rate < 0.2525 || rate > 0.2535 {
		t.Errorf("missing rate %v", rate)
	}
	// A fifth of the samples is what chance gives.
	if acc := m["acc"].(float64); acc < 0.3 || !(m["loss_last"].(float64) < m["loss_first"].(float64)) {
		t.Errorf("ACC %v, loss %v to %v", acc, m["loss_first"], m["loss_last"])
	}
	status, stdout, stderr := runLine("predict", "-model", model, "-data", path, "-json")
	if status != exitOK {
		t.Fatal(stderr)
	}
	if p := object(t, stdout); p["acc"] != m["acc"] || p["missing_rate"] != m["missing_rate"] {
		t.Errorf("ACC %v, predicted %v; missing rate %v, %v", m["acc"], p["acc"], m["missing_rate"], p["missing_rate"])
	}
}

// TestRealTriplets reads views of tens of thousands of columns.
func TestRealTriplets(t *testing.T) {
	testutil.Long(t, "it trains on views of tens of thousands of columns")
	path := filepath.Join(testutil.RealSets(t), "mat", "reuters.mat")
	status, stdout, stderr := runLine("fit", path, "-triplets", "-epochs", "3", "-json", "-quiet", "-set", "NoStructure=true")
	if status != exitOK {
		t.Fatal(stderr)
	}
	m := object(t, stdout)
	if m["samples"] != 600.0 || m["views"] != 5.0 || m["acc"] == nil {
		t.Errorf("%v samples, %v views, ACC %v", m["samples"], m["views"], m["acc"])
	}
}
