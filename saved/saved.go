// Package saved has the errors of files that cannot be read: models (largemvc.Load and ReadPredictor) and checkpoints
// (largemvc.Resume). An error of these functions matches at most one of them by errors.Is, and its text says more.
//
// It matches none if the file could not be opened or read to its end, or if something else does not fit the file: modules,
// views, a changed configuration.
package saved

import "errors"

var (
	// ErrNewer says that the file has a later version of the format. A newer release of the library reads it.
	ErrNewer = errors.New("saved: the file is of a newer version")

	// ErrDamaged says that the file had this format and was damaged: it is truncated, bytes have changed, or its parts
	// contradict each other.
	ErrDamaged = errors.New("saved: the file is damaged")

	// ErrFormat says that the file has another format: it is of another program, or a checkpoint where a model is wanted, or a
	// model where a checkpoint is.
	ErrFormat = errors.New("saved: the file is of another format")
)
