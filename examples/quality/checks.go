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
	return slices.Concat(r.checkMeans(), r.checkTraining(), r.checkOthers(), r.checkSpread(), r.checkLarge())
}

func checked(met bool, format string, args ...any) check {
	return check{fmt.Sprintf(format, args...), met}
}

// checkMeans compares the mean scores over groups of sets with wantMeans.
func (r *results) checkMeans() (out []check) {
	main := r.find(mainRow)
	for _, w := range wantMeans {
		g, ok := r.groupNamed(w.group)
		if !ok {
			continue
		}
		got := r.meanScore(main, g.sets)
		out = append(out, checked(
			got.ACC >= w.means[0] && got.NMI >= w.means[1] && got.ARI >= w.means[2],
			"mean over the %s sets at least %g / %g / %g: %.2f / %.2f / %.2f",
			w.group, w.means[0], w.means[1], w.means[2], got.ACC, got.NMI, got.ARI,
		))
	}
	return out
}

// checkTraining compares training with its start, and the choices of constants with choices made on other sets.
func (r *results) checkTraining() (out []check) {
	g, ok := r.groupNamed(allName)
	if !ok {
		return nil
	}
	if t, ok := r.trained(g); ok {
		out = append(out, checked(
			t.Gain.ACC >= wantGain[0] && t.Gain.NMI >= wantGain[1] && t.Gain.ARI >= wantGain[2],
			"training adds at least %g / %g / %g to its start: %+.2f / %+.2f / %+.2f",
			wantGain[0], wantGain[1], wantGain[2], t.Gain.ACC, t.Gain.NMI, t.Gain.ARI,
		))
		out = append(out, checked(
			len(t.Harmed) == 0,
			"training takes more than %g points of ACC and of NMI from no set: %d (%s)",
			harmBy, len(t.Harmed), strings.Join(t.Harmed, ", "),
		))
		out = append(out, checked(
			t.P < wantSign,
			"sign test of trained against its start below %g: better on %d, worse on %d, p = %.4f",
			wantSign, t.Better, t.Worse, t.P,
		))
	}
	for _, j := range r.judge(g) {
		out = append(out, checked(
			j.LeftOut.ACC >= j.BestMean.ACC-wantLeftOut,
			"%s: chosen on other sets within %g points of chosen on all: %.2f and %.2f",
			j.Choice, wantLeftOut, j.LeftOut.ACC, j.BestMean.ACC,
		))
	}
	return out
}

// checkOthers counts the sets on which the default preset is below the joint k-means and above the best peer.
func (r *results) checkOthers() (out []check) {
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
		out = append(out, checked(
			below <= mostBelow,
			"more than %d points below the joint k-means on at most %d set: %d of %d",
			belowBy, mostBelow, below, len(known),
		))
	}
	if peers > 0 {
		out = append(out, checked(
			above >= fewestAbove,
			"above the best peer on at least %d of nine sets: %d of %d", fewestAbove, above, peers,
		))
	}
	return out
}

// checkSpread compares the deviations of ACC over draws with 2 points.
func (r *results) checkSpread() []check {
	wide, of := r.spreads()
	if of == 0 {
		return nil
	}
	text := fmt.Sprintf(
		"standard deviation of ACC over draws at most 2 points on sets of 500 samples and more: %d of %d above",
		len(wide), of,
	)
	for _, s := range wide {
		text += fmt.Sprintf(", %s %.1f", s.set, s.std)
	}
	return []check{{text, len(wide) == 0}}
}

// checkLarge compares ACC on the largest set with wantLarge.
func (r *results) checkLarge() []check {
	k := slices.IndexFunc(r.sets, func(d *sets.Set) bool { return d.Name == largeName })
	if k < 0 {
		return nil
	}
	got := r.cell(r.find(mainRow), k, metrics[0].of).Mean
	return []check{checked(got >= wantLarge, "ACC on %s at least %d: %.1f", largeName, wantLarge, got)}
}
