// Package baseline has the methods that LargeMvC-Net is compared with, written from their papers: variants of k-means, five
// multi-view methods of linear cost, and four for samples that lack views (IncompleteMethods).
//
//	labels, err := baseline.KMeansZScored(ctx, views, 10, seed)
//
// Every method takes the views as n×d_v matrices, samples in rows, and the number of clusters, and returns a label from 0 for
// every sample. No method uses class labels, except BestView and LMVSCOfGrid. Settings are fixed; none is tuned to a data set.
// The same views and seed give the same labels, for any GOMAXPROCS.
package baseline

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Func clusters the samples of the views into c clusters. It returns an error if there are no views, if they differ in their
// number of samples, if an entry is NaN or infinite (naming view, row and column) or c is not from 1 to n. If ctx is cancelled,
// it returns the context's error.
type Func func(ctx context.Context, views []mat.Matrix, c int, seed uint64) ([]int, error)

// Method is a comparison method with its description for a table.
type Method struct {
	Name     string
	Source   string // the paper
	Settings string // the fixed settings and the preprocessing
	Run      Func
}

// Methods returns the comparison methods for complete data that need no class labels, with the standardisation of their authors.
func Methods() []Method {
	return []Method{
		{"k-means, z-scored", "S. Lloyd, IEEE Trans. Inf. Theory 1982",
			"columns z-scored, views concatenated, 10 k-means++ starts", KMeansZScored},
		{"k-means, unit rows", "S. Lloyd, IEEE Trans. Inf. Theory 1982",
			"samples standardised per view, unit norm, views concatenated, 10 k-means++ starts", KMeansUnitRows},
		{"spectral k-means", "C. Ding and X. He, ICML 2004",
			"samples standardised per view, views concatenated, k-means on the first c left singular vectors", SpectralKMeans},
		{"LMVSC", "Z. Kang et al., AAAI 2020", lmvscSettings, scaled(lmvsc).with(raw)},
		{"FDAGF", "P. Zhang et al., AAAI 2023", fdagfSettings, scaled(fdagf).with(zScore)},
		{"EMVGC-LG", "Y. Wen et al., ACM MM 2023", emvgcSettings, scaled(emvgc).with(zScore)},
		{"AIMC", "M.-S. Chen et al., ACM MM 2022", aimcSettings, scaled(aimc).with(zScore)},
		{"OPMC", "J. Liu et al., ICCV 2021", opmcSettings, scaled(opmc).with(zScore)},
	}
}

// StandardisedMethods returns the five multi-view methods with the standardisation of the paper preset in place of their own: the
// features of a sample in a view at mean 0 and variance 1.
func StandardisedMethods() []Method {
	var out []Method
	for _, m := range []struct {
		name string
		run  scaled
	}{{"LMVSC", lmvsc}, {"FDAGF", fdagf}, {"EMVGC-LG", emvgc}, {"AIMC", aimc}, {"OPMC", opmc}} {
		out = append(out, Method{Name: m.name + ", samples standardised", Run: m.run.with(sample)})
	}
	return out
}

// scaled is a Func with the standardisation of the views as an argument.
type scaled func(ctx context.Context, views []mat.Matrix, c int, seed uint64, how scaling) ([]int, error)

// with is the Func of one standardisation.
func (f scaled) with(how scaling) Func {
	return func(ctx context.Context, views []mat.Matrix, c int, seed uint64) ([]int, error) {
		return f(ctx, views, c, seed, how)
	}
}

// scaling is the standardisation of the views.
type scaling int

const (
	raw     scaling = iota // nothing
	zScore                 // each column to mean 0, variance 1; constant ones to 0
	sample                 // each row to mean 0, variance 1; constant ones to 0
	unitRow                // sample, then each row to norm 1
)

// block is one view's n×d values, row-major.
type block struct {
	n, d int
	x    []float32
}

func (b *block) row(i int) []float32 { return b.x[i*b.d : (i+1)*b.d] }

// rower is implemented by matrices that give a row faster than by its entries.
type rower interface {
	Row(dst []float64, i int) []float64
}

