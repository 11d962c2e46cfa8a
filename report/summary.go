package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/score"
)

// summarise adds the sentences of the summary and the warnings.
func (p *page) summarise(r *result, o *Options, sure *certainty) {
	say := func(format string, args ...any) { p.Summary = append(p.Summary, fmt.Sprintf(format, args...)) }
	warn := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	p.judge(r, say, warn)
	done := "were grouped into"
	if r.predicted {
		done = "were put by a trained model into"
	}
	sizes := make([]int, len(p.Rows))
	for k, row := range p.Rows {
		sizes[k] = row.Size
	}
	say("%s, seen in %s, %s %s of %s.", plural(p.Samples, "sample"), plural(len(r.views), "view"), done,
		plural(r.clusters(), "cluster"), between(sizes))
	low := shareBelow(sure.confidence, lowConfidence)
	if r.structure.Judgement == score.StructureClear {
		p.sayConfidence(low, say)
		p.compareClusters(say)
	}
	p.sayOutliers(say)
	if p.Novelty != nil {
		say("%s of the samples have a novelty above 0.95; 5 %% are to be expected.",
			percent(p.Novel))
		if p.Novel >= muchNovel {
			warn("Many samples are unlike the training samples: do not rely on their labels.")
		}
	}
	if p.Classes != nil {
		used := " The clustering did not use the classes."
		switch {
		case o.Start != "":
			used = " The initial clustering has the labels of " + o.Start + ": if they are the classes, the clusters used them."
		case r.predicted || r.predictor.Config().Neighborhood.KnownWeight > 0:
			used = ""
		}
		say("Compared with the %s of the labels, the clusters have an accuracy of %s (each cluster matched to one class), "+
			"an NMI of %s "+
			"and an adjusted Rand index of %s.%s", plural(p.Classes.Count, "class"),
			percent(p.Classes.ACC), percent(p.Classes.NMI), percent(p.Classes.ARI), used)
	}
	p.sayFeatures(say)
	p.warn(r, low, warn)
}

// warn adds the warnings about the clusters.
func (p *page) warn(r *result, low float64, warn func(string, ...any)) {
	if r.clusters() < r.asked {
		warn("You asked for %s, but the representation has only %d distinct rows.", plural(r.asked, "cluster"),
			r.clusters())
	}
	if !r.finished {
		warn("The training did not finish (%s): the clusters are those after %s.", r.status, plural(r.epochs, "epoch"))
	}
	if r.epochs == 0 {
		warn("The network was not trained: the clusters come from its initial state.")
	}
	if low > muchLow {
		where := "lie nearly between two clusters"
		if p.Calibrated {
			where = "have labels that clusters of other samples rarely give again"
		}
		warn("%s of the samples %s: another number of clusters may suit the data better.", percent(low), where)
	}
}

// judge adds the judgement of the structure, if there is one.
func (p *page) judge(r *result, say, warn func(string, ...any)) {
	s := r.structure
	figures := fmt.Sprintf("clusters of the two halves of the samples agree to %s, clusters of "+
		"noise to %s; 0 is chance, 1 equal", fixed(s.Stability), fixed(s.NullStability))
	switch s.Judgement {
	case score.StructureNone:
		say("The clusters are no better than clusters of noise with the same spread: %s.", figures)
		warn("Do not interpret the clusters below: noise would have such clusters, too.")
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

func (p *page) sayConfidence(low float64, say func(string, ...any)) {
	ends := "0: between two clusters, 1: in the middle of one"
	if p.Calibrated {
		ends = "0: the label is found again no more often than by chance, 1: always"
	}
	say("Half of the samples have a confidence of at least %s (%s); %s have less than %g.", fixed(p.Median), ends, percent(low),
		lowConfidence)
}

// compareClusters names the clusters of the highest and the lowest confidence.
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
		say("Cluster %d is found most reliably (mean confidence %s), cluster %d least reliably (%s).", best,
			fixed(p.Rows[best].Confidence), worst, fixed(p.Rows[worst].Confidence))
	}
}

// sayFeatures says how many features distinguish clusters, and which views distinguish them best and least.
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
	say("%s %s at least one cluster from the others. The tested samples and features were left out when the cluster was found.",
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

// between formats the range of the sizes.
func between(sizes []int) string {
	most := plural(slices.Max(sizes), "sample")
	if least := slices.Min(sizes); least < slices.Max(sizes) {
		return thousands(least) + " to " + most
	}
	return most
}
