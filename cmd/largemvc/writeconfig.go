package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/lists"
)

// inConfig are the flags that a written configuration has beside the fields of Config.
var inConfig = []string{"labels", "id", "views", "view", "leave-out", "one-hot", "mask", "missing-rows", "triplets", "sparse",
	"orientation", "header", "decimal", "max-memory", "impute", "transform", "from-disk", "scratch", "start", "known", "device"}

// writeConfig writes the flags for the data and all settings as -config reads them; more has further values. Defaults are filled
// in but for the numbers of neighbours, anchors and epochs, the starts of k-means and the learning rate, which depend on others.
func writeConfig(w io.Writer, f *flags, c largemvc.Config, more map[string]any) error {
	given := c
	c = c.WithDefaults()
	c.Neighborhood.Neighbors, c.Epochs, c.KMeansStarts = given.Neighborhood.Neighbors, given.Epochs, given.KMeansStarts
	c.Optimizer.LearningRate = given.Optimizer.LearningRate
	c.StartLabels, c.Known = nil, nil
	if c.Anchors == c.Clusters {
		c.Anchors = 0 // they follow the number of clusters
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	values := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a seed has 64 bits
	if err := d.Decode(&values); err != nil {
		return err
	}
	maps.DeleteFunc(values, func(_ string, value any) bool { return value == nil })
	values["Checkpoint"] = map[string]int{"Every": c.Checkpoint.Every}
	if !slices.ContainsFunc(*f.data, hasSecret) { // else -data must be given again
		values["data"] = *f.data
	}
	f.Visit(func(fl *flag.Flag) {
		if slices.Contains(inConfig, fl.Name) {
			values[fl.Name] = configValue(fl.Value)
		}
	})
	maps.Copy(values, more)
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	return to.Encode(values)
}

// configValue is the value of a flag in JSON.
func configValue(v flag.Value) any {
	switch v := v.(type) {
	case tableViews:
		return lists.Texts(*v.p, func(x dataset.TableView) string { return x.Name + "=" + strings.Join(x.Columns, ",") })
	case transforms:
		return strings.Join(lists.Texts(slices.Sorted(maps.Keys(*v.p)), func(name string) string {
			return strings.TrimPrefix(name+"="+(*v.p)[name].String(), "*=")
		}), ",")
	case interface{ IsBoolFlag() bool }:
		return v.(flag.Value).String() == "true"
	}
	return v.String()
}
