package view

import (
	"math"
	"math/rand/v2"
)

const (
	// lookRows is the number of rows that a Look is taken from, and lookValues bounds their values, down to lookLeast rows.
	lookRows, lookLeast, lookValues = 512, 8, 1 << 20
	// lookStream keeps the draws apart from what else is drawn with the same seed.
	lookStream = 0x6e6f6973
)

// Look holds the statistics of some rows of a view.
type Look struct {
	Mean []float64 // of each column

	value, std float64 // mean and deviation of all values
}

// Seen is a view, some rows of which can be looked at.
type Seen interface {
	Has(i int) bool
	Row(i int, dst []float64)
}

// lookTries is how many rows are drawn for each that is to be looked at, at most, for some may be absent.
const lookTries = 4

// NewLook looks at a few of the present rows, of n of so many columns.
func NewLook(x Seen, n, cols int, seed uint64) *Look {
	rng := rand.New(rand.NewPCG(seed, lookStream))
	out := &Look{Mean: make([]float64, cols)}
	row, seen, square := make([]float64, cols), 0.0, 0.0
	rows := lookCount(cols)
	for k := 0; k < lookTries*rows && int(seen) < rows; k++ {
		i := rng.IntN(n)
		if !x.Has(i) {
			continue
		}
		x.Row(i, row)
		for c, e := range row {
			out.Mean[c] += e
			out.value += e
			square += e * e
		}
		seen++
	}
	if seen > 0 {
		count := seen * float64(cols)
		out.value /= count
		out.std = math.Sqrt(max(min(square, math.MaxFloat64)/count-out.value*out.value, 0))
		for c := range out.Mean {
			out.Mean[c] /= seen
		}
	}
	return out
}

// lookCount is the number of rows that a Look of some columns is taken from.
func lookCount(cols int) int { return max(lookLeast, min(lookRows, lookValues/cols)) }

// LookRows returns the numbers of the rows that NewLook looks at, of n. masked says that some of them are absent.
func LookRows(n, cols int, seed uint64, masked bool) []int {
	rng, count := rand.New(rand.NewPCG(seed, lookStream)), lookCount(cols)
	if masked {
		count *= lookTries
	}
	out := make([]int, count)
	for k := range out {
		out[k] = rng.IntN(n)
	}
	return out
}

// noiseSpread is the deviation of the logarithm of the deviation of noise. That of a view is known from some of its rows, and
// noise need not have it to the digit.
const noiseSpread = 0.3

// Noise fills a row with noise of the mean and, up to a factor, the deviation of the view's values.
func (l *Look) Noise(rng *rand.Rand, row []float64) {
	std := l.std * math.Exp(noiseSpread*rng.NormFloat64())
	for c := range row {
		row[c] = l.value + std*rng.NormFloat64()
	}
}

// MarkCount is the number of the marks of a row.
const MarkCount = 6

// Marks returns the features that separate rows of a view from noise, whatever their columns are: the correlation with the mean
// row, the mean, the deviation and the kurtosis of the values, how few of them make up its length, and the share of zeros; those
// that can be of any size as logarithms.
func Marks(row, mean []float64) []float64 {
	n, sum, sumMean, zeros, largest := float64(len(row)), 0.0, 0.0, 0.0, 0.0
	for c, x := range row {
		sum, sumMean, largest = sum+x, sumMean+mean[c], max(largest, math.Abs(x))
		if x == 0 {
			zeros++
		}
	}
	a, b := sum/n, sumMean/n
	square, squareMean, product, fourth, length := 0.0, 0.0, 0.0, 0.0, 0.0
	up := 1.0 // so that no fourth power is too large
	if largest > 0 {
		up = min(1/largest, math.MaxFloat64)
	}
	for c, x := range row {
		d, e := (x-a)*up, mean[c]-b
		square, squareMean, product = square+d*d, squareMean+e*e, product+d*e
		fourth += d * d * d * d
		length += math.Abs(x) * up
	}
	small := 1e-12
	return []float64{
		product / (math.Sqrt(square*squareMean) + small),
		math.Copysign(math.Log1p(math.Abs(a)/(math.Sqrt(squareMean/n)+small)), a),
		math.Log(math.Sqrt(square/n)/up + small),
		math.Log(n*fourth/(square*square+small) + small),
		math.Log(length*length/(n*(square+n*a*a*up*up)+small) + small),
		zeros / n,
	}
}
