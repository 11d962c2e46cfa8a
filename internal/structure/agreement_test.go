package structure

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Labels of planted clusters agree with the halves, whatever their numbers are; labels at random agree by chance.
func TestAgree(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(3, 4)), 400, 4, 9, 40, 20)
	r, err := Judge(context.Background(), views, options(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.trials) == 0 {
		t.Fatal("nothing was judged")
	}
	labels := make([]int, 400)
	h := r.trials[0].halves[0]
	for k, i := range h.within {
		labels[i] = 7 - 2*h.labels[k]
	}
	for k, i := range h.others {
		labels[i] = 7 - 2*h.placed[k]
	}
	got := r.Agree(labels)
	if slices.Min(got.Share) < 0.5 || mean(got.Share) < 0.98 || math.Abs(got.Chance-0.25) > 0.05 {
		t.Errorf("shares from %g, mean %g, chance %g", slices.Min(got.Share), mean(got.Share), got.Chance)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range labels {
		labels[i] = rng.IntN(4)
	}
	if got = r.Agree(labels); math.Abs(mean(got.Share)-got.Chance) > 0.05 {
		t.Errorf("labels at random have the mean share %g, chance %g", mean(got.Share), got.Chance)
	}
	if got := (&Result{}).Agree(labels); got != nil {
		t.Errorf("%+v without a judgement", got)
	}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, y := range x {
		sum += y / float64(len(x))
	}
	return sum
}
