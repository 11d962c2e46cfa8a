package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/testrig/hostile"
)

// hostileFile is a file to try: small, but it unpacks to much, repeats itself or lies about its sizes.
type hostileFile struct {
	Name  string
	About string
	Make  func() []byte
	// Labels is the option that makes a reader read what costs much; empty: no option is needed.
	Labels string
	Slow   bool // it takes long to make, or to refuse
}

const mega = 1 << 20

// hostileFiles returns the files to try, each against the limits of a reader.
func hostileFiles() []hostileFile {
	files := slices.Concat(hdf5Files(), matFiles(), numpyFiles(), csvFiles())
	for k := range files {
		files[k].Slow = slices.Contains(slow, files[k].Name)
	}
	return files
}

// hdf5Files returns the files whose chunks, headers, names or texts share bytes or unpack to much.
func hdf5Files() []hostileFile {
	return []hostileFile{
		{
			Name: "h5-chunk-twice.h5", About: "a chunk of 4 GiB, deflated twice",
			Make: func() []byte { return oneChunk(65536, 65535, true) },
		},
		{
			Name: "h5-chunk-deflate.h5", About: "a chunk of 2 GiB, deflated",
			Make: func() []byte { return oneChunk(65536, 32768, false) },
		},
		{
			Name: "h5-chunk-shared.h5", About: "2000 index entries on one chunk of 1 MiB",
			Make: func() []byte { return sharedChunk(2000, mega) },
		},
		{
			Name: "h5-chunk-dense.h5", About: "2000 index entries on one chunk of 16 KiB",
			Make: func() []byte { return sharedChunk(2000, 16<<10) },
		},
		{Name: "h5-chunks-plain.h5", About: "a million chunks of a byte without an index", Make: plainChunks},
		{Name: "h5-headers.h5", About: "4096 references to an object header of 8 MiB", Make: sharedHeader},
		{Name: "h5-names.h5", About: "60,000 links whose names share 1 MiB", Make: longNames},
		{Name: "h5-attributes.h5", About: "30,000 references to one header of 60 KiB of attributes", Make: sharedAttributes},
		{Name: "h5-texts.h5", About: "100,000 texts that go to and fro between two heaps of 60,000 objects", Make: heapTexts},
		{Name: "h5-sparse.h5", About: "a sparse matrix whose row numbers share a chunk", Make: sparseChunks},
	}
}

// matFiles returns the MATLAB files, whose compressed variables unpack to much.
func matFiles() []hostileFile {
	return []hostileFile{
		{
			Name: "mat-sparse.mat", About: "a sparse matrix of 400 million zeros",
			Make: func() []byte { return hostile.MAT5(zeroSparse("X", 100, 50, 400*mega)) },
		},
		{Name: "mat-sparse-cells.mat", About: "20 sparse matrices of 15 million zeros", Make: func() []byte {
			var vs [][]byte
			for k := range 20 {
				vs = append(vs, zeroSparse(fmt.Sprintf("X%d", k), 100, 50, 15*mega))
			}
			return hostile.MAT5(vs...)
		}},
		{
			Name: "mat-junk.mat", About: "30 variables of 1 GiB of zeros beside a small one",
			Make: func() []byte { return junkVariables(30, 32768, 32768) },
		},
		{
			Name: "mat-junk-small.mat", About: "2000 variables of 30 MiB of zeros beside a small one",
			Make: func() []byte { return junkVariables(2000, 30720, 1024) },
		},
		{
			Name: "mat-cell-text.mat", About: "a cell of 3 texts of 1 GiB",
			Make: func() []byte { return hostile.MAT5(zeroCell("X", 3, 1<<30)) },
		},
		{
			Name: "mat-dense.mat", About: "a matrix of 1.5 GiB of zeros",
			Make: func() []byte { return hostile.MAT5(zeroArray("X", hostile.ClassDouble, 1536, mega)) },
		},
	}
}

