package largemvc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// withName puts the library's name before an error of an internal package. The context's own stays as it is.
func withName(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		strings.HasPrefix(err.Error(), "largemvc: ") {
		return err
	}
	return fmt.Errorf("largemvc: %w", err)
}

// prefixed begins the error of an internal package, if there is one, with the name of this one.
func prefixed[X any](x X, err error) (X, error) {
	if err != nil {
		err = fmt.Errorf("largemvc: %w", err)
	}
	return x, err
}

// joined is errors.Join that leaves a single error, or one that comes twice, as it is.
func joined(a, b error) error {
	if a == nil {
		return b
	}
	if b == nil || b.Error() == a.Error() {
		return a
	}
	return errors.Join(a, b)
}

// guarded runs f, which builds a graph, and turns a panic of Gorgonia, or of what a user wrote, into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
