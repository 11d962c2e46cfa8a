package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

// source is one open file with the variables found in it.
type source struct {
	path   string
	role   role
	format string
	size   int64
	raw    io.ReaderAt // the file, whose bytes are not counted
	opened fs.FileInfo // of the file when it was opened; nil: what is read is no file
	vars   []*variable
	notes  []string
	close  func() error

	// Of AnnData and MuData:
	annData    bool
	index      *variable // the index of obs
	modalities []*source // of MuData; each has rows of its own
	of         *source   // the file of a modality
	prefix     string    // of the paths of a modality
	modality   map[*variable]*source

	tableSource
	ids      *variable  // what names the samples
	result   error      // says that it is a file of labels that fit or predict wrote; nil: it is none
	idsAsked bool       // whether a CSV file has them in the column that the options name
	ranged   bool       // it has a range of pandas that does not begin at 0: no file without ids is matched with it by places
	idList   []string   // what they are, once they are read
	refused  *refused   // the columns of a CSV file that are no features; nil: none
	left     []Omission // columns that are not read
}

// tableSource has the fields of a source that is a table: of CSV or Parquet.
type tableSource struct {
	csv bool

	table     *columns
	text      *csvFile
	csvLabels *variable        // the column that gives the classes
	lacking   map[string]error // the views of Options.Table that it has no column of; nil: the options name none
	parts     []*source        // its files, if it has several
}

// role is the purpose for which a file is given.
type role uint8

const (
	roleData role = iota
	roleLabels
	roleMask
)

// base is the file's name without folder and endings.
func (s *source) base() string { return baseName(s.path) }

// dataEndings are the endings of files that are read.
var dataEndings = []string{".csv", ".tsv", ".txt", ".npy", ".npz", ".mat", ".h5", ".hdf5", ".h5ad", ".h5mu", ".safetensors",
	".parquet"}

func baseName(path string) string {
	if isAddress(path) {
		path = shownAddress(path)
	}
	b := filepath.Base(path)
	for _, end := range slices.Concat([]string{".gz"}, dataEndings, []string{".dat"}) {
		if len(b) > len(end) && strings.EqualFold(b[len(b)-len(end):], end) {
			b = b[:len(b)-len(end)]
		}
	}
	return b
}

// fileError puts the file's name before what is wrong with it.
func fileError(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("dataset: %s: %w", path, err)
}

// hdf5Magic begins the superblock of an HDF5 file, at byte 0 or at 512 times a power of two.
const hdf5Magic = "\x89HDF\r\n\x1a\n"

// openSource opens a file and lists its variables, by its content.
func openSource(path string, as role, o *Options, lim *limits) (*source, error) {
	if isAddress(path) {
		return openAddress(path, as, o, lim)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return openParts(path, as, o, lim)
	}
	s, err := openFile(path, as)
	if err != nil {
		return nil, err
	}
	if err := s.list(s.raw, o, lim); err != nil {
		return nil, errors.Join(s.blamed(o.ctx, named(path, err)), s.close())
	}
	return s, nil
}

// openFile opens a file, whose variables are not listed yet.
func openFile(path string, as role) (*source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for who writes it
		return nil, fileError(path, notRegular(info))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if info, err = f.Stat(); err != nil {
		return nil, errors.Join(fileError(path, err), f.Close())
	}
	return &source{path: path, role: as, size: info.Size(), raw: f, opened: info, close: f.Close}, nil
}

// blamed returns an error if the file has been written since it was opened, in place of one of reading, nil too; else that
// one. A half line or a wrong checksum may come from who writes the file at the same time, and is no fault in its content. A
// reading that failed after its context was done stays so. A nil context is never done.
func (s *source) blamed(ctx context.Context, reading error) error {
	if reading == nil || ctx == nil || ctx.Err() == nil {
		if err := s.unchanged(); err != nil {
			return err
		}
	}
	return reading
}

// unchanged returns an error if the file has been written since it was opened: what was read before and after that belongs to
// different data. A file of the same name that took its place is no change of the one that is open.
func (s *source) unchanged() error {
	for _, p := range s.parts {
		if err := p.unchanged(); err != nil {
			return err
		}
	}
	f, ok := s.raw.(*os.File)
	if !ok || s.opened == nil {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return fileError(s.path, err)
	}
	if now.Size() == s.opened.Size() && now.ModTime().Equal(s.opened.ModTime()) {
		return nil
	}
	return fileError(s.path, fmt.Errorf("was changed while it was in use (it had %s, written or touched at %s, and has %s, "+
		"written or touched at %s): read it again when it is complete",
		size(s.opened.Size()), s.opened.ModTime().Format(timeForm), size(now.Size()), now.ModTime().Format(timeForm)))
}

// timeForm is how messages write the time of a file.
const timeForm = "2006-01-02 15:04:05.000"

// notRegular says why what is no regular file is not read: readers go back and forth in a file.
func notRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("is a folder, not a file")
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return errors.New("is a pipe, which cannot be read twice: write its content to a file, or give it to the " +
			"command as standard input (-)")
	}
	return errors.New("is not a file, but a device")
}

// named adds the file unless the error names it already.
func named(path string, err error) error {
	if strings.HasPrefix(err.Error(), "dataset: ") {
		return err
	}
	return fileError(path, err)
}

// list finds the format and the variables.
func (s *source) list(f io.ReaderAt, o *Options, lim *limits) error {
	lim.AddFile(s.size)
	s.raw = f
	f = lim.ReaderAt(f)
	head := make([]byte, min(s.size, 4096))
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case s.size == 0:
		return errors.New("is empty")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):

		return s.listNPZ(f, lim)
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return s.listNPY(f, lim)
	case isHDF5(f, s.size):
		return s.listHDF5(f, lim)
	case isMAT5(head):
		return s.listMAT5(f, lim)
	case bytes.HasPrefix(head, []byte(parquetMagic)) && looksBinary(head):
		return s.listParquet(s.raw, o, lim)
	case isSafetensors(head, s.size):
		return s.listSafetensors(f, lim)
	}
	return s.listText(f, head, o, lim)
}

