package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A file is replaced as a whole or stays as it is; what is not a file is refused.
func TestReplace(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "name")
	save := func(path string) error {
		return Replace(path, func(w io.Writer) error { _, err := io.WriteString(w, "content"); return err })
	}
	if err := save(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A write that fails in the middle leaves the file as it was, and nothing beside it.
	broken := errors.New("disk full")
	err = Replace(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return broken
	})
	after, readErr := os.ReadFile(path)
	if !errors.Is(err, broken) || readErr != nil || !bytes.Equal(before, after) {
		t.Errorf("%v, %v; the file changed: %v", err, readErr, !bytes.Equal(before, after))
	}
	names := func() []string {
		list, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range list {
			out = append(out, e.Name())
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"name"}) {
		t.Errorf("the folder holds %q", got)
	}
	// A file keeps its permissions, a link stays a link.
	if err := save(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	link := filepath.Join(folder, "link")
	err = os.Symlink("name", link)
	if err == nil {
		_, err = os.Readlink(link) // what stands in for Windows may only pretend to make one
	}
	if err != nil {
		t.Log("links are not tried: ", err)
	} else {
		if err := save(link); err != nil {
			t.Fatal(err)
		}
		if target, err := os.Readlink(link); err != nil || target != "name" {
			t.Errorf("%q, %v", target, err)
		}
		if got := names(); !slices.Equal(got, []string{"link", "name"}) {
			t.Errorf("the folder holds %q", got)
		}
	}
	for _, path := range []string{folder, filepath.Join(folder, "no", "such"), filepath.Join(path, "below")} {
		if err := save(path); err == nil {
			t.Errorf("wrote %s", path)
		}
		if err := Writable(path); err == nil {
			t.Errorf("%s is writable", path)
		}
	}
	if got := names(); !slices.Equal(got, []string{"link", "name"}) && !slices.Equal(got, []string{"name"}) {
		t.Errorf("the folder holds %q", got)
	}
}

// While what is written is still computed, nothing lies beside the file that a killed process could leave behind; a file without
// content is written too.
func TestReplaceMakesItsFileLate(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "name")
	for _, content := range []string{"content", ""} {
		err := Replace(path, func(w io.Writer) error {
			left, err := filepath.Glob(path + ".*")
			if err != nil || len(left) > 0 {
				t.Errorf("before the first byte there is %q, %v", left, err)
			}
			_, err = io.WriteString(w, content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != content {
			t.Errorf("the file has %q, %v, want %q", text, err, content)
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// What processes of the same number have left when they were killed, as in a container whose program is process 1 each time it
// is started again, keeps no later one from writing.
func TestReplaceBesideLeftovers(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "name")
	const left = 1100
	for i := range left {
		if err := os.WriteFile(fmt.Sprintf("%s.%d-%d.tmp", path, os.Getpid(), i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Writable(path); err != nil {
		t.Error(err)
	}
	if err := Replace(path, func(w io.Writer) error { _, err := io.WriteString(w, "content"); return err }); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "content" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != left+1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// Several files take their names when all are complete, or none changes and nothing is left.
func TestReplaceAll(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, "first"), filepath.Join(folder, "second")
	read := func() (all string) {
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all += f.Name() + ": " + string(text) + "\n"
		}
		return all
	}
	save := func(path, text string, failure error) error {
		return ReplaceAll([]string{first, path}, func(to []io.Writer) error {
			for _, w := range to {
				if _, err := io.WriteString(w, text); err != nil {
					return err
				}
			}
			return failure
		})
	}
	const want = "first: one\nsecond: one\n"
	if err := save(second, "one", nil); err != nil || read() != want {
		t.Errorf("%v: %s", err, read())
	}
	broken := errors.New("disk full")
	if err := save(second, strings.Repeat("two", 1<<16), broken); !errors.Is(err, broken) || read() != want {
		t.Errorf("%v: %.99s", err, read())
	}
	// The second file cannot be made when its buffer is flushed, after write.
	if err := save(filepath.Join(folder, "no", "such"), "three", nil); err == nil || read() != want {
		t.Errorf("%v: %s", err, read())
	}
}
