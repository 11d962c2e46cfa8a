package main

import (
	"github.com/largemvc/largemvc/score"
)

// matching returns the class of each of so many clusters, one to one with as many classes, with which most samples agree.
func matching(classes, clusters []int, size int) ([]int, error) {
	cost := make([][]float64, size)
	for c := range cost {
		cost[c] = make([]float64, size)
	}
	for i, c := range clusters {
		cost[c][classes[i]]--
	}
	to, _, err := score.Assignment(cost)
	return to, err
}

// matched returns the percentage of samples whose cluster is matched to their class.
func matched(classes, clusters, to []int) float64 {
	hits := 0
	for i, c := range clusters {
		if to[c] == classes[i] {
			hits++
		}
	}
	return 100 * float64(hits) / float64(len(classes))
}

// asideParts is the number of parts of which each is matched by the others.
const asideParts = 5

// matchedAside is the accuracy of samples in random order whose matching they have no part in: that of every fifth of them comes
// from the other four.
func matchedAside(classes, clusters []int, size int) (float64, error) {
	sum := 0.
	for part := range asideParts {
		var in, out [2][]int // classes and clusters of those that are scored, and of the others
		for i, c := range clusters {
			to := &out
			if i%asideParts == part {
				to = &in
			}
			to[0], to[1] = append(to[0], classes[i]), append(to[1], c)
		}
		to, err := matching(out[0], out[1], size)
		if err != nil {
			return 0, err
		}
		if len(in[0]) > 0 {
			sum += matched(in[0], in[1], to) * float64(len(in[0]))
		}
	}
	return sum / float64(len(classes)), nil
}
