package view

import (
	"errors"
	"fmt"
)

// InputError is a fault of the views that a caller gave.
type InputError struct {
	View   int   // number of the view, −1: not one view
	Row    int   // sample, −1: not one sample
	Column int   // feature, −1: not one feature
	Err    error // what is wrong
}

// Error returns the text of Err.
func (e *InputError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("view %d, row %d, column %d is wrong", e.View, e.Row, e.Column)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

// Wrong returns an InputError of view v with the text of fmt.Errorf. v and row are −1 where the fault is not of one view or
// sample. If the text wraps an InputError, Wrong takes over its row and column.
func Wrong(v, row int, format string, args ...any) error {
	out := &InputError{View: v, Row: row, Column: -1, Err: fmt.Errorf(format, args...)}
	var inner *InputError
	if errors.As(out.Err, &inner) {
		out.Row, out.Column = inner.Row, inner.Column
	}
	return out
}
