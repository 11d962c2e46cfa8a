package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// fit -features N has at most N features a cluster in the summary and in JSON, and says why it has none.
func TestFitFeatures(t *testing.T) {
	path := writeSet(t, 120, true)
	status, stdout, stderr := runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-json", "-features", "2")
	if status != exitOK {
		t.Fatal(stderr)
	}
	var got struct {
		Labels   []int
		Features []telling
		Untested *string    `json:"features_untested"`
		Again    []*float64 `json:"found_again"`
		Support  []*float64 `json:"view_support"`
		Clusters int        `json:"clusters_found"`
		Views    int
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	for _, f := range got.Features {
		if count[f.Cluster]++; f.P > 0.05 || f.View == "" || f.Feature == "" || (f.Mean > f.Elsewhere) != (f.Effect > 0) {
			t.Errorf("%+v", f)
		}
	}
	if got.Untested != nil || len(count) != got.Clusters || count[0] > 2 || len(got.Again) != got.Clusters ||
		len(got.Support) != got.Views {
		t.Errorf("%+v", got)
	}
	status, stdout, _ = runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-features", "1")
	if first := "cluster 0: " + got.Features[0].Feature; status != exitOK || !strings.Contains(stdout, first) {
		t.Errorf("the summary is %q", stdout)
	}
	status, stdout, _ = runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-features", "1", "-json",
		"-set", "NoStructure=true")
	if status != exitOK || !strings.Contains(stdout, `"features":null,"features_untested":"it was not judged`) {
		t.Errorf("status %d, %q", status, stdout)
	}
	for _, wrong := range [][]string{{"-features", "-1"}, {"-features", "2", "-from-disk"}} {
		if status, _, _ := runLine(append([]string{"fit", "-data", path}, wrong...)...); status != exitUsage {
			t.Errorf("%q ends with %d", wrong, status)
		}
	}
	status, stdout, _ = runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-json")
	const nothing = `"features":null,"features_untested":null,"found_again":null,"view_support":null`
	if status != exitOK || !strings.Contains(stdout, nothing) {
		t.Errorf("status %d, %q", status, stdout)
	}
}
