package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// settingFlags adds the flags that set others.
func (f *flags) settingFlags() {
	f.group("Settings by name")
	f.value(setting{f}, "set", "`FIELD=VALUE` of Config by its name, for example Neighborhood.Steps=8; give it several times. "+
		"By default\nfields have the values of their flags")
	f.string(&f.file, "config", "`FILE` of JSON, an object with fields of Config and flags by their names; "+
		"flags that are given win\n(examples/recipes/README.md). None by default")
}

// setting is the flag.Value of -set.
type setting struct{ f *flags }

func (s setting) String() string { return "" }

func (s setting) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || value == "" {
		return errors.New("must be FIELD=VALUE, for example Neighborhood.Steps=8")
	}
	return s.f.assign(name, value)
}

// flagValues are the values of flags for values that fields have in JSON.
var flagValues = map[string]string{"float true": "64", "float false": "32", "signs true": "free", "signs false": "nonnegative"}

// assign sets the flag of a field of Config, or of a name.
func (f *flags) assign(name, value string) error {
	to, err := f.flagOf(name)
	if err != nil {
		return err
	}
	if word, ok := flagValues[to+" "+value]; ok {
		value = word
	}
	if err = f.Set(to, value); err != nil && value == "-1" { // largemvc.None
		err = f.Set(to, "none")
	}
	if err != nil {
		return fmt.Errorf("%s is %q: %w", name, value, err)
	}
	return nil
}

// flagOf returns the flag of a field of Config, or of its own name.
func (f *flags) flagOf(name string) (string, error) {
	to, ok := fieldFlags["Config."+name]
	if !ok {
		to = name
	}
	if f.Lookup(to) != nil && to != "set" && to != "config" {
		return to, nil
	}
	words := map[string]string{}
	f.VisitAll(func(fl *flag.Flag) { words[fl.Name] = fl.Name })
	for field := range fieldFlags {
		if x, ok := strings.CutPrefix(field, "Config."); ok {
			words[strings.ToLower(x)] = x
		}
	}
	if meant := nearest(name, slices.Sorted(maps.Keys(words))); meant != "" {
		return "", fmt.Errorf("there is no setting %s: did you mean %s?", name, words[meant])
	}
	return "", fmt.Errorf("there is no setting %s: give a field of Config (Clusters, Neighborhood.Steps, …) or a flag", name)
}

// readFile sets the flags of the file of -config that the command line does not have; rest are its other arguments.
func (f *flags) readFile(rest []string) error {
	if f.file == "" {
		return nil
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return fmt.Errorf("-config %s: %w", f.file, reason(err))
	}
	var values map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&values); err != nil || d.More() {
		return usagef("%s: -config %s: no JSON object: %v", f.Name(), f.file, err)
	}
	given := f.given()
	given["data"] = given["data"] || len(rest) > 0
	if err := f.assignAll("", values, given); err != nil {
		return usagef("%s: -config %s: %v", f.Name(), f.file, err)
	}
	return nil
}

// assignAll sets the flags of an object of JSON, whose names begin with prefix, but for those given. A list is several values of
// -data and -view, and one with commas of other flags.
func (f *flags) assignAll(prefix string, values map[string]any, given map[string]bool) error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := prefix + key
		if within, ok := values[key].(map[string]any); ok {
			if err := f.assignAll(name+".", within, given); err != nil {
				return err
			}
			continue
		}
		to, err := f.flagOf(name)
		if err != nil {
			return err
		}
		if given[to] || values[key] == nil {
			continue
		}
		each := []string{fmt.Sprint(values[key])}
		if list, ok := values[key].([]any); ok {
			each = nil
			for _, x := range list {
				each = append(each, fmt.Sprint(x))
			}
			if to != "data" && to != "view" {
				each = []string{strings.Join(each, ",")}
			}
		}
		for _, value := range each {
			if err := f.assign(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}
