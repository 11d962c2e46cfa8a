package textfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
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

// decode unpacks a text if it is packed, and decodes it.
func decode(data []byte) (string, error) {
	var r io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		z, err := NewGzipReader(r)
		if err != nil {
			return "", err
		}
		r = z
	}
	d, err := Decode(r)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(d)
	return string(text), err
}

// TestDecode: a text is the same however it is packed and encoded.
func TestDecode(t *testing.T) {
	const text = "id,label\nä𝄞,1\n"
	big, little := utf16Of(text, binary.BigEndian), utf16Of(text, binary.LittleEndian)
	for name, data := range map[string][]byte{
		"plain": []byte(text), "mark": []byte("\ufeff" + text), "UTF-16 BE": big, "UTF-16 LE": little,
		"gzip": packed(t, []byte(text)), "gzip, UTF-16": packed(t, little),
		"two streams": append(packed(t, []byte(text[:4])), packed(t, []byte(text[4:]))...),
	} {
		if got, err := decode(data); err != nil || got != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := decode(nil); err != nil || got != "" {
		t.Errorf("an empty file: %q, %v", got, err)
	}
}

// TestDecodeErrors: what is no text says why.
func TestDecodeErrors(t *testing.T) {
	whole := packed(t, []byte("id,label\na,1\n"))
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"truncated":  {whole[:len(whole)-3], "is truncated (gzip)"},
		"half":       {utf16Of("id", binary.BigEndian)[:5], "ends inside a character"},
		"more":       {append(whole, 'x'), "has bytes after the end of its gzip stream"},
		"bad header": {[]byte("\x1f\x8b123456789"), "is damaged (gzip)"},
	} {
		if got, err := decode(test.data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if half := utf16Of("id,label", binary.LittleEndian)[2:]; !LooksLikeUTF16(half) || LooksLikeUTF16([]byte("id,label")) {
		t.Error("a text in UTF-16 without its mark is not known")
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"höhe (cm) − …": "höhe (cm) − …", "a\x1b[31m\nview": `a\x1b[31m\nview`, "a\u202eb\u2028": `a\u202eb\u2028`,
		"\x00\t": `\x00\t`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 view": Count(1, "view"), "0 views": Count(0, "view"), "1 class": Count(1, "class"),
		"2 classes": Count(2, "class"), "3 processes": Count(3, "process"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
