package sets

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/examples/internal/features"
	"github.com/largemvc/largemvc/examples/internal/mnist"
)

// AllDigits is the number of MNIST digits that there are.
const AllDigits = mnist.TrainingImages

// DigitViews are the names of the views of Digits: the pixels, histograms of gradients and of local binary patterns.
var DigitViews = []string{"grey", "HOG", "LBP"}

// Digits makes three views of the first n MNIST digits. folder holds the images, "" that of the Go module GoMNIST.
func Digits(ctx context.Context, folder string, n, workers int) (*Set, error) {
	if folder == "" {
		var err error
		if folder, err = mnist.Folder(); err != nil {
			return nil, err
		}
	}
	digits, err := mnist.Training(folder, n)
	if err != nil {
		return nil, err
	}
	const cell = 7
	hog, err := features.NewHOG(digits.Width, digits.Height, cell, 2, 9)
	if err != nil {
		return nil, err
	}
	lbp, err := features.NewLBP(digits.Width, digits.Height, cell)
	if err != nil {
		return nil, err
	}
	var views []Matrix
	for _, descriptor := range []features.Descriptor{features.Pixels(digits.Width * digits.Height), hog, lbp} {
		x, err := features.All(ctx, descriptor, digits.Pixels, digits.Len(), workers)
		if err != nil {
			return nil, err
		}
		views = append(views, Matrix{digits.Len(), descriptor.Len(), x})
	}
	names := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	d := New(fmt.Sprintf("mnist-%d", digits.Len()), views, digits.Labels, names)
	for v, name := range DigitViews {
		d.Views[v] = d.Views[v].Named(name)
	}
	return d, nil
}
