package main

import (
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/examples/internal/sets"
)

// What is asked of the default preset.
var (
	wantMeans = []float64{77, 70, 64} // of ACC, NMI, ARI, over the smaller sets
	wantGains = []struct {            // of ACC, over the smaller sets, against
		row  string
		gain float64
	}{{"default, untrained", 1.5}, {"default, reconstruction alone", 1.5}, {"default, no network", 1}}
)

const (
	wantLarge   = 78 // ACC on mnist3v
	largeName   = "mnist3v"
	mostBelow   = 1 // sets on which it is more than belowBy points of ACC below the joint k-means
	belowBy     = 2
	fewestAbove = 7 // sets on which it is above the best peer, of the nine that have one
)

// checks compares the results with what is asked, as far as the sets are here.
func (r *results) checks() []check {
	var out []check
	add := func(met bool, format string, args ...any) {
		out = append(out, check{fmt.Sprintf(format, args...), met})
	}
	main := r.find(mainRow)
	if g := r.groups()[0]; len(g.sets) == len(smallSets) {
		for k, m := range metrics {
			got := r.mean(main, g.sets, m.of)
			add(got >= wantMeans[k], "mean %s over the eleven smaller sets at least %g: %.2f", m.name, wantMeans[k], got)
		}
		for _, w := range wantGains {
			if k := r.find(w.row); k >= 0 {
				p := r.pair(k, g)
				add(p.Mean >= w.gain, "ACC above that of “%s” by at least %g points on average: %+.2f "+
					"(better on %d, worse on %d; p = %.3f)", w.row, w.gain, p.Mean, p.Wins, p.Losses, p.P)
			}
		}
	}
	below, above, peers := 0, 0, 0
	known := r.known()
	for _, b := range known {
		if b.ACC < b.KMeans-belowBy {
			below++
		}
		if b.Peer > 0 {
			peers++
			if b.ACC > b.Peer {
				above++
			}
		}
	}
	if len(known) > 0 {
		add(below <= mostBelow, "more than %d points below the joint k-means on at most %d set: %d of %d",
			belowBy, mostBelow, below, len(known))
	}
	if peers > 0 {
		add(above >= fewestAbove, "above the best peer on at least %d of nine sets: %d of %d", fewestAbove, above, peers)
	}
	if wide, of := r.spreads(); of > 0 {
		text := fmt.Sprintf("standard deviation of ACC over seeds at most 2 points on sets of 500 samples "+
			"and more: %d of %d above", len(wide), of)
		for _, s := range wide {
			text += fmt.Sprintf(", %s %.1f", s.set, s.std)
		}
		add(len(wide) == 0, "%s", text)
	}
	if k := slices.IndexFunc(r.sets, func(d *sets.Set) bool { return d.Name == largeName }); k >= 0 {
		got := r.cell(main, k, metrics[0].of).Mean
		add(got >= wantLarge, "ACC on %s at least %d: %.1f", largeName, wantLarge, got)
	}
	return out
}
