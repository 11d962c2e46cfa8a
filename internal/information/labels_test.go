package information

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/neighbor"
)

// someLabels are random labels from 0 to m−1 and their Q, a one in each row.
func someLabels(n, m int, seed uint64) (labels []int, q *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, seed))
	labels, q = make([]int, n), mat.NewDense(n, m, nil)
	for i := range labels {
		labels[i] = rng.IntN(m)
		q.Set(i, labels[i], 1)
	}
	return labels, q
}

// The score of labels is the information of the table of neighbours' clusters, and a second call knows nothing of the first.
func TestNeighborScoreOfLabels(t *testing.T) {
	const n = 80
	for k, m := range []int{5, 5, scoreColumns + 50, scoreColumns + 50} {
		factor := k%2 > 0
		graph := someGraph(t, n, factor)
		score := NewNeighbors[float64](nil, 2, m, graph, 0.3).LabelScore()
		full := testutil.FullGraph(t, graph, kernel.Pad)
		for seed := range uint64(2) {
			labels, q := someLabels(n, m, seed)
			var near, joint mat.Dense
			near.Mul(full, q)
			joint.Mul(q.T(), &near)
			got, err := score(context.Background(), labels)
			if err != nil {
				t.Fatal(err)
			}
			if want := testutil.TableInformation(&joint); math.Abs(got-want) > 1e-12 {
				t.Errorf("factor %v, labels %d: %v, want %v", factor, seed, got, want)
			}
		}
	}
}

// The score of labels is the information of them and of what the other samples guess from their labels.
func TestHeldOutScoreOfLabels(t *testing.T) {
	const n, m, penalty, temperature = 37, 4, 0.02, 0.3
	side, x := twoViews(n, false)
	held, err := NewLeaveOneOut(context.Background(), x, Regression{Penalty: penalty, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	score := NewHeldOut(2, m, held, temperature).LabelScore()
	for seed := range uint64(2) {
		labels, q := someLabels(n, m, seed)
		guess := testutil.LeaveOneOut(side, q, penalty)
		for i := range n {
			row, sum := guess.RawRowView(i), 0.0
			for j, e := range row {
				row[j] = math.Exp(e / temperature)
				sum += row[j]
			}
			for j := range row {
				row[j] /= sum
			}
		}
		var joint mat.Dense
		joint.Mul(q.T(), guess)
		got, err := score(context.Background(), labels)
		if err != nil {
			t.Fatal(err)
		}
		if want := testutil.TableInformation(&joint); math.Abs(got-want) > 1e-6 {
			t.Errorf("labels %d: %v, want %v", seed, got, want)
		}
	}
}

// Samples that have no neighbours say nothing of each other's clusters: no information, and no slope.
func TestNoNeighbors(t *testing.T) {
	const n, m = 30, 3
	links, err := neighbor.NewLinks(n, n, make([]int, n+1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := neighbor.NewGraph(links)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	ld := kernel.Pad(m)
	h, padded := make([]float64, n*m), make([]float64, n*ld)
	for i := range h {
		h[i] = rng.NormFloat64()
		padded[i/m*ld+i%m] = h[i]
	}
	s := NewNeighbors[float64](nil, 1, m, graph, 0)
	labels, _ := someLabels(n, m, 1)
	if x, err := s.LabelScore()(context.Background(), labels); x != 0 || err != nil {
		t.Errorf("the score of labels is %v (%v)", x, err)
	}
	table, err := s.Table(h)
	if err != nil {
		t.Fatal(err)
	}
	slope, err := s.Gradient(h, table, -1)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := NewTerms(n, m, TermsOptions[float64]{Graph: graph, Neighbors: 2})
	if err != nil {
		t.Fatal(err)
	}
	dh := make([]float64, n*ld)
	if x := inSteps(terms, padded, dh); x != 0 || table.Information != 0 {
		t.Errorf("the information is %v, in steps %v", table.Information, x)
	}
	for _, x := range append(slope, dh...) {
		if x != 0 {
			t.Fatalf("a slope of %v", x)
		}
	}
}

// Q is the nearest cluster alone where the temperature is very low.
func TestLowTemperature(t *testing.T) {
	s := newSoftAssignment[float64](nil, 1, 1, 3, 1e-4)
	q := make([]float64, 3)
	s.assign([]float64{2, 3, -1}, make([]float64, 3), q)
	if q[0] != 0 || q[1] != 1 || q[2] != 0 {
		t.Errorf("Q = %v", q)
	}
}