// numpyFiles returns the npy and npz files, whose entries share bytes, unpack to much or lie about their sizes.
func numpyFiles() []hostileFile {
	return []hostileFile{
		{Name: "npz-text.npz", About: "labels of 350,000 texts of 4 KiB", Make: textLabels},
		{Name: "npz-text-distinct.npz", About: "labels of 20,000 different texts of 4 KiB", Make: distinctTexts},
		{
			Name: "npz-sparse.npz", About: "a SciPy matrix with 150 million row numbers",
			Make: func() []byte { return scipy(100, 50, 150*mega, "'|u1'") },
		},
		{
			Name: "npz-sparse-wide.npz", About: "a SciPy matrix with 2 billion columns",
			Make: func() []byte { return scipy(100, 2_000_000_000, 100, "'<i4'") },
		},
		{
			Name: "npz-directory.npz", About: "a million entries in the directory",
			Make: func() []byte { return overlapping(65000, 16, 16) },
		},
		{
			Name: "npz-overlap.npz", About: "60,000 entries on one header of 60 KiB",
			Make: func() []byte { return overlapping(60000, 60000, 0) },
		},
		{
			Name: "npz-shared.npz", About: "16,000 entries on one array",
			Make: func() []byte { return overlapping(16000, 2000, 0) },
		},
		{Name: "npz-dense.npz", About: "a matrix of 3 GiB of zeros", Make: denseNPZ},
		{Name: "npz-zip64.npz", About: "a directory that gives 2⁴⁰ entries", Make: zip64},
		{
			Name: "npy-shape.npy", About: "a header that gives 10¹⁸ values",
			Make: func() []byte { return npyHead("'<f8'", "(1000000000, 1000000000)") },
		},
		{Name: "npy-header.npy", About: "a header of 64 KiB of brackets", Make: func() []byte {
			return npyHead("'<f8'", "("+strings.Repeat("1,", 30000)+")")
		}},
		{Name: "npy-wide.npy", About: "a matrix of 8 MiB that would take 32", Make: func() []byte {
			return append(npyHead("'|u1'", "(8, 1048576)"), bytes.Repeat([]byte{1}, 8*mega)...)
		}},
	}
}

// csvFiles returns the compressed CSV files, which unpack to long texts, lines or runs of lines.
func csvFiles() []hostileFile {
	return []hostileFile{
		{
			Name: "csv-text.csv.gz", About: "a column of 4000 different texts of 1 MiB",
			Make: func() []byte { return csvTexts(4000) },
		},
		{
			Name: "csv-labels.csv.gz", About: "40 different texts of 1 MiB as labels",
			Make: func() []byte { return csvTexts(40) }, Labels: "label",
		},
		{Name: "csv-classes.csv.gz", About: "5 million labels", Make: csvClasses},
		{
			Name: "csv-line.csv.gz", About: "a line of 60 MiB",
			Make: func() []byte { return csvZeros("a,b\n1,2\n", strings.Repeat("1", mega), 60) },
		},
		{Name: "csv-quote.csv.gz", About: "a quoted field of 60 MiB over many lines", Make: func() []byte {
			return csvZeros("a,b\n1,\"", strings.Repeat("1\n", mega/2), 60)
		}},
		{
			Name: "csv-comments.csv.gz", About: "4 GiB of comments",
			Make: func() []byte { return csvZeros("# ", strings.Repeat("#\n", mega/2), 4096) },
		},
		{
			Name: "csv-blank.csv.gz", About: "4 GiB of blank lines",
			Make: func() []byte { return csvZeros("a,b\n1,2\n", strings.Repeat("\n", mega), 4096) },
		},
		{Name: "csv-fields.csv.gz", About: "lines of two million fields", Make: func() []byte {
			return csvZeros("", strings.Repeat("1,", mega)+"1\n", 2000)
		}},
		{
			Name: "csv-bomb.csv.gz", About: "2 GiB of zeros",
			Make: func() []byte { return csvZeros("a,b\n", strings.Repeat("0,0\n", mega/4), 2048) },
		},
	}
}

