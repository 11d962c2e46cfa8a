package features

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// image makes a w×h image of a function.
func image(w, h int, f func(x, y int) int) []uint8 {
	out := make([]uint8, w*h)
	for y := range h {
		for x := range w {
			out[y*w+x] = uint8(f(x, y))
		}
	}
	return out
}

func describe(d Descriptor, pixels []uint8) []float32 {
	out := make([]float32, d.Len())
	d.Describe(out, pixels)
	return out
}

func TestHOGOfRamps(t *testing.T) {
	h, err := NewHOG(16, 16, 4, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	if h.Len() != 64 {
		t.Fatalf("length %d, want 4×4 cells of 4", h.Len())
	}
	// The directions of the bins are 22.5°, 67.5°, 112.5° and 157.5°. A ramp along x has its gradient at 0°, halfway
	// between the last and the first, one along y at 90°, between the middle ones, a diagonal at 45° between the first two.
	// Within a cell both have an equal share; scaled to length 1, cut at 0.2 and scaled again they are 1/√2.
	half := float32(math.Sqrt2 / 2)
	for _, test := range []struct {
		name string
		f    func(x, y int) int
		want []float32
	}{
		{"along x", func(x, _ int) int { return 10 * x }, []float32{half, 0, 0, half}},
		{"along −x", func(x, _ int) int { return 200 - 10*x }, []float32{half, 0, 0, half}},
		{"along y", func(_, y int) int { return 10 * y }, []float32{0, half, half, 0}},
		{"diagonal", func(x, y int) int { return 5*x + 5*y }, []float32{half, half, 0, 0}},
	} {
		cell := describe(h, image(16, 16, test.f))[5*4 : 6*4] // an inner cell
		for k, want := range test.want {
			if math.Abs(float64(cell[k]-want)) > 1e-6 {
				t.Errorf("%s: %v, want %v", test.name, cell, test.want)
				break
			}
		}
	}
}

func TestHOGKeepsAllVotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	h, err := NewHOG(12, 12, 4, 1, 9)
	if err != nil {
		t.Fatal(err)
	}
	// All gradients in the middle, at least half a cell from the border: no vote falls outside.
	pixels := image(12, 12, func(x, y int) int {
		if x < 4 || x > 7 || y < 4 || y > 7 {
			return 100
		}
		return rng.IntN(256)
	})
	total, want := 0.0, 0.0
	for _, v := range h.cells(pixels) {
		total += v
	}
	for y := 1; y < 11; y++ {
		for x := 1; x < 11; x++ {
			at := func(x, y int) float64 { return float64(pixels[y*12+x]) }
			want += math.Hypot(at(x+1, y)-at(x-1, y), at(x, y+1)-at(x, y-1))
		}
	}
	if math.Abs(total-want) > 1e-9*want {
		t.Errorf("the cells have %v votes, the image %v", total, want)
	}
}

func TestHOGContrastAndBlocks(t *testing.T) {
	h, err := NewHOG(28, 28, 7, 2, 9)
	if err != nil {
		t.Fatal(err)
	}
	if h.Len() != 3*3*4*9 {
		t.Fatalf("length %d, want 324", h.Len())
	}
	pixels := image(28, 28, func(x, y int) int { return (x*x + 3*y*y) % 100 })
	brighter := slices.Clone(pixels)
	for i, v := range brighter {
		brighter[i] = 2*v + 20
	}
	a, b := describe(h, pixels), describe(h, brighter)
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-5 {
			t.Fatalf("element %d is %v, and %v with double contrast", i, a[i], b[i])
		}
	}
	for block := range 9 {
		sum := 0.0
		for _, v := range a[block*36 : (block+1)*36] {
			sum += float64(v) * float64(v)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("block %d has the squared length %v", block, sum)
		}
	}
	for i, v := range describe(h, make([]uint8, 784)) {
		if v != 0 {
			t.Fatalf("element %d of an empty image is %v", i, v)
		}
	}
}

