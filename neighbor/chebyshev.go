package neighbor

import "math"

// seriesError bounds the error of q on [0, 1] by a series in its place. It does not lower the scores of public sets
// (studies/tried.md). Tests set a smaller one.
var seriesError = 2e-3

// chebyshev returns the coefficients c_j of q(λ) = (((1+λ)/2)^S − 2^−S)/λ = Σ_j c_j·T_j(2λ − 1) on [0, 1], within
// seriesError. There are fewer of them than S, because the powers of λ in q are nearly alike there. It returns nil if no product
// is saved.
func chebyshev(steps int) []float64 {
	if steps < 2 {
		return nil
	}
	nodes := 2 * steps
	values := make([]float64, nodes)
	for i := range values {
		lambda := (1 + math.Cos(math.Pi*(float64(i)+0.5)/float64(nodes))) / 2
		values[i] = stepsOver(lambda, steps)
	}
	c := make([]float64, steps)
	for j := range c {
		for i, v := range values {
			c[j] += 2 / float64(nodes) * v * math.Cos(math.Pi*float64(j)*(float64(i)+0.5)/float64(nodes))
		}
	}
	c[0] /= 2
	rest := 0.0
	for k := steps - 1; k > 0; k-- {
		if rest += math.Abs(c[k]); rest > seriesError {
			if k == steps-1 {
				return nil
			}
			return c[:k+1]
		}
	}
	return nil
}

// stepsOver returns q(λ) as Σ_t 2^(t−S)·((1+λ)/2)^t over t < S, which has no cancellation.
func stepsOver(lambda float64, steps int) float64 {
	sum, term := 0.0, math.Ldexp(1, -steps)
	for range steps {
		sum += term
		term *= 1 + lambda // twice (1+λ)/2
	}
	return sum
}
