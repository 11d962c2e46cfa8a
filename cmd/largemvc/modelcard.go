package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/largemvc/largemvc"
)

// isModel tells whether a file is one that fit -save wrote, by its head.
func isModel(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 8+4096)
	n, _ := io.ReadFull(f, head) // a shorter file is as good
	if n < 10 || binary.LittleEndian.Uint64(head) > 1<<40 || head[8] != '{' {
		return false
	}
	return bytes.Contains(head[8:n], []byte(`"largemvc-model"`))
}

// printModel prints what there is to know of a model.
func printModel(w io.Writer, path string) error {
	p, err := largemvc.Load(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	c := p.Config()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("model", "%s, %.3g MiB", path, float64(info.Size())/(1<<20))
	line("training", "%s, %s (%s), seed %d, float%d", count(p.Samples(), "sample"), count(p.Epochs, "epoch"), p.Status, c.Seed,
		bits(c.Float64))
	line("", "on %v", p.Ran)
	if c.Restarts > 1 {
		line("", "run %d of %d, which was the best", p.Restart+1, c.Restarts)
	}
	if c.Neighborhood.OtherWeight > 0 && p.NeighborWeight > 0 {
		line("", "with weight %g of the neighbours, of %g and %g", p.NeighborWeight, c.Neighborhood.Weight,
			c.Neighborhood.OtherWeight)
	}
	if n := len(p.Loss); n > 0 {
		line("loss", "%.6g at the start, %.6g at the end", p.Loss[0], p.Loss[n-1])
	}
	dims := p.Dims()
	for v, name := range p.ViewNames() {
		features := "features without names"
		if f := p.FeatureNames(v); len(f) > 0 {
			features = "features " + f[0]
			if len(f) > 1 {
				features += " … " + f[len(f)-1]
			}
		}
		if name == "" {
			name = "without a name"
		}
		line(fmt.Sprintf("view %d", v), "%s, %s, %s", name, count(dims[v], "feature"), features)
	}
	line("clusters", "%d of sizes %s", p.Clusters, join(p.Sizes, ", "))
	if p.Kept {
		line("", "those of the start, which tell more about neighbours and features than the trained network's")
	}
	variant, activation := networkOf(&c)
	line("network", "%s, %s, %s, %v, %v preset", variant, count(c.Layers, "layer"), count(c.Anchors, "anchor"),
		activation, c.Preset)
	var inputs []string
	for _, in := range p.Inputs() {
		inputs = append(inputs, fmt.Sprintf("view %d %v (%d)", in.View, in.Preprocess, in.Columns))
	}
	line("inputs", "%s", strings.Join(inputs, ", "))
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	line("settings", "%s", text)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nlabels for new samples: largemvc predict -model %s -data FILE -out labels.csv\n", path)
	return err
}
