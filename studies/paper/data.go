package main

import (
	"context"

	"github.com/largemvc/largemvc/studies/internal/sets"
)

// openSets opens what -data names; without it, MNIST views stand in.
func openSets(ctx context.Context, s *study) ([]*sets.Set, error) {
	if s.data == "" {
		n := sets.AllDigits
		if s.quick {
			n = 3000
		}
		d, err := sets.Digits(ctx, "", n, 0)
		if err != nil {
			return nil, err
		}
		return []*sets.Set{d}, nil
	}
	return sets.OpenAll(ctx, sets.Choice{Path: s.data, Only: s.only, Limit: s.limit, Warn: s.stderr})
}
