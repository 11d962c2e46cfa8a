package main

import (
	"bytes"
	"context"
	"regexp"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	// Sample i is of class i mod 5: the first five new ones are of all five clusters.
	found := regexp.MustCompile(`sample 50(\d): cluster (\d), confidence`).FindAllStringSubmatch(out.String(), -1)
	clusters := map[string]string{}
	for _, x := range found {
		clusters[x[2]] = x[1]
	}
	if len(found) != 5 || len(clusters) != 5 {
		t.Errorf("five samples of five classes are not of five clusters:\n%s", out.String())
	}
	alone := regexp.MustCompile(`by its second view alone: cluster (\d)\nA saved model gives clusters`)
	one := alone.FindStringSubmatch(out.String())
	if one == nil || clusters[one[1]] != "0" {
		t.Errorf("sample 500 has another cluster by its second view alone:\n%s", out.String())
	}
}
