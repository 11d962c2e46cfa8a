package tsne

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/barneshut"
	"gonum.org/v1/gonum/spatial/r2"
)

// particle is a point of the plane with the mass 1.
type particle struct{ at r2.Vec }

func (p *particle) Coord2() r2.Vec { return p.at }
func (p *particle) Mass() float64  { return 1 }

// field computes forces between n points of the plane.
type field struct {
	particles []particle
	plane     []barneshut.Particle2
	repulsion []r2.Vec
	norm      []float64 // Σ_j 1/(1+‖y_i−y_j‖²) of every point
}

func newField(n int) *field {
	f := &field{
		particles: make([]particle, n), plane: make([]barneshut.Particle2, n),
		repulsion: make([]r2.Vec, n), norm: make([]float64, n),
	}
	for i := range f.particles {
		f.plane[i] = &f.particles[i]
	}
	return f
}

// repel sets, with q_ij = 1/(1+‖y_i−y_j‖²), repulsion_i = Σ_j q_ij² (y_i − y_j) and returns Z = Σ_ij q_ij. theta = 0 is exact.
func (f *field) repel(ctx context.Context, pos []float64, theta float64, workers int) (float64, error) {
	for i := range f.particles {
		f.particles[i].at = r2.Vec{X: pos[2*i], Y: pos[2*i+1]}
	}
	plane, err := barneshut.NewPlane(f.plane)
	if err != nil {
		// With points that coincide to the last bit no tree can be built; the exact sums can.
		plane, theta = &barneshut.Plane{Particles: f.plane}, 0
	}
	err = forRows(ctx, workers, len(f.particles), func(i int) {
		self, sum := f.plane[i], 0.0
		f.repulsion[i] = plane.ForceOn(self, theta, func(_, other barneshut.Particle2, _, mass float64, v r2.Vec) r2.Vec {
			if other == self {
				return r2.Vec{}
			}
			q := 1 / (1 + v.X*v.X + v.Y*v.Y)
			sum += mass * q
			w := -mass * q * q
			return r2.Vec{X: w * v.X, Y: w * v.Y}
		})
		f.norm[i] = sum
	})
	z := 0.0
	for _, s := range f.norm {
		z += s
	}
	return z, err
}

// gradient sets dst to the gradient of KL(factor·P‖Q) by the points:
//
//	4 Σ_j (factor·p_ij − q_ij/Z) q_ij (y_i − y_j)
func (f *field) gradient(ctx context.Context, p *sparse, pos []float64, factor, theta float64, workers int, dst []float64) error {
	z, err := f.repel(ctx, pos, theta, workers)
	if err != nil {
		return err
	}
	return forRows(ctx, workers, len(f.particles), func(i int) {
		x, y := pos[2*i], pos[2*i+1]
		var gx, gy float64
		for a := p.start[i]; a < p.start[i+1]; a++ {
			j := p.column[a]
			dx, dy := x-pos[2*j], y-pos[2*j+1]
			w := p.value[a] / (1 + dx*dx + dy*dy)
			gx, gy = gx+w*dx, gy+w*dy
		}
		dst[2*i] = 4 * (factor*gx - f.repulsion[i].X/z)
		dst[2*i+1] = 4 * (factor*gy - f.repulsion[i].Y/z)
	})
}

// divergence returns KL(P‖Q) = Σ p_ij log(p_ij / (q_ij/Z)).
func (f *field) divergence(ctx context.Context, p *sparse, pos []float64, theta float64, workers int) (float64, error) {
	z, err := f.repel(ctx, pos, theta, workers)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range f.particles {
		for a := p.start[i]; a < p.start[i+1]; a++ {
			if p.value[a] == 0 {
				continue
			}
			j := p.column[a]
			dx, dy := pos[2*i]-pos[2*j], pos[2*i+1]-pos[2*j+1]
			sum += p.value[a] * math.Log(p.value[a]*z*(1+dx*dx+dy*dy))
		}
	}
	return sum, nil
}
