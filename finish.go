package largemvc

import (
	"context"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// finish clusters the representation and gathers the result.
func (t *training[T]) finish(ctx context.Context) (*Clustering, error) {
	began := time.Now()
	c, r, net := t.config, t.run, t.net.fused().engineNet()
	n, m := t.data.samples, c.Anchors
	ld := kernel.Pad(m)
	h := make([]T, n*ld)
	if err := engine.CopyH(net, c.Layers, h, ld); err != nil {
		return nil, err
	}
	p := newPredictor(c, t.views, t.inputs, r)
	p.setParameters(t.net.fused().parameters())
	for l := range c.Layers + 1 {
		layer := make([]*mat.Dense, len(p.inputs))
		for v, in := range p.inputs {
			if l > 0 && c.Variant == RMvC {
				layer[v] = p.anchors[0][v]
				continue
			}
			var r *rotation
			if t.rotations != nil {
				r = t.rotations[v]
			}
			layer[v] = mat.NewDense(m, in.Columns, r.original(m, net.Anchors(l, v)))
		}
		p.anchors = append(p.anchors, layer)
	}
	p.P = p.anchors[c.Layers]
	out := &Clustering{Predictor: p, StartLabels: r.begin.labels}
	if t.rotations != nil {
		var err error
		if h, out.Trust, err = t.represent(ctx, p); err != nil {
			return nil, err
		}
	} else if c.Variant == Large {
		for v := range p.inputs {
			trust := make([]float64, n)
			if err := net.Read(engine.FieldTrust, c.Layers, v, 0, n, trust); err != nil {
				return nil, err
			}
			out.Trust = append(out.Trust, trust)
		}
	}
	out.H = resultMatrix(n, m, ld, h)
	seen := h
	if c.ReadOut == UnitRows {
		seen = slices.Clone(h)
		unitRowsOf(seen, m)
	}
	k, err := clusterRows(ctx, rows.NewDense(n, m, ld, seen), t.readOutGraph(), c)
	if err != nil {
		return nil, err
	}
	out.Labels, out.Repaired = k.labels, k.repaired
	p.Clusters, p.Sizes, p.centroids = len(k.sizes), k.sizes, double(k.centroids)
	from, err := t.intake(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.model, err = newFitted(p, from, k.assigner); err != nil {
		return nil, err
	}
	out.Timings = Timings{Prepare: t.prepared, Start: r.startFor, Train: r.trainFor, Epoch: r.epochFor, Clusters: time.Since(began)}
	return out, nil
}

// intake is what new samples go through.
func (j *job[T]) intake(ctx context.Context, p *Predictor) (intake[T], error) {
	if j.smooth != nil {
		return j.smooth.alone(ctx, j.config.Workers)
	}
	return newPreparer[T](j.prepare, p.dims), nil
}
