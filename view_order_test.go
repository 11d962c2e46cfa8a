package largemvc

import (
	"slices"
	"strings"
	"testing"
)

// Views that have the names of the training in another order are refused, of as many features or not, whatever asks; views of
// other names, or without one, are taken as they stand.
func TestNamedViewsInAnotherOrder(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 154, 5, 5)
	images, texts := views[0].Named("images"), views[1].Named("texts")
	p := mustFit(t, []View{images, texts}, Config{Clusters: 3, Epochs: 1})
	want, err := p.Predict(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	turned := []View{texts, images}
	const refused = "the views are texts, images, the network was trained on images, texts: give them in that order"
	calls := map[string]func() error{
		"Predict":    func() error { _, err := p.Predict(t.Context(), turned); return err },
		"Transform":  func() error { _, err := p.Transform(t.Context(), turned); return err },
		"Novelty":    func() error { _, err := p.Novelty(t.Context(), turned); return err },
		"ViewTrust":  func() error { _, err := p.ViewTrust(t.Context(), turned); return err },
		"AssignRows": func() error { return p.AssignRows(t.Context(), turned, func(int, *Assignments) error { return nil }) },
	}
	for name, call := range calls {
		if err := call(); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	some := mustFit(t, []View{views[0], texts, views[1]}, Config{Clusters: 3, Epochs: 1})
	const places = "the views are texts, view 1, view 2, the network was trained on view 0, texts, view 2"
	_, err = some.Predict(t.Context(), []View{texts, views[0], views[1]})
	if err == nil || !strings.Contains(err.Error(), places) {
		t.Errorf("views without a name: %v", err)
	}
	for _, given := range [][]View{
		{images, texts}, {views[0], texts}, {views[0].Named("texts"), views[1]}, {images.Named("a"), texts.Named("b")},
	} {
		if got, err := p.Predict(t.Context(), given); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %v, %v", given, got, err)
		}
	}
}
