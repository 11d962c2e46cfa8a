package dataset

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/dataset/internal/npy"
)

// maxDeflate is the largest factor by which deflate shrinks anything: 258 bytes in 2 bits, with room for block headers.
const maxDeflate = 1040

// listNPZ lists the arrays of a zip archive.
func (s *source) listNPZ(f io.ReaderAt) error {
	s.format = "NumPy .npz"
	z, err := zip.NewReader(f, s.size)
	if err != nil {
		return fmt.Errorf("is a broken or truncated .npz file (%w)", err)
	}
	seen := map[string]bool{}
	for _, m := range z.File {
		name, ok := strings.CutSuffix(m.Name, ".npy")
		if !ok {
			if holdsArray(m) {
				return fmt.Errorf("holds %q, which is a NumPy array but for its name; is the file damaged?", m.Name)
			}
			s.left = append(s.left, Omission{s.path, m.Name, "no NumPy array"})
			continue
		}
		if seen[name] {
			return fmt.Errorf("holds two arrays named %s", name)
		}
		seen[name] = true
		v := &variable{file: s.path, name: name}
		if err := listMember(v, m, s.size); err != nil {
			return v.wrap(err)
		}
		s.vars = append(s.vars, v)
	}
	if len(s.vars) == 0 {
		return errors.New("is a zip archive without NumPy arrays")
	}
	return s.joinSciPy()
}

// holdsArray tells whether a member of an archive begins as a NumPy array.
func holdsArray(m *zip.File) bool {
	r, err := m.Open()
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, len(npy.Magic))
	_, err = io.ReadFull(r, head)
	return err == nil && string(head) == npy.Magic
}

// listMember reads the header of one array of an archive, and checks the sizes that archive and header claim.
func listMember(v *variable, m *zip.File, fileSize int64) error {
	packed, full := m.CompressedSize64, m.UncompressedSize64
	switch {
	case m.Flags&1 != 0:
		return errors.New("is encrypted")
	case m.Method != zip.Store && m.Method != zip.Deflate:
		return fmt.Errorf("has compression method %d; stored and deflated arrays are read", m.Method)
	case packed > uint64(fileSize):
		return fmt.Errorf("promises %d bytes in a file of %d", packed, fileSize)
	case m.Method == zip.Store && packed != full:
		return fmt.Errorf("is stored in %d bytes but promises %d", packed, full)
	case m.Method == zip.Deflate && full/maxDeflate > packed:
		return fmt.Errorf("promises %d bytes from %d compressed ones, which no compression gives", full, packed)
	}
	r, err := m.Open()
	if err != nil {
		return zipError(err)
	}
	defer r.Close()
	h, err := npy.ReadHeader(r)
	if err != nil {
		return zipError(err)
	}
	if !isObjects(h) && full != uint64(h.Bytes()+int64(h.Len)) {
		return fmt.Errorf("has the shape %v of %s, %d bytes with its header, but holds %d", h.Shape, h.Descr, h.Bytes()+int64(h.Len), full)
	}
	v.fromHeader(h, m.Method == zip.Store, func() (io.ReadCloser, error) {
		r, err := m.Open()
		if err != nil {
			return nil, err
		}
		if _, err := io.CopyN(io.Discard, r, int64(h.Len)); err != nil {
			r.Close()
			return nil, err
		}
		return r, nil
	})
	return nil
}

func zipError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return errors.New("is damaged (checksum)")
	case errors.As(err, &corrupt), errors.Is(err, zip.ErrFormat):
		return errors.New("is damaged (compressed data)")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("is truncated")
	}
	return err
}

// listNPY describes a file of one array.
func (s *source) listNPY(f io.ReaderAt) error {
	s.format = "NumPy .npy"
	h, err := npy.ReadHeader(io.NewSectionReader(f, 0, s.size))
	if err != nil {
		return err
	}
	if !isObjects(h) && h.Bytes() != s.size-int64(h.Len) {
		return fmt.Errorf("has the shape %v of %s, %d bytes with its header, but holds %d", h.Shape, h.Descr, h.Bytes()+int64(h.Len), s.size)
	}
	v := &variable{file: s.path, name: s.base()}
	v.fromHeader(h, true, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, int64(h.Len), h.Bytes())), nil
	})
	s.vars = []*variable{v}
	return nil
}

// fromHeader describes an array; open gives its elements.
func (v *variable) fromHeader(h npy.Header, backed bool, open func() (io.ReadCloser, error)) {
	v.dims, v.typ, v.colMajor, v.backed, v.class = h.Shape, h.Type, h.Fortran && len(h.Shape) > 1, backed, h.Descr
	switch {
	case h.Type.Kind != elem.Invalid:
		v.class = h.Type.Kind.String()
		v.stream = func(run func(int, []byte) error) error {
			return streamFrom(open, h.Elements(), h.Width, run)
		}
	case strings.ContainsAny(h.Descr, "US") && len(h.Shape) <= 1:
		v.kind, v.class = text, "string"
		v.strings = func() ([]string, error) { return readStrings(open, h) }
	case isObjects(h):
		v.kind, v.note = other, "Python objects are not read; in Python, numpy.savez(new, X0=…, X1=…) with each matrix as numpy.array(x.tolist(), dtype=float)"
	default:
		v.kind, v.note = other, "elements of type "+h.Descr+" are not read"
	}
}

// isObjects tells whether an array holds pickled Python objects, whose length its header does not tell.
func isObjects(h npy.Header) bool { return strings.Contains(h.Descr, "O") }

