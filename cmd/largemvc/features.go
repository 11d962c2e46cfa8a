package main

import (
	"fmt"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// matchFeatures puts the features of a set in the order of the model, if asked to, and notes what cannot be compared.
func matchFeatures(model *largemvc.Predictor, set *dataset.Set, match bool) error {
	note := func(format string, args ...any) {
		set.Reading.Notes = append(set.Reading.Notes, fmt.Sprintf(format, args...))
	}
	for v := range set.Views {
		view := &set.Views[v]
		trained := model.FeatureNames(v)
		unnamed := view.Name
		if trained == nil {
			unnamed = "the training"
		}
		switch {
		case trained != nil && view.Features != nil && match:
			arranged, err := view.Arrange(trained)
			if err != nil {
				return err
			}
			if extra := others(view.Features, trained); len(extra) > 0 {
				note("%s: left out: %s that the model does not have: %s", view.Name, count(len(extra), "feature"),
					join(extra, ", "))
			}
			if !slices.Equal(view.Features, trained) {
				note("%s: its features are put in the order of the model", view.Name)
			}
			*view = arranged
		case trained != nil && view.Features != nil:
			if err := needsMatch(view, trained); err != nil {
				return err
			}
		case match:
			return usagef("predict: -match-features: the features of %s have no names", unnamed)
		case trained != nil || view.Features != nil:
			note("the features of %s have no names: the features of %s are taken in their order", unnamed, view.Name)
		}
	}
	return nil
}

// needsMatch is the error of a view that has all features of the training, but not in their order or not alone.
func needsMatch(view *dataset.View, trained []string) error {
	if slices.Equal(view.Features, trained) || len(others(trained, view.Features)) > 0 {
		return nil
	}
	has := "the features of the training in another order"
	if extra := others(view.Features, trained); len(extra) > 0 {
		has = fmt.Sprintf("all features of the training, and %s that the model does not have (%s)", count(len(extra), "feature"),
			join(extra, ", "))
	}
	return fmt.Errorf("%s has %s: give -match-features", view.Name, has)
}

// others returns the names that are not in known.
func others(names, known []string) []string {
	in := make(map[string]bool, len(known))
	for _, name := range known {
		in[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return in[name] })
}
