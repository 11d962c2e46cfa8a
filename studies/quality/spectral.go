package main

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
)

// spectralReadOut clusters H by k-means on the rows, at norm 1, of U√S: the first c left singular vectors of the unit rows of H,
// times the square roots of their singular values.
func spectralReadOut(ctx context.Context, h mat.Matrix, c int, seed uint64) ([]int, error) {
	rows, err := singularRows(h, c)
	if err != nil {
		return nil, err
	}
	r, err := largemvc.KMeans(ctx, rows, largemvc.KMeansConfig{Clusters: c, Seed: seed})
	if err != nil {
		return nil, err
	}
	return r.Labels, nil
}

// negligible is the squared singular value, relative to the largest, below which there is no direction.
const negligible = 1e-12

// singularRows returns the rows that spectralReadOut clusters. U·S is H·V, with the eigenvectors V of HᵀH.
func singularRows(h mat.Matrix, c int) (*mat.Dense, error) {
	n, m := h.Dims()
	unit := mat.DenseCopyOf(h)
	scaleRows(unit)
	var gram mat.SymDense
	gram.SymOuterK(1, unit.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&gram, true) {
		return nil, errors.New("the eigenvectors of HᵀH are not found")
	}
	var v mat.Dense
	eigen.VectorsTo(&v)
	values := eigen.Values(nil) // ascending
	kept := mat.NewDense(m, min(c, m), nil)
	for j := range min(c, m) {
		square := values[m-1-j]
		if square <= negligible*values[m-1] {
			break
		}
		scale := math.Pow(square, -0.25)
		for i := range m {
			kept.Set(i, j, scale*v.At(i, m-1-j))
		}
	}
	out := mat.NewDense(n, min(c, m), nil)
	out.Mul(unit, kept)
	scaleRows(out)
	return out, nil
}

// scaleRows scales rows to norm 1; those of zeros stay.
func scaleRows(x *mat.Dense) {
	n, _ := x.Dims()
	for i := range n {
		if norm := floats.Norm(x.RawRowView(i), 2); norm > 0 {
			floats.Scale(1/norm, x.RawRowView(i))
		}
	}
}
