// Package file holds what the module's files have in common: they are replaced as a whole, sealed by a checksum, and read
// tensor by tensor with the first error kept.
package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Replace replaces the file at path by what write writes, as ReplaceAll does.
func Replace(path string, write func(io.Writer) error) error {
	return ReplaceAll([]string{path}, func(to []io.Writer) error { return write(to[0]) })
}

// ReplaceAll replaces the files at paths by what write writes to them. The bytes go to files beside them. When all of these are
// complete and flushed to disk, they take the names, one after the other. After an error of write no file has changed. A link at
// a path stays one, a file keeps its permissions. A file beside another is made when write has written something to it: a process
// that is killed while write still computes leaves nothing behind.
func ReplaceAll(paths []string, write func(to []io.Writer) error) (err error) {
	files, buffers, to := make([]*late, len(paths)), make([]*bufio.Writer, len(paths)), make([]io.Writer, len(paths))
	for k, path := range paths {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		files[k] = &late{path: path}
		// The struct hides the ReadFrom of a file that is not made yet.
		buffers[k] = bufio.NewWriterSize(struct{ io.Writer }{files[k]}, 1<<16)
		to[k] = buffers[k]
	}
	defer func() {
		for _, f := range files {
			if err != nil && f.File != nil {
				f.Close()
				os.Remove(f.Name())
			}
		}
	}()
	if err := write(to); err != nil {
		return err
	}
	for k, f := range files {
		if err := buffers[k].Flush(); err != nil {
			return err
		}
		if err := f.finish(); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := f.rename(); err != nil {
			return err
		}
	}
	return nil
}

// finish flushes the file to disk and closes it.
func (l *late) finish() error {
	if err := l.make(); err != nil { // an empty file has no byte that would make it
		return err
	}
	if err := l.Sync(); err != nil {
		return err
	}
	return l.Close()
}

// rename gives the file the name of the one that it replaces.
func (l *late) rename() error {
	if err := rename(l.Name(), l.path); err != nil {
		return err
	}
	// The new name is on disk once its folder is. Not every system can flush a folder; the file is whole anyway.
	if dir, err := os.Open(filepath.Dir(l.path)); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
	return nil
}

// late is the file beside the one at path, which the first bytes make.
type late struct {
	path string
	*os.File
}

// Write implements io.Writer.
func (l *late) Write(p []byte) (int, error) {
	if err := l.make(); err != nil {
		return 0, err
	}
	return l.File.Write(p)
}

// make makes the file where there is none yet.
func (l *late) make() error {
	if l.File != nil {
		return nil
	}
	old, err := os.Stat(l.path)
	there := err == nil
	if there && !old.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", l.path)
	}
	if l.File, err = createBeside(l.path); err != nil || !there {
		return err
	}
	return l.Chmod(old.Mode().Perm())
}

// Writable returns the error that Replace would return for a file of that name, nil if it could write one.
func Writable(path string) error {
	if old, err := os.Stat(path); err == nil && !old.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// createBeside makes a temporary file in the folder of path. Its name is drawn where the first one is taken: a process that is
// killed leaves its file behind, and in a container every process that comes after it has the same number. The first is not
// drawn, so that two failures of one kind have one message.
func createBeside(path string) (*os.File, error) {
	name := fmt.Sprintf("%s.%d-0.tmp", path, os.Getpid())
	for i := 0; ; i++ {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || i > 1000 {
			return f, err
		}
		name = fmt.Sprintf("%s.%d-%08x.tmp", path, os.Getpid(), rand.Uint32())
	}
}
