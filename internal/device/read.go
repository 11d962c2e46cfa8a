package device

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/engine"
)

// fetch downloads count elements from place first of an array.
func (s *Shard[T]) fetch(p Ptr, first, count int) ([]T, error) {
	x := make([]T, count)
	return x, s.k.drv.Download(rawBytes(x), p+Ptr(int64(first)*s.plan.size))
}

// Read copies rows [lo, hi) of a state to dst, row-major. Only FieldE uses p: the anchors P_{l−1}.
func (s *Shard[T]) Read(f engine.Field, layer, view, lo, hi int, p []float64, dst []float64) error {
	if layer < 0 || layer > s.plan.layers || (f != engine.FieldH && layer < 1) {
		return fmt.Errorf("device: layer %d does not have this state", layer)
	}
	if f != engine.FieldH && (view < 0 || view >= len(s.rows)) {
		return fmt.Errorf("device: no view %d", view)
	}
	if lo < 0 || hi > s.plan.n || lo > hi {
		return fmt.Errorf("device: no rows %d to %d", lo, hi)
	}
	switch f {
	case engine.FieldH:
		return s.readH(layer, lo, hi, dst)
	case engine.FieldTrust, engine.FieldNorm:
		return s.readValues(f, layer, view, lo, hi, dst)
	case engine.FieldE:
		return s.readE(layer, view, lo, hi, p, dst)
	}
	return fmt.Errorf("device: no field %d", f)
}

func (s *Shard[T]) readH(layer, lo, hi int, dst []float64) error {
	m, ld := s.plan.m, s.plan.ld
	if s.state.h[layer] == 0 {
		clear(dst[:(hi-lo)*m])
		return nil
	}
	h, err := s.fetch(s.state.h[layer], lo*ld, (hi-lo)*ld)
	for i := range hi - lo {
		for j, x := range h[i*ld : i*ld+m] {
			dst[i*m+j] = float64(x)
		}
	}
	return err
}

func (s *Shard[T]) readValues(f engine.Field, layer, view, lo, hi int, dst []float64) error {
	if !s.spec.Noise {
		if f == engine.FieldNorm {
			return fmt.Errorf("device: the network has no noise module, so no residual norms")
		}
		for i := range hi - lo {
			dst[i] = 1
		}
		return nil
	}
	from := s.trust[layer][view]
	if f == engine.FieldNorm {
		from = s.norm[layer][view]
	}
	x, err := s.fetch(from, lo, hi-lo)
	for i, e := range x {
		dst[i] = float64(e)
	}
	return err
}

// readE writes E = diag(1−t)(X − H P_{l−1}), computed on the host from its own X.
func (s *Shard[T]) readE(layer, view, lo, hi int, p []float64, dst []float64) error {
	d, m := s.plan.dims[view], s.plan.m
	clear(dst[:(hi-lo)*d])
	if !s.spec.Noise {
		return nil
	}
	h, t := make([]float64, (hi-lo)*m), make([]float64, hi-lo)
	if err := s.readH(layer, lo, hi, h); err != nil {
		return err
	}
	if err := s.readValues(engine.FieldTrust, layer, view, lo, hi, t); err != nil {
		return err
	}
	x := make([]T, d)
	for i := range hi - lo {
		e := dst[i*d : (i+1)*d]
		s.rows[view].Row(lo+i, x)
		for q := range e {
			e[q] = float64(x[q])
		}
		for j, a := range h[i*m : (i+1)*m] {
			for q, b := range p[j*d : (j+1)*d] {
				e[q] -= a * b
			}
		}
		for q := range e {
			e[q] *= 1 - t[i]
		}
	}
	return nil
}

// CopyH sets dst to rows [lo, hi) of H_l, row-major with the stride ld ≥ m.
func (s *Shard[T]) CopyH(layer, lo, hi int, dst []T, ld int) error {
	m := s.plan.m
	if layer < 0 || layer > s.plan.layers || lo < 0 || hi > s.plan.n || lo > hi || ld < m {
		return fmt.Errorf("device: no rows %d to %d of H in layer %d with the stride %d", lo, hi, layer, ld)
	}
	var h []T
	if s.state.h[layer] != 0 {
		var err error
		if h, err = s.fetch(s.state.h[layer], lo*s.plan.ld, (hi-lo)*s.plan.ld); err != nil {
			return err
		}
	}
	for i := range hi - lo {
		if h == nil {
			clear(dst[i*ld : i*ld+m])
			continue
		}
		copy(dst[i*ld:i*ld+m], h[i*s.plan.ld:])
	}
	return nil
}

// AddH adds to the cotangent of H_l.
func (s *Shard[T]) AddH(layer int, cotangent []float64) error {
	if layer < 0 || layer > s.plan.layers || !s.plan.training {
		return fmt.Errorf("device: no cotangent of layer %d", layer)
	}
	m, ld := s.plan.m, s.plan.ld
	x := make([]T, s.plan.n*ld)
	for i := range s.plan.n {
		for j, c := range cotangent[i*m : (i+1)*m] {
			x[i*ld+j] = T(c)
		}
	}
	return s.addTo(&s.addedH[layer], s.freeH, x, fmt.Sprintf("cotangent of H_%d", layer))
}

// AddTrust adds to the cotangent of t_lv.
func (s *Shard[T]) AddTrust(layer, view int, cotangent []float64) error {
	if layer < 1 || layer > s.plan.layers || !s.spec.Noise || !s.plan.training {
		return fmt.Errorf("device: no trust of layer %d", layer)
	}
	x := make([]T, s.plan.n)
	for i, c := range cotangent[:s.plan.n] {
		x[i] = T(c)
	}
	return s.addTo(&s.addedT[layer][view], s.freeT, x, fmt.Sprintf("cotangent of t_%d of view %d", layer, view))
}

// addTo adds x to an array, which it allocates at the first call.
func (s *Shard[T]) addTo(array *Ptr, spare *[]Ptr, x []T, name string) error {
	if *array != 0 {
		with, err := s.fetch(*array, 0, len(x))
		if err != nil {
			return err
		}
		for i, v := range with {
			x[i] += v
		}
		return s.k.drv.Upload(*array, rawBytes(x))
	}
	if last := len(*spare) - 1; last >= 0 {
		*array, *spare = (*spare)[last], (*spare)[:last]
	} else if *array = s.mem.take(int64(len(x))*s.plan.size, "%s", name); s.mem.err != nil {
		err := s.mem.err
		s.mem.err = nil
		return err
	}
	return s.k.drv.Upload(*array, rawBytes(x))
}

// ClearAdded clears the cotangents of AddH and AddTrust, and keeps their memory for later ones.
func (s *Shard[T]) ClearAdded() {
	for l, p := range s.addedH {
		if p != 0 {
			*s.freeH, s.addedH[l] = append(*s.freeH, p), 0
		}
		for v, p := range s.addedT[l] {
			if p != 0 {
				*s.freeT, s.addedT[l][v] = append(*s.freeT, p), 0
			}
		}
	}
}
