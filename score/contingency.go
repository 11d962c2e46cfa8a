package score

import (
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/textfile"
)

// Contingency is the table of the number of samples of each class in each cluster. Its rows are the classes and its columns the
// clusters that occur, in increasing order of their labels. It stores only cells that are not 0, so that its size is O(n) for any
// number of classes and clusters.
type Contingency struct {
	classes, clusters        []int // the labels, in increasing order
	classSizes, clusterSizes []int
	cells                    []cell // by class, then by cluster
	samples                  int
}

// String returns the sizes of the table.
func (t *Contingency) String() string {
	return fmt.Sprintf("%s of %s in %s", textfile.Count(t.samples, "sample"), textfile.Count(len(t.classes), "class"),
		textfile.Count(len(t.clusters), "cluster"))
}

// cell is a number of samples > 0 in row class and column cluster.
type cell struct{ class, cluster, count int }

// NewContingency returns the table of n samples with the given class and cluster labels, in O(n log n). It returns an error if
// there is no sample or if the lengths differ.
func NewContingency(classes, clusters []int) (*Contingency, error) {
	if len(classes) != len(clusters) {
		return nil, fmt.Errorf("score: %d class labels and %d cluster labels, want equally many", len(classes), len(clusters))
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("score: there are no labels to compare")
	}
	t := &Contingency{samples: len(classes)}
	var rows, columns []int
	t.classes, rows = number(classes)
	t.clusters, columns = number(clusters)
	t.classSizes, t.clusterSizes = make([]int, len(t.classes)), make([]int, len(t.clusters))
	pairs := make([]cell, len(classes))
	for i, r := range rows {
		t.classSizes[r]++
		t.clusterSizes[columns[i]]++
		pairs[i] = cell{r, columns[i], 1}
	}
	slices.SortFunc(pairs, func(a, b cell) int {
		if a.class != b.class {
			return a.class - b.class
		}
		return a.cluster - b.cluster
	})
	for _, p := range pairs {
		if last := len(t.cells) - 1; last >= 0 && t.cells[last].class == p.class && t.cells[last].cluster == p.cluster {
			t.cells[last].count++
		} else {
			t.cells = append(t.cells, p)
		}
	}
	return t, nil
}

// number returns the distinct labels in increasing order and the place of each sample's label among them.
func number(labels []int) (distinct, places []int) {
	place := map[int]int{}
	for _, l := range labels {
		if _, ok := place[l]; !ok {
			place[l] = 0
			distinct = append(distinct, l)
		}
	}
	slices.Sort(distinct)
	for p, l := range distinct {
		place[l] = p
	}
	places = make([]int, len(labels))
	for i, l := range labels {
		places[i] = place[l]
	}
	return distinct, places
}

// Dims returns the number of classes and of clusters.
func (t *Contingency) Dims() (classes, clusters int) { return len(t.classes), len(t.clusters) }

// Samples returns the number of samples.
func (t *Contingency) Samples() int { return t.samples }

// Classes returns the class labels of the rows, in increasing order, and the number of samples in each.
func (t *Contingency) Classes() (labels, sizes []int) {
	return slices.Clone(t.classes), slices.Clone(t.classSizes)
}

// Clusters returns the cluster labels of the columns, in increasing order, and the number of samples in each.
func (t *Contingency) Clusters() (labels, sizes []int) {
	return slices.Clone(t.clusters), slices.Clone(t.clusterSizes)
}

// Counts returns the table as classes×clusters counts.
func (t *Contingency) Counts() [][]int {
	counts := make([][]int, len(t.classes))
	for i := range counts {
		counts[i] = make([]int, len(t.clusters))
	}
	for _, c := range t.cells {
		counts[c.class][c.cluster] = c.count
	}
	return counts
}
