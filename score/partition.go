package score

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// partition is a matrix of rows with the number of each row's cluster.
type partition struct {
	rows    *rows.Dense[float64]
	n, d    int
	cluster []int // of each row, from 0
	sizes   []int // of the clusters
}

func newPartition(x mat.Matrix, labels []int) (*partition, error) {
	dense, err := rows.FromMatrix(x)
	if err != nil {
		return nil, fmt.Errorf("score: %w", err)
	}
	p := &partition{rows: inRange(dense)}
	p.n, p.d = dense.Dims()
	if len(labels) != p.n {
		return nil, fmt.Errorf("score: the number of labels is %d, want %d: one for each row of x", len(labels), p.n)
	}
	var distinct []int
	distinct, p.cluster = number(labels)
	if len(distinct) < 2 || len(distinct) >= p.n {
		return nil, fmt.Errorf("score: the labels have %[2]d clusters, want 2 to %[1]d", p.n-1, len(distinct))
	}
	p.sizes = make([]int, len(distinct))
	for _, k := range p.cluster {
		p.sizes[k]++
	}
	return p, nil
}

func (p *partition) row(i int) []float64 { return p.rows.View(i) }

// centres returns the means of the clusters and the mean of all rows.
func (p *partition) centres() (centres [][]float64, mean []float64) {
	centres, mean = make([][]float64, len(p.sizes)), make([]float64, p.d)
	for k := range centres {
		centres[k] = make([]float64, p.d)
	}
	for i, k := range p.cluster {
		kernel.AddTo(centres[k], p.row(i))
	}
	for k, c := range centres {
		kernel.AddTo(mean, c)
		for j := range c {
			c[j] /= float64(p.sizes[k])
		}
	}
	for j := range mean {
		mean[j] /= float64(p.n)
	}
	return centres, mean
}

// centred returns the rows less their mean, without gaps. Distances are the same and lose fewer digits as differences of squares.
func (p *partition) centred() []float64 {
	_, mean := p.centres()
	out := make([]float64, p.n*p.d)
	for i := range p.n {
		for j, a := range p.row(i) {
			out[i*p.d+j] = a - mean[j]
		}
	}
	return out
}
