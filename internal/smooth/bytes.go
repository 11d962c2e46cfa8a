package smooth

import (
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/trust"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Bytes is the memory of the inputs of some samples (bytes).
type Bytes struct {
	Columns []int // of the inputs
	Inputs  int64 // of their rows, with the caller's views if inputs replace them
	Graph   int64 // of the neighbours, with the data for new samples
	Work    int64 // of smoothing, and of filling before it, released afterwards
	Start   int64 // of the rows for the initial clustering, released afterwards; 0 if no sample lacks a view
	Atoms   int   // landmarks of all spaces; 0 with exact neighbours
	Idle    []int // columns of the views whose memory holds no input
}

// Bytes returns the memory for the inputs of views, in numbers of size bytes. With Overwrite, dense views count as memory that
// inputs can use.
func (o Options) Bytes(views []view.View, size int64) Bytes {
	out := Bytes{}
	n, dims := views[0].Rows, make([]int, len(views))
	for v, x := range views {
		dims[v] = x.Cols
	}
	var free, own []int // columns of the views' memory without an input, and all of them
	for _, v := range widestFirst(dims) {
		d := dims[v]
		if o.Overwrite && views[v].Sparse == nil {
			free, own = append(free, d), append(own, d)
			out.Inputs += int64(n) * int64(d) * size
		}
		for range o.Kind.Parts() {
			k := d
			if o.Directions > 0 && o.Directions < d {
				k = min(o.Directions, n)
			}
			out.Columns = append(out.Columns, k)
			stride := neighbor.Stride(k)
			if at := slices.IndexFunc(free, func(f int) bool { return stride <= f }); at >= 0 {
				free[at] -= stride
			} else {
				out.Inputs += int64(n) * int64(stride) * size
			}
		}
	}
	workers := int64(parallel.Workers(o.Workers))
	strip := 2 * int64(n) // rows of 64 columns: of the samples, or of tables with a row for each atom
	if !o.Searched(n) {
		out.Atoms = int(o.landmarks(n)) * (len(out.Columns) + len(o.Kind.Parts()))
		strip = 16 * int64(out.Atoms)
	}
	out.Work = min(workers*strip*64*size, max(512<<20, strip*64*size))
	var standardised, ordered int64 // of a sparse view, while its inputs are made, and of all in the order of the samples
	for _, x := range views {
		if x.Sparse != nil {
			standardised = max(standardised, int64(len(o.Kind.Parts()))*prepare.Bytes(x, size))
			ordered += x.OrderedBytes()
		}
	}
	if !o.Searched(n) {
		ordered = 0
	}
	out.Work = max(out.Work, standardised+ordered)
	for at, f := range free {
		if f == own[at] {
			out.Idle = append(out.Idle, f)
		}
	}
	out.Graph = o.graphBytes(n, out.Columns, size, lacking(views))
	var filled int64
	for _, k := range out.Columns {
		filled += int64(n) * int64(neighbor.Stride(k)) * size
	}
	if lacking(views) {
		out.Start = filled
		if out.Work += out.Graph; !o.Searched(n) { // an earlier graph without filled rows, which exact neighbours keep
			out.Work += filled
		}
	}
	if samples := int64(trust.SampleCount(n)); !o.Searched(n) { // samples that trust in views compares others with
		out.Graph += filled / int64(n) * samples
	}
	return out
}

// Last returns the memory for new samples if the representation of n samples, with the given columns, is smoothed too.
func (b *Bytes) Last(n, columns int, size int64) int64 {
	if b.Atoms > 0 {
		n = b.Atoms
	}
	return int64(n) * int64(neighbor.Stride(columns)) * size
}

func lacking(views []view.View) bool {
	return slices.ContainsFunc(views, func(x view.View) bool { return slices.Contains(x.Present, false) })
}

func (o Options) graphBytes(n int, columns []int, size int64, lacking bool) int64 {
	spaces := int64(len(columns) + len(o.Kind.Parts()))
	rows, stride := int64(n), int64(0)
	for _, k := range columns {
		stride += int64(neighbor.Stride(k))
	}
	if o.Searched(n) { // inputs before smoothing, filter tables; lists; edges with their layout
		k := int64(min(o.Neighbors, n))
		return 2*rows*stride*size + rows*k*spaces*12 + rows*k*spaces*(12+size)
	}
	links := rows * nearestLandmarks * spaces * (16 + 2*size)
	if lacking && size < 8 { // the weights in float64 too
		links += rows * nearestLandmarks * spaces * 8
	}
	return links + o.landmarks(n)*spaces*stride*size
}

func (o Options) landmarks(n int) int64 {
	if o.Landmarks > 0 {
		return int64(o.Landmarks)
	}
	return int64(neighbor.DefaultLandmarks(n))
}
