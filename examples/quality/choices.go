package main

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// judged is a choice among rows, judged on sets that had no part in it.
type judged struct {
	Choice     string  `json:"choice"`
	Candidates int     `json:"candidates"`
	Best       string  `json:"best"`      // the candidate of the highest mean ACC over all sets
	Main       score   `json:"main"`      // mean of the main row over all sets
	BestMean   score   `json:"best_mean"` // mean of Best over the sets that it was chosen on
	LeftOut    score   `json:"left_out"`  // mean over sets of the candidate chosen on the sets of other families
	Spread     float64 `json:"spread"`    // ACC of the best candidate less that of the worst
}

// judge judges every choice that there are candidates of in the rows, on the sets of a group.
func (r *results) judge(g group) []judged {
	var names []string
	for _, x := range r.rows {
		if x.choice != "" && !slices.Contains(names, x.choice) {
			names = append(names, x.choice)
		}
	}
	var out []judged
	for _, name := range names {
		out = append(out, r.judgeChoice(name, g))
	}
	return out
}

// judgeChoice chooses on the other families, for every set, and scores on the set. The main row is a candidate of every choice.
func (r *results) judgeChoice(name string, g group) judged {
	candidates := []int{r.find(mainRow)}
	for k, x := range r.rows {
		if x.choice == name {
			candidates = append(candidates, k)
		}
	}
	out := judged{Choice: name, Candidates: len(candidates)}
	best := r.best(candidates, g.sets)
	out.Best, out.Main, out.BestMean = r.rows[best].name, r.meanScore(candidates[0], g.sets), r.meanScore(best, g.sets)
	worst := out.BestMean.ACC
	for _, k := range candidates {
		worst = min(worst, r.mean(k, g.sets, metrics[0].of))
	}
	out.Spread = out.BestMean.ACC - worst
	var acc, nmi, ari []float64
	for _, i := range g.sets {
		family := familyOf(r.sets[i].Name)
		var others []int
		for _, j := range g.sets {
			if !slices.Contains(family, r.sets[j].Name) {
				others = append(others, j)
			}
		}
		if len(others) == 0 {
			others = g.sets
		}
		s := r.meanScore(r.best(candidates, others), []int{i})
		acc, nmi, ari = append(acc, s.ACC), append(nmi, s.NMI), append(ari, s.ARI)
	}
	out.LeftOut = score{ACC: stat.Mean(acc, nil), NMI: stat.Mean(nmi, nil), ARI: stat.Mean(ari, nil)}
	return out
}

// best returns the candidate of the highest mean ACC over the sets, the first of equals.
func (r *results) best(candidates, chosen []int) int {
	best, most := -1, 0.0
	for _, k := range candidates {
		if m := r.mean(k, chosen, metrics[0].of); best < 0 || m > most {
			best, most = k, m
		}
	}
	return best
}

func (r *results) meanScore(row int, chosen []int) score {
	return score{
		ACC: r.mean(row, chosen, metrics[0].of), NMI: r.mean(row, chosen, metrics[1].of),
		ARI: r.mean(row, chosen, metrics[2].of),
	}
}
