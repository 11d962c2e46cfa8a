package engine

import "fmt"

// Read copies rows [lo, hi) of a state to dst, row-major. Only FieldE uses p: the anchors P_{l−1}.
func (s *Memory[T]) Read(f Field, layer, view, lo, hi int, p []float64, dst []float64) error {
	if err := s.checkRead(f, layer, view, lo, hi); err != nil {
		return err
	}
	switch f {
	case FieldH:
		s.readH(layer, lo, hi, dst)
	case FieldTrust, FieldNorm:
		src := s.trust
		if f == FieldNorm {
			src = s.resid
		}
		for i := lo; i < hi; i++ {
			switch {
			case s.spec.Noise:
				dst[i-lo] = float64(src[layer][view][i])
			case f == FieldTrust:
				dst[i-lo] = 1
			default:
				return fmt.Errorf("engine: the network has no noise module, so no residual norms")
			}
		}
	case FieldE:
		s.readE(layer, view, lo, hi, p, dst)
	default:
		return fmt.Errorf("engine: no field %d", f)
	}
	return nil
}

// checkRead reports whether the rows of the state are there.
func (s *Memory[T]) checkRead(f Field, layer, view, lo, hi int) error {
	if layer < 0 || layer > s.spec.Layers || (f != FieldH && layer < 1) {
		return fmt.Errorf("engine: layer %d does not have this state", layer)
	}
	if (f != FieldH) && (view < 0 || view >= len(s.x)) {
		return fmt.Errorf("engine: no view %d", view)
	}
	if lo < 0 || hi > s.n || lo > hi {
		return fmt.Errorf("engine: no rows %d to %d", lo, hi)
	}
	if s.y == nil && (layer != s.spec.Layers || f == FieldNorm) {
		return errNoState
	}
	return nil
}

func (s *Memory[T]) readH(layer, lo, hi int, dst []float64) {
	m := s.spec.Anchors
	if s.h[layer] == nil {
		clear(dst[:(hi-lo)*m])
		return
	}
	for i := lo; i < hi; i++ {
		for j := range m {
			dst[(i-lo)*m+j] = float64(s.h[layer][i*s.ld+j])
		}
	}
}

// readE writes E = diag(1−t)(X − H P_{l−1}).
func (s *Memory[T]) readE(layer, view, lo, hi int, p []float64, dst []float64) {
	d, m := s.spec.Dims[view], s.spec.Anchors
	clear(dst[:(hi-lo)*d])
	if !s.spec.Noise {
		return
	}
	x := make([]T, d)
	for i := lo; i < hi; i++ {
		e := dst[(i-lo)*d : (i-lo+1)*d]
		s.x[view].Row(i, x)
		for q := range e {
			e[q] = float64(x[q])
		}
		for j := range m {
			h := float64(s.h[layer][i*s.ld+j])
			for q, a := range p[j*d : (j+1)*d] {
				e[q] -= h * a
			}
		}
		weight := 1 - float64(s.trust[layer][view][i])
		for q := range e {
			e[q] *= weight
		}
	}
}

// CopyH sets dst to rows [lo, hi) of H_l, row-major with the stride ld ≥ m.
func (s *Memory[T]) CopyH(layer, lo, hi int, dst []T, ld int) error {
	m := s.spec.Anchors
	if layer < 0 || layer > s.spec.Layers || lo < 0 || hi > s.n || lo > hi || ld < m {
		return fmt.Errorf("engine: no rows %d to %d of H in layer %d with the stride %d", lo, hi, layer, ld)
	}
	if s.y == nil && layer != s.spec.Layers {
		return errNoState
	}
	for i := lo; i < hi; i++ {
		row := dst[(i-lo)*ld : (i-lo)*ld+m]
		if s.h[layer] == nil {
			clear(row)
			continue
		}
		copy(row, s.h[layer][i*s.ld:i*s.ld+m])
	}
	return nil
}
