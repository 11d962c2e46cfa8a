package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestNamesInFigure: the names of methods whose points lie close together do not overlap.
func TestNamesInFigure(t *testing.T) {
	rows := []outcome{
		{method: "largemvc, default preset", seconds: 14.9, accuracy: 0.825},
		{method: "largemvc, initial clustering", seconds: 10.7, accuracy: 0.791},
		{method: "largemvc, paper preset", seconds: 13.5, accuracy: 0.597},
		{method: "k-means, z-scored", seconds: 4.5, accuracy: 0.531},
		{method: "k-means, unit rows", seconds: 3.8, accuracy: 0.601},
		{method: "spectral k-means", seconds: 3.8, accuracy: 0.574},
		{method: "LMVSC", seconds: 9.5, accuracy: 0.54},
		{method: "FDAGF", seconds: 31.9, accuracy: 0.523},
		{method: "EMVGC-LG", seconds: 6.6, accuracy: 0.534},
		{method: "AIMC", seconds: 4.5, accuracy: 0.547},
		{method: "OPMC", seconds: 5.7, accuracy: 0.48},
		{method: "sklearn KMeans, z-scored", seconds: 66.8, accuracy: 0.522},
		{method: "sklearn KMeans, unit rows", seconds: 54.4, accuracy: 0.598},
		{method: "sklearn MiniBatchKMeans, z-scored", seconds: 4.2, accuracy: 0.477},
		{method: "sklearn MiniBatchKMeans, unit rows", seconds: 2.6, accuracy: 0.542},
		{method: "PyTorch, literal network", seconds: 288.1, accuracy: 0.586},
	}
	path := filepath.Join(t.TempDir(), "x.svg")
	if err := saveFigure(path, []string{"set"}, [][]outcome{rows}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var boxes []box
	names := regexp.MustCompile(`<text x="([\d.]+)" y="([\d.]+)" font-size="11"[^>]*>([^<]*)<`).FindAllStringSubmatch(string(text), -1)
	for _, m := range names {
		x, errX := strconv.ParseFloat(m[1], 64)
		y, errY := strconv.ParseFloat(m[2], 64)
		if errX != nil || errY != nil {
			t.Fatal(m)
		}
		at := box{x, y - line + 4.2, letter * float64(len(m[3])), line - 0.4} // positions are rounded to 0.1
		for k, other := range boxes {
			if at.meets(other) {
				t.Errorf("%q overlaps %q", m[3], names[k][3])
			}
		}
		boxes = append(boxes, at)
	}
	if len(boxes) != len(rows) {
		t.Errorf("%d names, want %d", len(boxes), len(rows))
	}
}
