package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/score"
)

// summarise says in a few sentences what was found, and what to beware of.
func (p *page) summarise(r *result, o *Options, sure *certainty) {
	say := func(format string, args ...any) { p.Summary = append(p.Summary, fmt.Sprintf(format, args...)) }
	warn := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	p.judge(r, say, warn)
	done := "were grouped"
	if r.predicted {
		done = "were put by a trained model"
	}
	sizes := make([]int, len(p.Rows))
	for k, row := range p.Rows {
		sizes[k] = row.Size
	}
	say("%s, seen in %s, %s into %s of %s.", plural(p.Samples, "sample"), plural(len(r.views), "view"), done,
		plural(r.clusters(), "cluster"), between(sizes))
	low := shareBelow(sure.confidence, lowConfidence)
	if r.structure.Judgement == score.StructureClear {
		p.sayConfidence(low, say)
		p.compareClusters(say)
	}
	p.sayOutliers(say)
	if p.Novelty != nil {
		say("%s of the samples are farther from the training than 95 %% of its own samples; of samples like those it "+
			"would be 5 %%.",
			percent(p.Novel))
		if p.Novel >= muchNovel {
			warn("Many samples are not like those of the training: their labels say little.")
		}
	}
	if p.Classes != nil {
		say("Against the %s that are known, the clusters have an accuracy of %s (each cluster matched to one class), "+
			"an NMI of %s "+
			"and an adjusted Rand index of %s. The classes had no part in the clustering.", plural(p.Classes.Count, "class"),
			percent(p.Classes.ACC), percent(p.Classes.NMI), percent(p.Classes.ARI))
	}
	p.sayFeatures(say)
	p.warn(r, low, warn)
}

// warn says what speaks against the clusters.
func (p *page) warn(r *result, low float64, warn func(string, ...any)) {
	if r.clusters() < r.asked {
		warn("%s were asked for, %d were found: the representation has no more distinct rows.", plural(r.asked, "cluster"),
			r.clusters())
	}
	if !r.finished {
		warn("The training did not come to its end (%s): this is the state after %s.", r.status, plural(r.epochs, "epoch"))
	}
	if r.epochs == 0 {
		warn("The network was not trained: this is its start.")
	}
	if low > muchLow {
		where := "lie nearly between two clusters"
		if p.Calibrated {
			where = "have labels that are hardly found again among other samples"
		}
		warn("%s of the samples %s: another number of clusters may suit the data better.", percent(low), where)
	}
}

// judge begins with what there is to find, where that is known.
func (p *page) judge(r *result, say, warn func(string, ...any)) {
	s := r.structure
	figures := fmt.Sprintf("clusters of one half of the samples agree with those of the other half to %s, clusters of "+
		"noise to %s; 0 is chance, 1 equal", fixed(s.Stability), fixed(s.NullStability))
	switch s.Judgement {
	case score.StructureNone:
		say("The samples have no clusters that noise with the same spread would not have: %s.", figures)
		warn("Do not read anything into the clusters below: noise would have such clusters, too.")
	case score.StructureWeak:
		say("The samples have weak clusters: %s. There are no clear gaps between them.", figures)
	case score.StructureClear:
		say("The samples have clear clusters: %s.", figures)
	}
}

const (
	lowConfidence = 0.2
	muchLow       = 0.25
	muchNovel     = 0.25
)

// sayConfidence says how sure the labels are.
func (p *page) sayConfidence(low float64, say func(string, ...any)) {
	ends := "0: between two clusters, 1: in the middle of one"
	if p.Calibrated {
		ends = "0: the label is found again no more often than by chance, 1: always"
	}
	say("Half of the samples have a confidence of at least %s (%s); %s have less than %g.", fixed(p.Median), ends, percent(low),
		lowConfidence)
}

// compareClusters names the clusters that stand out for being sure or not.
func (p *page) compareClusters(say func(string, ...any)) {
	best, worst := -1, -1
	for k, row := range p.Rows {
		if math.IsNaN(row.Confidence) {
			continue
		}
		if best < 0 || row.Confidence > p.Rows[best].Confidence {
			best = k
		}
		if worst < 0 || row.Confidence < p.Rows[worst].Confidence {
			worst = k
		}
	}
	if best != worst {
		say("Cluster %d stands apart most clearly (mean confidence %s), cluster %d least (%s).", best,
			fixed(p.Rows[best].Confidence), worst, fixed(p.Rows[worst].Confidence))
	}
}

// sayFeatures says how many features distinguish clusters, and which view does it best and least.
func (p *page) sayFeatures(say func(string, ...any)) {
	if !p.Tested() {
		return
	}
	distinct := map[[2]int]bool{}
	for _, f := range p.Importance.Features {
		distinct[[2]int{f.View, f.Column}] = true
	}
	verb := "distinguish"
	if len(distinct) == 1 {
		verb = "distinguishes"
	}
	say("%s %s at least one cluster from the others, in samples that had no part in finding it, and without the feature itself.",
		plural(len(distinct), "feature"), verb)
	views := p.Importance.Views
	best, worst := -1, -1
	for v, x := range views {
		if math.IsNaN(x.Agreement) {
			continue
		}
		if best < 0 || x.Agreement > views[best].Agreement {
			best = v
		}
		if worst < 0 || x.Agreement < views[worst].Agreement {
			worst = v
		}
	}
	if best != worst {
		say("Of the views, %s distinguishes the clusters best (agreement %s; 0 is chance, 1 equal), %s least (%s).",
			views[best].Name, fixed(views[best].Agreement), views[worst].Name, fixed(views[worst].Agreement))
	}
}

// between is the range of some numbers of samples.
func between(sizes []int) string {
	most := plural(slices.Max(sizes), "sample")
	if least := slices.Min(sizes); least < slices.Max(sizes) {
		return thousands(least) + " to " + most
	}
	return most
}
