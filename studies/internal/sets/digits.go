package sets

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/examples/digits"
)

// AllDigits is the number of MNIST digits.
const AllDigits = digits.All

// Digits makes a set of the first n MNIST digits, of the Go module GoMNIST, in three views.
func Digits(ctx context.Context, n int) (*Set, error) {
	images, err := digits.Open(ctx, "", n, 0)
	if err != nil {
		return nil, err
	}
	n = len(images.Labels)
	var views []Matrix
	for v, x := range images.Values {
		views = append(views, Matrix{n, images.Columns[v], x})
	}
	d := New(fmt.Sprintf("mnist-%d", n), views, images.Labels, 10)
	for v, name := range digits.Names {
		d.Views[v] = d.Views[v].Named(name)
	}
	return d, nil
}
