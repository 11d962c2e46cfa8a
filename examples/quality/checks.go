package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/examples/internal/sets"
)

// What is asked of the default preset: means of ACC, NMI and ARI over groups of sets, and what training adds to them.
var (
	wantMeans = []struct {
		group string
		means [3]float64
	}{{elevenName, [3]float64{77.5, 71.5, 66}}, {seventeenName, [3]float64{66.8, 0, 0}}}
	wantGain = [3]float64{1, 1.5, 1.5}
)

const (
	wantLarge   = 82 // ACC on mnist3v
	largeName   = "mnist3v"
	wantSign    = 0.01 // p of the sign test of trained against its start
	wantLeftOut = 0.7  // points of ACC that a choice of constants may lose on sets that had no part in it
	mostBelow   = 1    // sets on which it is more than belowBy points of ACC below the joint k-means
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
	for _, w := range wantMeans {
		g, ok := r.groupNamed(w.group)
		if !ok {
			continue
		}
		got := r.meanScore(main, g.sets)
		add(
			got.ACC >= w.means[0] && got.NMI >= w.means[1] && got.ARI >= w.means[2],
			"mean over the %s sets at least %g / %g / %g: %.2f / %.2f / %.2f",
			w.group, w.means[0], w.means[1], w.means[2], got.ACC, got.NMI, got.ARI,
		)
	}
	if g, ok := r.groupNamed(allName); ok {
		if t, ok := r.trained(g); ok {
			add(
				t.Gain.ACC >= wantGain[0] && t.Gain.NMI >= wantGain[1] && t.Gain.ARI >= wantGain[2],
				"training adds at least %g / %g / %g to its start: %+.2f / %+.2f / %+.2f",
				wantGain[0], wantGain[1], wantGain[2], t.Gain.ACC, t.Gain.NMI, t.Gain.ARI,
			)
			add(
				len(t.Harmed) == 0,
				"training takes more than %g points of ACC and of NMI from no set: %d (%s)",
				harmBy, len(t.Harmed), strings.Join(t.Harmed, ", "),
			)
			add(
				t.P < wantSign,
				"sign test of trained against its start below %g: better on %d, worse on %d, p = %.4f",
				wantSign, t.Better, t.Worse, t.P,
			)
		}
		for _, j := range r.judge(g) {
			add(
				j.LeftOut.ACC >= j.BestMean.ACC-wantLeftOut,
				"%s: chosen on other sets within %g points of chosen on all: %.2f and %.2f",
				j.Choice, wantLeftOut, j.LeftOut.ACC, j.BestMean.ACC,
			)
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
		add(
			below <= mostBelow,
			"more than %d points below the joint k-means on at most %d set: %d of %d",
			belowBy, mostBelow, below, len(known),
		)
	}
	if peers > 0 {
		add(above >= fewestAbove, "above the best peer on at least %d of nine sets: %d of %d", fewestAbove, above, peers)
	}
	if wide, of := r.spreads(); of > 0 {
		text := fmt.Sprintf(
			"standard deviation of ACC over draws at most 2 points on sets of 500 samples and more: %d of %d above",
			len(wide), of,
		)
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
