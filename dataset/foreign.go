package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"

	"path/filepath"
	"regexp"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

// How files of other formats become ones that are read.
const (
	fromExcel   = "is an Excel workbook, which is not read: save the sheet as CSV (UTF-8), one sheet per view"
	fromODS     = "is an OpenDocument spreadsheet, which is not read: save the sheet as CSV"
	fromParquet = "is a Parquet file: a program in Go reads it if it imports dataset/parquet; in Python, " +
		"pandas.read_parquet(file).to_csv(new, index=False)"
	fromFeather = "is an Arrow or Feather file, which is not read: in Python, pandas.read_feather(file).to_csv(new, index=False)"
	fromJSON    = "is JSON, which is not read: in Python, pandas.read_json(file).to_csv(new, index=False)"
	fromPickle  = "is a Python pickle, which is not read: in Python, numpy.savez(new, X0=…, X1=…) with a matrix for each view"
	fromTorch   = "is a PyTorch file, which is not read: in Python, numpy.savez(new, X0=tensor0.numpy(), X1=tensor1.numpy())"
	fromR       = "is a file of R, which is not read: in R, write.csv(x, new, row.names = FALSE)"
	fromARFF    = "is an ARFF file, which is not read: save it as CSV (in Weka: Save…, CSV)"
	fromOctave  = "is a text file of Octave, which is not read: in Octave, save -v7 new.mat"
	fromMarket  = "is a Matrix Market file, which is not read: in Python, scipy.sparse.save_npz(new, " +
		"scipy.io.mmread(file).tocsr())"
	fromLIBSVM = "is a file of LIBSVM (label index:value …), which is not read: in Python, " +
		"X, y = sklearn.datasets.load_svmlight_file(file), then numpy.savez(new, X0=X.toarray(), y=y)"
	fromSQLite = "is an SQLite database, which is not read: export the table as CSV"
	fromHTML   = "is a web page, not data: download the file itself"
	fromPDF    = "is a PDF document, not data"
)

// foreignFile is how files of another format begin, and how they are converted.
type foreignFile struct{ begin, cure string }

var foreignMagic = []foreignFile{
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", fromExcel}, {"ARROW1", fromFeather}, {"FEA1", fromFeather},
	{"\x80\x02", fromPickle}, {"\x80\x03", fromPickle}, {"\x80\x04", fromPickle}, {"\x80\x05", fromPickle},
	{"BZh", packed("bzip2")}, {"\xfd7zXZ\x00", packed("xz")}, {"\x28\xb5\x2f\xfd", packed("Zstandard")}, {"7z\xbc\xaf\x27\x1c",
		packed("7-Zip")}, {"Rar!\x1a\x07", packed("RAR")},
	{"RDX2\n", fromR}, {"RDX3\n", fromR}, {"X\n\x00\x00\x00", fromR}, {"SQLite format 3\x00", fromSQLite}, {"%PDF-", fromPDF},
}

// foreignText is in lower case.
var foreignText = []foreignFile{
	{"# created by octave", fromOctave}, {"%%matrixmarket", fromMarket}, {"@relation", fromARFF}, {"<!doctype html", fromHTML},
	{"<html", fromHTML}, {"<?xml", "is XML, which is not read: save the table as CSV"},
	{"version https://git-lfs.", "is a Git LFS pointer, not the file: fetch the file with git lfs pull"},
}

// packed is the cure for a file that another program packed.
func packed(by string) string {
	return "is packed by " + by + ", which is not read: unpack it first; CSV may be packed by gzip"
}

// foreign says how a file of another format is converted; nil for one that may be read.
func foreign(head []byte) error {
	for _, m := range foreignMagic {
		if bytes.HasPrefix(head, []byte(m.begin)) && (looksBinary(head) || m.cure == fromPDF) { // no name in a header
			return errors.New(m.cure)
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(textfile.MarkUTF8)), " \t\r\n")
	lower := bytes.ToLower(text[:min(len(text), 64)])
	for _, t := range foreignText {
		if bytes.HasPrefix(lower, []byte(t.begin)) {
			return errors.New(t.cure)
		}
	}
	switch {
	case isJSON(text):
		return errors.New(fromJSON)
	case libsvm.Match(text[:min(len(text), 256)]):
		return errors.New(fromLIBSVM)
	case isTar(head):
		return errors.New("is a tar archive, which is not read: unpack it first")
	case notFound.Match(lower):
		return errors.New("is the error message of a server, not the file: download the file again")
	}
	return nil
}

func isTar(head []byte) bool { return len(head) >= 262 && string(head[257:262]) == "ustar" }

// isJSON reports whether a text begins as an object or a list of JSON, and not as a table whose first name begins so.
func isJSON(text []byte) bool {
	if len(text) < 2 || text[0] != '{' && text[0] != '[' {
		return false
	}
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || strings.ContainsRune(`"{[]}-0123456789tfn`, rune(rest[0]))
}

var notFound = regexp.MustCompile(`^(?:404|403|401|410|500|502|503)[:, ]+[a-z][a-z ]*\s*$`)

var libsvm = regexp.MustCompile(`^[-+]?\d+(?:\.\d*)?(?:,\d+)*(?: +\d+:[-+.\deE]+){2,}\s*(?:\n|$)`)

// unpacked says what a file of gzip holds that is no text; nil for a text.
func unpacked(head []byte) error {
	format := ""
	switch {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		format = "a NumPy .npy file"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		format = "a zip archive"
	case bytes.HasPrefix(head, []byte(hdf5Magic)), isMAT5(head):
		format = "a file of MATLAB or HDF5"
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		format = "a further gzip file"
	case isTar(head):
		format = "a tar archive"
	default:
		return foreign(head)
	}
	return fmt.Errorf("is %s, packed by gzip: unpack it first (gunzip); only CSV is read from gzip files", format)
}

// foreignArchive does the same for archives, which many formats are.
func foreignArchive(z *zip.Reader) error {
	for _, m := range z.File {
		switch {
		case m.Name == "xl/workbook.xml", m.Name == "[Content_Types].xml":
			return errors.New(fromExcel)
		case m.Name == "content.xml":
			return errors.New(fromODS)
		case strings.HasSuffix(m.Name, "/data.pkl"), m.Name == "data.pkl":
			return errors.New(fromTorch)
		}
	}
	return nil
}

// endings are of files in a folder that are tables, and not read.
var endings = map[string]string{
	".xlsx": fromExcel, ".xls": fromExcel, ".xlsm": fromExcel, ".xlsb": fromExcel, ".ods": fromODS,
	".feather": fromFeather, ".arrow": fromFeather, ".pkl": fromPickle, ".pickle": fromPickle,
	".pt": fromTorch, ".pth": fromTorch, ".rds": fromR, ".rdata": fromR, ".rda": fromR, ".arff": fromARFF,
}

// foreignEnding is the cure for a file in a folder that is a table by its ending; empty for others.
func foreignEnding(name string) string { return endings[strings.ToLower(filepath.Ext(name))] }
