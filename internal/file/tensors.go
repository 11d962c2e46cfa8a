package file

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/safetensors"
)

// Tensors reads the tensors of a file and keeps the first error; after one, it returns nil.
type Tensors struct {
	File *safetensors.File
	Err  error
}

// Fail keeps an error if it is the first.
func (in *Tensors) Fail(format string, args ...any) {
	if in.Err == nil {
		in.Err = fmt.Errorf(format, args...)
	}
}

// Has says whether there is a tensor of that name.
func (in *Tensors) Has(name string) bool { return in.File.Tensor(name) != nil }

// find returns the tensor of a shape, in which −1 stands for any size.
func (in *Tensors) find(name string, shape ...int) *safetensors.Tensor {
	if in.Err != nil {
		return nil
	}
	t := in.File.Tensor(name)
	if t == nil {
		in.Fail("the file has no %q", name)
		return nil
	}
	ok := len(shape) == len(t.Shape)
	for i := 0; ok && i < len(shape); i++ {
		ok = shape[i] < 0 || shape[i] == t.Shape[i]
	}
	if !ok {
		in.Fail("%q has the shape %v, want %v", name, t.Shape, shape)
		return nil
	}
	return t
}

// Floats returns the elements of a tensor of a shape, in which −1 stands for any size. They must be finite.
func (in *Tensors) Floats(name string, shape ...int) []float64 {
	t := in.find(name, shape...)
	if t == nil {
		return nil
	}
	x, err := t.Float64s()
	if err != nil {
		in.Fail("%w", err)
		return nil
	}
	for i, value := range x {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			in.Fail("element %d of %q is %v", i, name, value)
			return nil
		}
	}
	return x
}

// Ints returns the elements of a tensor of whole numbers.
func (in *Tensors) Ints(name string, shape ...int) []int {
	t := in.find(name, shape...)
	if t == nil {
		return nil
	}
	x, err := t.Ints()
	if err != nil {
		in.Fail("%w", err)
	}
	return x
}

// Int32s returns the elements of a tensor of whole numbers of 32 bits.
func (in *Tensors) Int32s(name string, shape ...int) []int32 {
	t := in.find(name, shape...)
	if t == nil {
		return nil
	}
	x, err := t.Int32s()
	if err != nil {
		in.Fail("%w", err)
	}
	return x
}

// Texts reads what AddTexts wrote: n texts, or nil without a tensor of that name.
func (in *Tensors) Texts(name string, n int) []string {
	if in.Err != nil || !in.Has(name) {
		return nil
	}
	t := in.find(name, -1)
	if t == nil {
		return nil
	}
	if t.Dtype != safetensors.U8 {
		in.Fail("%q has the type %s, want U8", name, t.Dtype)
		return nil
	}
	var texts []string
	if err := json.Unmarshal(t.Data, &texts); err != nil {
		in.Fail("%q: %w", name, err)
		return nil
	}
	if len(texts) != n {
		in.Fail("%q holds %d texts, want %d", name, len(texts), n)
		return nil
	}
	return texts
}

// AddTexts adds texts as the bytes of a JSON list: a header has no room for many.
func AddTexts(f *safetensors.File, name string, texts []string) error {
	data, err := json.Marshal(texts)
	if err == nil {
		f.Tensors = append(f.Tensors, safetensors.Bytes(name, data))
	}
	return err
}

// Labels returns n labels from 0 to clusters−1.
func (in *Tensors) Labels(name string, n, clusters int) []int {
	x := in.Ints(name, n)
	for i, l := range x {
		if l < 0 || l >= clusters {
			in.Fail("element %d of %q is %d, want 0 to %d", i, name, l, clusters-1)
		}
	}
	return x
}

// Losses reads what AddLosses wrote.
func (in *Tensors) Losses(prefix string, views int) (loss []float64, viewLoss [][]float64) {
	loss = in.Floats(prefix+"loss", -1)
	return loss, Split(in.Floats(prefix+"view_loss", len(loss), views), views)
}

// AddLosses adds the losses of every epoch, in all and by view.
func AddLosses(f *safetensors.File, prefix string, loss []float64, viewLoss [][]float64, views int) {
	f.Tensors = append(f.Tensors, safetensors.Float64s(prefix+"loss", loss, len(loss)),
		safetensors.Float64s(prefix+"view_loss", slices.Concat(viewLoss...), len(loss), views))
}

// Split cuts x into rows of d.
func Split(x []float64, d int) [][]float64 {
	out := make([][]float64, len(x)/d)
	for i := range out {
		out[i] = x[i*d : (i+1)*d : (i+1)*d]
	}
	return out
}
