package work

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OneState returns an error unless a folder is empty or holds work of this build. This keeps a table to one state of the code.
func OneState(folder string) error {
	mine, err := build()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "build")
	kept, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case string(kept) != mine:
		return fmt.Errorf("%s holds the work of another build; name another folder", folder)
	}
	return WriteWhole(path, []byte(mine))
}

// build is the digest of the running program.
func build() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x\n", h.Sum(nil)), nil
}
