package neighbor

import (
	"math"
	"testing"
)

// The series is the polynomial of the steps, to rounding, with fewer products.
func TestChebyshevIsTheStepsPolynomial(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 6, 13, 18, 25, 60} {
		single, double := chebyshev[float32](steps), chebyshev[float64](steps)
		for _, c := range []struct {
			series []float64
			most   float64
		}{{single, seriesError * 0x1p-24}, {double, 64 * 0x1p-53}} {
			if c.series == nil {
				continue
			}
			if len(c.series) >= steps {
				t.Errorf("%d steps: %d coefficients", steps, len(c.series))
			}
			for i := range 101 {
				lambda := float64(i) / 100
				want := stepsOver(lambda, steps)
				got, last, x := 0.0, 0.0, 2*lambda-1
				for j := len(c.series) - 1; j > 0; j-- {
					got, last = c.series[j]+2*x*got-last, got
				}
				got = c.series[0] + x*got - last
				if math.Abs(got-want) > c.most {
					t.Errorf("%d steps at %g: %g, want %g", steps, lambda, got, want)
				}
				if power := math.Pow((1+lambda)/2, float64(steps)); math.Abs(math.Ldexp(1, -steps)+lambda*want-power) > 1e-15 {
					t.Errorf("%d steps at %g: the polynomial itself is off", steps, lambda)
				}
			}
		}
		if steps == 13 && (len(single) == 0 || len(single) > 10) {
			t.Errorf("13 steps in float32 take %d coefficients", len(single))
		}
		if steps < 7 && single != nil {
			t.Errorf("%d steps: a series of %d", steps, len(single))
		}
	}
}