// slow are the files that take more than a second to make or to refuse.
var slow = []string{"h5-chunk-twice.h5", "mat-cell-text.mat", "mat-dense.mat", "npz-text-distinct.npz", "npz-dense.npz",
	"csv-text.csv.gz", "csv-comments.csv.gz", "csv-blank.csv.gz", "csv-bomb.csv.gz", "csv-classes.csv.gz", "mat-junk-small.mat"}

// oneChunk is a dataset of zeros in one chunk.
func oneChunk(rows, cols int, twice bool) []byte {
	p := newZlib()
	p.zero(int64(rows) * int64(cols))
	data, filters, mask := p.zlib(), []uint16{1}, uint32(0)
	if twice {
		q := newZlib()
		q.put(data[:2]...)
		body := bytes.TrimSuffix(data[2:], data[len(data)-6:])
		q.repeat(deflatedZeros, len(body)/len(deflatedZeros))
		q.put(body[len(body)/len(deflatedZeros)*len(deflatedZeros):]...)
		q.put(data[len(data)-6:]...)
		data, filters, mask = q.zlib(), []uint16{1, 1}, 1<<20
	}
	h := hostile.NewHDF5()
	at := h.Add(data)
	layout := hostile.SingleChunk(at, uint64(len(data)), mask, rows, cols, 1)
	h.Link("X", h.Object(hostile.Dataspace(rows, cols), hostile.Uint8, layout, hostile.Filters(filters...)))
	return h.Bytes()
}

// sharedChunk is a dataset whose n chunks are one.
func sharedChunk(n, size int) []byte {
	p := newZlib()
	p.zero(int64(size))
	data := p.zlib()
	h := hostile.NewHDF5()
	at := h.Add(data)
	chunks := make([]hostile.Chunk, n)
	for k := range chunks {
		chunks[k] = hostile.Chunk{At: []int{k, 0}, Addr: at, Size: uint32(len(data))}
	}
	layout := hostile.TreeChunks(h.Tree(chunks), 1, size, 1)
	h.Link("X", h.Object(hostile.Dataspace(n, size), hostile.Uint8, layout, hostile.Filters(1)))
	return h.Bytes()
}

// plainChunks is a dataset of a million chunks of one byte.
func plainChunks() []byte {
	h := hostile.NewHDF5()
	at := h.Add(make([]byte, 1<<20))
	layout := hostile.LE(uint8(4), uint8(2), uint8(0), uint8(3), uint8(8), uint64(1), uint64(1), uint64(1), uint8(2), at)
	h.Link("X", h.Object(hostile.Dataspace(1024, 1024), hostile.Uint8, hostile.Message(8, layout)))
	return h.Bytes()
}

// addReferences adds a MATLAB cell that holds the same object n times.
func addReferences(h *hostile.HDF5, name string, n int, to uint64) {
	var refs []byte
	for range n {
		refs = binary.LittleEndian.AppendUint64(refs, to)
	}
	at := h.Add(refs)
	h.Link(name, h.Object(hostile.Dataspace(1, n), hostile.Reference, hostile.Contiguous(at, len(refs)),
		textAttribute("MATLAB_class", "cell")))
}

func textAttribute(name, value string) []byte {
	kind := hostile.LE(uint8(0x13), []byte{0, 0, 0}, uint32(len(value)))
	space := hostile.LE(uint8(2), uint8(0), uint8(0), uint8(0))
	return hostile.Message(0x0c, hostile.LE(uint8(3), uint8(0), uint16(len(name)+1), uint16(len(kind)), uint16(len(space)),
		uint8(0), name, uint8(0), kind, space, value))
}

// sharedHeader refers 4096 times to an object whose header is long.
func sharedHeader() []byte {
	h := hostile.NewHDF5()
	var padding [][]byte
	for range 128 {
		padding = append(padding, hostile.Message(0, make([]byte, 65000)))
	}
	o := h.Object(append(padding, hostile.Dataspace(2, 2), hostile.Float64, hostile.Contiguous(h.Add(make([]byte, 32)), 32))...)
	addReferences(h, "X", 4096, o)
	return h.Bytes()
}

