package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	maxHeader  = 16 << 20 // bytes of the longest header that is read
	maxMembers = 1 << 16  // tensors, and keys of the metadata
	maxEntry   = 1 << 12  // bytes of what the header says of a tensor
)

// ErrTruncated says that a file has fewer bytes than its header gives.
var ErrTruncated = errors.New("the file is truncated")

// ErrFormat says that a file does not begin as one of the format does.
var ErrFormat = errors.New("the file is of another format")

// Read reads a file to its end.
func Read(r io.Reader) (*File, error) { return ReadIf(r, nil) }

// ReadIf is Read for a file whose metadata are accepted, the texts among them; it returns the error of accept if they are not.
// That is asked before anything is made of the tensors, for only the metadata can say that they are of a kind unknown here.
func ReadIf(r io.Reader, accept func(metadata map[string]string) error) (*File, error) {
	f, offsets, err := readHeader(r, accept)
	if err != nil {
		return nil, err
	}
	size := 0
	if k := len(offsets); k > 0 {
		size = offsets[k-1][1]
	}
	data, err := readGrowing(r, size)
	if err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 {
		return nil, fmt.Errorf("safetensors: there is more in the file than its header says")
	} else if err != io.EOF {
		return nil, err
	}
	for i := range f.Tensors {
		f.Tensors[i].Data = data[offsets[i][0]:offsets[i][1]:offsets[i][1]]
	}
	return f, nil
}

// Place is where a tensor lies in a file.
type Place struct {
	Name      string
	Dtype     Dtype
	Shape     []int
	At, Bytes int64 // of its values, from the beginning of the file
}

// Places reads the header of a file of some bytes, and says where its tensors lie. They fill the file to its end.
func Places(r io.Reader, size int64) ([]Place, error) {
	f, offsets, err := readHeader(r, nil)
	if err != nil {
		return nil, err
	}
	begin := 8 + int64(len(f.header))
	out, end := make([]Place, len(f.Tensors)), begin
	for i, t := range f.Tensors {
		lo, hi := int64(offsets[i][0]), int64(offsets[i][1])
		out[i] = Place{t.Name, t.Dtype, t.Shape, begin + lo, hi - lo}
		end = begin + hi
	}
	switch {
	case size < end:
		return nil, fmt.Errorf("safetensors: %w: %d bytes where %d should be", ErrTruncated, size, end)
	case size > end:
		return nil, fmt.Errorf("safetensors: there is more in the file than its header says")
	}
	return out, nil
}

// readHeader reads what comes before the data: a file whose tensors have none, and where they lie in what follows.
func readHeader(r io.Reader, accept func(metadata map[string]string) error) (*File, [][2]int, error) {
	var length [8]byte
	if n, err := io.ReadFull(r, length[:]); err != nil {
		return nil, nil, short(err, n, 8)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n < 2 || n > maxHeader {
		return nil, nil, fmt.Errorf("safetensors: %w: it claims a header of %d bytes", ErrFormat, n)
	}
	header, err := readGrowing(r, int(n))
	if len(header) > 0 && header[0] != '{' { // which is so however much follows
		return nil, nil, fmt.Errorf("safetensors: %w: its header begins with %q", ErrFormat, header[0])
	}
	if err != nil {
		return nil, nil, err
	}
	f := &File{header: header}
	offsets, err := f.decodeHeader(header, accept)
	if err != nil {
		return nil, nil, err
	}
	size := 0
	for i, t := range f.Tensors {
		want, err := bytesOf(t.Name, t.Dtype, t.Shape)
		if err != nil {
			return nil, nil, err
		}
		lo, hi := offsets[i][0], offsets[i][1]
		if lo != size || hi < lo || hi-lo != want {
			return nil, nil, fmt.Errorf(
				"safetensors: %q lies at %d to %d, want the %d bytes from %d on", t.Name, lo, hi, want, size,
			)
		}
		size = hi
	}
	return f, offsets, nil
}

// growth is the largest factor between the memory that a read takes and the bytes that have arrived.
const growth = 8

// readGrowing reads n bytes into memory that grows with what arrives. With an error it returns what has.
func readGrowing(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, 1<<20))
	for got := 0; ; {
		k, err := io.ReadFull(r, b[got:])
		got += k
		switch {
		case err != nil:
			return b[:got], short(err, got, n)
		case got == n:
			return b, nil
		}
		next := make([]byte, min(n, growth*got))
		copy(next, b)
		b = next
	}
}

