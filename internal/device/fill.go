package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// stripBytes is the size of the buffer that prepares rows for the device.
const stripBytes = 16 << 20

// fill copies the rows, their weights and H_0 to the device.
func (s *Shard[T]) fill(present [][]bool, h0 []float64) error {
	p := &s.plan
	var tops []float64 // the largest entry of each row
	if s.k.hasTensor && p.mayTensor() {
		tops = make([]float64, p.n)
	}
	for v, x := range s.rows {
		err := strips(s.k.drv, s.spec.Workers, s.state.x[v], p.n, p.ldx[v], func(i int, row []T) {
			row = row[:p.dims[v]]
			x.Row(i, row)
			if tops != nil {
				tops[i] = largest(row)
			}
		})
		if err != nil {
			return fmt.Errorf("device: view %d: %w", v, err)
		}
		var seen span
		for _, top := range tops {
			seen.note(top)
		}
		s.scales[v] = seen.scale()
	}
	if err := s.weigh(present); err != nil {
		return err
	}
	if err := s.k.drv.Zero(s.sum, int64(p.sums.length)*8); err != nil {
		return err
	}
	if h0 == nil {
		return nil
	}
	return strips(s.k.drv, s.spec.Workers, s.state.h[0], p.n, p.ld, func(i int, row []T) {
		for j := range p.m {
			row[j] = T(h0[i*p.m+j])
		}
	})
}

// stripRows is the number of rows that a goroutine prepares at a time.
const stripRows = 64

// strips uploads n rows with the stride ld. Several goroutines call set, which writes each row from the left; the rest is zero.
func strips[T kernel.Float](drv Driver, workers int, to Ptr, n, ld int, set func(i int, row []T)) error {
	count := min(max(stripBytes/(ld*size[T]()), 1), n)
	mem := memory{drv: drv}
	strip := host[T](&mem, count*ld)
	err := mem.err
	for lo := 0; lo < n && err == nil; lo += count {
		hi := min(lo+count, n)
		err = parallel.Blocks(context.Background(), workers, hi-lo, stripRows, func(from, end int) error {
			for i := from; i < end; i++ {
				set(lo+i, strip[i*ld:(i+1)*ld])
			}
			return nil
		})
		if err == nil {
			err = drv.Upload(to+Ptr(lo*ld*size[T]()), rawBytes(strip[:(hi-lo)*ld]))
		}
	}
	return errors.Join(err, mem.release())
}

// weigh uploads the presence of views, and each view's weight in a sample's mean over its views.
func (s *Shard[T]) weigh(present [][]bool) error {
	n := s.plan.n
	count := make([]int, n)
	for v := range s.rows {
		for i := range count {
			if present == nil || present[v] == nil || present[v][i] {
				count[i]++
			}
		}
	}
	full := make([]T, n)
	for i, c := range count {
		full[i] = 1 / T(max(c, 1))
	}
	if err := s.k.drv.Upload(s.full, rawBytes(full)); err != nil {
		return err
	}
	for v, masked := range s.plan.masked {
		if !masked {
			continue
		}
		has, weight := make([]T, n), make([]T, n)
		for i, ok := range present[v] {
			if ok {
				has[i], weight[i] = 1, full[i]
			}
		}
		if err := s.k.drv.Upload(s.present[v], rawBytes(has)); err != nil {
			return err
		}
		if err := s.k.drv.Upload(s.weight[v], rawBytes(weight)); err != nil {
			return err
		}
	}
	return nil
}