// sharedAttributes refers from 8 cells to an object with long attributes.
func sharedAttributes() []byte {
	h := hostile.NewHDF5()
	o := h.Object(hostile.Dataspace(2, 2), hostile.Float64, hostile.Contiguous(h.Add(make([]byte, 32)), 32),
		textAttribute("a", strings.Repeat("x", 60000)))
	for k := range 8 {
		addReferences(h, fmt.Sprintf("X%d", k), 4000, o)
	}
	return h.Bytes()
}

// longNames is a group in a symbol table whose names lie in each other.
func longNames() []byte {
	h := hostile.NewHDF5()
	heap := bytes.Repeat([]byte{'x'}, 1<<20)
	heap[len(heap)-1] = 0
	names := h.Add(heap)
	local := h.Add(hostile.LE("HEAP", uint32(0), uint64(len(heap)), uint64(0), names))
	o := h.Object(hostile.Dataspace(2, 2), hostile.Float64, hostile.Contiguous(h.Add(make([]byte, 32)), 32))
	node := hostile.LE("SNOD", uint8(1), uint8(0), uint16(60000))
	for k := range 60000 {
		node = append(node, hostile.LE(uint64(k), o, make([]byte, 24))...)
	}
	symbols := h.Add(node)
	tree := h.Add(hostile.LE("TREE", uint8(0), uint8(0), uint16(1), ^uint64(0), ^uint64(0), uint64(0), symbols, uint64(0)))
	h.Links = hostile.Message(0x11, hostile.LE(tree, local))
	return h.Bytes()
}

// sparseChunks is a MATLAB sparse matrix whose parts are chunks of zeros.
func sparseChunks() []byte {
	const n, chunk = 512 << 20, 1 << 20
	p := newZlib()
	p.zero(chunk)
	data := p.zlib()
	h := hostile.NewHDF5()
	part := func() uint64 {
		chunks := make([]hostile.Chunk, n/chunk)
		for k := range chunks {
			chunks[k] = hostile.Chunk{At: []int{k * chunk}, Addr: h.Add(data), Size: uint32(len(data))}
		}
		return h.Object(hostile.Dataspace(n), hostile.Uint8, hostile.TreeChunks(h.Tree(chunks), chunk, 1), hostile.Filters(1))
	}
	rows := hostile.LE(uint8(3), uint8(0), uint16(14), uint16(12), uint16(4), uint8(0), "MATLAB_sparse\x00",
		hostile.Int64[4:], []byte{2, 0, 0, 0}, uint64(100))
	starts := h.Add(hostile.LE(uint64(0), uint64(n)))
	jc := h.Object(hostile.Dataspace(2), hostile.Int64, hostile.Contiguous(starts, 16))
	group := h.Object(hostile.Message(0x0c, rows), textAttribute("MATLAB_class", "double"),
		hostile.Link("data", part()), hostile.Link("ir", part()), hostile.Link("jc", jc))
	h.Link("X", group)
	return h.Bytes()
}

func junkVariables(n, rows, cols int) []byte {
	vs := [][]byte{hostile.Element(hostile.MATMatrix, hostile.LE(hostile.ArrayHead("X", hostile.ClassDouble, 4, 2),
		hostile.Element(hostile.MATUint8, []byte{1, 2, 3, 4, 5, 6, 7, 8})))}
	for k := range n {
		vs = append(vs, zeroArray(fmt.Sprintf("junk%d", k), hostile.ClassDouble, rows, cols))
	}
	return hostile.MAT5(vs...)
}

func textLabels() []byte {
	a := &archive{}
	a.zeros("y.npy", npyHead("'|S4096'", "(350000,)"), 350000*4096)
	a.zeros("X0.npy", npyHead("'|u1'", "(350000, 1)"), 350000)
	return a.bytes()
}

func distinctTexts() []byte {
	a := &archive{}
	p := newGzip()
	p.put(npyHead("'|S4096'", "(20000,)")...)
	text := bytes.Repeat([]byte{'x'}, 4096)
	for k := range 20000 {
		copy(text, fmt.Sprintf("%010d", k))
		p.put(text...)
	}
	a.packed("y.npy", p)
	a.zeros("X0.npy", npyHead("'|u1'", "(20000, 2)"), 40000)
	return a.bytes()
}

