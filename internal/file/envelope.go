package file

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

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

// Read reads a file of a format to the end of r and checks its version and its seal.
func Read(r io.Reader, format string) (f *safetensors.File, version int, err error) {
	f, err = safetensors.Read(bufio.NewReader(r))
	if err != nil {
		return nil, 0, err
	}
	if got := f.Metadata[MetaFormat]; got != format {
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
