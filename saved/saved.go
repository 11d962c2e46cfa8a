// Package saved has the errors for unreadable files: models (largemvc.Load and ReadPredictor) and checkpoints (largemvc.Resume).
// An error of these functions matches at most one of them by errors.Is, and its text has the details.
//
// It matches none if the file could not be opened or read to its end, or if modules, views or the configuration do not fit the
// file.
package saved

import "errors"

var (
	// ErrNewer means that the file has a later version of the format. A newer release of the library reads it.
	ErrNewer = errors.New("saved: the file is of a newer version")

	// ErrDamaged means that the file has the right format and is damaged: it is truncated, bytes have changed, or its parts
	// contradict each other.
	ErrDamaged = errors.New("saved: the file is damaged")

	// ErrFormat means that the file has another format: it comes from another program, or it is a checkpoint in place of a model,
	// or a model in place of a checkpoint.
	ErrFormat = errors.New("saved: the file is of another format")
)