func scipy(rows, cols int, n int64, kind string) []byte {
	a := &archive{}
	width := int64(kind[3] - '0')
	shape := fmt.Sprintf("(%d,)", n)
	a.zeros("indices.npy", npyHead(kind, shape), n*width)
	p := newGzip()
	p.put(npyHead("'<i8'", fmt.Sprintf("(%d,)", rows+1))...)
	p.put(make([]byte, 8*rows)...)
	p.put(hostile.LE(n)...)
	a.packed("indptr.npy", p)
	a.zeros("data.npy", npyHead("'|u1'", shape), n)
	a.stored("shape.npy", hostile.LE(npyHead("'<i8'", "(2,)"), int64(rows), int64(cols)))
	return a.bytes()
}

// overlapping is an archive whose entries all are the first one, of an array with a header of some bytes.
func overlapping(n, header, extra int) []byte {
	a := &archive{}
	head := npyHead("'|u1'", "(2, 2)"+strings.Repeat(" ", header))
	a.stored("X0.npy", hostile.LE(head, []byte{1, 2, 3, 4}))
	first := a.members[0]
	for k := 1; k < n; k++ {
		first.name = fmt.Sprintf("X%d%s.npy", k, strings.Repeat("x", extra))
		a.members = append(a.members, first)
	}
	return a.bytes()
}

func denseNPZ() []byte {
	a := &archive{}
	a.zeros("X0.npy", npyHead("'|u1'", "(3072, 1048576)"), 3<<30)
	return a.bytes()
}

// zip64 ends in a record of a directory with absurdly many entries, behind a hole that makes the file look large.
func zip64() []byte {
	a := &archive{}
	a.stored("X0.npy", hostile.LE(npyHead("'|u1'", "(2, 2)"), []byte{1, 2, 3, 4}))
	out := a.data
	at := uint64(len(out))
	out = hostile.LE(out, "PK\x06\x06", uint64(44), uint16(45), uint16(45), uint32(0), uint32(0),
		uint64(1)<<40, uint64(1)<<40, uint64(0), uint64(0))
	out = hostile.LE(out, "PK\x06\x07", uint32(0), at, uint32(1))
	return hostile.LE(out, "PK\x05\x06", uint32(0), uint16(0xffff), uint16(0xffff), ^uint32(0), ^uint32(0), uint16(0))
}

func csvZeros(head, block string, n int) []byte {
	p := newGzip()
	if head != "" {
		p.put([]byte(head)...)
	}
	p.repeat([]byte(block), n)
	return p.gzip()
}

func csvTexts(n int) []byte {
	p := newGzip()
	p.put([]byte("height,label\n")...)
	text := bytes.Repeat([]byte{'a'}, 1<<20)
	tail := deflateBlock(text)
	for k := range n {
		p.put(fmt.Appendf(nil, "%d,%07d", k, k)...)
		p.add(text, tail)
		p.put('\n')
	}
	return p.gzip()
}

func csvClasses() []byte {
	var block []byte
	for k := range 1 << 16 {
		block = fmt.Appendf(block, "1,c%x\n", k)
	}
	return csvZeros("height,label\n", string(block), 80)
}

// heapTexts is a set whose labels lie in two collections of objects, one after the other in turns.
func heapTexts() []byte {
	const n, objects = 100_000, 60_000
	h := hostile.NewHDF5()
	heaps := []uint64{h.Collection(objects, "here"), h.Collection(objects, "there")}
	var body []byte
	for k := range n {
		body = append(body, hostile.LE(uint32(4), heaps[k%2], uint32(objects+1))...)
	}
	h.Link("labels", h.Object(hostile.Dataspace(n), hostile.VariableText, hostile.Contiguous(h.Add(body), len(body))))
	h.Link("X0", h.Object(hostile.Dataspace(n, 1), hostile.Uint8, hostile.Contiguous(h.Add(make([]byte, n)), n)))
	return h.Bytes()
}
