package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
)

// How files of other formats become ones that are read.
const (
	fromExcel   = "is an Excel workbook, which is not read: save the sheet as CSV (UTF-8), one sheet a view"
	fromODS     = "is an OpenDocument spreadsheet, which is not read: save the sheet as CSV"
	fromParquet = "is a Parquet file, which is not read: in Python, pandas.read_parquet(file).to_csv(new, index=False)"
	fromFeather = "is an Arrow or Feather file, which is not read: in Python, pandas.read_feather(file).to_csv(new, index=False)"
	fromJSON    = "is JSON, which is not read: in Python, pandas.read_json(file).to_csv(new, index=False)"
	fromPickle  = "is a Python pickle, which is not read: in Python, numpy.savez(new, X0=…, X1=…) with a matrix for each view"
	fromTorch   = "is a PyTorch file, which is not read: in Python, numpy.savez(new, X0=tensor0.numpy(), X1=tensor1.numpy())"
	fromR       = "is a file of R, which is not read: in R, write.csv(x, new, row.names = FALSE)"
	fromARFF    = "is an ARFF file, which is not read: save it as CSV (in Weka: Save…, CSV)"
	fromSQLite  = "is an SQLite database, which is not read: export the table as CSV"
	fromHTML    = "is a web page and no data; is it the file that was to be downloaded?"
	fromPDF     = "is a PDF document and no data"
)

var foreignMagic = []struct{ magic, cure string }{
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", fromExcel}, {"PAR1", fromParquet}, {"ARROW1", fromFeather}, {"FEA1", fromFeather},
	{"\x80\x02", fromPickle}, {"\x80\x03", fromPickle}, {"\x80\x04", fromPickle}, {"\x80\x05", fromPickle},
	{"RDX2\n", fromR}, {"RDX3\n", fromR}, {"X\n\x00\x00\x00", fromR}, {"SQLite format 3\x00", fromSQLite}, {"%PDF-", fromPDF},
}

// foreign says how a file of another format is converted; nil for one that may be read.
func foreign(head []byte) error {
	for _, m := range foreignMagic {
		if bytes.HasPrefix(head, []byte(m.magic)) && (looksBinary(head) || m.cure == fromPDF) { // no name in a header
			return errors.New(m.cure)
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(markUTF8)), " \t\r\n")
	lower := bytes.ToLower(text[:min(len(text), 64)])
	switch {
	case isJSON(text):
		return errors.New(fromJSON)
	case bytes.HasPrefix(lower, []byte("@relation")):
		return errors.New(fromARFF)
	case bytes.HasPrefix(lower, []byte("<!doctype html")), bytes.HasPrefix(lower, []byte("<html")):
		return errors.New(fromHTML)
	}
	return nil
}

// isJSON tells whether a text begins as an object or a list of JSON, and not as a table of which a name begins so.
func isJSON(text []byte) bool {
	if len(text) < 2 || text[0] != '{' && text[0] != '[' {
		return false
	}
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || strings.ContainsRune(`"{[]}-0123456789tfn`, rune(rest[0]))
}

// foreignZip does the same for archives, which many formats are.
func foreignZip(f io.ReaderAt, size int64) error {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil // the reader of .npz says what is wrong with it
	}
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

// foreignEnding is the cure for a file in a folder that is a table by its ending; empty for others.
func foreignEnding(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".xlsx", ".xls", ".xlsm", ".xlsb":
		return fromExcel
	case ".ods":
		return fromODS
	case ".parquet":
		return fromParquet
	case ".feather", ".arrow":
		return fromFeather
	case ".pkl", ".pickle":
		return fromPickle
	case ".pt", ".pth":
		return fromTorch
	case ".rds", ".rdata", ".rda":
		return fromR
	case ".arff":
		return fromARFF
	}
	return ""
}
