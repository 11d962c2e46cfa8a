package structure

import (
	"math"

	"github.com/largemvc/largemvc/score"
)

// The constants of the rule were chosen on the noise and on the data sets of studies/structure. That program prints how often the
// rule errs, also with one kind of noise left out of the choice.
const (
	// enough is the Excess from which the rows are more clustered than null data, and enoughRepeated after a repetition, where
	// figures vary less.
	enough, enoughRepeated = 1.5, 1.1
	// sure is the Excess from which the clusters may be clear, and may be of one view alone: below it, views must agree.
	sure = 3
	// certain is the Excess from which a judgement on few rows is not repeated.
	certain = 4
	// plain is the gain over the first null data above which no more null data are drawn.
	plain = 1
	// hopeless is the loss against the first null data from which no more null data are drawn.
	hopeless = 0.5
	// spread is a standard deviation of null data that is added to the measured one, and spreadOfOne its value for a single draw.
	spread, spreadOfOne = 0.1, 0.25
	// flat is the local dimension below which rows may lie on a curve or a surface. From the dimension surface on, they may not
	// lie on a curve.
	flat, surface = 3, 1.8
	// thin and sparse are the contrast of borders and the sparsity that distinguish clusters from a curve or a surface. thinOfFew
	// is the contrast for rows that are too few for a local dimension.
	thin, sparse, thinOfFew = 1.7, 0.35, 1.5
	// Clear clusters have at least this stability and contrast.
	clearStability, clearContrast = 0.5, 0.5
	// equalViews is the agreement from which views are nearly equal.
	equalViews = 0.9
	// From this stability and contrast on, clusters are clear even if null data vary much, as with two or three clusters.
	distinctStability, distinctContrast = 0.8, 1.2
)

// clustered grows with the stability and with the agreement of views, and falls with the density at borders.
func (f Figures) clustered() float64 { return f.Stability + f.Agreement - math.Log(f.Border+0.1) }

// gain returns the difference between the clustering of the rows and of the most clustered kind of null data.
func (r *Result) gain() float64 {
	most := math.Inf(-1)
	for _, draws := range r.nulls {
		most = max(most, meanClustered(draws))
	}
	return meanClustered(r.groups) - most
}

// meanClustered returns the mean over draws.
func meanClustered(draws []Figures) float64 {
	sum := 0.0
	for _, f := range draws {
		sum += f.clustered()
	}
	return sum / float64(len(draws))
}

// deviation returns the standard deviation of null data of one kind, pooled over all.
func (r *Result) deviation() float64 {
	sum, freedom := 0.0, 0
	for _, draws := range r.nulls {
		mean := meanClustered(draws)
		for _, f := range draws {
			sum += (f.clustered() - mean) * (f.clustered() - mean)
		}
		freedom += len(draws) - 1
	}
	if freedom == 0 {
		return spreadOfOne
	}
	return math.Hypot(math.Sqrt(sum/float64(freedom)), spread)
}

// contrast returns the logarithm of how many times as dense the borders of null data are.
func (r *Result) contrast() float64 {
	const least = 0.03 // density that counts as none
	return math.Log((min(r.Normal.Border, r.Uniform.Border, r.Shuffled.Border) + least) / (r.Data.Border + least))
}

// agrees reports whether clusters of single views agree more than in each kind of null data. One view passes, and so do views
// that are nearly equal: null data of such views are nearly equal too.
func (r *Result) agrees() bool {
	return r.views < 2 || r.Data.Agreement > min(r.nullAgreement(), equalViews)
}

func (r *Result) nullAgreement() float64 {
	return max(r.Normal.Agreement, r.Uniform.Agreement, r.Shuffled.Agreement)
}

// Curved reports whether the rows seem to lie on a curve or a surface without gaps, or may do so where they are too few to know.
// Then the rows have no clusters, however stable.
func (r *Result) Curved() bool {
	if math.IsInf(r.Dimension, 1) {
		return r.contrast() < thinOfFew
	}
	gaps := r.contrast() >= thin || r.Dimension >= surface && r.Sparsity >= sparse
	return r.Dimension < flat && !gaps
}

// judge sets Excess and returns the judgement.
func (r *Result) judge() score.Judgement {
	r.Excess = r.gain() / r.deviation()
	contrast, least := r.contrast(), enough
	if r.repeated {
		least = enoughRepeated
	}
	switch {
	case r.Excess < least || r.Excess < sure && !r.agrees() || r.Curved():
		return score.StructureNone
	case r.Data.Stability >= distinctStability && contrast >= distinctContrast,
		r.Excess >= sure && r.Data.Stability >= clearStability && contrast >= clearContrast:
		return score.StructureClear
	}
	return score.StructureWeak
}

// Score returns the judgement with the figures for a user.
func (r *Result) Score() score.Structure {
	out := score.Structure{Judgement: r.Judgement, Samples: r.Rows}
	if r.Judgement != score.StructureUnknown {
		out.Stability, out.NullStability = r.Data.Stability, max(r.Normal.Stability, r.Uniform.Stability, r.Shuffled.Stability)
		out.Border, out.NullBorder = r.Data.Border, min(r.Normal.Border, r.Uniform.Border, r.Shuffled.Border)
		out.Agreement, out.NullAgreement = r.Data.Agreement, r.nullAgreement()
	}
	return out
}