// streamFrom hands over n elements of some width, and reads to the end so that checksums are compared.
func streamFrom(open func() (io.ReadCloser, error), n, width int, run func(int, []byte) error) error {
	r, err := open()
	if err != nil {
		return zipError(err)
	}
	defer r.Close()
	buf := make([]byte, min(n, 1<<13)*width)
	for off := 0; off < n; {
		part := buf[:min(n-off, 1<<13)*width]
		if _, err := io.ReadFull(r, part); err != nil {
			return zipError(err)
		}
		if err := run(off, part); err != nil {
			return err
		}
		off += len(part) / width
	}
	switch k, err := r.Read(make([]byte, 1)); {
	case k > 0:
		return errors.New("holds more than its shape")
	case err != nil && !errors.Is(err, io.EOF):
		return zipError(err)
	}
	return nil
}

// readStrings reads an array of fixed-width strings: bytes, or UCS-4 characters, padded with zeros.
func readStrings(open func() (io.ReadCloser, error), h npy.Header) ([]string, error) {
	if h.Width == 0 || h.Width > 1<<12 {
		return nil, fmt.Errorf("holds strings of %d bytes; 1 to 4096 are read", h.Width)
	}
	var out []string
	unicode := strings.Contains(h.Descr, "U")
	err := streamFrom(open, h.Elements(), h.Width, func(_ int, raw []byte) error {
		for s := range slices.Chunk(raw, h.Width) {
			out = append(out, decodeString(s, unicode, h.Type.Big))
		}
		return nil
	})
	return out, err
}

func decodeString(s []byte, unicode, big bool) string {
	if !unicode {
		return strings.ToValidUTF8(strings.TrimRight(string(s), "\x00"), "�")
	}
	var b strings.Builder
	for c := range slices.Chunk(s, 4) {
		u := binary.LittleEndian.Uint32(c)
		if big {
			u = binary.BigEndian.Uint32(c)
		}
		b.WriteRune(rune(min(u, utf8.MaxRune+1))) // beyond Unicode: written as U+FFFD
	}
	return strings.TrimRight(b.String(), "\x00")
}

// joinSciPy replaces the arrays data, indices, indptr and shape (with a prefix where there are several) by the sparse
// matrix that they make, as scipy.sparse.save_npz writes it.
func (s *source) joinSciPy() error {
	byName := map[string]*variable{}
	for _, v := range s.vars {
		byName[v.name] = v
	}
	var kept, joined []*variable
	used := map[*variable]bool{}
	for _, v := range s.vars {
		prefix, ok := strings.CutSuffix(v.name, "indptr")
		data, indices, shape := byName[prefix+"data"], byName[prefix+"indices"], byName[prefix+"shape"]
		if !ok || data == nil || indices == nil || shape == nil {
			continue
		}
		m, err := s.scipyMatrix(prefix, data, indices, v, shape, byName[prefix+"format"])
		if err != nil {
			return err
		}
		joined = append(joined, m)
		for _, u := range []*variable{v, data, indices, shape, byName[prefix+"format"]} {
			used[u] = true
		}
	}
	for _, v := range s.vars {
		if !used[v] {
			kept = append(kept, v)
		}
	}
	s.vars = append(joined, kept...)
	return nil
}

func (s *source) scipyMatrix(prefix string, data, indices, indptr, shape, format *variable) (*variable, error) {
	name := strings.TrimRight(prefix, "_.")
	if name == "" {
		name = s.base()
	}
	m := &variable{file: s.path, name: name, kind: sparse, class: "sparse " + data.class}
	byRow := true
	if format != nil && format.strings != nil {
		f, err := format.strings()
		if err != nil {
			return nil, format.wrap(err)
		}
		if len(f) != 1 || (f[0] != "csr" && f[0] != "csc") {
			return nil, m.errorf("is a sparse matrix of format %q; csr and csc are read", strings.Join(f, " "))
		}
		byRow = f[0] == "csr"
	}
	for _, v := range []*variable{data, indices, indptr, shape} {
		if n, ok := v.vectorLen(); v.kind != numeric || !ok || (v == shape && n != 2) {
			return nil, v.errorf("is %s; it must be a vector of numbers for the sparse matrix %s", v.shapeString(), name)
		}
	}
	dims, err := readFloats(shape, newLimits(&Options{}, s.size))
	if err != nil {
		return nil, err
	}
	for _, d := range dims {
		if d != math.Trunc(d) || d < 0 || d > math.MaxInt32 {
			return nil, m.errorf("has the impossible shape %g×%g", dims[0], dims[1])
		}
		m.dims = append(m.dims, int(d))
	}
	m.nnz, _ = data.vectorLen()
	m.compressed = func() (*compressed, error) {
		lim := newLimits(&Options{}, s.size)
		c := &compressed{byRow: byRow}
		var ix, ptr []float64
		for _, p := range []struct {
			v   *variable
			dst *[]float64
		}{{data, &c.value}, {indices, &ix}, {indptr, &ptr}} {
			if *p.dst, err = readFloats(p.v, lim); err != nil {
				return nil, err
			}
		}
		if c.index, err = toInts(ix); err == nil {
			c.ptr, err = toInts(ptr)
		}
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return m, nil
}

func toInts(x []float64) ([]int, error) {
	out := make([]int, len(x))
	for i, v := range x {
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return nil, fmt.Errorf("has %g where a whole number is needed", v)
		}
		out[i] = int(v)
	}
	return out, nil
}

// bufferSize is the buffer of sequential readers.
const bufferSize = 1 << 16

func newBuffered(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, bufferSize) }
