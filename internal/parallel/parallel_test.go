package parallel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestWorkers(t *testing.T) {
	for _, test := range []struct{ setting, want int }{
		{0, runtime.GOMAXPROCS(0)}, {-3, runtime.GOMAXPROCS(0)}, {1, 1}, {7, 7},
	} {
		if got := Workers(test.setting); got != test.want {
			t.Errorf("Workers(%d) = %d, want %d", test.setting, got, test.want)
		}
	}
}

// TestMostWorkers: callers have memory for each worker, so that an absurd setting must not reach them.
func TestMostWorkers(t *testing.T) {
	for _, setting := range []int{MostWorkers + 1, math.MaxInt} {
		if got := Workers(setting); got != MostWorkers {
			t.Errorf("%d workers for %d, want %d", got, setting, MostWorkers)
		}
	}
}

func TestForRunsEveryItemOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5, 64} {
		for _, n := range []int{0, 1, 2, 17, 1000} {
			seen := make([]atomic.Int32, n)
			err := For(t.Context(), workers, n, func(worker, i int) error {
				if worker < 0 || worker >= Workers(workers) {
					return fmt.Errorf("worker %d of %d", worker, Workers(workers))
				}
				seen[i].Add(1)
				return nil
			})
			if err != nil {
				t.Fatalf("workers %d, n %d: %v", workers, n, err)
			}
			for i := range seen {
				if c := seen[i].Load(); c != 1 {
					t.Fatalf("workers %d, n %d: item %d ran %d times", workers, n, i, c)
				}
			}
		}
	}
}

func TestForOneWorkerRunsInOrderOnTheCaller(t *testing.T) {
	before := runtime.NumGoroutine()
	next := 0
	err := For(t.Context(), 1, 100, func(worker, i int) error {
		if i != next || worker != 0 || runtime.NumGoroutine() > before {
			return fmt.Errorf("item %d (want %d) on worker %d, %d goroutines", i, next, worker, runtime.NumGoroutine())
		}
		next++
		return nil
	})
	if err != nil || next != 100 {
		t.Fatalf("%d items, error %v", next, err)
	}
}

func TestForReturnsTheLowestError(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for range 50 {
			var ran atomic.Int32
			err := For(t.Context(), workers, 100000, func(_, i int) error {
				ran.Add(1)
				if i >= 40 {
					return fmt.Errorf("item %d", i)
				}
				return nil
			})
			if err == nil || err.Error() != "item 40" {
				t.Fatalf("workers %d: error %v", workers, err)
			}
			if r := int(ran.Load()); r > 40+workers {
				t.Fatalf("workers %d: %d items ran", workers, r)
			}
		}
	}
}

