// Command known measures the gain from a few known labels. It compares the classes that a fit with Config.Known gives to the
// samples without a known label, logistic regression on the same known labels, and the clusters of the same fit, named by these
// labels.
//
//	go run -C studies ./known -data FOLDER,FOLDER -only webkb,cora -draws 3
//
// A draw is an order of the rows, a seed and a choice of known labels. Scores are over the samples without a known label, and
// equal class names mean equal classes. The command prints the mean over draws for each set and number of known labels, then the
// mean over sets.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/score"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

func main() { work.Main("known", run) }

// knownStream separates the choice of known labels from other draws with the same number.
const knownStream = 0x6b6e6f77

// amount is the number of known labels: a number for each class, or a share of all samples.
type amount struct {
	perClass int
	share    float64 // 0: perClass counts
}

// String returns the number, or the share in percent.
func (a amount) String() string {
	if a.share > 0 {
		return fmt.Sprintf("%g %%", 100*a.share)
	}
	return fmt.Sprint(a.perClass)
}

// amounts reads a list such as 1,3,5 %.
func amounts(text string) (out []amount, err error) {
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if number, ok := strings.CutSuffix(part, "%"); ok {
			x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || !(x > 0 && x < 100) {
				return nil, fmt.Errorf("the share %q is not between 0 and 100 %%", part)
			}
			out = append(out, amount{share: x / 100})
			continue
		}
		r, err := strconv.Atoi(part)
		if err != nil || r < 1 {
			return nil, fmt.Errorf("the number of labels %q is not at least 1", part)
		}
		out = append(out, amount{perClass: r})
	}
	return out, nil
}

// choose returns the labels, with −1 for unknown ones. It keeps at most half of the samples of a class.
func (a amount) choose(labels []int, classes, draw int) []int {
	r := rand.New(rand.NewPCG(uint64(draw), knownStream))
	size, taken := make([]int, classes), make([]int, classes)
	for _, l := range labels {
		size[l]++
	}
	out := slices.Repeat([]int{-1}, len(labels))
	order := r.Perm(len(labels))
	if a.share > 0 {
		for _, i := range order[:max(2, int(math.Round(a.share*float64(len(labels)))))] {
			out[i] = labels[i]
		}
		return out
	}
	for _, i := range order {
		if l := labels[i]; taken[l] < min(a.perClass, size[l]/2) {
			taken[l]++
			out[i] = l
		}
	}
	return out
}

// figures are the scores of one method: accuracy, macro-F1, NMI.
type figures [3]float64

func (f *figures) add(g figures, weight float64) {
	for k := range f {
		f[k] += weight * g[k]
	}
}

// outcome has the figures of a set, or of all, for a number of known labels.
type outcome struct {
	name                     string
	of                       amount
	classes, clusters, rival figures
	fresh                    figures // classes of new samples
	confidence               float64 // mean confidence of classes without a known label
}

// study holds the values of the flags.
type study struct {
	data, only, known string
	draws, limit      int
	fresh, missing    float64
	weight            float64
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s study
	f := flag.NewFlagSet("known", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.data, "data", "", "files and folders of sets with labels, separated by commas")
	f.StringVar(&s.only, "only", "", "names of the sets, separated by commas; default all")
	f.StringVar(&s.known, "known", "1,3,5,10,5%", "numbers of known labels for each class, or shares of all samples")
	f.IntVar(&s.draws, "draws", 3, "number of draws of each set")
	f.IntVar(&s.limit, "limit", 3000, "largest number of samples of a set; a larger set loses the last ones of each draw")
	f.Float64Var(&s.fresh, "new", 0, "share of the samples that are left out of the fit and labelled afterwards")
	f.Float64Var(&s.weight, "weight", 0, "weight of the known labels in the loss (Config.Neighborhood.KnownWeight)")
	f.Float64Var(&s.missing, "missing", 0, "share of the view rows that are removed from the fit and from new samples")
	if err := f.Parse(args); err != nil {
		return err
	}
	list, err := amounts(s.known)
	if err != nil {
		return err
	}
	found, err := sets.OpenAll(ctx, sets.Choice{Path: s.data, Only: s.only, Warn: stderr})
	if err != nil {
		return err
	}
	means := make([]outcome, len(list))
	fmt.Fprintln(stdout, head)
	for _, d := range found {
		for k, a := range list {
			o, err := s.set(ctx, d, a)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			fmt.Fprintln(stdout, o)
			share := 1 / float64(len(found))
			means[k].name, means[k].of = "mean", a
			means[k].classes.add(o.classes, share)
			means[k].clusters.add(o.clusters, share)
			means[k].rival.add(o.rival, share)
			means[k].fresh.add(o.fresh, share)
			means[k].confidence += share * o.confidence
		}
	}
	for _, o := range means {
		fmt.Fprintln(stdout, o)
	}
	return nil
}

