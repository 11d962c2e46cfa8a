package smooth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/neighbor"
)

// The names of the tensors of a graph in a checkpoint begin with one of these. If samples lack views, there are two: absent
// rows are filled along the first.
const (
	fillGraph   = "fill."
	sampleGraph = "graph."
)

// Keeper keeps the graphs of a fit that may be interrupted. A nil Keeper has no graph and keeps none.
type Keeper struct {
	Found []safetensors.Tensor                    // graphs of an interrupted fit, and those that Write got
	Write func(graphs []safetensors.Tensor) error // gets all graphs after each that is built; nil: none is kept
}

// Graph reports whether the interrupted fit has the graph that Join returns.
func (k *Keeper) Graph() bool { return k.has(sampleGraph) }

// Release releases the graphs, whose memory grows with the number of samples.
func (k *Keeper) Release() {
	if k != nil {
		k.Found = nil
	}
}

func (k *Keeper) has(name string) bool {
	in := k.tensors()
	return in.Has(name+"neighbors.0") || in.Has(name+"landmark_scale.0")
}

func (k *Keeper) tensors() *file.Tensors {
	in := &file.Tensors{File: &safetensors.File{}}
	if k != nil {
		in.File.Tensors = k.Found
	}
	return in
}

// build returns the graph of n samples, from the keeper if it has the graph.
func build[T kernel.Float](
	ctx context.Context, name string, x []neighbor.View[T], spaces []neighbor.Space, o Options, cfg neighbor.Config,
) (*neighbor.Index[T], error) {
	if o.Group == nil && o.Keeper.has(name) {
		in := o.Keeper.tensors()
		if same := slices.Equal(in.Int32s(name+"rows", sha256.Size/4), sumOfRows(x)); same || in.Err != nil {
			return restored(ctx, name, x, spaces, o, cfg)
		}
	}
	index, err := neighbor.Build(ctx, x, spaces, cfg)
	if k := o.Keeper; err == nil && o.Group == nil && k != nil && k.Write != nil {
		others := slices.DeleteFunc(k.Found, func(t safetensors.Tensor) bool { return strings.HasPrefix(t.Name, name) })
		k.Found = append(others, graphTensors(name, index.State())...)
		k.Found = append(k.Found, safetensors.Int32s(name+"rows", sumOfRows(x), sha256.Size/4))
		err = k.Write(k.Found)
	}
	return index, err
}

// summedRows is the least number of rows in sumOfRows, if there are as many.
const summedRows = 1024

// sumOfRows is the SHA-256 of some rows. A machine or device that finds other directions has other rows, to which the kept
// landmarks do not belong: the graph is then built again.
func sumOfRows[T kernel.Float](x []neighbor.View[T]) []int32 {
	hash := sha256.New()
	for _, v := range x {
		n, d := v.Rows.Dims()
		row := make([]T, d)
		for i := 0; i < n; i += max(1, n/summedRows) {
			v.Rows.Row(i, row)
			hash.Write(ranks.Bytes(row))
		}
	}
	sum, out := hash.Sum(nil), make([]int32, sha256.Size/4)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(sum[4*i:]))
	}
	return out
}

// graphTensors returns the tensors of a graph.
func graphTensors[T kernel.Float](name string, s neighbor.State[T]) []safetensors.Tensor {
	values := safetensors.Float64s
	if kernel.Is32[T]() {
		values = safetensors.Float32s
	}
	f := &safetensors.File{}
	saveIndex(f, name, values, s)
	if s.Links == nil {
		return f.Tensors
	}
	if !s.Config.Single {
		values = safetensors.Float64s
	}
	n, count := s.Links.Len(), s.Links.Count()
	offsets := make([]int, n+1)
	links, weights := safetensors.Int32s(name+"links", nil, count), values(name+"weights", nil, count)
	for i := range n { // in the form of the file at once: all weights in float64 would take more memory than the search
		to, w := s.Links.Row(i)
		offsets[i+1] = offsets[i] + len(to)
		links.Data = append(links.Data, safetensors.Int32s("", to).Data...)
		weights.Data = append(weights.Data, values("", w).Data...)
	}
	return append(f.Tensors, safetensors.Ints(name+"offsets", offsets, n+1), links, weights)
}

// restored returns a graph of the keeper.
func restored[T kernel.Float](
	ctx context.Context, name string, x []neighbor.View[T], spaces []neighbor.Space, o Options, cfg neighbor.Config,
) (*neighbor.Index[T], error) {
	in, n := o.Keeper.tensors(), 0
	in.Int32s(name+"rows", sha256.Size/4) // an error where it is not there
	s := neighbor.State[T]{Config: cfg, Spaces: spaces}
	s.Config.Device, s.Config.Group = nil, nil
	for _, v := range x {
		rows, d := v.Rows.Dims()
		n, s.Dims = rows, append(s.Dims, d)
	}
	if o.Searched(n) {
		readLists(in, name, &s, n)
	} else {
		readLandmarks(in, name, &s)
		offsets := in.Ints(name+"offsets", n+1)
		cols, weights := in.Int32s(name+"links", -1), in.Floats(name+"weights", -1)
		if x = nil; in.Err == nil {
			var err error
			if s.Links, err = neighbor.NewLinks(n, atomsOf(s.Landmarks), offsets, cols, weights); err != nil {
				in.Fail("%w", err)
			}
		}
	}
	var index *neighbor.Index[T]
	err := in.Err
	if err == nil {
		index, err = neighbor.Restore(ctx, s, x, o.Workers)
	}
	if err != nil && ctx.Err() == nil {
		err = file.Damaged(fmt.Errorf("the neighbours of the checkpoint: %w", err))
	}
	return index, err
}

// atomsOf returns the number of landmarks in all spaces.
func atomsOf[T kernel.Float](spaces []neighbor.Landmarks[T]) (atoms int) {
	for _, l := range spaces {
		atoms += len(l.Scale)
	}
	return atoms
}
