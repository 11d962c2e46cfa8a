package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Identifiers of filters.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterLZF      = 32000
)

var filterNames = map[uint16]string{4: "szip", 5: "n-bit", 6: "scale-offset", 32001: "Blosc", 32004: "LZ4",
	32015: "Zstandard"}

type filter struct{ id uint16 }

// filters reads the filter pipeline.
func filters(b *block) ([]filter, error) {
	version, n := b.u8(), int(b.u8())
	if version != 1 && version != 2 {
		return nil, fmt.Errorf("has a filter pipeline of version %d", version)
	}
	if version == 1 {
		b.skip(6)
	}
	var out []filter
	for range n {
		id := b.u16()
		nameBytes := 0
		if version == 1 || id >= 256 {
			nameBytes = int(b.u16())
		}
		b.skip(2)
		values := int(b.u16())
		if version == 1 {
			nameBytes = (nameBytes + 7) &^ 7
			values = (values + 1) &^ 1
		}
		b.skip(nameBytes + 4*values)
		if id != filterLZF && (id < filterDeflate || id > filterFletcher) {
			name := filterNames[id]
			if name == "" {
				name = fmt.Sprintf("filter %d", id)
			}
			return nil, fmt.Errorf("is compressed by %s; deflate, LZF and shuffle are read: "+
				"h5repack -f GZIP=4 IN OUT converts it", name)
		}
		other := map[uint16]uint16{filterDeflate: filterLZF, filterLZF: filterDeflate}[id]
		if slices.Contains(out, filter{id}) || slices.Contains(out, filter{other}) {
			return nil, errors.New("goes through the same filter or two compressions, which is not read")
		}
		out = append(out, filter{id})
	}
	return out, b.err
}

// Elements is the number of elements of a dataset.
func (o *Object) Elements() int {
	n := 1
	for _, d := range o.Dims {
		n *= d
	}
	return n
}

// Readable returns what keeps the data of a dataset from being read, or nil.
func (o *Object) Readable() error {
	switch l := &o.layout; {
	case o.why != nil:
		return o.why
	case !o.IsDataset:
		return errors.New("is no dataset")
	case l.class == chunked && (len(l.chunk) != len(o.Dims) || l.width != o.Type.Size):
		return errors.New("is damaged (chunks of another shape)")
	}
	return nil
}

// stored describes the data of a dataset.
type stored struct {
	bytes     int64
	unwritten int
}

// Stored returns the bytes that the elements take in the file, and how many elements were never written.
func (f *File) Stored(o *Object) (bytes int64, unwritten int, err error) {
	if o.stored == nil {
		list, err := f.data(o)
		if err != nil {
			return 0, 0, err
		}
		list.done()
		if f.claimed += o.stored.bytes; f.claimed > f.size {
			o.stored = nil
			return 0, 0, errors.New("is damaged (it shares bytes of the file with others)")
		}
	}
	return o.stored.bytes, o.stored.unwritten, nil
}

// data checks what holds the elements of a dataset, and lists the chunks where these do.
func (f *File) data(o *Object) (*chunkList, error) {
	if err := o.Readable(); err != nil {
		return nil, err
	}
	n := o.Elements()
	want := int64(n) * int64(o.Type.Size)
	list := &chunkList{f: f}
	switch l := &o.layout; l.class {
	case compact:
		if int64(len(l.data)) < want {
			return nil, fmt.Errorf("should have %d bytes, and holds %d", want, len(l.data))
		}
		o.stored = &stored{want, 0}
		return list, nil
	case contiguous:
		if l.addr == undefined {
			o.stored = &stored{0, n}
			return list, nil
		}
		if uint64(want) > l.size || l.addr > uint64(f.size) || uint64(want) > uint64(f.size)-l.addr {
			return nil, fmt.Errorf("should have %d bytes, and its place in the file (of %d bytes) has fewer", want, f.size)
		}
		o.stored = &stored{want, 0}
		return list, nil
	}
	list, err := f.chunks(o)
	if err != nil {
		return nil, err
	}
	s := &stored{}
	full := uint64(o.chunkBytes())
	for _, c := range list.refs {
		if full/maxDeflate > c.size {
			return nil, fmt.Errorf("should have a chunk of %d bytes from %d compressed bytes, more than any compression gives",
				full, c.size)
		}
		s.bytes += int64(c.size)
	}
	_, total := o.grid()
	switch missing := total - len(list.refs); {
	case len(list.refs) == 0, missing > n/(o.chunkBytes()/o.layout.width):
		s.unwritten = n
	default:
		s.unwritten = missing * (o.chunkBytes() / o.layout.width)
	}
	o.stored = s
	return list, nil
}

