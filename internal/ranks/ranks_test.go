package ranks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/mpi"
)

// each runs work on ranks with the given numbers of rows.
func each(t *testing.T, counts []int, work func(ctx context.Context, g *Group) error) []error {
	t.Helper()
	errs := make([]error, len(counts))
	var wg sync.WaitGroup
	for r, c := range comm.Local(len(counts)) {
		wg.Go(func() {
			ctx, g := Enter(t.Context(), c)
			err := g.Join(counts[r], nil)
			if err == nil {
				err = work(ctx, g)
			}
			if other := g.Leave(err); err == nil {
				err = other
			}
			errs[r] = err
		})
	}
	wg.Wait()
	return errs
}

// TestEnterAlone: a nil pointer is no communicator.
func TestEnterAlone(t *testing.T) {
	for _, world := range []machine.Comm{nil, (*mpi.World)(nil)} {
		if _, g := Enter(t.Context(), world); g != nil {
			t.Errorf("%T makes a group", world)
		}
	}
}

// TestRanksThatDisagree get an error that says what two of them do, and do not wait for each other.
func TestRanksThatDisagree(t *testing.T) {
	for name, test := range map[string]struct {
		odd  func(ctx context.Context, g *Group) error // of rank 2
		want string
	}{
		"another thing": {func(_ context.Context, g *Group) error {
			_, err := g.Gather("apples", nil)
			return err
		}, "the ranks disagree: rank 0 is at step 1, pears, and rank 2 at step 1, apples"},
		"one less": {func(context.Context, *Group) error { return nil },
			"the ranks disagree: rank 0 is at step 1, pears, and rank 2 at step 1, the end"},
		"another length": {func(_ context.Context, g *Group) error { return g.SumInts("pears", make([]int, 3)) },
			"the ranks disagree: pears is 3 numbers on rank 2 and 2 on rank"},
		"an error":     {func(context.Context, *Group) error { return errors.New("no disk") }, "rank 2: no disk"},
		"other values": {func(_ context.Context, g *Group) error { return g.AgreeOn("pears", 1, nil) }, "the ranks disagree"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := each(t, []int{1024, 1024, 5}, func(ctx context.Context, g *Group) error {
				switch {
				case g.Rank() == 2:
					return test.odd(ctx, g)
				case name == "other values":
					return g.AgreeOn("pears", 0, nil)
				}
				return g.SumInts("pears", make([]int, 2))
			})
			for r, err := range errs[:2] {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("rank %d: error %v, want %q", r, err, test.want)
				}
			}
			if errs[2] == nil {
				t.Error("rank 2 has no error")
			}
		})
	}
}

// TestFirstFailure: of ranks that fail at the same step, the first is named.
func TestFirstFailure(t *testing.T) {
	errs := each(t, []int{1024, 1024, 5}, func(_ context.Context, g *Group) error {
		if g.Rank() > 0 {
			return fmt.Errorf("no disk %d", g.Rank())
		}
		return g.SumInts("pears", make([]int, 2))
	})
	if errs[0] == nil || errs[0].Error() != "rank 1: no disk 1" {
		t.Errorf("rank 0 has the error %v", errs[0])
	}
}

