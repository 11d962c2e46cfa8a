package information

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/neighbor"
)

// softAssignment computes Q = softmax(h_i / (‖h_i‖·temperature)) by the rows of H (n×m), for the terms of the loss, and products
// over the samples.
type softAssignment[T kernel.Float] struct {
	group             *ranks.Group // of the processes with the other samples; nil: there are none
	workers, n, m, ld int          // ld: stride of Q
	temperature       float64
}

// block is the number of rows between two steps of a kernel.
const block = 64

// DefaultTemperature is the temperature of the softmax over the columns of H.
const DefaultTemperature = 0.1

// Dims returns the number of samples and of clusters.
func (s softAssignment[T]) Dims() (n, m int) { return s.n, s.m }

// Temperature returns the temperature of the softmax.
func (s softAssignment[T]) Temperature() float64 { return s.temperature }

// newSoftAssignment replaces a temperature of 0 by the default.
func newSoftAssignment[T kernel.Float](group *ranks.Group, workers, n, m int, temperature float64) softAssignment[T] {
	if temperature == 0 {
		temperature = DefaultTemperature
	}
	return softAssignment[T]{group, workers, n, m, neighbor.Stride(m), temperature}
}

// assignAll returns Q, n rows with the stride ld.
func (s softAssignment[T]) assignAll(h []T) ([]T, error) {
	q := make([]T, s.n*s.ld)
	return q, parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		u := make([]float64, s.m)
		for i := lo; i < hi; i++ {
			s.assign(h[i*s.m:(i+1)*s.m], u, q[i*s.ld:])
		}
		return nil
	})
}

// unitRow sets u to h/‖h‖ and returns ‖h‖; u = 0 for h = 0.
func unitRow[T kernel.Float](h []T, u []float64) float64 {
	norm := math.Sqrt(kernel.SumSquares(h, 0))
	for j, x := range h {
		u[j] = 0
		if norm != 0 {
			u[j] = float64(x) / norm
		}
	}
	return norm
}

// assign sets q to the softmax of h/(‖h‖·temperature). u is scratch.
func (s softAssignment[T]) assign(h []T, u []float64, q []T) {
	unitRow(h, u)
	softmax(u, s.temperature, q)
}

// softmax sets q to the softmax of u/temperature. It changes u.
func softmax[T kernel.Float](u []float64, temperature float64, q []T) {
	most, sum := u[0], 0.0
	for _, x := range u {
		most = max(most, x)
	}
	for j, x := range u {
		u[j] = math.Exp((x - most) / temperature)
		sum += u[j]
	}
	for j, x := range u {
		q[j] = T(x / sum)
	}
}

// softmaxBackward sets dz to the cotangent of u for the cotangent dq of q, the softmax of u/temperature.
func softmaxBackward[T kernel.Float](q, dq []T, temperature float64, dz []float64) {
	mean := 0.0
	for j := range dz {
		mean += float64(dq[j]) * float64(q[j])
	}
	for j := range dz {
		dz[j] = float64(q[j]) * (float64(dq[j]) - mean) / temperature
	}
}

// addBackward adds to dh the cotangent of the row h, given the cotangent dq of its q. u and dz are scratch.
func (s softAssignment[T]) addBackward(h, q, dq []T, u, dz []float64, dh []T) {
	norm := unitRow(h, u)
	if norm == 0 {
		return
	}
	softmaxBackward(q, dq, s.temperature, dz)
	project(u, dz, norm, dh)
}

// project adds to dh the cotangent of a row h, given its norm, u = h/norm and the cotangent dz of u.
func project[T kernel.Float](u, dz []float64, norm float64, dh []T) {
	along := 0.0
	for j := range u {
		along += dz[j] * u[j]
	}
	for j := range u {
		dh[j] += T((dz[j] - along*u[j]) / norm)
	}
}

// products returns AᵀB (k×l) of n rows of k and of l columns, of all ranks of the group. Blocks of rows are summed in T, the
// blocks in float64.
func (s softAssignment[T]) products(ctx context.Context, a []T, lda, k int, b []T, ldb, l int) ([]float64, error) {
	size, chunk := k*l, parallel.ChunkRows(s.group.Total(s.n), parallel.MaxChunk)
	all := ranks.RowSum{What: "products of clusters", Workers: s.workers, Rows: s.n, Chunk: chunk, Size: size}
	return ranks.SumRows(ctx, s.group, all,
		func() []T { return make([]T, size) },
		func(_, lo, hi int, part []T, sum []float64) error {
			for end := hi; lo < end; lo += block {
				hi := min(lo+block, end)
				clear(part)
				kernel.TMulAdd(hi-lo, k, l, a[lo*lda:], lda, b[lo*ldb:], ldb, part, l)
				kernel.AddTo(sum, part)
			}
			return nil
		})
}
