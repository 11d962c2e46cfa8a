package dataset

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDrop(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n, views := rapid.IntRange(1, 60).Draw(r, "n"), rapid.IntRange(1, 7).Draw(r, "V")
		rate := rapid.SampledFrom([]float64{0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9}).Draw(r, "rate")
		seed := rapid.Uint64().Draw(r, "seed")
		mask, err := Drop(n, views, rate, seed)
		if err != nil {
			r.Fatal(err)
		}
		absent := 0
		each := make([]int, views)
		for i, row := range mask {
			if !slices.Contains(row, true) {
				r.Fatalf("sample %d keeps nothing", i)
			}
			for v, p := range row {
				if !p {
					absent++
					each[v]++
				}
			}
		}
		if want := min(int(math.Round(rate*float64(n)*float64(views))), n*(views-1)); absent != want {
			r.Fatalf("%d absent, want %d", absent, want)
		}
		spread := 2
		if n%views == 0 {
			spread = 1
		}
		if slices.Max(each)-slices.Min(each) > spread {
			r.Fatalf("absent rows of the views: %v", each)
		}
		again, err := Drop(n, views, rate, seed)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(mask) {
			r.Fatal("another mask for the same seed", err)
		}
	})
	a, _ := Drop(100, 3, 0.5, 1)
	b, _ := Drop(100, 3, 0.5, 2)
	if fmt.Sprint(a) == fmt.Sprint(b) {
		t.Error("two seeds give one mask")
	}
	for _, rate := range []float64{-0.1, 1, math.NaN()} {
		_, err := Drop(10, 2, rate, 1)
		wantError(t, err, "rate")
	}
	_, err := Drop(0, 2, 0.5, 1)
	wantError(t, err, "0 samples")
}

func TestIncomplete(t *testing.T) {
	set, err := Synthetic(SyntheticConfig{Samples: 20, Clusters: 3, Dims: []int{4, 6}, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	set.Views = append(set.Views, viewOf("s", 20, 3, slices.Repeat([]float64{1, 0, 2}, 20), 32, true))
	mask, err := Drop(20, 3, 0.4, 9)
	if err != nil {
		t.Fatal(err)
	}
	before := set.Views[0].At(3, 2)
	part, err := set.Incomplete(mask)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, part)
	for v := range set.Views {
		checkView(t, &part.Views[v], 20, set.Views[v].Cols, func(i, j int) float64 {
			if !mask[i][v] {
				return 0
			}
			return set.Views[v].At(i, j)
		})
	}
	if part.MissingRate() != 0.4 || set.Present != nil || set.Views[0].At(3, 2) != before {
		t.Error("missing rate", part.MissingRate())
	}
	mask[4][0], mask[4][1], mask[4][2] = false, false, false
	_, err = set.Incomplete(mask)
	wantError(t, err, "sample 4")
	_, err = set.Incomplete(mask[:3])
	wantError(t, err, "3 rows")
}

func TestSynthetic(t *testing.T) {
	c := SyntheticConfig{Samples: 301, Clusters: 4, Dims: []int{10, 3}, Corrupted: 0.1, Seed: 5, Separation: 20}
	s, err := Synthetic(c)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	counts := make([]int, 4)
	for _, l := range s.Labels {
		counts[l]++
	}
	slices.Sort(counts)
	if fmt.Sprint(counts) != "[75 75 75 76]" || s.Views[1].Cols != 3 {
		t.Errorf("sizes %v", counts)
	}
	again, err := Synthetic(c)
	if err != nil {
		t.Fatal(err)
	}
	sameSets(t, s, again)
	// A row lies near the centre of its cluster, but for the corrupted tenth.
	far := 0
	mean := make([]float64, 40)
	for i, l := range s.Labels {
		for j := range 10 {
			mean[10*l+j] += s.Views[0].At(i, j) / 75
		}
	}
	for i, l := range s.Labels {
		d := 0.0
		for j := range 10 {
			x := s.Views[0].At(i, j) - mean[10*l+j]
			d += x * x
		}
		if d > 60 { // χ² with 10 degrees of freedom passes 60 once in 10⁸
			far++
		}
	}
	if far < 25 || far > 35 {
		t.Errorf("%d rows of 301 are far from their centre; 30 are corrupted", far)
	}
	c.Float = 64
	wide, err := Synthetic(c)
	if err != nil {
		t.Fatal(err)
	}
	checkView(t, &s.Views[1], 301, 3, func(i, j int) float64 { return float64(float32(wide.Views[1].At(i, j))) })
	for _, bad := range []SyntheticConfig{{}, {Samples: 3, Clusters: 4, Dims: []int{2}}, {Samples: 5, Clusters: 2},
		{Samples: 5, Clusters: 2, Dims: []int{0}},
		{Samples: 5, Clusters: 2, Dims: []int{1}, Corrupted: 2}, {Samples: 5, Clusters: 2, Dims: []int{1},
			Noise: math.NaN()}, {Samples: 5, Clusters: 2, Dims: []int{1}, Float: 8}} {
		_, err := Synthetic(bad)
		wantError(t, err)
	}
}