// load copies, checks and scales the views. present[i][v] says whether sample i has view v; nil: all samples have all views.
// Absent rows become the mean of the view's present rows before rows are scaled.
func load(ctx context.Context, views []mat.Matrix, present [][]bool, c int, how scaling) ([]*block, error) {
	if err := check(views, present, c); err != nil {
		return nil, err
	}
	out := make([]*block, len(views))
	for v, x := range views {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := loadView(x, v, present)
		if err != nil {
			return nil, err
		}
		b.scale(how)
		out[v] = b
	}
	return out, nil
}

// check reports whether views, mask and number of clusters fit one another.
func check(views []mat.Matrix, present [][]bool, c int) error {
	if len(views) == 0 {
		return fmt.Errorf("baseline: no views")
	}
	for v, x := range views {
		if x == nil {
			return fmt.Errorf("baseline: view %d is nil", v)
		}
		n, _ := views[0].Dims()
		if k, d := x.Dims(); k != n || n == 0 || d == 0 {
			return fmt.Errorf("baseline: view %d is %d×%d, view 0 has %d samples", v, k, d, n)
		}
	}
	n, _ := views[0].Dims()
	if c < 1 || c > n {
		return fmt.Errorf("baseline: %d clusters of %d samples", c, n)
	}
	if present != nil && len(present) != n {
		return fmt.Errorf("baseline: the mask has %d rows for %d samples", len(present), n)
	}
	for i, p := range present {
		if len(p) != len(views) {
			return fmt.Errorf("baseline: the mask has %d entries for sample %d, want %d", len(p), i, len(views))
		}
	}
	return nil
}

func loadView(x mat.Matrix, v int, present [][]bool) (*block, error) {
	n, d := x.Dims()
	b := &block{n: n, d: d, x: make([]float32, n*d)}
	buf, mean, count := make([]float64, d), make([]float64, d), 0
	fast, ok := x.(rower)
	for i := range n {
		if present != nil && !present[i][v] {
			continue
		}
		if ok {
			fast.Row(buf, i)
		} else {
			for j := range buf {
				buf[j] = x.At(i, j)
			}
		}
		for j, a := range buf {
			if e := float64(float32(a)); math.IsNaN(e) || math.IsInf(e, 0) {
				return nil, fmt.Errorf("baseline: view %d has %v at row %d, column %d", v, a, i, j)
			}
			b.x[i*d+j] = float32(a)
			mean[j] += a
		}
		count++
	}
	if count == 0 {
		return nil, fmt.Errorf("baseline: no sample has view %d", v)
	}
	for i := range present {
		if present[i][v] {
			continue
		}
		for j, s := range mean {
			b.x[i*d+j] = float32(s / float64(count))
		}
	}
	return b, nil
}

// scale scales in place.
func (b *block) scale(how scaling) {
	switch how {
	case zScore:
		b.scaleColumns()
	case sample, unitRow:
		for i := range b.n {
			standardise(b.row(i), how == unitRow)
		}
	}
}

// negligible is the variance, relative to the squared mean, below which float32 values count as constant.
const negligible = 1e-12

func (b *block) scaleColumns() {
	mean, square := make([]float64, b.d), make([]float64, b.d)
	for i := range b.n {
		for j, a := range b.row(i) {
			mean[j] += float64(a) / float64(b.n)
		}
	}
	for i := range b.n {
		for j, a := range b.row(i) {
			square[j] += (float64(a) - mean[j]) * (float64(a) - mean[j]) / float64(b.n)
		}
	}
	for i := range b.n {
		row := b.row(i)
		for j, a := range row {
			row[j] = 0
			if square[j] > negligible*mean[j]*mean[j] {
				row[j] = float32((float64(a) - mean[j]) / math.Sqrt(square[j]))
			}
		}
	}
}

func standardise(row []float32, unit bool) {
	d := float64(len(row))
	mean, square := 0.0, 0.0
	for _, a := range row {
		mean += float64(a) / d
	}
	for _, a := range row {
		square += (float64(a) - mean) * (float64(a) - mean) / d
	}
	scale := 0.0
	if square > negligible*mean*mean {
		scale = 1 / math.Sqrt(square)
		if unit {
			scale /= math.Sqrt(d)
		}
	}
	for j, a := range row {
		row[j] = float32((float64(a) - mean) * scale)
	}
}
