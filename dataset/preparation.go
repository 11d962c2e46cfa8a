package dataset

import (
	"fmt"
	"math"
	"slices"
)

// Impute selects the value that replaces NaN in a row of a sample that has the view.
type Impute uint8

// The kinds of imputation. Mean and median are over the samples that have a value in the feature.
const (
	// NoImpute makes NaN an error.
	NoImpute Impute = iota
	// ImputeMean takes the mean of the feature.
	ImputeMean
	// ImputeMedian takes the median of the feature.
	ImputeMedian
)

// Transform selects a function of the values of a view, for counts. All of them keep zeros, and refuse negative values.
type Transform uint8

// The transforms of a value x of a row of d features.
const (
	// NoTransform keeps the values.
	NoTransform Transform = iota
	// Log1p takes log(1 + x).
	Log1p
	// CLR takes log(1 + x/g), where log g is the mean of log(1 + x) over the row: counts of proteins.
	CLR
	// TFIDF takes log(1 + 10⁴·x/s)·log(1 + n/m) with the sum s of the row, the number n of the training samples, and the number m
	// of training samples where the feature is not zero: counts of words or open chromatin.
	TFIDF
)

// Preparation says how the values of a view were changed after they were read: first holes are filled, then values are
// transformed. It has what was learned from the training samples, so that new samples change in the same way.
type Preparation struct {
	Impute    Impute
	Transform Transform
	Fill      []float64 // value of each feature in place of NaN; nil without Impute
	IDF       []float64 // log(1 + n/m) of each feature; nil without TFIDF
	LeaveOut  []string  // Options.LeaveOut of the training, for Options.LeftOut
}

// String names the preparation, for example "mean, log1p"; "" if there is none.
func (p *Preparation) String() string {
	switch {
	case p == nil || p.Impute == NoImpute && p.Transform == NoTransform:
		return ""
	case p.Transform == NoTransform:
		return p.Impute.String()
	case p.Impute == NoImpute:
		return p.Transform.String()
	}
	return p.Impute.String() + ", " + p.Transform.String()
}

// apply prepares view v.
func (p *Preparation) apply(s *Set, v int) error {
	view := &s.Views[v]
	if p == nil {
		return nil
	}
	if (p.Fill != nil && len(p.Fill) != view.Cols) || (p.IDF != nil && len(p.IDF) != view.Cols) {
		return fmt.Errorf("dataset: view %d (%s) has %d features, in the model it has %d: give the views in the order of the "+
			"model, with the features of the training", v, view.Name, view.Cols, max(len(p.Fill), len(p.IDF)))
	}
	if p.Fill != nil {
		if err := p.fill(s, v); err != nil {
			return err
		}
	}
	view.Prepared = p
	if p.Transform == NoTransform {
		return nil
	}
	s.Reading.Notes = append(s.Reading.Notes, fmt.Sprintf("%s: values are transformed by %v", view.Name, p.Transform))
	return eachRow(s, v, func(i int, column func(k int) int, x []float64) error {
		if k := slices.IndexFunc(x, func(a float64) bool { return a < 0 }); k >= 0 {
			return fmt.Errorf("dataset: view %s has %g in row %d, column %d (from 0): %v is for counts, which are not negative",
				view.Name, x[k], i, column(k), p.Transform)
		}
		p.transform(x, column, view.Cols)
		return nil
	})
}

// fill puts values in place of NaN, and notes how many.
func (p *Preparation) fill(s *Set, v int) error {
	view, holes, columns := &s.Views[v], 0, map[int]bool{}
	err := eachRow(s, v, func(i int, column func(k int) int, x []float64) error {
		filled := 0
		for k := range x {
			if math.IsNaN(x[k]) {
				x[k] = p.Fill[column(k)]
				filled++
				columns[column(k)] = true
			}
		}
		if holes += filled; filled == view.Cols {
			return fmt.Errorf("dataset: view %s has only NaN in row %d (from 0): mark the view as absent (Options.MissingRows)",
				view.Name, i)
		}
		return nil
	})
	if holes > 0 {
		s.Reading.Notes = append(s.Reading.Notes, fmt.Sprintf("%s: missing values are filled with the %v of the training "+
			"samples: %d in %d of %d features (%.2g %% of the values)", view.Name, p.Impute, holes, len(columns), view.Cols,
			100*float64(holes)/(float64(view.Rows)*float64(view.Cols))))
	}
	return err
}

// transform changes the values of a row in place; those that it does not list are zero.
func (p *Preparation) transform(x []float64, column func(k int) int, d int) {
	sum, logs := 0.0, 0.0
	for _, a := range x {
		sum, logs = sum+a, logs+math.Log1p(a)
	}
	g := math.Exp(logs / float64(d))
	for k, a := range x {
		switch {
		case a == 0:
		case p.Transform == CLR:
			x[k] = math.Log1p(a / g)
		case p.Transform == TFIDF:
			x[k] = math.Log1p(1e4*a/sum) * p.IDF[column(k)]
		default:
			x[k] = math.Log1p(a)
		}
	}
}

