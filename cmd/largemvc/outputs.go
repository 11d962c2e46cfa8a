package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/parquet"
	"github.com/largemvc/largemvc/internal/file"
)

// standard is the path that stands for standard input or output.
const standard = "-"

// output is a file that a flag asks for.
type output struct {
	flag string
	path string
	info fs.FileInfo // nil where it does not exist yet

	stream bool     // it is written through as it is, and not replaced by another file
	opened *os.File // what was open already where the path means an open file of this process; nil: it does not

	partial    *output // the file beside it for the result of an unfinished training; nil: there is none
	unfinished bool    // write writes partial
	written    string  // what write has written as a whole; "": nothing
}

// partialEnding follows the name of an output in the name of its partial file.
const partialEnding = ".partial"

// namePartials names the partial files of the outputs that ask for one, and returns them. Outputs that are no files lose theirs.
func namePartials(outputs []*output) (partials []*output, err error) {
	for _, o := range outputs {
		if o.partial == nil {
			continue
		}
		if o.path == "" || o.path == standard || o.stream {
			o.partial = nil
			continue
		}
		o.partial.flag, o.partial.path = o.flag, o.path+partialEnding
		if err := o.partial.resolve(); err != nil {
			return nil, err
		}
		partials = append(partials, o.partial)
	}
	return partials, nil
}

// checkOutputs refuses outputs that are one file, or a file that is read, and what cannot be written. It follows links: the
// paths that it returns are the paths of the files themselves. It names the partial files of the outputs that ask for one. inputs
// are the paths that are read, by the flags that give them.
func checkOutputs(command string, stdout io.Writer, outputs []*output, inputs map[string][]string) error {
	for _, o := range outputs {
		if o.path == "" {
			continue
		}
		if isAddress(o.path) {
			return usagef("%s: -%s %s is an address: give a file", command, o.flag, o.path)
		}
		if o.path != standard {
			if err := o.resolve(); err != nil {
				return err
			}
		}
		if err := o.checkStandard(command, stdout); err != nil {
			return err
		}
	}
	partials, err := namePartials(outputs)
	if err != nil {
		return err
	}
	outputs = slices.Concat(outputs, partials)
	for i, o := range outputs {
		if o.path == "" {
			continue
		}
		for _, other := range outputs[:i] {
			if o.same(other) || standsFor(o.path, other.path) || standsFor(other.path, o.path) {
				return usagef("%s: -%s and -%s would both write %s", command, other.flag, o.flag, o.path)
			}
		}
		for name, paths := range inputs {
			for _, path := range paths {
				if err := o.checkInput(command, name, path); err != nil {
					return err
				}
			}
		}
	}
	for _, o := range outputs {
		if o.path == "" || o.path == standard {
			continue
		}
		if err := o.checkEnding(command); err != nil {
			return err
		}
		if err := o.probe(); err != nil {
			return err
		}
	}
	return nil
}

// checkStandard refuses a standard output that is closed, and a file that standard output or standard error goes to: a new file
// would take its place, and what is printed would be lost.
func (o *output) checkStandard(command string, stdout io.Writer) error {
	f, ok := stdout.(*os.File)
	if ok && o.path == standard && wasClosed(f) {
		return fmt.Errorf("%s: -%s is to write to standard output, %w", command, o.flag, errClosed)
	}
	if o.info == nil || o.stream {
		return nil
	}
	for k, to := range []io.Writer{stdout, os.Stderr} {
		f, _ := to.(*os.File) // of no file, Stat is an error
		if here, err := f.Stat(); err == nil && os.SameFile(here, o.info) {
			return usagef("%s: -%s %s is the file that standard %s goes to: send them to two files", command, o.flag, o.path,
				[]string{"output", "error"}[k])
		}
	}
	return nil
}

