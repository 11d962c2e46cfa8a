package dataset

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/dataset/internal/npy"
	"github.com/largemvc/largemvc/internal/textfile"
)

// maxDeflate is the largest factor by which deflate shrinks anything: 258 bytes in 2 bits, with room for block headers.
const maxDeflate = 1040

// listNPZ lists the arrays of a zip archive.
func (s *source) listNPZ(f io.ReaderAt, lim *limits) error {
	s.format = "NumPy .npz"
	directory := &directoryReader{r: f, lim: lim}
	z, err := directory.open(s.size)
	if err != nil {
		return err
	}
	if err := foreignArchive(z); err != nil {
		return err
	}
	seen := map[string]bool{}
	total := uint64(0)
	for k, m := range z.File {
		if total += min(m.CompressedSize64, uint64(s.size)+1); total > uint64(s.size) {
			return errors.New("is damaged (its arrays share bytes of the file, or should have more bytes than the file)")
		}
		if k == maxObjects {
			return fmt.Errorf("holds more than %d arrays", maxObjects)
		}
		name, ok := strings.CutSuffix(m.Name, ".npy")
		if !ok {
			if holdsArray(m) {
				return fmt.Errorf("holds %q, a NumPy array without the ending .npy; is the file damaged?", m.Name)
			}
			s.left = append(s.left, Omission{s.path, m.Name, "not a NumPy array"})
			continue
		}
		if seen[name] {
			return fmt.Errorf("holds two arrays named %s", name)
		}
		seen[name] = true
		v := &variable{file: s.path, name: name}
		if err := book(lim, v); err != nil {
			return err
		}
		h, err := listMember(v, m, s.size, lim)
		if err != nil {
			return v.wrap(err)
		}
		if m.Method == zip.Store {
			v.place = func() (int64, error) {
				at, err := m.DataOffset()
				return at + int64(h.Len), err
			}
		}
		s.vars = append(s.vars, v)
	}
	if len(s.vars) == 0 {
		return errors.New("is a zip archive without NumPy arrays; if it holds files of data, unpack it first")
	}
	return s.joinSciPy(lim)
}

// holdsArray reports whether a member of an archive begins as a NumPy array.
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

// checkMember refuses a member of an archive that is not read, or that claims a size that it cannot have.
func checkMember(m *zip.File, fileSize int64) error {
	packed, full := m.CompressedSize64, m.UncompressedSize64
	switch {
	case m.Flags&1 != 0:
		return errors.New("is encrypted")
	case m.Method != zip.Store && m.Method != zip.Deflate:
		return fmt.Errorf("has compression method %d; stored and deflated arrays are read", m.Method)
	case packed > uint64(fileSize):
		return fmt.Errorf("should have %d bytes, and the file has %d", packed, fileSize)
	case m.Method == zip.Store && packed != full:
		return fmt.Errorf("is stored in %d bytes, and should have %d", packed, full)
	case m.Method == zip.Deflate && full/maxDeflate > packed:
		return fmt.Errorf("should have %d bytes from %d compressed bytes, more than any compression gives", full, packed)
	}
	return nil
}

// listMember reads the header of one array of an archive, and checks the sizes that archive and header claim.
func listMember(v *variable, m *zip.File, fileSize int64, lim *limits) (npy.Header, error) {
	if err := checkMember(m, fileSize); err != nil {
		return npy.Header{}, err
	}
	packed, full := m.CompressedSize64, m.UncompressedSize64
	r, err := m.Open()
	if err != nil {
		return npy.Header{}, zipError(err)
	}
	defer r.Close()
	h, err := npy.ReadHeader(lim.Reader(r))
	if err != nil {
		return npy.Header{}, zipError(err)
	}
	if !isObjects(h) && full != uint64(h.Bytes()+int64(h.Len)) {
		return npy.Header{}, fmt.Errorf("has the shape %v of %s, %d bytes with its header, but holds %d", h.Shape, h.Descr,
			h.Bytes()+int64(h.Len), full)
	}
	backed := m.Method == zip.Store || full/growth <= packed
	v.fromHeader(h, backed, lim, func() (io.ReadCloser, error) {
		r, err := m.Open()
		if err != nil {
			return nil, err
		}
		counted := &member{lim.Reader(r), r}
		if _, err := io.CopyN(io.Discard, counted, int64(h.Len)); err != nil {
			r.Close()
			return nil, err
		}
		return counted, nil
	})
	return h, nil
}

