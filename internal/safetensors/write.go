package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// metadataKey is the header's key of what is no tensor.
const metadataKey = "__metadata__"

// unsealed stands in a file in place of its seal while the seal is computed.
var unsealed = strings.Repeat("0", 2*sha256.Size)

type entry struct {
	Dtype   Dtype  `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Write writes the file. With a seal, a metadata key that the file does not have, it is sealed under that key. Equal
// files give equal bytes.
func (f *File) Write(w io.Writer, seal string) (int64, error) {
	header, err := f.encodeHeader(seal)
	if err != nil {
		return 0, err
	}
	if seal != "" {
		sum := f.sum(header)
		copy(header[bytes.Index(header, []byte(unsealed)):], sum)
	}
	total := int64(0)
	for _, part := range f.parts(header) {
		n, err := w.Write(part)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// parts are the bytes of the file.
func (f *File) parts(header []byte) [][]byte {
	out := [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header}
	for _, t := range f.Tensors {
		out = append(out, t.Data)
	}
	return out
}

// sum is the seal of the file with this header, in which the seal's place holds zeros.
func (f *File) sum(header []byte) string {
	h := sha256.New()
	for _, part := range f.parts(header) {
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// encodeHeader returns the header with its spaces: metadata first, then the tensors in their order.
func (f *File) encodeHeader(seal string) ([]byte, error) {
	meta, err := f.metadataWith(seal)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	if len(meta) > 0 {
		if err := putMember(&b, metadataKey, meta); err != nil {
			return nil, err
		}
	}
	at := 0
	seen := map[string]bool{metadataKey: true}
	for _, t := range f.Tensors {
		size, err := bytesOf(t.Name, t.Dtype, t.Shape)
		if err != nil {
			return nil, err
		}
		if size != len(t.Data) {
			return nil, fmt.Errorf("safetensors: %q has %d bytes, its shape %v and type %s want %d", t.Name,
				len(t.Data), t.Shape, t.Dtype, size)
		}
		if seen[t.Name] || t.Name == "" {
			return nil, fmt.Errorf("safetensors: a tensor cannot have the name %q here", t.Name)
		}
		seen[t.Name] = true
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		if err := putMember(&b, t.Name, entry{t.Dtype, shape, [2]int{at, at + size}}); err != nil {
			return nil, err
		}
		at += size
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if seal != "" && bytes.Count(b.Bytes(), []byte(unsealed)) != 1 {
		return nil, fmt.Errorf("safetensors: a tensor's name holds the place of a seal")
	}
	return b.Bytes(), readable(b.Len(), len(f.Tensors), len(meta))
}

// readable returns an error for a header that Read would refuse.
func readable(header, tensors, keys int) error {
	if tensors >= maxMembers || keys > maxMembers { // the metadata are a member beside the tensors
		return fmt.Errorf("safetensors: %d tensors and %d keys of metadata, fewer than %d of each are read", tensors, keys,
			maxMembers)
	}
	if header > maxHeader {
		return fmt.Errorf("safetensors: a header of %d bytes, at most %d are read", header, maxHeader)
	}
	return nil
}

// metadataWith returns the metadata with zeros in the place of the seal, which must be the only such place.
func (f *File) metadataWith(seal string) (map[string]string, error) {
	if seal == "" {
		return f.Metadata, nil
	}
	if _, ok := f.Metadata[seal]; ok {
		return nil, fmt.Errorf("safetensors: the metadata have %q, the key of the seal", seal)
	}
	meta := map[string]string{seal: unsealed}
	for k, v := range f.Metadata {
		if strings.Contains(k, unsealed) || strings.Contains(v, unsealed) {
			return nil, fmt.Errorf("safetensors: the metadata's %q holds the place of a seal", k)
		}
		meta[k] = v
	}
	return meta, nil
}

// putMember appends a member to the JSON object in b, which is open.
func putMember(b *bytes.Buffer, key string, value any) error {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	k, err := json.Marshal(key)
	if err != nil {
		return err
	}
	v, err := json.Marshal(value)
	if err != nil {
		return err
	}
	b.Write(k)
	b.WriteByte(':')
	b.Write(v)
	return nil
}