// checkEnding refuses the name of another format than the one that is written.
func (o *output) checkEnding(command string) error {
	tables := []string{".npz", ".mat", ".h5", ".hdf5", ".safetensors", ".xlsx", ".xls", ".gz", ".tsv", ".json", ".html"}
	pictures := []string{".png", ".jpg", ".jpeg", ".pdf", ".eps"}
	others, what, ends := tables, "table", ".csv, .parquet or .npy"
	switch {
	case o.flag == "report" || o.flag == "out" && command == "report":
		others, what, ends = append(pictures, ".svg", ".csv", ".json", ".txt", ".md", ".docx", ".xlsx"), "report", ".html"
	case o.flag == "figure":
		others, what, ends = append(pictures, ".html", ".csv"), "figure", ".svg"
	case o.flag == "trust":
		others, ends = append(tables, arrayEnding, ".h5ad", ".h5mu"), ".csv or .parquet"
	case o.flag != "out":
		return nil
	}
	if slices.Contains(others, ending(o.path)) {
		return usagef("%s: -%s %s: the %s is not written as %s: name a file that ends in %s", command, o.flag, o.path, what,
			filepath.Ext(o.path), ends)
	}
	return nil
}

// resolve follows links to the file that is going to be written.
func (o *output) resolve() error {
	for range 40 {
		if number, ok := descriptorOf(o.path); ok {
			return o.openDescriptor(number)
		}
		if o.stream = underProc(o.path); o.stream {
			break
		}
		info, err := os.Lstat(o.path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			break
		}
		to, err := os.Readlink(o.path)
		if err != nil {
			return err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(o.path), to)
		}
		o.path = to
	}
	info, err := os.Stat(o.path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: is a folder, not a file to write", o.path)
	case err == nil:
		o.info, o.stream = info, o.stream || !info.Mode().IsRegular()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", o.path, reason(err))
	}
	folder, err := os.Stat(filepath.Dir(o.path))
	if err != nil || !folder.IsDir() {
		return fmt.Errorf("%s: there is no folder %s to write to", o.path, filepath.Dir(o.path))
	}
	return nil
}

// reason is an error without the path, which the caller names.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// same reports whether two outputs are one file.
func (o *output) same(other *output) bool {
	switch {
	case other.path == "":
		return false
	case o.path == standard || other.path == standard:
		return o.path == other.path
	case o.info != nil && other.info != nil:
		const once = fs.ModeNamedPipe | fs.ModeSocket // while two may well be written to a terminal, or to /dev/null
		return (o.info.Mode().IsRegular() || o.info.Mode()&once != 0) && os.SameFile(o.info, other.info)
	}
	return samePlace(o.path, other.path)
}

// samePlace reports whether two paths name one file, where one of them does not exist.
func samePlace(a, b string) bool {
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	da, err := os.Stat(filepath.Dir(a))
	if err != nil {
		return false
	}
	db, err := os.Stat(filepath.Dir(b))
	return err == nil && os.SameFile(da, db)
}

// standsFor reports whether the file that a process writes for a path with %d may be another path.
func standsFor(pattern, path string) bool {
	if !isPattern(pattern) || path == "" {
		return false
	}
	for i := range len(path) {
		for j := i; j < len(path) && '0' <= path[j] && path[j] <= '9'; j++ {
			if samePlace(strings.Replace(pattern, "%d", path[i:j+1], 1), path) {
				return true
			}
		}
	}
	return false
}

// checkInput refuses an output that is a file which is read, or that lies among the data of a folder.
func (o *output) checkInput(command, name, path string) error {
	if path == standard || o.path == standard {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil // the reader says so
	}
	if o.info != nil && os.SameFile(o.info, info) || standsFor(o.path, path) {
		return usagef("%s: -%s %s would overwrite what -%s reads", command, o.flag, o.path, name)
	}
	if !info.IsDir() || !dataset.IsDataName(filepath.Base(o.path)) {
		return nil
	}
	folder, err := os.Stat(filepath.Dir(o.path))
	if err == nil && os.SameFile(folder, info) {
		return usagef("%s: -%s %s is in the folder %s that -%s reads: the next run would read it as data", command,
			o.flag, o.path, path, name)
	}
	return nil
}

// probe finds out before the work whether the file can be written. It changes nothing.
func (o *output) probe() error {
	switch {
	case o.opened != nil:
		return nil
	case o.info != nil && o.stream: // a pipe or a device: opening it could wait, or mean something
		if err := mayWrite(o.path); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", o.path, err)
		}
		return nil
	}
	if o.info != nil {
		f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("%s: cannot be written: %w", o.path, reason(err))
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", o.path, reason(err))
		}
	}
	// The new content is written beside the old first, under a name that is a little longer.
	if err := file.Writable(o.path); err != nil {
		return fmt.Errorf("%s: cannot be written: the folder %s: %w", o.path, filepath.Dir(o.path), reason(err))
	}
	return nil
}