// member is a part of an archive whose bytes are counted.
type member struct {
	io.Reader
	io.Closer
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
func (s *source) listNPY(f io.ReaderAt, lim *limits) error {
	s.format = "NumPy .npy"
	v := &variable{file: s.path, name: s.base()}
	if err := book(lim, v); err != nil {
		return err
	}
	h, err := npy.ReadHeader(io.NewSectionReader(f, 0, s.size))
	if err != nil {
		return err
	}
	if !isObjects(h) && h.Bytes() != s.size-int64(h.Len) {
		return fmt.Errorf("has the shape %v of %s, %d bytes with its header, but holds %d", h.Shape, h.Descr,
			h.Bytes()+int64(h.Len), s.size)
	}
	v.place = func() (int64, error) { return int64(h.Len), nil }
	v.fromHeader(h, true, lim, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, int64(h.Len), h.Bytes())), nil
	})
	s.vars = []*variable{v}
	return nil
}

// fromHeader describes an array; open gives its elements.
func (v *variable) fromHeader(h npy.Header, backed bool, lim *limits, open func() (io.ReadCloser, error)) {
	v.dims, v.typ, v.colMajor, v.backed, v.class = h.Shape, h.Type, h.Fortran && len(h.Shape) > 1, backed, h.Descr
	switch {
	case h.Type.Kind != elem.Invalid:
		v.class = h.Type.Kind.String()
		v.stream = func(run func(int, []byte) error) error {
			return streamFrom(open, h.Elements(), h.Width, run)
		}
	case strings.ContainsAny(h.Descr, "US") && len(h.Shape) <= 1:
		v.kind, v.class = text, "string"
		v.strings = func() ([]string, error) { return readStrings(open, h, lim) }
	case isObjects(h):
		v.kind, v.note = other, "Python objects are not read; in Python, numpy.savez(new, X0=…, X1=…) with each matrix as "+
			"numpy.array(x.tolist(), dtype=float)"
	default:
		v.kind, v.note = other, notNumbers(h.Descr)
	}
}

// notNumbers says what elements are that are no real numbers, and what to do with them.
func notNumbers(descr string) string {
	switch kind := strings.TrimLeft(descr, "<>|="); {
	case strings.HasPrefix(kind, "c"):
		return "complex numbers (" + descr + ") are not read: save np.abs(X), or X.real and X.imag as two views"
	case strings.HasPrefix(kind, "f"):
		return "long double numbers (" + descr + ") are not read: save X.astype('float64')"
	case strings.HasPrefix(kind, "M"), strings.HasPrefix(kind, "m"):
		return "dates and times (" + descr + ") are not read: save them as numbers, X.astype('float64')"
	case strings.ContainsAny(kind, "US"):
		return "a matrix of texts is not read: save numbers, X.astype('float64')"
	}
	return "elements of type " + descr + " are not read: save X.astype('float64')"
}

// isObjects reports whether an array holds pickled Python objects, whose length its header does not tell.
func isObjects(h npy.Header) bool { return strings.Contains(h.Descr, "O") }

// streamFrom hands over n elements of some width, and reads to the end so that checksums are compared.
func streamFrom(open func() (io.ReadCloser, error), n, width int, run func(int, []byte) error) error {
	r, err := open()
	if err != nil {
		return zipError(err)
	}
	defer r.Close()
	next, stop := readAhead(r, n*width, max(1, bufferSize/width)*width)
	defer stop()
	for off := 0; off < n; {
		part, err := next()
		if err != nil {
			return zipError(err)
		}
		if err := run(off, part); err != nil {
			return err
		}
		off += len(part) / width
	}
	switch k, err := r.Read(make([]byte, 1)); {
	case k > 0:
		return errors.New("holds more elements than its shape")
	case err != nil && !errors.Is(err, io.EOF):
		return zipError(err)
	}
	return nil
}

// readStrings reads an array of fixed-width strings: bytes, or UCS-4 characters, padded with zeros.
func readStrings(open func() (io.ReadCloser, error), h npy.Header, lim *limits) ([]string, error) {
	if h.Width == 0 || h.Width > 1<<12 {
		return nil, fmt.Errorf("holds strings of %d bytes; 1 to 4096 are read", h.Width)
	}
	if err := lim.Take("texts", stringBytes*int64(h.Elements())); err != nil {
		return nil, err
	}
	var out []string
	known := newTexts(lim)
	unicode := strings.Contains(h.Descr, "U")
	err := streamFrom(open, h.Elements(), h.Width, func(off int, raw []byte) error {
		out = grown(out, off+len(raw)/h.Width, h.Elements())
		for k := range len(raw) / h.Width {
			s, err := known.one([]byte(decodeString(raw[k*h.Width:(k+1)*h.Width], unicode, h.Type.Big)))
			if err != nil {
				return err
			}
			out[off+k] = s
		}
		return nil
	})
	return out, err
}

func decodeString(s []byte, unicode, big bool) string {
	if !unicode {
		return textfile.OrLatin1(bytes.TrimRight(s, "\x00"))
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

// bufferSize is the buffer of sequential readers.
const bufferSize = 1 << 16

func newBuffered(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, bufferSize) }
