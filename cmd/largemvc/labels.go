package main

import (
	"math"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// writeLabels writes labels.csv: sample, label, and the squared distances to the two nearest centroids.
func writeLabels(path string, labels []int, near, next []float64) error {
	return dataset.WriteLabels(path, labels, dataset.Column{Name: "near", Data: near}, dataset.Column{Name: "next", Data: next})
}

// centroidDistances are the squared distances in H of the training samples to their centroid and to the nearest other one
// (+Inf if there is none). The views themselves may be overwritten by now.
func centroidDistances(c *largemvc.Clustering) (near, next []float64) {
	near, next = make([]float64, len(c.Labels)), make([]float64, len(c.Labels))
	centroids := c.Centroids()
	var row []float64
	for i, label := range c.Labels {
		row = c.H.Row(row, i)
		next[i] = math.Inf(1)
		for k := range c.Clusters {
			d := 0.0
			for j, x := range centroids.RawRowView(k) {
				d += (row[j] - x) * (row[j] - x)
			}
			if k == label {
				near[i] = d
			} else {
				next[i] = min(next[i], d)
			}
		}
	}
	return near, next
}
