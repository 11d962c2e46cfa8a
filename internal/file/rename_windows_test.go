package file

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A file that another program has open is replaced once it is closed, and left as it is where it stays open.
func TestReplaceAnOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	write := func(text string) error {
		return Replace(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	if err := write("first"); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(patience/4, func() { reader.Close() })
	if err := write("second"); err != nil {
		t.Fatalf("a file that was open for a moment: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "second" {
		t.Fatalf("the file has %q, %v", text, err)
	}
	reader, err = os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	want := "third"
	if err := write(want); err != nil { // some systems and versions of Go let a file be replaced while it is read
		want = "second"
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Fatalf("the file has %q, %v", text, err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Fatalf("left behind: %v, %v", files, err)
	}
}