// TestAgree: an error of one rank is that of all, which go on.
func TestAgree(t *testing.T) {
	errs := each(t, []int{1024, 1024, 5}, func(_ context.Context, g *Group) error {
		var own error
		if g.Rank() == 1 {
			own = errors.New("full")
		}
		if err := g.Agree("a file", own); err == nil || !strings.HasSuffix(err.Error(), "full") {
			return fmt.Errorf("error %v", err)
		}
		return g.Agree("another", nil)
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestCancelIsCommon: a context that ends on one rank ends those of all where they next do something together.
func TestCancelIsCommon(t *testing.T) {
	var wg sync.WaitGroup
	for r, c := range comm.Local(3) {
		wg.Go(func() {
			outer, cancel := context.WithCancel(t.Context())
			defer cancel()
			ctx, g := Enter(outer, c)
			if err := g.Agree("first", nil); err != nil {
				t.Error(err)
			}
			if r == 1 {
				cancel()
			}
			if ctx.Err() != nil {
				t.Error("the context has ended on one rank alone")
			}
			if err := g.Agree("second", nil); !errors.Is(err, context.Canceled) || ctx.Err() == nil {
				t.Errorf("rank %d: %v, %v", r, err, ctx.Err())
			}
			if err := g.Agree("what is left to do", nil); err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
			if err := g.Leave(ctx.Err()); !errors.Is(err, context.Canceled) {
				t.Errorf("rank %d: %v", r, err)
			}
		})
	}
	wg.Wait()
}

// TestSumRows adds up numbers whose sum depends on the order.
func TestSumRows(t *testing.T) {
	const n = 50_000
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(20*math.Sin(float64(i))) - 1e6*math.Cos(float64(i*i))
	}
	want, err := Sum(t.Context(), nil, "a sum", 2, x)
	if err != nil {
		t.Fatal(err)
	}
	if in := func() (s float64) {
		for _, v := range x {
			s += v
		}
		return s
	}(); in == want {
		t.Fatal("the order does not matter for these numbers")
	}
	for _, counts := range [][]int{
		{n}, {4096, n - 4096}, {3 * 4096, 5 * 4096, n - 8*4096}, {4096, 4096, 10 * 4096, n - 12*4096},
	} {
		errs := each(t, counts, func(ctx context.Context, g *Group) error {
			lo := 0
			for _, before := range counts[:g.Rank()] {
				lo += before
			}
			got, err := Sum(ctx, g, "a sum", 1+g.Rank(), x[lo:lo+counts[g.Rank()]])
			if err == nil && got != want {
				err = fmt.Errorf("rank %d of %v: %v, want %v", g.Rank(), counts, got, want)
			}
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}

func TestGather(t *testing.T) {
	errs := each(t, []int{1024, 2048, 7}, func(_ context.Context, g *Group) error {
		all, err := GatherAll(g, "numbers", slices.Repeat([]float64{float64(g.Rank())}, g.Rank()), 3)
		if err == nil && !slices.Equal(all, []float64{1, 2, 2}) {
			err = fmt.Errorf("%v", all)
		}
		x := []int{g.Rank(), 5 - g.Rank()}
		if e := g.MinInts("numbers", x); e != nil || !slices.Equal(x, []int{0, 3}) {
			err = errors.Join(err, e, fmt.Errorf("%v", x))
		}
		if _, e := GatherAll(g, "numbers", []float64{1}, 4); e == nil {
			err = errors.Join(err, errors.New("3 numbers of 4: no error"))
		}
		for row, want := range map[int]int{0: 0, 1023: 0, 1024: 1, 3071: 1, 3072: 2, 3078: 2} {
			if got := g.Owner(row); got != want {
				err = errors.Join(err, fmt.Errorf("row %d is of rank %d", row, got))
			}
		}
		b := []byte{byte(g.Rank())}
		if e := g.Broadcast("a byte", 2, b); e != nil || b[0] != 2 {
			err = errors.Join(err, e, fmt.Errorf("%v", b))
		}
		here := g.Here([]int{0, 1023, 1024, 3071, 3072, 3078}, []int{1024, 2048, 7}[g.Rank()])
		if want := [][]int{{0, 1023}, {0, 2047}, {0, 6}}[g.Rank()]; !slices.Equal(here, want) {
			err = errors.Join(err, fmt.Errorf("%v", here))
		}
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// plain hides AllToAll.
type plain struct{ machine.Comm }

// TestSlices: sums of many numbers have the same bits whether every rank gets all branches of the tree or a slice of them, and by
// slices what a rank receives does not grow with the ranks.
func TestSlices(t *testing.T) {
	const rows, chunk, size = 64 * 1024, 1024, 10_001
	add := func(first int) func(_, lo, hi int, _ struct{}, part []float64) error {
		return func(_, lo, hi int, _ struct{}, part []float64) error {
			for j := range part {
				part[j] = math.Sin(float64((first+lo)*(j+1))) * math.Exp(float64(j%17))
			}
			return nil
		}
	}
	fresh := func() struct{} { return struct{}{} }
	sum := func(n int) RowSum { return RowSum{What: "a sum", Workers: 1, Rows: n, Chunk: chunk, Size: size} }
	want, err := SumRows(t.Context(), nil, sum(rows), fresh, add(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, sliced := range []bool{true, false} {
		for _, count := range []int{2, 3, 5, 16} {
			received := make([]int64, count)
			var wg sync.WaitGroup
			for r, c := range comm.Local(count) {
				if !sliced {
					c = plain{c}
				}
				wg.Go(func() {
					ctx, g := Enter(t.Context(), c)
					lo, hi, err := comm.Share(rows, r, count)
					if err == nil {
						err = g.Join(hi-lo, nil)
					}
					for range 2 { // with memory that was used before
						_, before := g.Spent()
						var got []float64
						if err == nil {
							got, err = SumRows(ctx, g, sum(hi-lo), fresh, add(lo))
						}
						if err == nil && !slices.Equal(got, want) {
							err = errors.New("another sum")
						}
						_, received[r] = g.Spent()
						received[r] -= before
					}
					if err = g.Leave(err); err != nil {
						t.Errorf("%d ranks, slices %v, rank %d: %v", count, sliced, r, err)
					}
				})
			}
			wg.Wait()
			if most := slices.Max(received); sliced && most > 7*8*size {
				t.Errorf("%d ranks: %d bytes, of branches of %d", count, most, 8*size)
			}
		}
	}
}
