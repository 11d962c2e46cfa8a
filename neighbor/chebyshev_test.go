package neighbor

import (
	"math"
	"testing"
)

// setSeriesError sets seriesError for a test.
func setSeriesError(t *testing.T, most float64) {
	before := seriesError
	seriesError = most
	t.Cleanup(func() { seriesError = before })
}

// The series is the polynomial of the steps, within the error that is allowed, with fewer products.
func TestChebyshevIsTheStepsPolynomial(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 6, 13, 18, 25, 60} {
		series := chebyshev(steps)
		if steps == 13 && len(series) != 6 || steps < 5 && series != nil || series != nil && len(series) >= steps {
			t.Errorf("%d steps take %d coefficients", steps, len(series))
		}
		for i := range 101 {
			lambda := float64(i) / 100
			want := stepsOver(lambda, steps)
			if power := math.Pow((1+lambda)/2, float64(steps)); math.Abs(math.Ldexp(1, -steps)+lambda*want-power) > 1e-15 {
				t.Errorf("%d steps at %g: the polynomial itself is off", steps, lambda)
			}
			if series == nil {
				continue
			}
			got, last, x := 0.0, 0.0, 2*lambda-1
			for j := len(series) - 1; j > 0; j-- {
				got, last = series[j]+2*x*got-last, got
			}
			if got = series[0] + x*got - last; math.Abs(got-want) > seriesError {
				t.Errorf("%d steps at %g: %g, want %g", steps, lambda, got, want)
			}
		}
	}
}
