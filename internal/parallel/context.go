package parallel

import (
	"context"
	"errors"
	"reflect"
)

// CheckContext returns an error for a context that is nil, or a nil pointer in the interface, whose methods would panic.
func CheckContext(ctx context.Context) error {
	if ctx == nil {
		return errors.New("the context is nil")
	}
	if Nil(ctx) {
		return errors.New("the context is a nil pointer")
	}
	return nil
}

// Nil says whether x is nil, or a nil pointer in an interface, whose methods would panic.
func Nil(x any) bool {
	v := reflect.ValueOf(x)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
