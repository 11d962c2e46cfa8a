package mapped

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onLinux skips a test where state is not kept in files.
func onLinux(t *testing.T) {
	t.Helper()
	if !Possible {
		t.Skip("state in files is possible on Linux alone")
	}
}

func TestMake(t *testing.T) {
	onLinux(t)
	folder := t.TempDir()
	f := New(folder)
	x, few := Make[float64](f, 100_000), Make[uint8](f, 10)
	if len(x) != 100_000 || len(few) != 10 || len(f.maps) != 1 || f.Err() != nil {
		t.Fatal(len(x), len(few), len(f.maps), f.Err())
	}
	for i := range x {
		if x[i] != 0 {
			t.Fatal(i, x[i])
		}
		x[i] = float64(i)
	}
	if x[99_999] != 99_999 {
		t.Error(x[99_999])
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%d files are seen in the folder, %v", len(left), err)
	}
	if err := f.Close(); err != nil || len(f.maps) > 0 {
		t.Error(err)
	}
	var none *Files
	if y := Make[int](none, 1<<20); len(y) != 1<<20 || none.Err() != nil || none.Close() != nil {
		t.Error(len(y))
	}
}

// A folder that is not there, or too small a disk, is an error before anything is written.
func TestMakeWithoutRoom(t *testing.T) {
	onLinux(t)
	f := New(filepath.Join(t.TempDir(), "none"))
	if x := Make[float32](f, 1<<20); x != nil || f.Err() == nil || !strings.Contains(f.Err().Error(), "4194304 bytes") {
		t.Error(len(x), f.Err())
	}
	f = New(t.TempDir())
	if x := Make[float32](f, 1<<56); x != nil || f.Err() == nil {
		t.Error(len(x), f.Err())
	}
	if x := Make[float32](f, 1<<20); x != nil {
		t.Error("there is memory after an error")
	}
}
