package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A run that is interrupted is continued: what was finished is taken from the folder, what was not is done.
func TestResume(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "work")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	calls := 0
	jobs := make([]Job[int], 6)
	for i := range jobs {
		jobs[i] = Job[int]{Key: fmt.Sprintf("job %d", i), Do: func(context.Context) (int, error) {
			calls++
			if i == 2 {
				cancel()
			}
			return 10 * i, nil
		}}
	}
	if _, err := All(ctx, folder, io.Discard, "test", jobs); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want context.Canceled", err)
	}
	if calls != 3 {
		t.Fatalf("%d jobs done before the interruption, want 3", calls)
	}
	// A file that was cut off counts as none; one of another key with the same name would too.
	cut := filepath.Join(folder, fileName("test job 1")+".json")
	if err := os.WriteFile(cut, []byte(`{"key":"te`), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := All(context.Background(), folder, io.Discard, "test", jobs)
	if err != nil {
		t.Fatal(err)
	}
	if calls != 3+1+3 {
		t.Errorf("%d jobs done in all, want 7: three, the one cut off, and the three left", calls)
	}
	for i, v := range got {
		if v != 10*i {
			t.Errorf("job %d gave %d", i, v)
		}
	}
	bad := Job[int]{Key: "bad", Do: func(context.Context) (int, error) { return 0, io.ErrUnexpectedEOF }}
	_, err = All(context.Background(), folder, io.Discard, "test", []Job[int]{bad})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, want the job's error", err)
	}
}