func TestLBPClasses(t *testing.T) {
	l, err := NewLBP(3, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		pixels []uint8
		want   int
	}{
		{"spot", []uint8{0, 0, 0, 0, 9, 0, 0, 0, 0}, 0},
		{"flat", []uint8{5, 5, 5, 5, 5, 5, 5, 5, 5}, 8},
		{"edge", []uint8{9, 9, 9, 5, 5, 5, 0, 0, 0}, 5},
		{"turned edge", []uint8{9, 5, 0, 9, 5, 0, 9, 5, 0}, 5},
		{"corner", []uint8{9, 9, 0, 9, 5, 0, 0, 0, 0}, 3},
		{"checkers", []uint8{9, 0, 9, 0, 5, 0, 9, 0, 9}, 9},
	} {
		if got := l.class(test.pixels, 1, 1); got != test.want {
			t.Errorf("%s is class %d, want %d", test.name, got, test.want)
		}
	}
}

func TestLBPShares(t *testing.T) {
	l, err := NewLBP(29, 28, 7) // a column left over
	if err != nil {
		t.Fatal(err)
	}
	if l.Len() != 160 {
		t.Fatalf("length %d, want 160", l.Len())
	}
	rng := rand.New(rand.NewPCG(3, 4))
	pixels := image(29, 28, func(int, int) int { return rng.IntN(256) })
	x := describe(l, pixels)
	for c := range 16 {
		sum := float32(0)
		for _, v := range x[c*10 : (c+1)*10] {
			sum += v
		}
		if math.Abs(float64(sum)-1) > 1e-5 {
			t.Errorf("the shares of cell %d sum to %v", c, sum)
		}
	}
	// Turned by 180° the same classes are found in the opposite cells.
	square, err := NewLBP(28, 28, 7)
	if err != nil {
		t.Fatal(err)
	}
	pixels = pixels[:784]
	turned := slices.Clone(pixels)
	slices.Reverse(turned)
	a, b := describe(square, pixels), describe(square, turned)
	for c := range 16 {
		for k := range 10 {
			if math.Abs(float64(a[c*10+k]-b[(15-c)*10+k])) > 1e-6 {
				t.Fatalf("cell %d, class %d: %v, and %v where the image is turned", c, k, a[c*10+k], b[(15-c)*10+k])
			}
		}
	}
}

func TestAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	pixels := image(64, 200, func(int, int) int { return rng.IntN(256) }) // 200 images of 8×8
	h, err := NewHOG(8, 8, 4, 2, 9)
	if err != nil {
		t.Fatal(err)
	}
	one, err := All(context.Background(), h, pixels, 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	three, err := All(context.Background(), h, pixels, 200, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one, three) {
		t.Error("the number of workers changes the result")
	}
	if want := describe(h, pixels[64*77:64*78]); !slices.Equal(one[77*36:78*36], want) {
		t.Error("image 77 differs from itself alone")
	}
	plain, err := All(context.Background(), Pixels(64), pixels, 200, 0)
	if err != nil || plain[65] != float32(pixels[65])/255 {
		t.Errorf("pixel 65 is %v, error %v", plain[65], err)
	}
	if _, err := All(context.Background(), h, pixels, 7, 1); err == nil {
		t.Error("pixels that are no whole images: no error")
	}
}

func TestSizes(t *testing.T) {
	for _, test := range []struct{ w, h, cell, block, bins int }{{8, 8, 0, 1, 9}, {8, 8, 9, 1, 9},
		{8, 8, 4, 3, 9}, {8, 8, 4, 0, 9}, {8, 8, 4, 2, 0}} {
		if _, err := NewHOG(test.w, test.h, test.cell, test.block, test.bins); err == nil {
			t.Errorf("%+v: no error", test)
		}
	}
	if _, err := NewLBP(6, 8, 7); err == nil {
		t.Error("LBP cells larger than the image: no error")
	}
}
