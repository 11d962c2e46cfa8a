package machine

import (
	"encoding/json"
	"testing"
)

// Devices read what they write, and nothing else; the result says what ran in words.
func TestDeviceText(t *testing.T) {
	for want, d := range map[string]Device{"auto": 0, "cpu": CPU, "cuda": CUDA} {
		text, err := d.MarshalText()
		if err != nil || string(text) != want || d.String() != want || !d.Known() {
			t.Errorf("%d is %q, %q, %v", int(d), text, d, err)
		}
		var got Device
		if err := got.UnmarshalText(text); err != nil || got != d {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	for _, d := range []Device{-1, 3} {
		if _, err := d.MarshalText(); err == nil || d.Known() {
			t.Errorf("%v is written", d)
		}
	}
	var d Device
	if err := d.UnmarshalText([]byte("gpu")); err == nil {
		t.Error("gpu is read")
	}
	if text, err := json.Marshal(Options{Workers: 2, Device: CUDA}); err != nil || string(text) != `{"Workers":2}` {
		t.Errorf("files hold %s, %v", text, err)
	}
	for want, r := range map[string]Ran{
		"not known": {}, "CPU": {Device: "CPU"}, "a card (as was asked for)": {Device: "a card", Why: "as was asked for"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
}
