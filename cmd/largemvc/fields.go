package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/textfile"
)

// fieldFlags has the flags that set the fields of largemvc.Config and dataset.Options. The packages name fields in their
// messages, which the command shows with its flags.
var fieldFlags = map[string]string{
	"Config.Clusters": "clusters", "Config.Anchors": "anchors", "Config.Layers": "layers",
	"Config.Represent.Theta0": "theta0", "Config.Represent.Lipschitz": "lipschitz", "Config.Represent.Activation": "activation",
	"Config.Represent.OneSided": "one-sided", "Config.Represent.Unconstrained": "signs",
	"Config.Noise.Rho0": "rho0", "Config.Noise.Activation": "activation", "Config.Noise.Unconstrained": "signs",
	"Config.Anchor.Detach": "detach",
	"Config.Preprocess":    "preprocess", "Config.PlainReadOut": "plain-read-out",
	"Config.Neighborhood.Neighbors": "neighbors", "Config.Neighborhood.Directions": "directions",
	"Config.Neighborhood.Steps": "filter-steps", "Config.Neighborhood.Weight": "neighbor-weight",
	"Config.Neighborhood.HeldOutWeight": "held-out-weight", "Config.Neighborhood.Exact": "exact-neighbors",
	"Config.Neighborhood.Landmarks": "landmarks",
	"Config.Epochs":                 "epochs", "Config.LearningRate": "lr", "Config.Reduction": "reduction",
	"Config.Tolerance": "tolerance", "Config.Patience": "patience",
	"Config.Seed": "seed", "Config.Restarts": "restarts", "Config.KMeansStarts": "kmeans-starts", "Config.Float64": "float",
	"Config.FitSamples": "fit-samples", "Config.Checkpoint.Path": "checkpoint", "Config.Checkpoint.Every": "checkpoint-every",
	"Config.Machine.Workers": "workers", "Config.Machine.Device": "device", "Config.Machine.MaxMemory": "max-memory",
	"Config.Machine.Comm": "mpi", "Config.StartLabels": "start-labels", "Config.Known": "known",
	"Config.Neighborhood.KnownWeight": "known-weight",
	"Config.NoStructure":              "no-structure",

	"Options.Views": "views", "Options.Labels": "labels", "Options.LeaveOut": "leave-out", "Options.IDs": "id",
	"Options.Table": "view", "Options.OneHot": "one-hot", "Options.Decimal": "decimal", "Options.Header": "header",
	"Options.Orientation": "orientation", "Options.Triplets": "triplets", "Options.MissingRows": "missing-rows",
	"Options.Impute": "impute", "Options.Transform": "transform",
	"Options.MaskFile": "mask", "Options.MaxBytes": "max-memory", "Options.Scratch": "scratch", "Options.Float": "float",
}

// fieldName matches a field in a message.
var fieldName = regexp.MustCompile(`\b(Config|Options)(\.[A-Z]\w*)+`)

// withFlags returns a text with flags in place of fields.
func withFlags(text string) string {
	return fieldName.ReplaceAllStringFunc(text, func(field string) string {
		if flag, ok := fieldFlags[field]; ok {
			return "-" + flag
		}
		return field
	})
}

// said returns the text of an error, with flags in place of fields.
func said(err error) string {
	if wrong, ok := err.(*largemvc.FieldError); ok {
		if flag, ok := fieldFlags["Config."+wrong.Field]; ok {
			return fmt.Sprintf("-%s is %v: must be %s", flag, wrong.Value, wrong.Want)
		}
	}
	text := err.Error()
	var within []error
	switch outer := err.(type) {
	case interface{ Unwrap() error }:
		within = []error{outer.Unwrap()}
	case interface{ Unwrap() []error }:
		within = outer.Unwrap()
	}
	for _, inner := range within {
		if inner != nil {
			text = strings.Replace(text, inner.Error(), said(inner), 1)
		}
	}
	return withFlags(text)
}

// oneLine is an error's text on one line, without the prefixes of this project's packages.
func oneLine(err error) string {
	lines := strings.Split(strings.TrimSpace(said(err)), "\n")
	for i, l := range lines {
		l = strings.TrimSpace(l)
		for _, prefix := range []string{"largemvc: ", "dataset: "} {
			l = strings.TrimPrefix(l, prefix)
		}
		lines[i] = l
	}
	return textfile.Printable(strings.Join(lines, "; "))
}