// TestForReturnsTheLowerOfTwoErrors: item 0 fails once item 1 has failed.
func TestForReturnsTheLowerOfTwoErrors(t *testing.T) {
	failed := make(chan struct{})
	err := For(t.Context(), 2, 2, func(_, i int) error {
		if i == 1 {
			close(failed)
		} else {
			<-failed
			time.Sleep(20 * time.Millisecond) // For notes the error of item 1 after it has returned
		}
		return fmt.Errorf("item %d", i)
	})
	if err == nil || err.Error() != "item 0" {
		t.Errorf("error %v", err)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	cause := errors.New("cause")
	item := func(i int) error {
		if i == 3 {
			panic(cause)
		}
		return nil
	}
	for _, workers := range []int{1, 4} {
		for name, err := range map[string]error{
			"For": For(t.Context(), workers, 10, func(_, i int) error { return item(i) }),
			"work": Fold(t.Context(), workers, 10, func() int { return 0 },
				func(_, i int, _ int) error { return item(i) }, func(int, int) error { return nil }),
			"fold": Fold(t.Context(), workers, 10, func() int { return 0 },
				func(int, int, int) error { return nil }, func(i, _ int) error { return item(i) }),
			"newBuf": Fold(t.Context(), workers, 10, func() int { panic(cause) },
				func(int, int, int) error { return nil }, func(int, int) error { return nil }),
		} {
			var p *PanicError
			if !errors.As(err, &p) || !errors.Is(err, cause) || err.Error() != "panic: cause" ||
				!strings.Contains(fmt.Sprintf("%+v", p), "parallel_test.go") {
				t.Errorf("%s, workers %d: %v", name, workers, err)
			}
		}
	}
}

func TestCancelStopsBetweenItems(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		ctx, cancel := context.WithCancel(t.Context())
		var ran, folded atomic.Int32
		err := For(ctx, workers, 1<<30, func(_, i int) error {
			if n := ran.Add(1); n == 10 {
				cancel()
			} else if n > 10 {
				<-ctx.Done() // the tenth item may be counted and not have cancelled yet
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || ran.Load() > 10+int32(workers) {
			t.Errorf("For, workers %d: %v after %d items", workers, err, ran.Load())
		}
		ctx, cancel = context.WithCancel(t.Context())
		err = Fold(ctx, workers, 1<<30, func() int { return 0 }, func(int, int, int) error { return nil },
			func(i, _ int) error {
				if folded.Add(1) == 10 {
					cancel()
				}
				return nil
			})
		if !errors.Is(err, context.Canceled) || folded.Load() > 10+3*int32(workers) {
			t.Errorf("Fold, workers %d: %v after %d items", workers, err, folded.Load())
		}
	}
}

// TestFoldOrder folds terms whose sum depends on the order and counts the buffers.
func TestFoldOrder(t *testing.T) {
	const n = 3000
	term := func(i int) float64 { return 1 / float64(1+i*7919%n) }
	want := 0.0
	for i := range n {
		want += term(i)
	}
	for _, workers := range []int{0, 1, 2, 5, 33} {
		var bufs atomic.Int32
		next, sum := 0, 0.0
		err := Fold(t.Context(), workers, n, func() []float64 { bufs.Add(1); return make([]float64, 1) },
			func(worker, i int, b []float64) error {
				if i%100 == 0 {
					runtime.Gosched()
				}
				b[0] = term(i)
				return nil
			},
			func(i int, b []float64) error {
				if i != next {
					return fmt.Errorf("item %d folded, want %d", i, next)
				}
				next++
				sum += b[0]
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if next != n || sum != want {
			t.Errorf("workers %d: %d items folded to %v, want %v", workers, next, sum, want)
		}
		if b := int(bufs.Load()); b > 2*Workers(workers) {
			t.Errorf("workers %d: %d buffers", workers, b)
		}
	}
}

func TestFoldErrors(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for _, test := range []struct {
			workFails, foldFails int
			want                 string
			folded               int
		}{
			{50, 1000, "work 50", 50}, {1000, 50, "fold 50", 50}, {52, 50, "fold 50", 50},
			{50, 50, "work 50", 50}, {0, 1000, "work 0", 0},
		} {
			for range 20 {
				folded := 0
				err := Fold(t.Context(), workers, 200, func() int { return 0 },
					func(_, i int, _ int) error {
						if i >= test.workFails {
							return fmt.Errorf("work %d", i)
						}
						return nil
					},
					func(i, _ int) error {
						if i >= test.foldFails {
							return fmt.Errorf("fold %d", i)
						}
						folded++
						return nil
					})
				if err == nil || err.Error() != test.want || folded != test.folded {
					t.Fatalf("workers %d, %+v: %v with %d folded", workers, test, err, folded)
				}
			}
		}
	}
}

func TestAllocationsDoNotGrowWithItems(t *testing.T) {
	work := func(n int) float64 {
		buf := make([]float64, 8)
		return testing.AllocsPerRun(20, func() {
			err := Fold(t.Context(), 2, n, func() []float64 { return buf },
				func(int, int, []float64) error { return nil }, func(int, []float64) error { return nil })
			if err == nil {
				err = For(t.Context(), 2, n, func(int, int) error { return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := work(10), work(1000); many > few+4 || few > 20 {
		t.Errorf("%v allocations for 10 items, %v for 1000", few, many)
	}
}

func BenchmarkFor(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d/n=16", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := For(b.Context(), workers, 16, func(int, int) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d/n=16", workers), func(b *testing.B) {
			b.ReportAllocs()
			buf := new(int)
			for b.Loop() {
				err := Fold(b.Context(), workers, 16, func() *int { return buf },
					func(int, int, *int) error { return nil }, func(int, *int) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNilContext: a nil context is an error, not a panic, as is a nil pointer in the interface.
func TestNilContext(t *testing.T) {
	type context1 struct{ context.Context }
	var none context.Context
	var typed *context1
	for _, ctx := range []context.Context{none, typed} {
		for _, workers := range []int{1, 3} {
			if err := For(ctx, workers, 5, func(int, int) error { return nil }); err == nil {
				t.Errorf("%T with %d workers: no error", ctx, workers)
			}
		}
	}
	if err := CheckContext(t.Context()); err != nil {
		t.Error(err)
	}
}
