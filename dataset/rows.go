package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/largemvc/largemvc/dataset/internal/budget"
	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/lists"
)

// RowSet is a data set whose views stay on disk. Rows are read when they are asked for. Labels, ids and the mask are in memory.
type RowSet struct {
	Name  string
	Views []*Rows
	// Labels, LabelNames, IDs, Present and Reading are as in a [Set].
	Labels     []int
	LabelNames []string
	IDs        []string
	Present    [][]bool
	Reading    Reading

	plan   *plan
	made   []*scratchFile // what conversions have written
	memory *pastMemory    // that these read to

	closers []func() error // of what the rows are read with
}

// Rows is a view on disk: n×d numbers, read as float32 from any type. It is a largemvc.RowSource.
type Rows struct {
	Name     string
	Features []string // names of the columns, nil without
	// Prepared says how the values are changed as they are read; nil: they are as in the file.
	Prepared *Preparation

	change         *PreparedRows // reads the rows with Prepared; nil without
	file, variable string        // for errors
	rows, cols     int
	from           io.ReaderAt
	given          *source     // the file that is read in place; nil: one that was made of it is read
	past           *directFile // what reads it past the system's cache; nil: nothing does
	at             int64       // where the first value lies
	typ            elem.Type
	levels         []levels // of the columns of uint8 values that stand for others; nil: they stand for themselves
	width          int      // values of a row in the file
	pick           []int    // the columns of the view among them; nil: all
	byColumns      bool     // the values lie column after column, which is about to change
	groups         *rowGroups
}

// ErrNotByRows is in the error of OpenRows for an array that has to be converted first, which takes Options.Scratch.
var ErrNotByRows = errors.New("cannot be read row by row as it lies in the file")

