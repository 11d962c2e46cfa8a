package main

import (
	"slices"

	"github.com/largemvc/largemvc/score"
)

// matching returns the class of each cluster, one to one, with which most samples agree; −1 for clusters left over.
func matching(classes, clusters []int) ([]int, error) {
	size := max(slices.Max(classes), slices.Max(clusters)) + 1
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
