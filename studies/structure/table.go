package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/largemvc/largemvc/score"
)

// group is the outcomes of one name.
type group struct {
	name string
	of   []outcome
}

// groups returns the outcomes by name, in their order.
func groups(all []outcome) (out []group) {
	for _, o := range all {
		k := slices.IndexFunc(out, func(g group) bool { return g.name == o.name })
		if k < 0 {
			k, out = len(out), append(out, group{name: o.name})
		}
		out[k].of = append(out[k].of, o)
	}
	return out
}

// share returns the part of outcomes with a judgement, in percent.
func (g group) share(j score.Judgement) string {
	count := 0
	for _, o := range g.of {
		if o.result.Judgement == j {
			count++
		}
	}
	return fmt.Sprintf("%.0f", 100*float64(count)/float64(len(g.of)))
}

// excess returns the quantile of Excess.
func (g group) excess(share float64) float64 {
	var x []float64
	for _, o := range g.of {
		x = append(x, o.result.Excess)
	}
	slices.Sort(x)
	return x[int(share*float64(len(x)-1)+0.5)]
}

// seconds returns the mean time of a judgement.
func (g group) seconds() float64 {
	var sum time.Duration
	for _, o := range g.of {
		sum += o.took
	}
	return sum.Seconds() / float64(len(g.of))
}

// printTable prints the shares of judgements.
func printTable(w io.Writer, all []outcome) {
	fmt.Fprintln(w, "| data | draws | none % | weak % | clear % | excess: 5 %, median, 95 % | seconds | "+
		"NMI of a fit | seconds of a fit | share of a fit % |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, g := range groups(all) {
		nmi, fit, share := "", "", ""
		if first := g.of[0]; !first.absent {
			nmi, fit = fmt.Sprintf("%.0f", 100*first.nmi), fmt.Sprintf("%.2f", first.fit.Seconds())
			share = fmt.Sprintf("%.0f", 100*g.seconds()/first.fit.Seconds())
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %.1f, %.1f, %.1f | %.2f | %s | %s | %s |\n",
			g.name, len(g.of),
			g.share(score.StructureNone), g.share(score.StructureWeak), g.share(score.StructureClear),
			g.excess(.05), g.excess(.5), g.excess(.95),
			g.seconds(), nmi, fit, share)
	}
}

// printAgreement prints the least and the largest agreement of views, and which judgements are not none.
func printAgreement(w io.Writer, all []outcome) {
	least, most, found := math.Inf(1), math.Inf(-1), 0
	for _, o := range all {
		if o.views > 1 {
			least, most = min(least, o.result.Data.Agreement), max(most, o.result.Data.Agreement)
		}
		if o.result.Judgement != score.StructureNone {
			found++
		}
	}
	fmt.Fprintf(w, "\nagreement of views %.3f to %.3f; %d of %d judgements are weak or clear\n", least, most, found, len(all))
}

// printLeftOut prints, for each kind of noise, the least excess that one draw in a hundred of the other kinds passes, and how
// many draws of the kind left out pass it.
func printLeftOut(w io.Writer, all []outcome) {
	fmt.Fprintln(w, "\n| left out | least excess of the others | its draws above, % |\n|---|---|---|")
	noise := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.planted })
	for _, g := range groups(noise) {
		var others []float64
		for _, o := range noise {
			if o.name != g.name {
				others = append(others, passes(o))
			}
		}
		if len(others) == 0 {
			return
		}
		slices.Sort(others)
		least := others[len(others)-1-len(others)/100]
		above := 0
		for _, o := range g.of {
			if passes(o) > least {
				above++
			}
		}
		fmt.Fprintf(w, "| %s | %.2f | %.0f |\n", g.name, least, 100*float64(above)/float64(len(g.of)))
	}
}

// passes returns the excess, 0 where the rows are judged to be a curve or a surface whatever their excess.
func passes(o outcome) float64 {
	if o.result.Curved() {
		return 0
	}
	return o.result.Excess
}
