package baseline

import (
	"context"
	"math/rand/v2"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// partition is the state that AIMC and OPMC share: labels, and per view the sums of the samples of every cluster.
type partition struct {
	x      []*block
	c      int
	labels []int
	counts []float64
	sums   [][]float64 // c×d_v
	energy []float64   // ‖X_v‖²
}

func newPartition(x []*block, c int) *partition {
	p := &partition{x: x, c: c, labels: make([]int, x[0].n), counts: make([]float64, c)}
	for _, b := range x {
		e := 0.0
		for _, a := range b.x {
			e += float64(a) * float64(a)
		}
		p.energy = append(p.energy, e)
		p.sums = append(p.sums, make([]float64, c*b.d))
	}
	return p
}

const assignChunk = 1024

// accumulate sets the sums and counts of the labels; samples with the label −1 count nowhere.
func (p *partition) accumulate(ctx context.Context) error {
	clear(p.counts)
	for _, l := range p.labels {
		if l >= 0 {
			p.counts[l]++
		}
	}
	n := len(p.labels)
	for v, b := range p.x {
		sums := p.sums[v]
		clear(sums)
		err := parallel.Fold(ctx, 0, (n+assignChunk-1)/assignChunk,
			func() []float64 { return make([]float64, p.c*b.d) },
			func(_, k int, part []float64) error {
				clear(part)
				for i := k * assignChunk; i < min((k+1)*assignChunk, n); i++ {
					if p.labels[i] < 0 {
						continue
					}
					dst := part[p.labels[i]*b.d : (p.labels[i]+1)*b.d]
					for j, a := range b.row(i) {
						dst[j] += float64(a)
					}
				}
				return nil
			},
			func(_ int, part []float64) error {
				kernel.AddTo(sums, part)
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// assign gives every sample the label with the smallest Σ_v w_v ‖x_iv − c_kv‖², the first of equals, and sets the sums.
func (p *partition) assign(ctx context.Context, centres [][]float64, weights []float64) error {
	ld := kernel.Pad(p.c)
	panels := make([]kernel.Panel[float32], len(p.x))
	offset := make([]float64, p.c)
	for v, b := range p.x {
		scaled := make([]float64, len(centres[v]))
		for i, a := range centres[v] {
			scaled[i] = -2 * weights[v] * a
			offset[i/b.d] += weights[v] * a * a
		}
		kernel.PackT(&panels[v], b.d, p.c, scaled, b.d)
	}
	n := len(p.labels)
	err := parallel.For(ctx, 0, (n+assignChunk-1)/assignChunk, func(_, k int) error {
		lo, hi := k*assignChunk, min((k+1)*assignChunk, n)
		score := make([]float32, (hi-lo)*ld)
		for v, b := range p.x {
			kernel.Mul(hi-lo, b.x[lo*b.d:hi*b.d], b.d, &panels[v], score, ld, v > 0)
		}
		for i := lo; i < hi; i++ {
			best := 0
			row := score[(i-lo)*ld:]
			for j := 1; j < p.c; j++ {
				if float64(row[j])+offset[j] < float64(row[best])+offset[best] {
					best = j
				}
			}
			p.labels[i] = best
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.accumulate(ctx)
}

// residual returns ‖X_v − Y C_v‖² for the labels Y, whose sums must be up to date.
func (p *partition) residual(v int, centres []float64) float64 {
	d := p.x[v].d
	r := p.energy[v]
	for i, a := range centres {
		r += a * (p.counts[i/d]*a - 2*p.sums[v][i])
	}
	return max(r, 0)
}

// renumbered returns the labels with numbers from 0 without gaps.
func renumbered(labels []int) []int {
	next := make(map[int]int)
	out := make([]int, len(labels))
	for i, l := range labels {
		k, ok := next[l]
		if !ok {
			k = len(next)
			next[l] = k
		}
		out[i] = k
	}
	return out
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6261736c)) }
