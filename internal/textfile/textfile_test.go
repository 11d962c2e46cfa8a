package textfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16Of is a text in UTF-16 with its mark.
func utf16Of(text string, order binary.AppendByteOrder) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t *testing.T, data []byte) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

// TestOpen: a text is the same however it is packed and encoded.
func TestOpen(t *testing.T) {
	const text = "id,label\nä𝄞,1\n"
	big, little := utf16Of(text, binary.BigEndian), utf16Of(text, binary.LittleEndian)
	for name, data := range map[string][]byte{
		"plain": []byte(text), "mark": []byte("\ufeff" + text), "UTF-16 BE": big, "UTF-16 LE": little,
		"gzip": packed(t, []byte(text)), "gzip, UTF-16": packed(t, little),
		"two streams": append(packed(t, []byte(text[:4])), packed(t, []byte(text[4:]))...),
	} {
		if got, err := open(t, data); err != nil || got != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := open(t, nil); err != nil || got != "" {
		t.Errorf("an empty file: %q, %v", got, err)
	}
}

// TestOpenErrors: what is no text says why.
func TestOpenErrors(t *testing.T) {
	whole := packed(t, []byte("id,label\na,1\n"))
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"zero":       {[]byte("id,label\n\x00"), "byte 9 (from 0) is zero"},
		"no mark":    {utf16Of("id,label", binary.LittleEndian)[2:], "without a byte order mark"},
		"truncated":  {whole[:len(whole)-3], "is truncated (gzip)"},
		"half":       {utf16Of("id", binary.BigEndian)[:5], "ends inside a character"},
		"more":       {append(whole, 'x'), "has bytes after the end of its gzip stream"},
		"bad header": {[]byte("\x1f\x8b123456789"), "is damaged (gzip)"},
	} {
		if got, err := open(t, test.data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "gone")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestOpenBombs: a packed file that unpacks to far more than its size ends with an error, one that is as large is read whatever
// it unpacks to.
func TestOpenBombs(t *testing.T) {
	zeros := bytes.Repeat([]byte("0\n"), leastUnpacked/2)
	if got, err := open(t, packed(t, zeros)); err != nil || len(got) != len(zeros) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, err := open(t, packed(t, append(zeros, '0')))
	if err == nil || !strings.Contains(err.Error(), "unpacks to more than 64 MiB") {
		t.Errorf("a byte more: %v", err)
	}
	var plain bytes.Buffer // packed without being made smaller
	z, err := gzip.NewWriterLevel(&plain, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(append(zeros, '0')); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, plain.Bytes()); err != nil || len(got) != len(zeros)+1 {
		t.Errorf("a large file: %d bytes, %v", len(got), err)
	}
}
