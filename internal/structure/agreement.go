package structure

import "github.com/largemvc/largemvc/score"

// half holds the labels by the clusters of one half.
type half struct {
	within, others []int // the rows of the half, and the other rows
	labels, placed []int // of both
}

// Agreed compares labels of the rows with the clusters of the halves.
type Agreed struct {
	// Share is the share of the clusterings of other rows that give a row the cluster which corresponds to its label.
	Share []float64
	// Chance is the mean share if the labels of the rows were exchanged at random.
	Chance float64
}

// Judged reports whether there are figures and clusters of halves.
func (r *Result) Judged() bool { return len(r.trials) > 0 }

// Agree compares labels of the rows that Judge was given. Each cluster of a half corresponds to the label with which it shares
// most rows, one to one. The rows of the half determine the correspondence; the other rows are compared. Agree returns nil if
// nothing was judged, and for more clusters than score matches.
func (r *Result) Agree(labels []int) *Agreed {
	if !r.Judged() {
		return nil
	}
	out := &Agreed{Share: make([]float64, len(labels))}
	for _, t := range r.trials {
		for _, h := range t.halves {
			to, err := corresponding(pick(labels, h.within), h.labels)
			if err != nil {
				return nil
			}
			given, of := map[int]int{}, map[int]int{} // numbers of rows, by label
			for k, i := range h.others {
				l, ok := to[h.placed[k]]
				of[labels[i]]++
				if !ok {
					continue
				}
				given[l]++
				if l == labels[i] {
					out.Share[i] += 1 / float64(len(r.trials))
				}
			}
			pairs := 0
			for l, count := range of {
				pairs += count * given[l]
			}
			n := float64(len(h.others))
			out.Chance += float64(pairs) / (n * n) / float64(2*len(r.trials))
		}
	}
	return out
}

// corresponding returns the label that each cluster corresponds to.
func corresponding(labels, clusters []int) (map[int]int, error) {
	table, err := score.NewContingency(labels, clusters)
	if err != nil {
		return nil, err
	}
	return table.Match()
}

func pick(x, rows []int) []int {
	out := make([]int, len(rows))
	for k, i := range rows {
		out[k] = x[i]
	}
	return out
}
