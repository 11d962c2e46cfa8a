package hdf5

import "testing"

// TestBlanksOfTexts: blanks at the end are no part of a text that is filled up with them, and of another they are.
func TestBlanksOfTexts(t *testing.T) {
	for _, c := range []struct {
		bits byte // of the type: ends with a zero, filled up with zeros, or with blanks
		want string
	}{{0, "T "}, {1, "T "}, {2, "T"}} {
		b := &block{b: []byte{byte(String) | 1<<4, c.bits, 0, 0, 4, 0, 0, 0}, f: &File{}}
		of, err := datatype(b, 0)
		if err != nil {
			t.Fatal(err)
		}
		text := "T \x00\x00"
		if c.bits == 2 {
			text = "T   "
		}
		err = (&globalHeap{}).texts(of, []byte(text), func(_ int, got []byte) error {
			if string(got) != c.want {
				t.Errorf("bits %d: %q, want %q", c.bits, got, c.want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
