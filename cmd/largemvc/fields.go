package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/textfile"
)

// fieldFlags has the flags that set the fields of largemvc.Config and dataset.Options. The packages name fields in their
// messages, which the command shows with its flags.
var fieldFlags = map[string]string{
	"Config.Clusters": "clusters", "Config.Epochs": "epochs", "Config.Seed": "seed", "Config.Checkpoint.Path": "checkpoint",
	"Config.Machine.Workers": "workers", "Config.Machine.Device": "device", "Config.Machine.MaxMemory": "max-memory",
	"Config.Machine.Comm": "mpi", "Config.StartLabels": "start", "Config.Known": "known",

	"Options.Views": "views", "Options.Labels": "labels", "Options.LeaveOut": "leave-out", "Options.IDs": "id",
	"Options.NoLabels": "labels none", "Options.NoIDs": "id none",
	"Options.Table": "view", "Options.OneHot": "one-hot", "Options.Decimal": "decimal", "Options.Header": "header",
	"Options.Orientation": "orientation", "Options.Triplets": "triplets", "Options.MissingRows": "missing-rows",
	"Options.Impute": "impute", "Options.Transform": "transform",
	"Options.MaskFile": "mask", "Options.MaxBytes": "max-memory", "Options.Scratch": "scratch", "Options.Float": "set Float64",
}

// fieldName matches a field in a message.
var fieldName = regexp.MustCompile(`\b(Config|Options)(\.[A-Z]\w*)+`)

// flagOf returns what sets a field on the command line: its flag, or -set; empty where nothing does.
func flagOf(field string) string {
	if flag, ok := fieldFlags[field]; ok {
		return "-" + flag
	}
	if name, ok := strings.CutPrefix(field, "Config."); ok && slices.Contains(settings(), name) {
		return "-set " + name
	}
	return ""
}

// withFlags returns a text with flags in place of fields.
func withFlags(text string) string {
	return fieldName.ReplaceAllStringFunc(text, func(field string) string {
		return cmp.Or(flagOf(field), field)
	})
}

// said returns the text of an error, with flags in place of fields.
func said(err error) string {
	if wrong, ok := err.(*largemvc.FieldError); ok {
		if flag := flagOf("Config." + wrong.Field); flag != "" {
			return fmt.Sprintf("%s is %v: must be %s", flag, wrong.Value, wrong.Want)
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
	return textfile.Printable(withoutSecrets(strings.Join(lines, "; ")))
}

// The parts of an address that may be secret: a user before the server, and a query.
var (
	addressUser  = regexp.MustCompile(`(?i)\b(https?://)[^/?\s"]*@`)
	addressQuery = regexp.MustCompile(`(?i)\b(https?://[^\s"?#]*)[?#][^\s"]*[^\s":]`)
)

// withoutSecrets returns a text whose addresses have no user and no query.
func withoutSecrets(text string) string {
	return addressQuery.ReplaceAllString(addressUser.ReplaceAllString(text, "$1"), "$1")
}

// hasSecret says whether a path is an address that may hold a secret.
func hasSecret(path string) bool { return isAddress(path) && strings.ContainsAny(path, "?#@") }

// shownPath is a path without the user and the query of an address.
func shownPath(path string) string {
	if isAddress(path) {
		path, _, _ = strings.Cut(path, "?")
		path, _, _ = strings.Cut(path, "#")
	}
	return withoutSecrets(path)
}
