// Package saved says what is the matter with a file that a training has left, a model (largemvc.Load and ReadPredictor) or a
// checkpoint (largemvc.Resume), and that cannot be read. errors.Is finds at most one of its errors in those that these functions
// return, whose texts say more. It finds none where the file could not be opened or read to its end, and where what is given
// beside it does not fit: modules, views, a changed configuration.
package saved

import "errors"

var (
	// ErrNewer says that the file has a later version of the format: a newer release of the library reads it.
	ErrNewer = errors.New("saved: the file is of a newer version")

	// ErrDamaged says that the file was of this format once: it is truncated, its bytes were changed, or what it holds does not
	// go together.
	ErrDamaged = errors.New("saved: the file is damaged")

	// ErrFormat says that the file is not one of its kind: it is of another program, or a checkpoint in place of a model or the
	// other way round.
	ErrFormat = errors.New("saved: the file is of another format")
)
