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
		done = "were given by a trained model"
	}
	sizes := make([]int, len(p.Rows))
	for k, row := range p.Rows {
		sizes[k] = row.Size
	}
	say("%s, seen in %s, %s into %s of %s to %s.", plural(p.Samples, "sample"), plural(len(r.views), "view"), done,
		plural(r.clusters(), "cluster"), thousands(slices.Min(sizes)), plural(slices.Max(sizes), "sample"))
	low := shareBelow(sure.confidence, lowConfidence)
	if j := r.structure.Judgement; j == score.StructureClear || j == score.StructureUnknown {
		p.sayConfidence(low, say)
	}
	if r.structure.Judgement == score.StructureClear {
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
	if r.structure.Judgement != score.StructureNone {
		p.compareViews(r, say)
	}
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
	if p.Silhouette != nil && *p.Silhouette < weakSilhouette {
		warn("The mean silhouette is %s: the clusters hardly stand apart.", fixed(*p.Silhouette))
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
	lowConfidence  = 0.2
	muchLow        = 0.25
	weakSilhouette = 0.1
	muchNovel      = 0.25
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

// compareViews says which view tells the clusters best, and which least.
func (p *page) compareViews(r *result, say func(string, ...any)) {
	if p.Effects == nil || len(r.views) < 2 {
		return
	}
	best, worst := -1, -1
	for v, x := range p.Effects.Overall {
		if math.IsNaN(x) {
			continue
		}
		if best < 0 || x > p.Effects.Overall[best] {
			best = v
		}
		if worst < 0 || x < p.Effects.Overall[worst] {
			worst = v
		}
	}
	if best != worst {
		say("Of the views alone, %s tells the clusters best (%s of the samples are nearest to their own cluster's "+
			"mean in it), %s "+
			"least (%s).", r.views[best], percent(p.Effects.Overall[best]), r.views[worst], percent(p.Effects.Overall[worst]))
	}
}
