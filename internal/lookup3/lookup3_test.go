package lookup3

import "testing"

// TestSum compares with the values that the reference implementation prints (driver5 of lookup3.c), and with those that its
// algorithm gives for texts of whole blocks of 12 bytes.
func TestSum(t *testing.T) {
	for text, want := range map[string]uint32{
		"": 0xdeadbeef, "Four score and seven years ago": 0x17770551,
		"Four score a": 0xccda323b, "Four score and seven yea": 0x4eaa9b13,
	} {
		if got := Sum([]byte(text)); got != want {
			t.Errorf("%q has %#x, want %#x", text, got, want)
		}
	}
}