// listText finds the columns of a file that begins as no file of arrays does.
func (s *source) listText(f io.ReaderAt, head []byte, o *Options, lim *limits) error {
	if err := foreign(head); err != nil {
		return err
	}
	s.csv = true
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return s.listCSV(f, true, o, lim)
	case textfile.IsUTF16(head):
		return s.listCSV(f, false, o, lim)
	case textfile.LooksLikeUTF16(head):
		return textfile.ErrNoMark
	case looksBinary(head) && strings.EqualFold(filepath.Ext(s.path), ".mat"):
		return errors.New("is not a MATLAB file of version 5 to 7.3: in MATLAB, load it and save(new, '-v7')")
	case looksBinary(head):
		return errors.New("has an unknown format; NumPy .npz and .npy, MATLAB .mat (v5 to v7.3), HDF5 and CSV are read")
	}
	return s.listCSV(f, false, o, lim)
}

func isHDF5(f io.ReaderAt, size int64) bool {
	var sig [8]byte
	for at := int64(0); at+8 <= size; at = max(512, 2*at) {
		if _, err := f.ReadAt(sig[:], at); err != nil {
			return false
		}
		if string(sig[:]) == hdf5Magic {
			return true
		}
	}
	return false
}

func isMAT5(head []byte) bool {
	if len(head) < 128 {
		return false
	}
	end := string(head[126:128])
	return end == "IM" || end == "MI"
}

// looksBinary reports whether a text file would not begin so.
func looksBinary(head []byte) bool {
	return slices.ContainsFunc(head, func(b byte) bool { return b < 32 && b != '\n' && b != '\r' && b != '\t' })
}

// folder lists the files of a folder: those that are read, and the others.
type folder struct {
	files []string
	left  []Omission
}

// expand replaces folders by the files in them, in numeric order of their names.
func expand(paths []string, o *Options) (*folder, error) {
	out := &folder{}
	for _, p := range paths {
		if isAddress(p) {
			out.files = append(out.files, p)
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return nil, fileError(p, err)
		}
		if !info.IsDir() {
			out.files = append(out.files, p)
			continue
		}
		if err := out.add(p, o); err != nil {
			return nil, err
		}
	}
	if len(out.files) == 0 {
		return nil, errors.New("dataset: no file is given")
	}
	return out, nil
}

// add takes the files of a folder. One that looks like a table in a format that is not read is an error: it may be a view.
func (f *folder) add(path string, o *Options) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fileError(path, err)
	}
	var in []string
	for _, e := range entries {
		name := e.Name()
		full := filepath.Join(path, name)
		isData, err := f.consider(full, name, o)
		if err != nil {
			return fileError(full, err)
		}
		if isData {
			in = append(in, full)
		}
	}
	if len(in) == 0 {
		return fileError(path, errors.New("holds no data file (.npz, .npy, .mat, .h5, .h5ad, .csv, .tsv, .txt, also .gz)"))
	}
	slices.SortFunc(in, compareNumeric)
	if k := slices.IndexFunc(in, func(path string) bool { return isPart(filepath.Base(path)) }); k >= 0 {
		in[k] = path // which stands for all parts
		in = slices.DeleteFunc(in, func(path string) bool { return isPart(filepath.Base(path)) })
	}
	f.files = append(f.files, in...)
	return nil
}

// consider reports whether an entry of a folder is a file of data, and notes one that is not read.
func (f *folder) consider(full, name string, o *Options) (isData bool, err error) {
	if strings.HasPrefix(name, ".") {
		return false, nil
	}
	if o.leavesOut(name) {
		f.left = append(f.left, Omission{full, "file", "by option"})
		return false, nil
	}
	info, err := os.Stat(full) // of what a link points to
	named, foreign := IsDataName(name), foreignEnding(name)
	switch {
	case err != nil && (named || foreign != ""):
		return false, unopened(full, name, err)
	case err == nil && named && !info.IsDir() && !info.Mode().IsRegular():
		return false, fmt.Errorf("%w; or leave it out with Options.LeaveOut %s", notRegular(info), name)
	case err != nil || !info.Mode().IsRegular():
		f.left = append(f.left, Omission{full, "entry", "no file"})
	case named:
		return true, nil
	case foreign != "":
		return false, fmt.Errorf("%s; or leave it out with Options.LeaveOut %s", foreign, name)
	default:
		f.left = append(f.left, Omission{full, "file", "not data, by its name"})
	}
	return false, nil
}

// unopened says why an entry of a folder with the ending of data cannot be opened: a link that points to nothing, as that of a
// file that git-annex or DVC has not fetched, or a file that nobody may look at. It may be a view, which must not get lost.
func unopened(path, name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if to, linkErr := os.Readlink(path); linkErr == nil {
		err = fmt.Errorf("is a link to %s, which cannot be opened: %w", to, err)
	} else {
		err = fmt.Errorf("cannot be opened: %w", err)
	}
	return fmt.Errorf("%w; fetch or mend the file, or leave it out with Options.LeaveOut %s", err, name)
}

// IsDataName reports whether a file of this name in a folder is read as data. Its ending decides, because folders also hold
// notes and scripts.
func IsDataName(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "readme") && slices.Contains(dataEndings, filepath.Ext(name))
}

// compareNumeric orders names so that X10 comes after X9.
func compareNumeric(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