// head begins the table.
const head = "| set | known | classes ACC | F1 | NMI | mean confidence | clusters, named: ACC | NMI | logistic regression ACC | F1 | new ACC |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|"

// String returns a row of the table, in percent.
func (o outcome) String() string {
	fresh := "–"
	if o.fresh[0] > 0 {
		fresh = fmt.Sprintf("%.1f", 100*o.fresh[0])
	}
	return fmt.Sprintf("| %s | %v | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %s |", o.name, o.of,
		100*o.classes[0], 100*o.classes[1], 100*o.classes[2], 100*o.confidence, 100*o.clusters[0], 100*o.clusters[2],
		100*o.rival[0], 100*o.rival[1], fresh)
}

// set returns the mean over draws of a set.
func (s *study) set(ctx context.Context, d *sets.Set, a amount) (outcome, error) {
	out := outcome{name: d.Name, of: a}
	share := 1 / float64(s.draws)
	first := make([]int, d.N)
	for i := range first {
		first[i] = i
	}
	for draw := range s.draws {
		x := d.InOrder(draw)
		if x.N > s.limit {
			x = x.Pick(first[:s.limit])
		}
		var later *sets.Set // samples that are left out of the fit
		if s.fresh > 0 {
			count := int(s.fresh * float64(x.N))
			x, later = x.Pick(first[:x.N-count]), x.Pick(first[x.N-count:x.N])
		}
		given := a.choose(x.Labels, d.Classes, draw)
		views, err := s.without(x, draw)
		if err != nil {
			return out, err
		}
		c, err := largemvc.Fit(ctx, views, largemvc.Config{
			Clusters: d.Classes, Seed: uint64(draw), Known: given, NoStructure: true,
			Neighborhood: largemvc.Neighborhood{KnownWeight: s.weight},
		})
		if err != nil {
			return out, err
		}
		named := make([]int, x.N)
		confidence, count := 0.0, 0.0
		for i, k := range c.Labels {
			named[i] = c.Classes.Clusters[k]
			if given[i] < 0 && c.Classes.Confidence != nil {
				confidence, count = confidence+c.Classes.Confidence[i], count+1
			}
		}
		out.confidence += share * confidence / max(count, 1)
		if later != nil {
			f, err := s.later(ctx, c, later, draw)
			if err != nil {
				return out, err
			}
			out.fresh.add(f, share)
		}
		rival, err := logistic(x, given)
		if err != nil {
			return out, err
		}
		for _, m := range []struct {
			to     *figures
			labels []int
		}{{&out.classes, c.Classes.Labels}, {&out.clusters, named}, {&out.rival, rival}} {
			f, err := scores(x.Labels, m.labels, given)
			if err != nil {
				return out, err
			}
			m.to.add(f, share)
		}
	}
	return out, nil
}

// without returns the views of a set with some rows removed.
func (s *study) without(d *sets.Set, draw int) ([]largemvc.View, error) {
	if s.missing == 0 {
		return d.Views, nil
	}
	present, err := dataset.Drop(d.N, len(d.Views), s.missing, uint64(draw))
	if err != nil {
		return nil, err
	}
	return d.Masked(present), nil
}

// later scores the classes of samples that were left out of a fit.
func (s *study) later(ctx context.Context, c *largemvc.Clustering, d *sets.Set, draw int) (out figures, err error) {
	views, err := s.without(d, draw)
	if err != nil {
		return out, err
	}
	found, err := c.Classify(ctx, views)
	if err != nil {
		return out, err
	}
	return scores(d.Labels, found.Labels, slices.Repeat([]int{-1}, d.N))
}

// scores compares labels with the true ones, for the samples without a known label.
func scores(truth, labels, given []int) (out figures, err error) {
	var a, b []int
	for i := range truth {
		if given[i] < 0 {
			a, b = append(a, truth[i]), append(b, labels[i])
		}
	}
	right, size, found, hits := 0.0, map[int]float64{}, map[int]float64{}, map[int]float64{}
	for i := range a {
		size[a[i]]++
		found[b[i]]++
		if a[i] == b[i] {
			right++
			hits[a[i]]++
		}
	}
	out[0] = right / float64(len(a))
	for _, class := range slices.Sorted(slices.Values(a)) {
		out[1] += 2 * hits[class] / (size[class] + found[class]) / size[class] / float64(len(size))
	}
	table, err := score.NewContingency(a, b)
	if err != nil {
		return out, err
	}
	out[2] = table.NMI(score.NMIArithmetic)
	return out, nil
}