// maxDeflate is a bit more than the factor by which deflate shrinks anything at most.
const maxDeflate = 1040

// Place returns where the elements of a dataset begin in the file, if they lie there one after another.
func (f *File) Place(o *Object) (at int64, ok bool) {
	l := &o.layout
	if o.Readable() != nil || l.class != contiguous || l.addr == undefined {
		return 0, false
	}
	return f.base + int64(l.addr), true
}

// Read hands over the elements of a dataset in runs, each with the number of its first element in row-major order. Elements
// never written are not handed over; their value is zero, or Read is an error.
func (f *File) Read(o *Object, run func(off int, raw []byte) error) error {
	list, err := f.data(o)
	if err != nil {
		return err
	}
	defer list.done()
	if o.stored.unwritten > 0 && slices.ContainsFunc(o.fill, func(b byte) bool { return b != 0 }) {
		return errors.New("has elements that were never written, and a fill value other than zero for them")
	}
	n, width := o.Elements(), o.Type.Size
	switch l := &o.layout; l.class {
	case compact:
		return run(0, slices.Clone(l.data[:n*width]))
	case contiguous:
		if l.addr == undefined {
			return nil
		}
		const step = 1 << 13
		for off := 0; off < n; off += step {
			raw, err := f.bytes(l.addr+uint64(off)*uint64(width), int64(min(step, n-off)*width))
			if err != nil {
				return err
			}
			f.done(raw)
			if err := run(off, raw); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list.refs) == 0 {
		return nil
	}
	c, err := f.newChunkReader(o)
	if err != nil {
		return err
	}
	defer c.done()
	axes, _ := o.grid()
	at := make([]int, len(axes))
	for _, ref := range list.refs {
		data, err := c.read(ref)
		if err != nil {
			return err
		}
		o.place(at, axes, ref.k)
		if err := o.spread(at, data, run); err != nil {
			return err
		}
	}
	return nil
}

// spread hands over the parts of a chunk that lie inside the dataset.
func (o *Object) spread(at []int, data []byte, run func(off int, raw []byte) error) error {
	l, rank := &o.layout, len(o.Dims)
	last := min(l.chunk[rank-1], o.Dims[rank-1]-at[rank-1]) // elements of a run
	pos := make([]int, rank)                                // within the chunk; the last axis stays 0
	for {
		src, dst := 0, 0
		for a := range rank {
			src = src*l.chunk[a] + pos[a]
			dst = dst*o.Dims[a] + at[a] + pos[a]
		}
		if err := run(dst, data[src*l.width:(src+last)*l.width]); err != nil {
			return err
		}
		a := rank - 2
		for ; a >= 0; a-- {
			if pos[a]++; pos[a] < l.chunk[a] && at[a]+pos[a] < o.Dims[a] {
				break
			}
			pos[a] = 0
		}
		if a < 0 {
			return nil
		}
	}
}

// fletcher compares and removes the Fletcher-32 checksum at the end.
func fletcher(data []byte) ([]byte, error) {
	if len(data) < 4 {
		return nil, errors.New("is damaged (checksum)")
	}
	body := data[:len(data)-4]
	var a, b uint32
	for i := 0; i < len(body); i += 2 {
		w := uint32(body[i]) << 8
		if i+1 < len(body) {
			w |= uint32(body[i+1])
		}
		a = (a + w) % 65535
		b = (b + a) % 65535
	}
	// The reference implementation adds with end-around carry, where 65535 is another zero.
	want := binary.LittleEndian.Uint32(data[len(body):])
	if want%(1<<16)%65535 != a || want>>16%65535 != b {
		return nil, errors.New("is damaged (checksum)")
	}
	return body, nil
}

// References returns the addresses in a dataset of object references, 0 for those that point nowhere.
func (f *File) References(o *Object, most int) ([]uint64, error) {
	if o.Type.Class != Reference || o.Type.Size != f.offSize {
		return nil, errors.New("holds no object references")
	}
	if o.Elements() > most {
		return nil, fmt.Errorf("holds %d references; at most %d are read", o.Elements(), most)
	}
	refs := make([]uint64, o.Elements())
	err := f.Read(o, func(off int, raw []byte) error {
		b := block{b: raw, f: f}
		for i := 0; len(b.b) >= f.offSize; i++ {
			refs[off+i] = b.offset()
		}
		return nil
	})
	return refs, err
}