// OpenRows opens a data set to read its views row by row, in memory that does not grow with the number of samples. It finds the
// contents of files as [Open] does. Arrays that lie in a file row after row, of any numeric type, are read in place: .npy,
// stored members of an .npz (numpy.savez), safetensors, and contiguous HDF5 and MATLAB v7.3. So are groups of rows of Parquet if
// there is no Options.Scratch: they are decoded whenever they are read, and up to 64 MiB of them are held.
//
// All others are first converted into files of float32 in Options.Scratch, in one or two passes: CSV, MATLAB v5, compressed
// members, chunked HDF5, arrays stored by columns. Without such a folder they are an error. With Options.ScratchNumbers the
// files take a half or a quarter of the space after the conversion. Close deletes them.
//
// Values are checked when they are used. Whole numbers that float32 cannot hold are rounded. With Options.MissingRows, rows of
// NaN alone are absent views, which takes a pass to find. Options.Impute takes a pass, too, and has no median; the transform
// TFIDF takes another one. Sparse arrays, triplets and files that ids join need [Open].
func OpenRows(ctx context.Context, paths []string, o Options) (*RowSet, error) {
	if err := o.within(ctx); err != nil {
		return nil, err
	}
	if o.ScratchNumbers > Uint8Numbers {
		return nil, fmt.Errorf("dataset: ScratchNumbers %d are unknown", o.ScratchNumbers)
	}
	if o.Triplets || len(o.OneHot) > 0 && o.Scratch == "" {
		return nil, errors.New("dataset: rows on disk cannot be Options.Triplets, and Options.OneHot needs Options.Scratch")
	}
	if o.Impute == ImputeMedian {
		return nil, errMedian
	}
	p, err := newPlan(paths, &o)
	if err != nil {
		return nil, err
	}
	set := &RowSet{Name: p.name, plan: p}
	err = set.open(ctx, &o)
	if err == nil {
		err = set.learn(ctx, &o)
	}
	if err := p.unchanged(ctx, err); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

// learn prepares the views as the options ask for.
func (s *RowSet) learn(ctx context.Context, o *Options) error {
	by, err := o.Preparations(lists.Texts(s.Views, func(r *Rows) string { return r.Name }))
	if err != nil {
		return err
	}
	for v, p := range by {
		if s.Views[v].Prepared = p; p.String() == "" {
			continue
		}
		r := s.prepared(v, p)
		notes, err := r.Learn(ctx)
		if err != nil {
			return err
		}
		s.Views[v].change = r
		s.Reading.Notes = append(s.Reading.Notes, notes...)
	}
	return nil
}

// prepared is view v as p prepares it.
func (s *RowSet) prepared(v int, p *Preparation) *PreparedRows {
	r := &PreparedRows{RowReader: rawRows{s.Views[v]}, Name: s.Views[v].Name, By: p}
	if s.Present != nil {
		r.Present = func(i int) bool { return s.Present[i][v] }
	}
	return r
}

// Prepare is [Set.Prepare] for rows, which are changed as they are read. NaN is filled without Options.AllowNaN.
func (s *RowSet) Prepare(by []*Preparation) error {
	if len(by) != len(s.Views) {
		return viewsError(len(by), len(s.Views))
	}
	for v, p := range by {
		r := s.Views[v]
		if err := p.Fits(v, r.Name, r.cols); err != nil {
			return err
		}
		if r.Prepared, r.change = p, nil; p.String() != "" {
			r.change = s.prepared(v, p)
		}
	}
	return nil
}

// Close closes the files, and deletes those that were made. No row may be read any more.
func (s *RowSet) Close() error {
	if s == nil || s.plan == nil {
		return nil
	}
	s.plan.close()
	s.plan = nil
	var errs []error
	for _, release := range slices.Backward(s.closers) {
		errs = append(errs, release())
	}
	for _, f := range s.made {
		errs = append(errs, f.close())
	}
	s.closers, s.made, s.memory = nil, nil, nil
	return errors.Join(errs...)
}

// Samples is the number of samples.
func (s *RowSet) Samples() int {
	if len(s.Views) == 0 {
		return 0
	}
	return s.Views[0].rows
}

// MissingRate is the share of the n·V view rows that are absent, 0 … 1.
func (s *RowSet) MissingRate() float64 {
	return (&Set{Views: make([]View, len(s.Views)), Present: s.Present}).MissingRate()
}

func (s *RowSet) open(ctx context.Context, o *Options) error {
	p := s.plan
	same := &Set{Name: p.name}
	for _, v := range p.views {
		r, err := s.view(ctx, v, o)
		if err != nil {
			return err
		}
		s.Views = append(s.Views, r)
		same.Views = append(same.Views, View{Name: r.Name, Rows: r.rows, Cols: r.cols, Features: r.Features})
	}
	p.n = s.Samples()
	if err := p.readLabels(same); err != nil {
		return err
	}
	p.warn(same, o.Labels != "")
	var err error
	byIndex := p.mask == nil && p.index != nil
	if s.Present, err = p.readGivenMask(); err == nil && (byIndex || o.MissingRows) {
		err = s.findMissing(ctx, byIndex)
	}
	if err != nil {
		return err
	}
	s.Labels, s.LabelNames = same.Labels, same.LabelNames
	if p.joined != nil {
		s.IDs = p.joined.ids
	}
	same.Present = s.Present
	s.Reading = p.reading(same)
	if room, ok := cacheRoom(); ok {
		s.readPast(room)
	}
	return nil
}

// readPast has the views read past the system's cache of files where it has no room for them twice.
func (s *RowSet) readPast(room int64) {
	var all int64
	for _, r := range s.Views {
		all += int64(r.rows) * int64(r.width) * int64(r.typ.Size())
	}
	if all <= room/2 {
		return
	}
	if s.memory == nil {
		s.memory = newPastMemory()
		s.closers = append(s.closers, s.memory.close)
	}
	opened := map[*os.File]*directFile{}
	for _, r := range s.Views {
		f, _ := r.from.(*os.File)
		if made, ok := r.from.(*scratchFile); ok {
			f = made.File
		}
		if f == nil {
			continue
		}
		if _, tried := opened[f]; !tried {
			if opened[f] = openDirect(f, s.memory); opened[f] != nil {
				s.closers = append(s.closers, opened[f].close)
			}
		}
		r.past = opened[f]
	}
}

// view opens a variable as rows.
func (s *RowSet) view(ctx context.Context, v *variable, o *Options) (*Rows, error) {
	p, in := s.plan, v
	if v.whole != nil {
		in = v.whole
	}
	rows, cols, err := s.rowShape(v, in)
	if err != nil {
		return nil, err
	}
	r := &Rows{Name: v.name, file: in.file, variable: in.name, rows: rows, cols: cols, width: cols, typ: in.typ}
	if in.names != nil && !p.turns(in) {
		if r.Features, err = in.names(); err != nil {
			return nil, in.wrap(err)
		}
	}
	if v.whole != nil {
		r.pick, r.cols, r.Features = v.pick, len(v.pick), v.pickNames(r.Features)
	}
	turned := in.colMajor != p.turns(in)
	if done, err := s.inPlace(r, in, p.of[v], turned, o); done || err != nil {
		return r, in.wrap(err)
	}
	err = s.toScratch(ctx, in, r, turned, o)
	if err != nil && in.groups != nil && o.Scratch != "" && ctx.Err() == nil {
		err = fmt.Errorf("%w; without Options.Scratch groups of rows are read in place", err)
	}
	return r, in.wrap(err)
}

// inPlace makes r read a variable in its file, and reports whether its rows can be read there.
func (s *RowSet) inPlace(r *Rows, in *variable, from *source, turned bool, o *Options) (bool, error) {
	if in.groups != nil && !s.plan.turns(in) && o.Scratch == "" {
		r.given, r.groups = from, in.groups
		s.closers = append(s.closers, func() error { decodedUnits.drop(in.groups); return nil })
		return true, nil
	}
	if in.place == nil {
		return false, nil
	}
	at, err := in.place()
	if err != nil {
		return false, err
	}
	r.given, r.from, r.at = from, from.raw, at
	return !turned || r.width == 1 || r.rows == 1, nil
}

// toScratch makes r read a file in the folder of the options, which gets the values of a variable.
func (s *RowSet) toScratch(ctx context.Context, in *variable, r *Rows, turned bool, o *Options) error {
	if o.Scratch == "" {
		return in.errorf("%w (%s): give Options.Scratch, a folder with room for %s, to convert it, or store it row after "+
			"row and uncompressed (numpy.save)", ErrNotByRows, why(in, turned), size(4*int64(r.rows)*int64(r.width)))
	}
	if err := s.convert(ctx, in, r, r.rows, turned, o.Scratch); err != nil {
		return err
	}
	return s.pack(ctx, r, o.ScratchNumbers, o.Scratch)
}

// rowShape returns the numbers of rows and columns of the array in that holds the view v. A view that cannot be read row by
// row is an error.
func (s *RowSet) rowShape(v, in *variable) (rows, cols int, err error) {
	p := s.plan
	rows, cols, ok := in.shape2()
	switch {
	case !ok || in.kind != numeric && in.kind != sparse:
		return 0, 0, v.errorf("is %s; a view is a matrix", v.shapeString())
	case in.kind == sparse:
		return 0, 0, v.errorf("is sparse; only full arrays are read row by row")
	case p.rowsOf[p.of[v]] != nil || p.joined != nil && !p.joined.same:
		return 0, 0, v.errorf("is joined to others by ids; write the files in one order, which can be read row by row")
	}
	if p.turns(in) {
		rows, cols = cols, rows
	}
	return rows, cols, nil
}

// why says what keeps a variable from being read where it lies.
func why(v *variable, turned bool) string {
	switch {
	case v.fromTable && !v.colMajor:
		return "text"
	case turned && v.place != nil:
		return "column after column"
	}
	return "compressed, or in pieces"
}

// Dims returns the number of samples and of features.
func (r *Rows) Dims() (n, d int) { return r.rows, r.cols }

// InPlace reports whether rows are read from the given file, and not from a converted one.
func (r *Rows) InPlace() bool { return r.given != nil }

const (
	// pieceBytes is the number of bytes that are read at once and then turned into float32.
	pieceBytes = 1 << 18
	// directBytes is the number of bytes that are read at once where they need not be turned.
	directBytes = 8 << 20
)

// pieces holds buffers of pieceBytes or more.
var pieces sync.Pool

// littleEndian says whether numbers in memory are as they are in most files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOfFloats is the memory of some numbers.
func bytesOfFloats(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// ReadRows fills dst with rows, from row first on. If they cannot be read, the error names the file and the place. If the file
// has been written since it was opened, that is an error too. Several goroutines may call it at once.
func (r *Rows) ReadRows(ctx context.Context, first int, dst []float32) error {
	if r.change != nil {
		return r.change.ReadRows(ctx, first, dst)
	}
	return r.readRaw(ctx, first, dst)
}

// readRaw is ReadRows without a preparation.
func (r *Rows) readRaw(ctx context.Context, first int, dst []float32) error {
	if r.cols == 0 || len(dst)%r.cols != 0 || first < 0 || len(dst)/r.cols > r.rows-first {
		return fmt.Errorf("dataset: %s: %s has %d rows of %d values; %d values from row %d on are asked for",
			r.file, r.variable, r.rows, r.cols, len(dst), first)
	}
	if r.pick == nil {
		return r.read(ctx, first*r.width, dst)
	}
	step := max(1, pieceBytes/4/r.width)
	held := make([]float32, min(step, len(dst)/r.cols)*r.width)
	for at := 0; at < len(dst); at += step * r.cols {
		n := min(step, (len(dst)-at)/r.cols)
		if err := r.read(ctx, (first+at/r.cols)*r.width, held[:n*r.width]); err != nil {
			return err
		}
		for i := range n {
			for k, j := range r.pick {
				dst[at+i*r.cols+k] = held[i*r.width+j]
			}
		}
	}
	return nil
}

// read reads the values from number begin on, in the order of the file. One that ends early may have been cut off since it was
// opened, and so the change is looked for whatever the reading says.
func (r *Rows) read(ctx context.Context, begin int, dst []float32) error {
	err := r.readValues(ctx, begin, dst)
	if r.given == nil {
		return err
	}
	return r.given.blamed(ctx, err)
}

// readValues is read for a file that nobody writes.
func (r *Rows) readValues(ctx context.Context, begin int, dst []float32) error {
	if r.groups != nil {
		if err := r.groups.read(ctx, begin/r.width, dst); err != nil {
			return fmt.Errorf("dataset: %s: %s %w", r.file, r.variable, err)
		}
		return nil
	}
	size := r.typ.Size()
	direct := r.typ.Kind == elem.Float32 && r.typ.Big != littleEndian // as in memory
	step := pieceBytes / size
	if direct {
		step = directBytes / size
	}
	from := budget.Until(ctx, r.from)
	if r.past != nil {
		from, step = r.past, pastBytes/size
	}
	held, _ := pieces.Get().(*[]byte)
	if held == nil {
		held = new([]byte)
	}
	defer pieces.Put(held)
	for at := 0; at < len(dst); at += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := dst[at:min(at+step, len(dst))]
		raw := bytesOfFloats(part)
		if !direct {
			*held = slices.Grow((*held)[:0], len(part)*size)
			raw = (*held)[:len(part)*size]
		}
		offset := r.at + int64(begin+at)*int64(size)
		if n, err := from.ReadAt(raw, offset); n < len(raw) {
			return r.failed(begin+at+n/size, offset+int64(n), err)
		}
		if direct {
			continue
		}
		if k, x, huge := elem.Huge(raw, r.typ); huge {
			return fmt.Errorf("dataset: %s: %s %w", r.file, r.variable, hugeError(x, begin+at+k))
		}
		if r.levels != nil {
			for k, b := range raw {
				part[k] = r.levels[(begin+at+k)%r.width].at(b)
			}
			continue
		}
		elem.Decode(part, raw, r.typ)
	}
	return nil
}

// failed explains a read that ended at a value and byte.
func (r *Rows) failed(value int, offset int64, err error) error {
	text := fmt.Sprintf("cannot be read at byte %d", offset)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = fmt.Sprintf("is truncated: the file ends before byte %d", offset)
	}
	var of *fs.PathError // which names the file once more
	if errors.As(err, &of) {
		err = of.Err
	}
	if !r.byColumns {
		text += fmt.Sprintf(", in row %d of %d", value/r.width, r.rows)
	}
	return fileError(r.file, fmt.Errorf("%s %s: %w", r.variable, text, err))
}

// findMissing marks the rows that are wholly NaN as absent. If the mask is of an index, it must agree with the rows.
func (s *RowSet) findMissing(ctx context.Context, byIndex bool) error {
	for v, r := range s.Views {
		all := PreparedRows{RowReader: r}
		err := all.each(ctx, r, func(i int, row []float32) (err error) {
			if empty := wholly(row); byIndex {
				return s.plan.views[v].agrees(i, s.Present[i][v], empty, slices.ContainsFunc(row, isValue[float32]))
			} else if !empty {
				return nil
			}
			if s.Present == nil {
				if s.Present, err = bookedMask(r.rows, len(s.Views), s.plan.lim); err != nil {
					return fileError(r.file, err)
				}
			}
			s.Present[i][v] = false
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// String says what is read from where.
func (r *Rows) String() string {
	name := strings.TrimSpace(r.Name)
	return fmt.Sprintf("%s, %d×%d on disk, from %s in %s", name, r.rows, r.cols, r.variable, r.file)
}
