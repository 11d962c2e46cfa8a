package file

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/safetensors"
)

// The metadata of a file; docs/format.md describes the whole.
const (
	MetaFormat   = "format"
	MetaVersion  = "version"
	MetaLibrary  = "library"
	MetaConfig   = "config"
	MetaTraining = "training"
	Seal         = "sha256" // of all else in the file

	Version = 6 // of the format; earlier ones can be read
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

// Read reads a file of a format to the end of r and checks its version and its seal.
func Read(r io.Reader, format string) (f *safetensors.File, version int, err error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(sniffed) // less than that is as good
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if looks := resembles(head); looks != "" || !safetensors.Begins(head) {
		return nil, 0, fmt.Errorf("the file is not a %s of largemvc%s", cmp.Or(kinds[format], format), looks)
	}
	f, err = safetensors.Read(b)
	if err != nil {
		return nil, 0, err
	}
	if got := f.Metadata[MetaFormat]; got != format {
		if kinds[got] != "" && kinds[format] != "" {
			return nil, 0, fmt.Errorf("the file is a %s of largemvc, not a %s", kinds[got], kinds[format])
		}
		return nil, 0, fmt.Errorf("the file's format is %q, want %q", got, format)
	}
	version, err = strconv.Atoi(f.Metadata[MetaVersion])
	if err != nil || version < 1 {
		return nil, 0, fmt.Errorf("the file's version is %q", f.Metadata[MetaVersion])
	}
	if version > Version {
		return nil, 0, fmt.Errorf(
			"the file has version %d of the format; this library reads up to version %d: a newer one is needed",
			version, Version,
		)
	}
	return f, version, f.Verify(Seal)
}

// sniffed is how many bytes tell what a file looks like.
const sniffed = 512

// resembles says what a file looks like that is none of this library's, to be read behind a statement about it; empty where that
// is not known, or where it may be one that was cut off.
func resembles(head []byte) string {
	for _, x := range []struct{ magic, name string }{
		{"\x93NUMPY", "an array of NumPy (.npy)"}, {"PK\x03\x04", "a ZIP archive, as .npz are"}, {"\x89HDF\r\n", "HDF5"},
		{"MATLAB 5", "a .mat file of MATLAB"}, {"MATLAB 7", "a .mat file of MATLAB"}, {"\x1f\x8b", "a file packed by gzip"},
	} {
		if bytes.HasPrefix(head, []byte(x.magic)) {
			return "; it looks like " + x.name
		}
	}
	control := func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) }
	if len(head) > 0 && !bytes.ContainsFunc(head, control) {
		return "; it looks like a text, as CSV is"
	}
	return ""
}
