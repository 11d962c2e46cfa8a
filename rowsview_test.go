package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// heldRows are rows in memory behind the interface of rows that are not. Reads of rows from bad on fail, if bad is positive.
type heldRows struct {
	n, d, bad int
	x         []float32
}

var errDisk = errors.New("the disk does not answer")

func (r *heldRows) Dims() (n, d int) { return r.n, r.d }

func (r *heldRows) ReadRows(_ context.Context, first int, dst []float32) error {
	if r.bad > 0 && first*r.d+len(dst) > r.bad*r.d {
		return errDisk
	}
	copy(dst, r.x[first*r.d:first*r.d+len(dst)])
	return nil
}

// outside returns views of three groups in memory, and the same views as rows outside it.
func outside(n int, dims ...int) (held []View, read []View, sources []*heldRows) {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	for _, d := range dims {
		x := make([]float32, n*d)
		for i := range n {
			for j := range d {
				x[i*d+j] = float32(rng.NormFloat64()) + 3*float32((i%3+j)%3)
			}
		}
		source := &heldRows{n: n, d: d, x: x}
		held, read = append(held, Float32View(n, d, x)), append(read, RowsView(source))
		sources = append(sources, source)
	}
	return held, read, sources
}

// Samples that are read get what they get from memory, in one call or block by block, with absent views too.
func TestAssignRows(t *testing.T) {
	const n = 20_000
	held, read, _ := outside(n, 7, 12)
	present := make([]bool, n)
	for i := range present {
		present[i] = i%5 != 2
	}
	held[1], read[1] = held[1].WithPresent(present), read[1].WithPresent(present)
	ctx := context.Background()
	for _, preset := range []Preset{PresetDefault, PresetPaper} {
		some := upTo(400)
		c := mustFit(t, []View{held[0].Take(some), held[1].Take(some)}, Config{
			Clusters: 3, Epochs: 3, Preset: preset, Neighborhood: landmarksFor(preset),
		})
		want, err := c.Assign(ctx, held)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Assign(ctx, read)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Near, want.Near) || !slices.Equal(got.Next, want.Next) {
			t.Errorf("%v: rows that are read get other labels or distances", preset)
		}
		blocks, at := 0, 0
		err = c.AssignRows(ctx, read, func(first int, a *Assignments) error {
			if first != at || !slices.Equal(a.Labels, want.Labels[at:at+len(a.Labels)]) ||
				!slices.Equal(a.Near, want.Near[at:at+len(a.Labels)]) {
				return fmt.Errorf("the block from sample %d differs", first)
			}
			at += len(a.Labels)
			blocks++
			return nil
		})
		if err != nil || at != n || blocks < 2 {
			t.Errorf("%v: %d samples in %d blocks, %v", preset, at, blocks, err)
		}
		h, err := c.Transform(ctx, held)
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.Transform(ctx, read)
		if err != nil || !slices.Equal(h.f32, other.f32) || h.String() != other.String() {
			t.Errorf("%v: another representation of rows that are read: %v, %v", preset, other, err)
		}
		far, err := c.Novelty(ctx, held)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := c.Novelty(ctx, read); err != nil || !slices.Equal(far, other) {
			t.Errorf("%v: another novelty of rows that are read, %v", preset, err)
		}
	}
}

// landmarksFor is the neighbourhood of a preset, with landmarks.
func landmarksFor(p Preset) Neighborhood {
	if p == PresetPaper {
		return Neighborhood{}
	}
	return Neighborhood{Exact: None}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// What cannot be read, or has no number, is an error that says where; so is a source that is none.
func TestRowsThatCannotBeRead(t *testing.T) {
	const n = 20_000
	ctx := context.Background()
	held, read, sources := outside(n, 5, 6)
	c := mustFit(t, []View{held[0].Take(upTo(200)), held[1].Take(upTo(200))}, Config{Clusters: 3, Epochs: 2, Preset: PresetPaper})
	sources[1].bad = 18_000
	_, err := c.Predict(ctx, []View{read[0], read[1].Named("spectra")})
	if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "reading view 1 (spectra), rows 16384 to 19999") {
		t.Error(err)
	}
	sources[1].bad = 0
	sources[0].x[17_123*5+3] = nan32
	if _, err = c.Predict(ctx, read); err == nil || !strings.Contains(err.Error(), "view 0 has NaN at row 17123, column 3") {
		t.Error(err)
	}
	sources[0].x[17_123*5+3] = 0
	stop := errors.New("enough")
	if err := c.AssignRows(ctx, read, func(int, *Assignments) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	var none *heldRows
	for want, source := range map[string]RowSource{"the source of the rows is nil": nil, "cannot be read": none} {
		if _, err := c.Predict(ctx, []View{RowsView(source), read[1]}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

var nan32 = func() float32 { zero := float32(0); return zero / zero }()

// A fit of rows outside memory has the bits of one of the same rows in memory.
func TestFitOfRowsView(t *testing.T) {
	held, read, sources := outside(3000, 40, 25)
	ctx := context.Background()
	for _, preset := range []Preset{PresetDefault, PresetPaper} {
		c := Config{Clusters: 3, Epochs: 3, Preset: preset, Neighborhood: landmarksFor(preset)}
		want, got := mustFit(t, held, c), mustFit(t, read, c)
		if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, want.Loss) || !slices.Equal(got.H.f32, want.H.f32) {
			t.Errorf("%v: another result of rows that are read: loss %v, want %v", preset, got.Loss, want.Loss)
		}
		sources[1].bad = 2000
		if out, err := Fit(ctx, read, c); !errors.Is(err, errDisk) || out != nil ||
			!strings.Contains(err.Error(), "largemvc: reading view 1, rows ") {
			t.Errorf("%v: %v, %v", preset, out, err)
		}
		sources[1].bad = 0
	}
}
