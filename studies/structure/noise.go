package main

import (
	"math"
	"math/rand/v2"
)

// maker makes views of n samples of k clusters, row-major; the width of a view is its length over n.
type maker func(r *rand.Rand, n, k, views int) [][]float64

// family makes samples that have no clusters, or planted ones.
type family struct {
	name    string
	planted bool
	make    maker
}

// fill makes n×d values.
func fill(n, d int, f func() float64) []float64 {
	x := make([]float64, n*d)
	for i := range x {
		x[i] = f()
	}
	return x
}

// independent returns a maker of views of independent values of one distribution.
func independent(f func(r *rand.Rand) float64, widths ...int) maker {
	return func(r *rand.Rand, n, _, views int) (out [][]float64) {
		for v := range views {
			out = append(out, fill(n, widths[v%len(widths)], func() float64 { return f(r) }))
		}
		return out
	}
}

// curved returns a maker of views that are functions of a few coordinates, beside noise.
func curved(dims int, noise float64, at func(r *rand.Rand) float64, widths ...int) maker {
	return func(r *rand.Rand, n, _, views int) [][]float64 {
		q := fill(n, dims, func() float64 { return at(r) })
		return linear(r, q, dims, views, noise, widths)
	}
}

// linear makes views that are linear in dims coordinates q of each sample, beside normal noise.
func linear(r *rand.Rand, q []float64, dims, views int, noise float64, widths []int) (out [][]float64) {
	n := len(q) / dims
	for v := range views {
		d := widths[v%len(widths)]
		w := fill(dims, d, r.NormFloat64)
		x := fill(n, d, func() float64 { return noise * r.NormFloat64() })
		for i := range n {
			for j := range d {
				for p := range dims {
					x[i*d+j] += q[i*dims+p] * w[p*d+j]
				}
			}
		}
		out = append(out, x)
	}
	return out
}

func normal(r *rand.Rand) float64  { return r.NormFloat64() }
func uniform(r *rand.Rand) float64 { return 2*r.Float64() - 1 }
func laplace(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return r.ExpFloat64()
	}
	return -r.ExpFloat64()
}
func student(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }

func poisson(mean float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		p, count := math.Exp(-mean), 0.0
		for x := r.Float64(); x > p; x *= r.Float64() {
			count++
		}
		return count
	}
}

func bernoulli(p float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		if r.Float64() < p {
			return 1
		}
		return 0
	}
}

// wave makes a curve: its columns are sines and cosines of one coordinate, of frequencies up to a highest one.
func wave(highest, length, noise float64) maker {
	return func(r *rand.Rand, n, _, views int) (out [][]float64) {
		t := fill(n, 1, func() float64 { return length * r.Float64() })
		for v := range views {
			d := []int{30, 12, 42}[v%3]
			x := make([]float64, 0, n*d)
			for _, s := range t {
				for j := range d {
					a := (.5 + (highest-.5)*float64(j)/float64(d-1)) * s
					y := math.Sin(a)
					if v%2 == 1 {
						y = math.Cos(a)
					}
					x = append(x, y+noise*r.NormFloat64())
				}
			}
			out = append(out, x)
		}
		return out
	}
}

// sheet is a curved surface: its columns are sines of combinations of two coordinates.
func sheet(r *rand.Rand, n, _, views int) (out [][]float64) {
	q := fill(n, 2, func() float64 { return 4 * r.Float64() })
	for v := range views {
		d := []int{30, 12, 42}[v%3]
		w := fill(3, d, r.NormFloat64)
		x := make([]float64, 0, n*d)
		for i := range n {
			for j := range d {
				x = append(x, math.Sin(q[2*i]*w[j]+q[2*i+1]*w[d+j]+3*w[2*d+j])+.05*r.NormFloat64())
			}
		}
		out = append(out, x)
	}
	return out
}

// gradient is a line in each view along which the density falls.
func gradient(r *rand.Rand, n, _, views int) [][]float64 {
	q := fill(n, 1, func() float64 { return math.Abs(r.NormFloat64()) })
	return linear(r, q, 1, views, .3, []int{25, 10, 40})
}

// dominating is independent noise with one column of a hundred times the extent in each view.
func dominating(r *rand.Rand, n, _, views int) (out [][]float64) {
	for v := range views {
		d := []int{40, 20, 8}[v%3]
		x := fill(n, d, r.NormFloat64)
		for i := range n {
			x[i*d] *= 100
		}
		out = append(out, x)
	}
	return out
}

// texts are word counts without topics, of documents of very different lengths.
func texts(r *rand.Rand, n, _, views int) (out [][]float64) {
	length := fill(n, 1, func() float64 { return math.Exp(r.NormFloat64()) })
	for v := range views {
		d := []int{400, 300, 200}[v%3]
		x := make([]float64, 0, n*d)
		for _, l := range length {
			for j := range d {
				x = append(x, poisson(3*l/float64(1+j))(r))
			}
		}
		out = append(out, x)
	}
	return out
}

// ring is a closed curve of one coordinate.
func ring(r *rand.Rand, n, _, views int) [][]float64 {
	q := make([]float64, 0, 2*n)
	for range n {
		t := 2 * math.Pi * r.Float64()
		q = append(q, math.Cos(t), math.Sin(t))
	}
	return linear(r, q, 2, views, .1, []int{25, 10, 40})
}

// clusters plants k normal clusters, whose centres lie distance standard deviations apart along any line in the mean.
func clusters(distance float64, widths ...int) maker {
	return func(r *rand.Rand, n, k, views int) (out [][]float64) {
		class := make([]int, n)
		for i := range class {
			class[i] = r.IntN(k)
		}
		for v := range views {
			d := widths[v%len(widths)]
			c := fill(k, d, func() float64 { return distance * r.NormFloat64() / math.Sqrt(2*float64(d)) })
			x := fill(n, d, r.NormFloat64)
			for i := range n {
				for j := range d {
					x[i*d+j] += c[class[i]*d+j]
				}
			}
			out = append(out, x)
		}
		return out
	}
}

var families = []family{
	{"normal", false, independent(normal, 60, 15, 30)},
	{"uniform", false, independent(uniform, 60, 15, 30)},
	{"laplace", false, independent(laplace, 40, 40, 8)},
	{"student2", false, independent(student, 30, 10, 20)},
	{"binary", false, independent(bernoulli(.3), 50, 20, 100)},
	{"counts", false, independent(poisson(.3), 200, 300, 100)},
	{"exponential", false, independent((*rand.Rand).ExpFloat64, 3, 5, 40)},
	{"lognormal", false, independent(func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) }, 50, 20, 30)},
	{"lowrank", false, curved(4, .3, normal, 50, 20, 30)},
	{"lowrank3", false, curved(3, .1, normal, 50, 20, 30)},
	{"gradient", false, gradient},
	{"line", false, curved(1, .1, uniform, 25, 10, 40)},
	{"square", false, curved(2, .05, uniform, 25, 10, 40)},
	{"curve", false, wave(2, 3, .05)},
	{"longcurve", false, wave(2, 8, .05)},
	{"noisycurve", false, wave(2, 8, .3)},
	{"sheet", false, sheet},
	{"ring", false, ring},
	{"dominating", false, dominating},
	{"texts", false, texts},
	{"planted9", true, clusters(9, 40, 20, 60)},
	{"planted6", true, clusters(6, 40, 20, 60)},
	{"planted4", true, clusters(4, 40, 20, 60)},
	{"planted6low", true, clusters(6, 5, 3, 4)},
}
