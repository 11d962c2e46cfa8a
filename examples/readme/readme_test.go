package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/synthetic"
)

func Example() {
	main()
	// Output:
	// [0 1 2 0 1 2 0 1 2 0] [100 100 100]
	// [0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1]
}

func TestFromFile(t *testing.T) {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 90, Clusters: 3, Dims: []int{20, 12}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "set.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	c, err := fromFile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := largemvc.Evaluate(set.Labels, c.Labels); err != nil || s.ACC < 0.99 {
		t.Errorf("ACC %v, %v", s.ACC, err)
	}
	if _, err := fromFile(context.Background(), path+".none"); err == nil {
		t.Error("a file that does not exist is read")
	}
}

func TestMissingView(t *testing.T) {
	x, classes := synthetic.Views(1, 300, 3, 0.5, 40, 16)
	hasText := make([]bool, 300)
	for i := range hasText {
		hasText[i] = i%4 != 0
	}
	c, err := missingView(context.Background(), x[0], x[1], hasText)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := largemvc.Evaluate(classes, c.Labels); err != nil || s.ACC < 0.99 {
		t.Errorf("ACC %v, %v", s.ACC, err)
	}
}

func TestSaveLoadPredict(t *testing.T) {
	x, _ := synthetic.Views(1, 300, 3, 0.5, 40, 16)
	views := []largemvc.View{largemvc.MatrixView(x[0]), largemvc.MatrixView(x[1])}
	c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: 3, Epochs: 5})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := saveLoadPredict(context.Background(), c, filepath.Join(t.TempDir(), "model"), views)
	if err != nil || !slices.Equal(labels, c.Labels) {
		t.Errorf("labels %v, want %v; %v", labels, c.Labels, err)
	}
}

// goBlocks returns the lines of every Go block of a Markdown text, without indentation, alignment and empty lines.
func goBlocks(markdown string) [][]string {
	var blocks [][]string
	inside := false
	for line := range strings.Lines(markdown) {
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case !inside && line == "```go":
			inside = true
			blocks = append(blocks, nil)
		case inside && strings.HasPrefix(line, "```"):
			inside = false
		case inside && line != "":
			blocks[len(blocks)-1] = append(blocks[len(blocks)-1], line)
		}
	}
	return blocks
}

// marked returns the lines of every marked part of a Go source, in the same form.
func marked(source string) [][]string {
	var parts [][]string
	inside := false
	for line := range strings.Lines(source) {
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case strings.HasPrefix(line, "// README: "):
			inside = true
			parts = append(parts, nil)
		case line == "// end":
			inside = false
		case inside && line != "":
			parts[len(parts)-1] = append(parts[len(parts)-1], line)
		}
	}
	return parts
}

// strangers returns the blocks that are no part of the sources.
func strangers(blocks, parts [][]string) [][]string {
	var out [][]string
	for _, b := range blocks {
		if !slices.ContainsFunc(parts, func(p []string) bool { return slices.Equal(b, p) }) {
			out = append(out, b)
		}
	}
	return out
}

func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]string
	for _, name := range []string{"main.go", "snippets.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, marked(string(source))...)
	}
	if len(parts) != 4 {
		t.Fatalf("%d marked parts", len(parts))
	}
	blocks := goBlocks(string(readme))
	if len(blocks) == 0 {
		t.Error("README.md has no Go block")
	}
	for _, b := range strangers(blocks, parts) {
		t.Errorf("README.md has code that is not in this folder:\n%s", strings.Join(b, "\n"))
	}
	// Any change of a block is found.
	for _, text := range []string{"```go\nx := 1\n```\n", "```go\n" + strings.Join(parts[0][1:], "\n") + "\n```\n"} {
		if b := goBlocks(string(readme) + text); len(strangers(b, parts)) != len(strangers(blocks, parts))+1 {
			t.Errorf("not found: %s", text)
		}
	}
}
