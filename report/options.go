package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/view"
)

// Options holds the page's content beside the clustering. Every field may be zero.
type Options struct {
	Title string // of the page; "": Clusters of Data
	Data  string // name of the data, for example of their file

	// Views are the views of the samples, with their values before the fit: machine.Options.Overwrite destroys these values. NaN,
	// infinities and values whose squares overflow are an error, except in absent rows. Only the rows that the page uses of a
	// RowsView are checked. nil: the page has no features, silhouettes and neighbours of clusters.
	Views []largemvc.View

	IDs        []string // names of the n samples; nil: their numbers from 0
	Classes    []int    // known classes of the n samples, from 0 to len(ClassNames)−1; nil: unknown
	ClassNames []string // nil: the numbers of the classes
	Start      string   // name of the labels that Config.StartLabels had, for example of their file; "": none

	// Trust (0 to 1) of each view and sample, as Predictor.ViewTrust returns it. nil: Write shows the trust of the network, if it
	// has a noise module, WritePredictions none.
	Trust [][]float64

	// Novelty (0 to 1) of each sample. nil: WritePredictions computes it with the model, Write omits it.
	Novelty []float64

	Reading []string  // how the data were read, by line
	Facts   []Fact    // further lines of the model card
	Created time.Time // date of the page; zero: none

	Points  int    // samples on the map, at most; 0: DefaultPoints
	PCA     bool   // draw principal components on the map in place of t-SNE
	Seed    uint64 // for drawing samples at random
	Workers int    // goroutines; 0: GOMAXPROCS. The page does not depend on it

	// Progress, if not nil, is called now and then, from the goroutine that called Write. If it returns an error, Write stops and
	// returns it.
	Progress func(phase string, done, total int) error
	inner    []view.View // what Views hold
}

// Fact is a line of the model card.
type Fact struct{ Name, Value string }

// DefaultPoints is the number of samples up to which the map shows all of them, if Options.Points is 0.
const DefaultPoints = 10_000

// complete fills in the defaults and checks the options against n samples and the number of features of each view.
func (o *Options) complete(n int, dims []int) error {
	if o.Points == 0 {
		o.Points = DefaultPoints
	}
	if o.Points < 0 {
		return fmt.Errorf("report: Points is %d, want 0 (the default) or more", o.Points)
	}
	if o.Title == "" {
		o.Title = "Clusters"
		if o.Data != "" {
			o.Title += " of " + o.Data
		}
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) error { return nil }
	}
	if err := o.check(n, dims); err != nil {
		return err
	}
	return o.completeClasses(n)
}

// check reports whether the lists have the lengths for n samples and the views, and the views their features.
func (o *Options) check(n int, dims []int) error {
	views := len(dims)
	if o.IDs != nil && len(o.IDs) != n {
		return wrongLength("IDs", len(o.IDs), n, "sample")
	}
	if o.Views != nil && len(o.Views) != views {
		return wrongLength("Views", len(o.Views), views, "view of the clustering")
	}
	if err := o.checkViews(n, dims); err != nil {
		return err
	}
	if o.Trust != nil && len(o.Trust) != views {
		return wrongLength("Trust", len(o.Trust), views, "view of the clustering")
	}
	for v, t := range o.Trust {
		if len(t) != n {
			return wrongLength(fmt.Sprintf("Trust[%d]", v), len(t), n, "sample")
		}
	}
	if o.Novelty != nil && len(o.Novelty) != n {
		return wrongLength("Novelty", len(o.Novelty), n, "sample")
	}
	return nil
}

func wrongLength(field string, have, want int, of string) error {
	return fmt.Errorf("report: %s has the length %d, want %d: one for each %s", field, have, want, of)
}

func (o *Options) checkViews(n int, dims []int) error {
	o.inner = make([]view.View, len(o.Views))
	for v, x := range o.Views {
		in, err := x.Content()
		o.inner[v] = in
		switch {
		case err != nil:
			return fmt.Errorf("report: %s of Views: %w", in.Label(v), err)
		case in.Rows != n:
			return fmt.Errorf("report: Views[%d] has %s, the clustering has %d", v, plural(in.Rows, "sample"), n)
		case in.Empty():
			return fmt.Errorf("report: Views[%d] has no values", v)
		case in.Present != nil && len(in.Present) != n:
			return wrongLength(fmt.Sprintf("the mask of Views[%d]", v), len(in.Present), n, "sample")
		case in.Cols != dims[v]:
			return fmt.Errorf("report: Views[%d] has %s, the view of the clustering has %d: give the views of the fit in their "+
				"order", v, plural(in.Cols, "feature"), dims[v])
		case in.Features != nil && len(in.Features) != in.Cols:
			return wrongLength(fmt.Sprintf("the names of features of Views[%d]", v), len(in.Features), in.Cols, "feature")
		}
	}
	return nil
}

// effectRows returns the samples whose values in the views are measured.
func (o *Options) effectRows(r *result) []int {
	return draw(r.samples(), effectCount(r.samples(), r.dims, r.clusters()), o.Seed)
}

// within completes and checks the options, and calls work, which a row of Views that cannot be read ends.
func (o *Options) within(ctx context.Context, r *result, work func(ctx context.Context) error) error {
	if err := o.complete(r.samples(), r.dims); err != nil {
		return err
	}
	return view.Within(ctx, o.inner, o.Workers, func(ctx context.Context, views []view.View) error {
		o.inner = views
		if err := o.checkValues(ctx, r); err != nil {
			return err
		}
		return work(ctx)
	})
}

// checkValues returns an error for a value that makes means NaN or infinite. A model has checked the samples that it labelled.
func (o *Options) checkValues(ctx context.Context, r *result) error {
	if o.Views == nil || r.predicted {
		return nil
	}
	err := view.CheckFiniteOf(ctx, o.inner, o.effectRows(r), o.Workers)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("report: Views: %w", err)
}

func (o *Options) completeClasses(n int) error {
	if o.Classes == nil {
		if o.ClassNames != nil {
			return errors.New("report: ClassNames is set without Classes: set both, or leave it out")
		}
		return nil
	}
	if len(o.Classes) != n {
		return wrongLength("Classes", len(o.Classes), n, "sample")
	}
	most := -1
	for i, c := range o.Classes {
		if c < 0 || o.ClassNames != nil && c >= len(o.ClassNames) {
			return fmt.Errorf("report: Classes[%d] is %d, want 0 or more, and less than the number of ClassNames", i, c)
		}
		most = max(most, c)
	}
	if o.ClassNames != nil {
		return nil
	}
	if most >= mostClasses {
		return fmt.Errorf("report: Classes has %d, want less than %d, or ClassNames", most, mostClasses)
	}
	for c := range most + 1 {
		o.ClassNames = append(o.ClassNames, fmt.Sprint(c))
	}
	return nil
}

// mostClasses is the largest number of classes without names.
const mostClasses = 1_000_000
