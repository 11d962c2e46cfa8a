package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/ranks"
)

// TestCollect: every rank gets the rows that one process has, in whatever order they are asked for.
func TestCollect(t *testing.T) {
	const n, d = 3000, 3
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(i)
	}
	starts := []int{0, 1024, 2048, n}
	numbers := []int{2999, 0, 5, 1024, 1023, 2048, 5}
	thin := ThinNumbers(n, 1000)
	for k, i := range thin {
		if m := Thin([]Matrix[float32]{NewDense(n, d, d, x)}, 1000)[0]; func() bool {
			row := make([]float32, d)
			m.Row(k, row)
			all, _ := m.Dims()
			return row[0] != float32(i*d) || all != len(thin)
		}() {
			t.Fatalf("row %d of %d thin ones is not row %d", k, len(thin), i)
		}
	}
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for r, c := range comm.Local(3) {
		wg.Go(func() {
			ctx, g := ranks.Enter(context.Background(), c)
			lo, hi := starts[r], starts[r+1]
			own := []Matrix[float32]{NewDense(hi-lo, d, d, x[lo*d:hi*d])}
			err := g.Join(hi-lo, nil)
			for _, list := range [][]int{numbers, thin, {}} {
				some, e := Collect(ctx, g, "rows", own, list, 2)
				if err = errors.Join(err, e); err != nil {
					break
				}
				for k, i := range list {
					if !slices.Equal(some[0].View(k), x[i*d:(i+1)*d]) {
						err = errors.Join(err, fmt.Errorf("rank %d: row %d is %v", r, i, some[0].View(k)))
					}
				}
			}
			if _, e := Collect(ctx, g, "rows", own, []int{n}, 1); e == nil {
				err = errors.Join(err, errors.New("a row that there is not: no error"))
			}
			errs[r] = errors.Join(err, g.Leave(err))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}