// write writes to standard output, through what is no file, or to the file, which appears whole or not at all. It removes the
// partial file that an earlier training left.
func (o *output) write(stdout io.Writer, encode func(io.Writer) error, save func(path string) error) (err error) {
	at := o.path
	switch {
	case o.path == "":
		return nil
	case o.path == standard:
		err = encode(stdout)
	case o.stream:
		err = o.through(encode)
	case o.unfinished && o.partial != nil:
		at = o.partial.path
		err = o.partial.write(stdout, encode, save)
	default:
		if err = save(o.path); err == nil && o.partial != nil && !o.partial.stream {
			if err = os.Remove(o.partial.path); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
	}
	if err == nil {
		o.written = at
	}
	return err
}

// saveAll writes some outputs at once. Files take their names when all are complete. Of the outputs that are no files (standard
// output, pipes) the first gets its bytes at once. The others get them when it is complete, one after the other, because a
// program may read them one after the other.
func saveAll(stdout io.Writer, outputs []*output, write func(to []io.Writer) error) error {
	var paths []string
	var streams []int
	for k, o := range outputs {
		if o.path == standard || o.stream {
			streams = append(streams, k)
		} else {
			paths = append(paths, o.path)
		}
	}
	return file.ReplaceAll(paths, func(files []io.Writer) error {
		to := make([]io.Writer, len(outputs))
		for k := range outputs {
			if !slices.Contains(streams, k) {
				to[k], files = files[0], files[1:]
			}
		}
		if len(streams) == 0 {
			return write(to)
		}
		waiting, err := newSpools(len(streams) - 1)
		defer waiting.close()
		for i, s := range waiting {
			to[streams[1+i]] = s
		}
		if err == nil {
			err = outputs[streams[0]].save(stdout, func(w io.Writer) error {
				to[streams[0]] = w
				return write(to)
			})
		}
		if err == nil {
			err = waiting.rewind()
		}
		for i, s := range waiting {
			if err == nil {
				err = outputs[streams[1+i]].save(stdout, func(w io.Writer) error {
					_, err := io.Copy(w, s)
					return err
				})
			}
		}
		return err
	})
}

// spools are files in which bytes wait for their turn.
type spools []*os.File

// newSpools makes n files.
func newSpools(n int) (out spools, err error) {
	for range n {
		f, err := os.CreateTemp("", "largemvc-labels-*")
		if err != nil {
			return out, err
		}
		out = append(out, f)
		_ = os.Remove(f.Name()) // so that a process that is killed leaves nothing, but for Windows, which keeps an open file
	}
	return out, nil
}

// rewind makes the next reads begin with the first bytes.
func (s spools) rewind() error {
	for _, f := range s {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return nil
}

// pieces returns a function that reads file k piece by piece; of no files, nothing.
func (s spools) pieces(k int) func() ([]byte, error) {
	if len(s) == 0 {
		return func() ([]byte, error) { return nil, nil }
	}
	piece := make([]byte, pieceBytes)
	return func() ([]byte, error) {
		n, err := io.ReadFull(s[k], piece)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = nil
		}
		return piece[:n], err
	}
}

// close removes the files.
func (s spools) close() {
	for _, f := range s {
		f.Close()
		os.Remove(f.Name())
	}
}

// arrayEnding marks files with labels alone.
const arrayEnding = ".npy"

// ending is the ending of the name of a file, in lower case: LABELS.NPY is a file of arrays too.
func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }

// writeTable writes columns as CSV or Parquet, by the name of the file; to a file of arrays it writes the labels alone.
func (o *output) writeTable(stdout io.Writer, columns ...dataset.Column) error {
	k := slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == "label" })
	if ending(o.path) == ".parquet" {
		return o.save(stdout, func(w io.Writer) error { return parquet.Encode(w, columns...) })
	}
	if k >= 0 && ending(o.path) == arrayEnding {
		encode := func(w io.Writer) error { return dataset.EncodeNPY(w, dataset.Array{Data: columns[k].Data}) }
		return o.save(stdout, encode)
	}
	return o.write(stdout, func(w io.Writer) error { return dataset.EncodeCSV(w, columns...) },
		func(path string) error { return dataset.WriteCSV(path, columns...) })
}
