// Package digits has real data for the example programs: the handwritten digits of MNIST, each described in three views.
package digits

import (
	"context"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/features"
	"github.com/largemvc/largemvc/examples/internal/mnist"
)

// All is the number of digits that there are.
const All = mnist.TrainingImages

// Names are those of the views: the pixels, histograms of gradients and histograms of local binary patterns.
var Names = []string{"grey", "HOG", "LBP"}

// Digits are n samples.
type Digits struct {
	Labels  []int       // n, the digits themselves, 0 to 9
	Columns []int       // of each view
	Values  [][]float32 // of each view, n×Columns, row by row
}

// Open reads the first n digits, 0 for all, and describes them. folder holds the images; "": the folder
// of the Go module GoMNIST.
func Open(ctx context.Context, folder string, n, workers int) (*Digits, error) {
	if folder == "" {
		var err error
		if folder, err = mnist.Folder(); err != nil {
			return nil, err
		}
	}
	images, err := mnist.Training(folder, n)
	if err != nil {
		return nil, err
	}
	const cell = 7
	hog, err := features.NewHOG(images.Width, images.Height, cell, 2, 9)
	if err != nil {
		return nil, err
	}
	lbp, err := features.NewLBP(images.Width, images.Height, cell)
	if err != nil {
		return nil, err
	}
	d := &Digits{Labels: images.Labels}
	for _, descriptor := range []features.Descriptor{features.Pixels(images.Width * images.Height), hog, lbp} {
		x, err := features.All(ctx, descriptor, images.Pixels, images.Len(), workers)
		if err != nil {
			return nil, err
		}
		d.Columns, d.Values = append(d.Columns, descriptor.Len()), append(d.Values, x)
	}
	return d, nil
}

// Views returns the views of the samples from number lo up to, but without, number hi.
func (d *Digits) Views(lo, hi int) []largemvc.View {
	views := make([]largemvc.View, len(d.Values))
	for v, x := range d.Values {
		c := d.Columns[v]
		views[v] = largemvc.DenseView(hi-lo, c, x[lo*c:hi*c]).Named(Names[v])
	}
	return views
}
