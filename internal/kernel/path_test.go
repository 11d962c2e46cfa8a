package kernel

import (
	"os"
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	has := Paths()
	if has[len(has)-1] != "portable" {
		t.Fatalf("Paths() = %v, want portable as the last", has)
	}
	best := has[0]
	for _, c := range []struct{ name, want string }{
		{"", best}, {"sse", best}, {pathNames[built[0]], best}, {"portable", "portable"},
	} {
		if got := pathNames[choose(c.name)]; got != c.want {
			t.Errorf("choose(%q) = %s, want %s", c.name, got, c.want)
		}
	}
	for p, name := range pathNames {
		want := best // the name belongs to another architecture
		switch {
		case slices.Contains(has, name):
			want = name
		case slices.Contains(built, path(p)):
			want = "portable"
			if path(p) == pathAVX512 && slices.Contains(has, "avx2") {
				want = "avx2"
			}
		}
		if got := pathNames[choose(name)]; got != want {
			t.Errorf("choose(%s) = %s, want %s", name, got, want)
		}
	}
	if got := choose(os.Getenv("LARGEMVC_KERNEL")); Path() != pathNames[got] {
		t.Errorf("Path() = %s, want %s", Path(), pathNames[got])
	}
}

func TestPeakFMA(t *testing.T) {
	for _, name := range Paths() {
		restore := force(name)
		if v := PeakFMA[float32](0.001); !(v > 0) {
			t.Errorf("%s: float32 peak of %v GFLOP/s", name, v)
		}
		if v := PeakFMA[float64](0.001); !(v > 0) {
			t.Errorf("%s: float64 peak of %v GFLOP/s", name, v)
		}
		restore()
	}
}

func TestPad(t *testing.T) {
	for m, want := range map[int]int{0: 0, 1: 16, 15: 16, 16: 16, 17: 32, 100: 112} {
		if got := Pad(m); got != want {
			t.Errorf("Pad(%d) = %d, want %d", m, got, want)
		}
	}
}
