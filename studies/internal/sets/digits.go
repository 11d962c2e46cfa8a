package sets

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/examples/digits"
)

// AllDigits is the number of MNIST digits.
const AllDigits = digits.All

// Digits makes a set of the first n MNIST digits in three views. folder holds the images; "" means the Go module GoMNIST.
func Digits(ctx context.Context, folder string, n, workers int) (*Set, error) {
	images, err := digits.Open(ctx, folder, n, workers)
	if err != nil {
		return nil, err
	}
	n = len(images.Labels)
	var views []Matrix
	for v, x := range images.Values {
		views = append(views, Matrix{n, images.Columns[v], x})
	}
	names := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	d := New(fmt.Sprintf("mnist-%d", n), views, images.Labels, names)
	for v, name := range digits.Names {
		d.Views[v] = d.Views[v].Named(name)
	}
	return d, nil
}