// short explains a read that ended early.
func short(err error, got, want int) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("safetensors: %w: %d bytes where %d should be", ErrTruncated, got, want)
	}
	return err
}

// decodeHeader sets the metadata, if they are accepted, and the tensors, without their data, in the order of their offsets, which
// it returns.
func (f *File) decodeHeader(header []byte, accept func(metadata map[string]string) error) ([][2]int, error) {
	broken := func(err error) error { return fmt.Errorf("safetensors: the header is broken: %w", err) }
	type member struct {
		name  string
		value json.RawMessage
	}
	var tensors []member
	var noText error // of the metadata
	err := members(header, func(key string, value json.RawMessage) error {
		if key != metadataKey {
			tensors = append(tensors, member{key, value})
			return nil
		}
		f.Metadata = map[string]string{}
		return members(value, func(key string, value json.RawMessage) error {
			var text string
			if err := json.Unmarshal(value, &text); err == nil {
				f.Metadata[key] = text
			} else if noText == nil {
				noText = fmt.Errorf("metadata %q: %w", key, err)
			}
			return nil
		})
	})
	if err != nil {
		return nil, broken(err)
	}
	if accept != nil {
		if err := accept(f.Metadata); err != nil {
			return nil, err
		}
	}
	if noText != nil {
		return nil, broken(noText)
	}
	type placed struct {
		Tensor
		offsets [2]int
	}
	list := make([]placed, len(tensors))
	for i, m := range tensors {
		if len(m.value) > maxEntry {
			return nil, broken(fmt.Errorf("%q: %d bytes for one tensor", m.name, len(m.value)))
		}
		var e entry
		d := json.NewDecoder(bytes.NewReader(m.value))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return nil, broken(fmt.Errorf("%q: %w", m.name, err))
		}
		list[i] = placed{Tensor{Name: m.name, Dtype: e.Dtype, Shape: e.Shape}, e.Offsets}
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.offsets[0], b.offsets[0]), cmp.Compare(a.offsets[1], b.offsets[1]))
	})
	offsets := make([][2]int, len(list))
	for i, p := range list {
		f.Tensors, offsets[i] = append(f.Tensors, p.Tensor), p.offsets
	}
	return offsets, nil
}

// members calls visit for every member of a JSON object, and is an error if a key occurs twice or more follows than space.
func members(object []byte, visit func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("no JSON object (%v)", err)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok || seen[key] {
			return fmt.Errorf("key %v occurs twice", t)
		}
		if len(seen) == maxMembers {
			return fmt.Errorf("more than %d members", maxMembers)
		}
		seen[key] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

// Verify says whether a file that was read is as it was when it was sealed under the key.
func (f *File) Verify(seal string) error {
	sum, ok := f.Metadata[seal]
	if !ok || len(sum) != len(unsealed) {
		return fmt.Errorf("safetensors: the file has no %s", seal)
	}
	if bytes.Count(f.header, []byte(sum)) != 1 {
		return fmt.Errorf("safetensors: the %s is not in one place", seal)
	}
	header := bytes.Replace(f.header, []byte(sum), []byte(unsealed), 1)
	if got := f.sum(header); got != sum {
		return fmt.Errorf("safetensors: the file was changed: its %s is %s, by its content %s", seal, sum, got)
	}
	return nil
}