// eachRow gives the values of each present row of view v, of a sparse view its entries, to change, and keeps the changes. column
// is the feature of value k.
func eachRow(s *Set, v int, change func(i int, column func(k int) int, x []float64) error) error {
	view := &s.Views[v]
	buffer, c := make([]float64, view.Cols), view.Sparse
	for i := range view.Rows {
		if s.Present != nil && !s.Present[i][v] {
			continue
		}
		lo, hi := i*view.Cols, (i+1)*view.Cols
		f32, f64 := view.Float32, view.Float64
		column := func(k int) int { return k }
		if c != nil {
			lo, hi, f32, f64 = c.RowPtr[i], c.RowPtr[i+1], c.Float32, c.Float64
			column = func(k int) int { return int(c.Col[lo+k]) }
		}
		x := buffer[:hi-lo]
		if f64 != nil {
			copy(x, f64[lo:hi])
		} else {
			for k, a := range f32[lo:hi] {
				x[k] = float64(a)
			}
		}
		if err := change(i, column, x); err != nil {
			return err
		}
		if f64 != nil {
			copy(f64[lo:hi], x)
			continue
		}
		for k, a := range x {
			f32[lo+k] = float32(a)
		}
	}
	return nil
}

// prepare prepares the views as the options ask for, by what it learns from the present rows.
func (r *rawSet) prepare(o *Options) error {
	for name := range o.Transform {
		if name != "*" && !slices.ContainsFunc(r.set.Views, func(v View) bool { return v.Name == name }) {
			names := make([]string, len(r.vars))
			for v := range r.vars {
				names[v] = r.vars[v].name
			}
			return fmt.Errorf("dataset: Options.Transform names the view %q; the views are %s", name, someNames(names))
		}
	}
	for v := range r.set.Views {
		view := &r.set.Views[v]
		p := &Preparation{Impute: o.Impute, Transform: o.Transform["*"], LeaveOut: o.LeaveOut}
		if t, ok := o.Transform[view.Name]; ok {
			p.Transform = t
		}
		view.Prepared = leavingOut(o)
		if p.String() == "" {
			continue
		}
		if err := r.lim.Take("what prepares a view", 16*int64(view.Cols)); err != nil {
			return r.vars[v].wrap(err)
		}
		if o.Impute != NoImpute {
			p.Fill = make([]float64, view.Cols)
			if err := r.learnFill(v, p); err != nil {
				return err
			}
			if err := p.fill(r.set, v); err != nil {
				return err
			}
		}
		if p.Transform == TFIDF {
			p.IDF = inverse(r.set, v)
		}
		if err := p.apply(r.set, v); err != nil {
			return err
		}
	}
	return nil
}

// leavingOut returns the preparation that leaves out alone; nil if nothing is.
func leavingOut(o *Options) *Preparation {
	if len(o.LeaveOut) == 0 {
		return nil
	}
	return &Preparation{LeaveOut: o.LeaveOut}
}

// fillValues is about how many values learnFill holds.
const fillValues = 1 << 21

// learnFill finds the mean or median of every feature over the present rows that have a value in it.
func (r *rawSet) learnFill(v int, p *Preparation) error {
	view := &r.set.Views[v]
	block := max(1, min(view.Cols, fillValues/max(view.Rows, 1)))
	held := 8 * int64(block) * int64(view.Rows)
	if err := r.lim.Take("the values of some features", held); err != nil {
		return r.vars[v].wrap(err)
	}
	defer r.lim.Give(held)
	values := make([][]float64, block)
	for lo := 0; lo < view.Cols; lo += block {
		if err := r.lim.Err(); err != nil {
			return err
		}
		for k := range values {
			values[k] = values[k][:0]
		}
		hi := min(lo+block, view.Cols)
		stored, rows := make([]int, block), 0
		for i := range view.Rows {
			if r.set.Present != nil && !r.set.Present[i][v] {
				continue
			}
			rows++
			view.entriesBetween(i, lo, hi, func(j int, x float64) {
				if stored[j-lo]++; !math.IsNaN(x) {
					values[j-lo] = append(values[j-lo], x)
				}
			})
		}
		for j := lo; j < hi; j++ {
			x := append(values[j-lo], make([]float64, rows-stored[j-lo])...) // zeros of a sparse view
			if len(x) == 0 {
				return r.vars[v].errorf("has only NaN in column %d (from 0), so that nothing can fill it: leave the column out",
					j)
			}
			p.Fill[j] = p.Impute.of(x)
			values[j-lo] = x
		}
	}
	return nil
}

// of is the mean or the median of some values, which it sorts.
func (m Impute) of(x []float64) float64 {
	if m == ImputeMedian {
		slices.Sort(x)
		return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	}
	sum := 0.0
	for _, a := range x {
		sum += a
	}
	return sum / float64(len(x))
}

// inverse returns log(1 + n/m) of each feature: n present rows, m of them not zero there.
func inverse(s *Set, v int) []float64 {
	count, n := make([]float64, s.Views[v].Cols), 0.0
	// The function returns no error.
	_ = eachRow(s, v, func(_ int, column func(k int) int, x []float64) error {
		n++
		for k, a := range x {
			if a != 0 {
				count[column(k)]++
			}
		}
		return nil
	})
	for j, m := range count {
		count[j] = math.Log1p(n / max(m, 1))
	}
	return count
}
