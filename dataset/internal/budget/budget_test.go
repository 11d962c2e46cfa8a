package budget

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestTake(t *testing.T) {
	b := New(context.Background(), 100, nil)
	b.AddFile(7)
	if err := b.Take("rows", 60); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{41, -1, math.MaxInt64, math.MinInt64} {
		err := b.Take("a chunk", n)
		if err == nil || !strings.Contains(err.Error(), "for a chunk") ||
			!strings.Contains(err.Error(), "files of 7 bytes); Options.MaxBytes allows 100 bytes") {
			t.Errorf("%d bytes: %v", n, err)
		}
		if b.Used() != 60 {
			t.Fatalf("%d bytes are booked after %d were refused", b.Used(), n)
		}
	}
	mark := b.Used()
	if err := b.Take("columns", 40); err != nil {
		t.Fatal(err)
	}
	b.Reset(mark)
	b.Give(60)
	if b.Used() != 0 || b.Peak() != 100 {
		t.Errorf("%d are held, at most %d were", b.Used(), b.Peak())
	}
}

func TestDefault(t *testing.T) {
	b := New(context.Background(), 0, nil)
	b.AddFile(10)
	if got := b.Max(); got != 1<<30 {
		t.Errorf("a small file may take %d", got)
	}
	// A file that is larger than any memory, by its holes, does not make the limit larger than the machine.
	b.AddFile(math.MaxInt64)
	if got := b.Max(); got != machineMemory() || b.Files() != math.MaxInt64 {
		t.Errorf("a huge file may take %d", got)
	}
}

func TestStep(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := errors.New("enough")
	b := New(ctx, 1, func(n int64) error {
		if n >= 64<<20 {
			return stop
		}
		return nil
	})
	n, err := io.Copy(io.Discard, b.Reader(bytes.NewReader(make([]byte, 80<<20))))
	if !errors.Is(err, stop) || n > 68<<20 {
		t.Errorf("read %d bytes, then %v", n, err)
	}
	b = New(ctx, 1, nil)
	if err := b.Step(1 << 26); err != nil {
		t.Fatal(err)
	}
	if err := b.Step(1 << 30); err == nil || !strings.Contains(err.Error(), "more than 128.0 MiB") {
		t.Errorf("no end: %v", err)
	}
	cancel()
	if err := New(ctx, 1, nil).Step(1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
