// Package views makes views of package largemvc from the data sets of package dataset. Neither package imports the other.
//
//	set, err := dataset.Open(ctx, []string{"handwritten.mat"}, dataset.Options{})
//	if err != nil {
//		return err
//	}
//	x, err := views.Of(set)
//	if err != nil {
//		return err
//	}
//	c, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 10}) // or set.Classes() of a set with labels
package views

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// Of returns the views of a set with their names, those of their features and, for incomplete data, their presence.
// Dense views stay dense, sparse ones sparse. The values are not copied: the views refer to the memory of the set,
// which a fit changes only where machine.Options.Overwrite allows it.
//
// It returns an error for a set without views, for a view that holds no values, and for a mask that does not fit the
// samples and views. Sizes and values are checked where the views are used.
func Of(set *dataset.Set) ([]largemvc.View, error) {
	if set == nil || len(set.Views) == 0 {
		return nil, errors.New("views: the set has no views")
	}
	out := make([]largemvc.View, len(set.Views))
	for v := range set.Views {
		view := &set.Views[v]
		switch {
		case view.Sparse != nil && view.Sparse.Float64 != nil:
			out[v] = largemvc.SparseView(view.Rows, view.Cols, view.Sparse.RowPtr, view.Sparse.Col, view.Sparse.Float64)
		case view.Sparse != nil:
			out[v] = largemvc.SparseView(view.Rows, view.Cols, view.Sparse.RowPtr, view.Sparse.Col, view.Sparse.Float32)
		case view.Float64 != nil:
			out[v] = largemvc.DenseView(view.Rows, view.Cols, view.Float64)
		case view.Float32 != nil:
			out[v] = largemvc.DenseView(view.Rows, view.Cols, view.Float32)
		default:
			return nil, fmt.Errorf("views: view %d (%q) holds no values", v, view.Name)
		}
		out[v] = Prepared(out[v].Named(view.Name).WithFeatures(view.Features), view.Prepared)
	}
	return masked(out, set.Present, set.Samples())
}

// kinds names a preparation in a model.
type kinds struct {
	Impute    string `json:"impute"`
	Transform string `json:"transform"`
	Rows      int    `json:"rows,omitempty"` // that fill holes of others
}

// hole stands for a missing value in the numbers of a model, which are finite.
const hole = math.MaxFloat64

// exchange returns the numbers with one value in place of another; NaN equals NaN.
func exchange(x []float64, from, to float64) []float64 {
	out := slices.Clone(x)
	for k, a := range out {
		if a == from || a != a && from != from {
			out[k] = to
		}
	}
	return out
}

// preparation returns what a model keeps of a preparation: a line with its kinds and a line with what was left out, and the
// numbers to fill with before those of TFIDF and the rows that fill holes.
func preparation(p *dataset.Preparation) (about string, numbers []float64) {
	if p == nil {
		return "", nil
	}
	if p.String() != "" {
		rows := 0
		if len(p.Rows) > 0 && len(p.Fill) > 0 {
			rows = len(p.Rows) / len(p.Fill)
		}
		text, _ := json.Marshal(kinds{p.Impute.String(), p.Transform.String(), rows}) // texts have JSON
		about = string(text)
	}
	if len(p.LeaveOut) > 0 {
		text, _ := json.Marshal(p.LeaveOut)
		about += "\n" + string(text)
	}
	return about, slices.Concat(p.Fill, p.IDF, exchange(p.Rows, math.NaN(), hole))
}

// Prepared returns the view with the way in which its values were changed, which a model keeps.
func Prepared(x largemvc.View, p *dataset.Preparation) largemvc.View {
	return x.WithPreparation(preparation(p))
}

// Preparations returns how the views of the training were prepared, for Set.Prepare on new samples; nil if none was. If a view
// was imputed, the new samples must be read with Options.AllowNaN. What was left out is for Options.LeftOut.
func Preparations(p *largemvc.Predictor) ([]*dataset.Preparation, error) {
	out := make([]*dataset.Preparation, len(p.ViewNames()))
	for v := range out {
		about, numbers := p.Preparation(v)
		if about == "" {
			continue
		}
		x, rows := parsed(about)
		lists := max(rows, 0)
		for _, has := range []bool{x.Impute != dataset.NoImpute, x.Transform == dataset.TFIDF} {
			if has {
				lists++
			}
		}
		d := len(numbers) / max(lists, 1)
		if x.Impute != dataset.NoImpute {
			x.Fill, numbers = numbers[:d], numbers[d:]
		}
		if x.Transform == dataset.TFIDF {
			x.IDF, numbers = numbers[:d], numbers[d:]
		}
		if rows > 0 {
			x.Rows = exchange(numbers, hole, math.NaN())
		}
		if again, _ := preparation(x); again != about {
			return nil, fmt.Errorf("views: the preparation of view %d of the model is not known: %q", v, about)
		}
		out[v] = x
	}
	if !slices.ContainsFunc(out, func(x *dataset.Preparation) bool { return x != nil }) {
		return nil, nil
	}
	return out, nil
}

// parsed is the inverse of preparation, without numbers, and with the number of rows that fill holes. What it does not know it
// leaves out.
func parsed(about string) (x *dataset.Preparation, rows int) {
	k := kinds{dataset.NoImpute.String(), dataset.NoTransform.String(), 0}
	x = &dataset.Preparation{}
	changes, left, _ := strings.Cut(about, "\n")
	_ = json.Unmarshal([]byte(changes), &k)
	_ = json.Unmarshal([]byte(left), &x.LeaveOut)
	for x.Impute.String() != k.Impute && x.Impute < dataset.ImputeNeighbors {
		x.Impute++
	}
	for x.Transform.String() != k.Transform && x.Transform < dataset.TFIDF {
		x.Transform++
	}
	return x, k.Rows
}

// OfRows is Of for a set whose views stay on disk. It must not be closed while the views are used.
func OfRows(set *dataset.RowSet) ([]largemvc.View, error) {
	if set == nil || len(set.Views) == 0 {
		return nil, errors.New("views: the set has no views")
	}
	out := make([]largemvc.View, len(set.Views))
	for v, rows := range set.Views {
		out[v] = Prepared(largemvc.RowsView(rows).Named(rows.Name).WithFeatures(rows.Features), rows.Prepared)
	}
	return masked(out, set.Present, set.Samples())
}

// masked gives the views of n samples a mask, if there is one.
func masked(out []largemvc.View, present [][]bool, n int) ([]largemvc.View, error) {
	if present == nil {
		return out, nil
	}
	if len(present) != n {
		return nil, fmt.Errorf("views: the mask has %d rows, view 0 has %d samples", len(present), n)
	}
	for v := range out {
		of := make([]bool, n)
		for i, row := range present {
			if len(row) != len(out) {
				return nil, fmt.Errorf("views: the mask has %d views for sample %d, want %d", len(row), i, len(out))
			}
			of[i] = row[v]
		}
		out[v] = out[v].WithPresent(of)
	}
	return out, nil
}
