package main

import (
	"strings"
	"unicode"
)

// oneLine is an error's text on one line, without the prefixes of this project's packages.
func oneLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i, l := range lines {
		l = strings.TrimSpace(l)
		for _, prefix := range []string{"largemvc: ", "dataset: "} {
			l = strings.TrimPrefix(l, prefix)
		}
		lines[i] = l
	}
	return flagNames.Replace(strings.Map(visible, strings.Join(lines, "; ")))
}

// visible keeps what files have in their names from speaking to the terminal.
func visible(r rune) rune {
	if unicode.IsControl(r) {
		return '�'
	}
	return r
}

// flagNames says for the options that messages of the packages name which flags set them.
var flagNames = strings.NewReplacer("set Options.MissingRows", "give -missing-rows", "Options.MissingRows", "-missing-rows",
	"Options.Labels", "-labels", "Options.MaxBytes", "-max-memory", "Options.Triplets", "-triplets", "Options.Views", "-views",
	"Options.LeaveOut", "-leave-out", "Options.IDs", "-id", "Options.OneHot", "-one-hot", "Options.Orientation", "-orientation",
	"Options.Decimal", "-decimal", "Options.Header", "-header", "read them with Options.Float", "give fit -float",
	"put the features in the order of FeatureNames", "give -match-features", "Options.Table", "-view",
	"Options.Scratch", "-scratch", "two views of Table are", "two views (-view) are",
	"Machine.MaxMemory allows", "-max-memory allows", "joined by Machine.Comm", "joined by -mpi",
	"a single goroutine, Machine.Workers 1,", "-workers 1",
	"FitSamples trains on", "-fit-samples trains on", "want 1 to FitSamples", "want 1 to the number of -fit-samples",
	"number of Epochs can", "number of -epochs can")
