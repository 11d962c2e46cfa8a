package mnist

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
)

func TestTraining(t *testing.T) {
	folder, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Training(folder, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 1000 || d.Width != 28 || d.Height != 28 || len(d.Pixels) != 1000*784 {
		t.Fatalf("%d images of %d×%d", d.Len(), d.Width, d.Height)
	}
	// The first digits of the set, as every description of it shows them.
	if want := []int{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}; !slices.Equal(d.Labels[:10], want) {
		t.Errorf("labels %v, want %v", d.Labels[:10], want)
	}
	// Row 5 of the first image, the top stroke of a 5.
	want := []uint8{3, 18, 18, 18, 126, 136, 175, 26, 166, 255, 247, 127}
	if got := d.Pixels[5*28+12 : 5*28+24]; !slices.Equal(got, want) {
		t.Errorf("row 5 is %v, want %v", got, want)
	}
	if _, err := Training(folder, TrainingImages+1); err == nil {
		t.Error("more images than there are: no error")
	}
	if _, err := Training(t.TempDir(), 1); err == nil {
		t.Error("an empty folder: no error")
	}
}

func packed(b ...byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func TestDecodeIDX(t *testing.T) {
	good := packed(0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9)
	sizes, values, err := decodeIDX(bytes.NewReader(good), 1, 2)
	if err != nil || !slices.Equal(sizes, []int{2}) || !slices.Equal(values, []uint8{7, 8}) {
		t.Errorf("sizes %v, values %v, error %v", sizes, values, err)
	}
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"no gzip", []byte("hello"), "EOF"},
		{"short header", packed(0, 0, 8), "the header"},
		{"wrong axes", packed(0, 0, 8, 3, 0, 0, 0, 3, 7, 8, 9), "not a file of bytes with 1 axes"},
		{"truncated", packed(0, 0, 8, 1, 0, 0, 0, 3, 7, 8), "ends after 2 of 3 bytes"},
		{"cut gzip", good[:len(good)-6], "EOF"},
		{"empty axis", packed(0, 0, 8, 1, 0, 0, 0, 0), "axis 0 has the size 0"},
		{"huge axis", packed(0, 0, 8, 1, 255, 0, 0, 0), "axis 0 has the size"},
	} {
		if _, _, err := decodeIDX(bytes.NewReader(test.data), 1, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
