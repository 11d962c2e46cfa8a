package file

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/saved"
)

// The metadata of a file; docs/format.md describes the whole.
const (
	MetaFormat   = "format"
	MetaVersion  = "version"
	MetaLibrary  = "library"
	MetaConfig   = "config"
	MetaTraining = "training"
	Seal         = "sha256" // of all else in the file

	Version = 1 // of the format
	library = "github.com/largemvc/largemvc"
)

// New returns a file of a format without tensors, with what json.Marshal makes of a configuration and of a training.
func New(format string, config, training any) (*safetensors.File, error) {
	c, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	t, err := json.Marshal(training)
	if err != nil {
		return nil, err
	}
	return &safetensors.File{Metadata: map[string]string{
		MetaFormat: format, MetaVersion: strconv.Itoa(Version), MetaLibrary: library,
		MetaConfig: string(c), MetaTraining: string(t),
	}}, nil
}

// kinds are what the formats of this library are called.
var kinds = map[string]string{"largemvc-model": "model", "largemvc-checkpoint": "checkpoint of a training"}

// Read reads a file of a format to the end of r and checks its version and its seal. An error that is not of r is one of package
// saved.
func Read(r io.Reader, format string) (*safetensors.File, error) {
	in := &noted{r: r}
	b := bufio.NewReader(in)
	head, err := b.Peek(sniffed) // less than that is as good
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head = slices.Clone(head) // whose place what is read next takes
	f, err := safetensors.ReadIf(b, func(metadata map[string]string) error { return checkVersion(metadata, format) })
	var known *contentError
	switch {
	case err == nil:
	case in.err != nil && errors.Is(err, in.err), errors.As(err, &known):
		return nil, err
	case errors.Is(err, safetensors.ErrFormat), isText(head):
		return nil, &contentError{saved.ErrFormat, fmt.Errorf("the file is not a %s of largemvc%s",
			cmp.Or(kinds[format], format), resembles(head))}
	default:
		return nil, Damaged(err)
	}
	return f, Damaged(f.Verify(Seal))
}

// checkVersion refuses metadata of another format, or of a version of the format that this library does not know.
func checkVersion(metadata map[string]string, format string) error {
	if got := metadata[MetaFormat]; got != format {
		if kinds[got] != "" && kinds[format] != "" {
			return &contentError{saved.ErrFormat, fmt.Errorf("the file is a %s of largemvc, not a %s", kinds[got],
				kinds[format])}
		}
		return &contentError{saved.ErrFormat, fmt.Errorf("the file's format is %q, want %q", got, format)}
	}
	version, err := strconv.Atoi(metadata[MetaVersion])
	if err != nil || version < 1 {
		return Damaged(fmt.Errorf("the file's version is %q", metadata[MetaVersion]))
	}
	if version > Version {
		return &contentError{saved.ErrNewer, fmt.Errorf(
			"the file has version %d of the format; this library reads up to version %d: a newer one is needed",
			version, Version,
		)}
	}
	return nil
}

// sniffed is how many bytes tell what a file looks like.
const sniffed = 512

// resembles says what a file looks like that is none of this library's, to be read behind a statement about it; empty where that
// is not known.
func resembles(head []byte) string {
	for _, x := range []struct{ magic, name string }{
		{"\x93NUMPY", "an array of NumPy (.npy)"}, {"PK\x03\x04", "a ZIP archive, as .npz are"}, {"\x89HDF\r\n", "HDF5"},
		{"MATLAB 5", "a .mat file of MATLAB"}, {"MATLAB 7", "a .mat file of MATLAB"}, {"\x1f\x8b", "a file packed by gzip"},
	} {
		if bytes.HasPrefix(head, []byte(x.magic)) {
			return "; it looks like " + x.name
		}
	}
	if isText(head) {
		return "; it looks like a text, as CSV is"
	}
	return ""
}

// isText reports whether a file begins as a text, and is none of this library's that was cut off: the length of a header, of less
// than 2²⁴ bytes, has a zero in its fourth byte.
func isText(head []byte) bool {
	control := func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) }
	return len(head) > 3 && !bytes.ContainsFunc(head, control)
}

// Damaged returns an error that is saved.ErrDamaged too, and says what it said; nil of nil.
func Damaged(err error) error {
	if err == nil {
		return nil
	}
	return &contentError{saved.ErrDamaged, err}
}

// contentError is an error of what a file holds.
type contentError struct{ kind, err error }

func (e *contentError) Error() string   { return e.err.Error() }
func (e *contentError) Unwrap() []error { return []error{e.kind, e.err} }

// noted is a reader that keeps its error, except io.EOF: what follows from it is not the file's fault.
type noted struct {
	r   io.Reader
	err error
}

func (n *noted) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return k, err
}
