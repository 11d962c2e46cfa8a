package engine

import (
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Activation is the σ of the thresholds.
type Activation int

// The activations of the paper.
const (
	ReLU Activation = iota // max(x, 0)
	SELU                   // λx for x > 0, λα(eˣ − 1) else (Klambauer et al., 2017)
)

// The constants of SELU.
const (
	seluAlpha = 1.6732632423543772848170429916717
	seluScale = 1.0507009873554804934193349852946
)

// Value returns σ(x).
func (a Activation) Value(x float64) float64 {
	if a == SELU {
		return selu(x)
	}
	return max(x, 0)
}

// Slope returns σ'(x). σ'(0) is 0 for ReLU, and the left derivative for SELU.
func (a Activation) Slope(x float64) float64 {
	switch {
	case a == SELU:
		return seluSlope(x)
	case x > 0:
		return 1
	}
	return 0
}

// positiveSlope returns σ' on the positive side, to which the row shrinkage is restricted.
func (a Activation) positiveSlope() float64 {
	if a == SELU {
		return seluScale
	}
	return 1
}

func selu(x float64) float64 {
	if x > 0 {
		return seluScale * x
	}
	return seluScale * seluAlpha * math.Expm1(x)
}

func seluSlope(x float64) float64 {
	if x > 0 {
		return seluScale
	}
	return seluScale * seluAlpha * math.Exp(x)
}

// seluThreshold adds w[i]·S_θ(a_ij) to acc_ij over the first m columns.
func seluThreshold[T kernel.Float](acc, a []T, theta float64, w []T, m, ld int, oneSided bool) {
	for i, wi := range w {
		for j := i * ld; j < i*ld+m; j++ {
			s := selu(float64(a[j]) - theta)
			if !oneSided {
				s -= selu(-float64(a[j]) - theta)
			}
			acc[j] += wi * T(s)
		}
	}
}

// seluThresholdGrad sets g_ij = w[i]·dh_ij·(σ'(a−θ) + σ'(−a−θ)) and returns Σ w[i]·dh_ij·(σ'(−a−θ) − σ'(a−θ)).
func seluThresholdGrad[T kernel.Float](g, dh, a []T, theta float64, w []T, m, ld int, oneSided bool) float64 {
	total := 0.0
	for i, wi := range w {
		row := 0.0
		for j := i * ld; j < i*ld+m; j++ {
			pos := seluSlope(float64(a[j]) - theta)
			neg := 0.0
			if !oneSided {
				neg = seluSlope(-float64(a[j]) - theta)
			}
			v := float64(wi) * float64(dh[j])
			g[j] = T(v * (pos + neg))
			row += v * (neg - pos)
		}
		total += row
	}
	return total
}
