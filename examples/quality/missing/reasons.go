package main

import (
	"context"
	"math/rand/v2"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/sets"
)

// reasons drops views by class.
func reasons() question {
	list := missingReasons()
	q := question{title: "ACC (%) of all samples, and of those that lack a view", lines: []string{"", ": those"}}
	for _, why := range list {
		q.cases = append(q.cases, why.name)
	}
	q.do = func(ctx context.Context, d *sets.Set, k, draw, epochs int) ([]float64, error) {
		mask := list[k].mask(d, rand.New(rand.NewPCG(uint64(draw), 19)))
		views, err := largemvc.Mask(d.Views, mask)
		if err != nil {
			return nil, err
		}
		c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: d.Classes, Seed: uint64(draw), Epochs: epochs})
		if err != nil {
			return nil, err
		}
		to, err := matching(d.Labels, c.Labels, d.Classes)
		if err != nil {
			return nil, err
		}
		hit, of := 0., 0.
		for i, row := range mask {
			for _, p := range row {
				if !p {
					of++
					if to[c.Labels[i]] == d.Labels[i] {
						hit++
					}
				}
			}
		}
		return []float64{matched(d.Labels, c.Labels, to), 100 * hit / max(of, 1)}, nil
	}
	return q
}

// reason is why rows of a view are absent.
type reason struct {
	name string
	mask func(d *sets.Set, rng *rand.Rand) [][]bool
}

// missingReasons are masks that are not drawn without regard to the classes.
func missingReasons() []reason {
	return []reason{
		{"none is absent", func(d *sets.Set, _ *rand.Rand) [][]bool { return whole(d) }},
		{"as many at random as in the next", func(d *sets.Set, rng *rand.Rand) [][]bool {
			like, out := largestLacks(d, 0, 0.5, rng), whole(d)
			left := 0
			for _, row := range like {
				if !row[0] {
					left++
				}
			}
			for _, i := range rng.Perm(d.N)[:left] {
				out[i][0] = false
			}
			return out
		}},
		{"half of the largest class lacks the first view", func(d *sets.Set, rng *rand.Rand) [][]bool {
			return largestLacks(d, 0, 0.5, rng)
		}},
		{"all of the largest class lacks the first view", func(d *sets.Set, rng *rand.Rand) [][]bool {
			return largestLacks(d, 0, 1, rng)
		}},
		{"half of every class lacks a view of its own", func(d *sets.Set, rng *rand.Rand) [][]bool {
			out := whole(d)
			for _, i := range rng.Perm(d.N)[:d.N/2] {
				out[i][d.Labels[i]%len(d.Views)] = false
			}
			return out
		}},
	}
}

func whole(d *sets.Set) [][]bool {
	out := make([][]bool, d.N)
	for i := range out {
		out[i] = make([]bool, len(d.Views))
		for v := range out[i] {
			out[i][v] = true
		}
	}
	return out
}

// largestLacks takes a view from a share of the largest class.
func largestLacks(d *sets.Set, view int, share float64, rng *rand.Rand) [][]bool {
	sizes, largest := make([]int, d.Classes), 0
	for _, l := range d.Labels {
		sizes[l]++
	}
	for c, size := range sizes {
		if size > sizes[largest] {
			largest = c
		}
	}
	out, left := whole(d), int(share*float64(sizes[largest]))
	for _, i := range rng.Perm(d.N) {
		if d.Labels[i] == largest && left > 0 {
			out[i][view] = false
			left--
		}
	}
	return out
}
