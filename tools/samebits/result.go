package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
)

// result is the result of a fit: the label file and the tensors of the saved model.
type result struct {
	labels  []byte
	tensors map[string]tensor
}

// tensor is one array of a safetensors file.
type tensor struct {
	Dtype   string
	Shape   []int
	Offsets [2]int `json:"data_offsets"`
	data    []byte
}

func readResult(labels, model string) (*result, error) {
	r := &result{tensors: map[string]tensor{}}
	var err error
	if r.labels, err = os.ReadFile(labels); err != nil {
		return nil, err
	}
	file, err := os.ReadFile(model)
	if err != nil {
		return nil, err
	}
	if r.tensors, err = readTensors(file); err != nil {
		return nil, fmt.Errorf("the saved model: %w", err)
	}
	if len(r.tensors["loss"].data) == 0 {
		return nil, fmt.Errorf("the saved model has no losses")
	}
	return r, nil
}

// readTensors reads the safetensors file that a saved model begins with: the length of the header as 8 bytes, the header as
// JSON, the data. What a header says beside the tensors is left out, for it may name the version of the program.
func readTensors(file []byte) (map[string]tensor, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("%d bytes", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > uint64(len(file)-8) {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d", n, len(file))
	}
	header, data := file[8:8+n], file[8+n:]
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, err
	}
	delete(entries, "__metadata__")
	out := map[string]tensor{}
	for name, entry := range entries {
		var t tensor
		if err := json.Unmarshal(entry, &t); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if t.Offsets[0] < 0 || t.Offsets[0] > t.Offsets[1] || t.Offsets[1] > len(data) {
			return nil, fmt.Errorf("%s lies at %v of %d bytes", name, t.Offsets, len(data))
		}
		t.data = data[t.Offsets[0]:t.Offsets[1]]
		out[name] = t
	}
	return out, nil
}

// differences says what differs, in words.
func (r *result) differences(s *result) (out []string) {
	if !bytes.Equal(r.labels, s.labels) {
		out = append(out, fmt.Sprintf("labels (SHA-256 %x and %x)", short(r.labels), short(s.labels)))
	}
	names := map[string]bool{}
	for name := range r.tensors {
		names[name] = true
	}
	for name := range s.tensors {
		names[name] = true
	}
	for name := range names {
		a, inOld := r.tensors[name]
		b, inNew := s.tensors[name]
		switch {
		case !inOld:
			out = append(out, "tensor "+name+" is new")
		case !inNew:
			out = append(out, "tensor "+name+" is gone")
		case a.Dtype != b.Dtype || !slices.Equal(a.Shape, b.Shape):
			out = append(out, fmt.Sprintf("tensor %s (%s %v and %s %v)", name, a.Dtype, a.Shape, b.Dtype, b.Shape))
		case !bytes.Equal(a.data, b.data):
			out = append(out, fmt.Sprintf("tensor %s (SHA-256 %x and %x)", name, short(a.data), short(b.data)))
		}
	}
	slices.Sort(out)
	return out
}

func short(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:6]
}

// size says how much was compared.
func (r *result) size() string {
	n := 0
	for _, t := range r.tensors {
		n += len(t.data)
	}
	return fmt.Sprintf("%d bytes of labels, %d tensors of %d bytes, %d losses", len(r.labels), len(r.tensors), n,
		len(r.losses()))
}

func (r *result) losses() []float64 {
	var out []float64
	for x := range slices.Chunk(r.tensors["loss"].data, 8) {
		out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(x)))
	}
	return out
}

func (r *result) lastLoss() string {
	l := r.losses()
	return strconv.FormatFloat(l[len(l)-1], 'g', -1, 64)
}
