package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/report"
)

// important holds the part of the summary that -features adds.
type important struct {
	Features []telling  `json:"features"`          // null: not asked for, or nothing was tested
	Untested *string    `json:"features_untested"` // why nothing was tested; null: something was, or it was not asked for
	Again    []*float64 `json:"found_again"`       // per cluster: share of its samples
	Support  []*float64 `json:"view_support"`      // per view: agreement with the clusters
}

// telling is a feature that distinguishes a cluster from all others.
type telling struct {
	Cluster   int     `json:"cluster"`
	View      string  `json:"view"`
	Feature   string  `json:"feature"`
	Mean      float64 `json:"mean"`
	Elsewhere float64 `json:"mean_elsewhere"`
	Effect    float64 `json:"effect"`
	P         float64 `json:"p"`
}

// findFeatures finds what -features asks for, also after an interrupt.
func (o *fitOptions) findFeatures(ctx context.Context, in *input, c *largemvc.Clustering, bar *progress.Bar) error {
	if o.features == 0 {
		return nil
	}
	defer bar.End()
	began := time.Now()
	found, err := report.Features(context.WithoutCancel(ctx), c, report.Options{
		Views: in.views, Seed: o.config.Seed, Workers: o.config.Machine.Workers,
		Progress: func(string, int, int) error { bar.Say("features", time.Since(began)); return nil },
	})
	if err != nil {
		return fmt.Errorf("no features: %w", err)
	}
	o.important = newImportant(found, o.features)
	return nil
}

// newImportant takes the largest features of each cluster.
func newImportant(found *report.Importance, most int) important {
	if found.Untested != "" {
		return important{Untested: &found.Untested}
	}
	out := important{Features: []telling{}}
	count := make([]int, len(found.Clusters))
	for _, f := range found.Features {
		if count[f.Cluster]++; count[f.Cluster] <= most {
			out.Features = append(out.Features, telling{f.Cluster, f.ViewName, f.Name, f.Mean, f.Elsewhere, f.Effect, f.P})
		}
	}
	for _, c := range found.Clusters {
		out.Again = append(out.Again, number(c.Again))
	}
	for _, v := range found.Views {
		out.Support = append(out.Support, number(v.Agreement))
	}
	return out
}

// lines says the same for people.
func (x *important) lines(clusters int) (lines []string) {
	switch {
	case x.Untested != nil:
		return []string{"none: " + *x.Untested}
	case x.Features == nil:
		return nil
	}
	for k := range clusters {
		var parts []string
		for _, f := range x.Features {
			if f.Cluster == k {
				parts = append(parts, fmt.Sprintf("%s of %s %+.2f", f.Feature, f.View, f.Effect))
			}
		}
		if parts == nil {
			parts = []string{"none"}
		}
		lines = append(lines, fmt.Sprintf("cluster %d: %s", k, strings.Join(parts, ", ")))
	}
	return lines
}
