package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/neighbor"
	"github.com/largemvc/largemvc/score"
)

// summary holds the summary that fit prints. A nil pointer is a number that does not exist: null in JSON.
type summary struct {
	structured
	important
	Samples       int     `json:"samples"`
	Views         int     `json:"views"`
	Dims          []int   `json:"dims"`
	MissingRate   float64 `json:"missing_rate"` // share of the view rows that are absent
	Classes       *int    `json:"classes"`
	Clusters      int     `json:"clusters"`       // asked for
	ClustersFound int     `json:"clusters_found"` // fewer where H has fewer distinct rows
	Anchors       int     `json:"anchors"`
	Layers        int     `json:"layers"`
	Epochs        int     `json:"epochs"` // done
	EpochsAsked   int     `json:"epochs_asked"`
	LearningRate  float64 `json:"learning_rate"`
	Variant       string  `json:"variant"`
	Activation    string  `json:"activation"`
	Preprocess    string  `json:"preprocess"`
	PlainReadOut  bool    `json:"plain_read_out"`

	// What the neighbours did; null without them.
	Neighbors      *int     `json:"neighbors"`       // k
	Landmarks      *int     `json:"landmarks"`       // where there are landmarks in place of k neighbours
	FilterSteps    *int     `json:"filter_steps"`    // 0: no smoothing
	NeighborWeight *float64 `json:"neighbor_weight"` // 0: none in the loss
	HeldOutWeight  *float64 `json:"held_out_weight"` // 0: none in the loss
	Picked         *picked  `json:"chosen"`          // null: the number of clusters was given
	Starts         []start  `json:"starts"`          // that -start careful compared; null: none
	starts         *choose.Starts
	StartFile      string   `json:"start_file"`    // whose labels are the initial clustering; "": none
	Kept           bool     `json:"kept"`          // whether they are the initial clusters
	StartScore     *float64 `json:"start_score"`   // by which the initial clusters and the clusters of the trained network
	TrainedScore   *float64 `json:"trained_score"` // were compared; null: they were not
	Inputs         []int    `json:"inputs"`        // columns of what the network sees of the views

	Reading *dataset.Reading `json:"reading"` // how the data were read
	Notes   []string         `json:"notes"`   // what the data do not support; null: nothing is known

	Seed        uint64 `json:"seed"`
	Restarts    int    `json:"restarts"`
	RestartKept int    `json:"restart_kept"` // from 0
	Float       int    `json:"float"`
	Status      string `json:"status"`
	Device      string `json:"device"`     // where it was trained
	DeviceWhy   string `json:"device_why"` // and why there

	LossFirst *float64 `json:"loss_first"`
	LossLast  *float64 `json:"loss_last"`
	LossNull  float64  `json:"loss_null"` // of H = 0: nothing is learned

	ReadSeconds     float64  `json:"read_seconds"`
	InitSeconds     float64  `json:"init_seconds"`      // preprocessing and first anchors
	TrainSeconds    float64  `json:"train_seconds"`     // all epochs of the run that is kept
	SecondsPerEpoch *float64 `json:"seconds_per_epoch"` // median
	FitSeconds      float64  `json:"fit_seconds"`       // all but reading
	PeakRSS         *float64 `json:"peak_rss_mb"`       // MiB, whole process

	ClusterSizes []int `json:"cluster_sizes"`

	Known *classified `json:"known"` // what came of -known; null without

	IDs    []string `json:"ids"`    // of the samples, in their order; null where the data have none
	Labels []int    `json:"labels"` // the cluster of each sample; with -outliers mark -1 for outliers

	Confidence  *float64  `json:"confidence"`  // median; null: not judged, or of several processes
	Confidences []float64 `json:"confidences"` // of the labels
	Outliers    []int     `json:"outliers"`    // samples that fit no cluster; null as above

	ACC      *float64 `json:"acc"`
	NMI      *float64 `json:"nmi"`
	ARI      *float64 `json:"ari"`
	Purity   *float64 `json:"purity"`
	StartACC *float64 `json:"start_acc"`
	StartNMI *float64 `json:"start_nmi"`
	StartARI *float64 `json:"start_ari"`
}

// structured is whether the samples have clusters; null: not judged.
type structured struct {
	Structure     score.Structure `json:"-"`
	Judgement     score.Judgement `json:"structure"`
	Stability     *float64        `json:"stability"`
	NullStability *float64        `json:"stability_null"`
	Border        *float64        `json:"border"`
	NullBorder    *float64        `json:"border_null"`
	Agreement     *float64        `json:"view_agreement"` // null for one view, too
	NullAgreement *float64        `json:"view_agreement_null"`
}

func newStructured(s score.Structure, views int) structured {
	out := structured{Structure: s, Judgement: s.Judgement}
	if s.Judgement == score.StructureUnknown {
		return out
	}
	out.Stability, out.NullStability = &s.Stability, &s.NullStability
	out.Border, out.NullBorder = &s.Border, &s.NullBorder
	if views > 1 {
		out.Agreement, out.NullAgreement = &s.Agreement, &s.NullAgreement
	}
	return out
}

// aboutLoss says the course of a loss less NullLoss.
const aboutLoss = "%.4g at the start, %.4g at the end; lower is better, 0 is the loss of H = 0"

// number returns x, or nil where it is NaN or infinite.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// median is the middle of some numbers, or the mean of the two in the middle; nil if there are none.
func median(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(x))
	return number((sorted[(len(x)-1)/2] + sorted[len(x)/2]) / 2)
}

// outliersOf returns the numbers of the outliers; nil if they are not known.
func outliersOf(c *largemvc.Clustering) []int {
	if c.Outlier == nil {
		return nil
	}
	out := []int{}
	for i, far := range c.Outlier {
		if far {
			out = append(out, i)
		}
	}
	return out
}

// peakMiB is the largest resident memory of the process, nil where it is not known.
func peakMiB() *float64 {
	bytes, ok := peakRSS()
	if !ok {
		return nil
	}
	return number(float64(bytes) / (1 << 20))
}

// newSummary gathers the summary and scores the clusters where the classes are known.
func newSummary(o *fitOptions, in *input, c *largemvc.Clustering, reading time.Duration) (*summary, error) {
	g := c.Config() // with every default filled in
	variant, activation := networkOf(&g)
	r := &summary{
		Samples: in.samples, Views: len(in.views), Dims: in.dims, MissingRate: in.missing, Clusters: g.Clusters,
		ClustersFound: c.Clusters, LearningRate: g.Optimizer.LearningRate,
		Anchors: g.Anchors, Layers: g.Layers, Epochs: c.Epochs, EpochsAsked: max(g.Epochs, 0),
		Variant: variant, Activation: activation.String(),
		Preprocess: g.Preprocess.String(), PlainReadOut: g.PlainReadOut, Seed: g.Seed,
		Restarts: g.Restarts, RestartKept: c.Restart, Kept: c.Kept,
		Float: bits(g.Float64), Status: c.Status.String(), Device: c.Ran.Device, DeviceWhy: c.Ran.Why,
		ReadSeconds: reading.Seconds(), InitSeconds: (c.Timings.Prepare + c.Timings.Start).Seconds(),
		TrainSeconds: c.Timings.Train.Seconds(), FitSeconds: c.Timings.Total.Seconds(), ClusterSizes: make([]int, c.Clusters),
	}
	for _, label := range c.Labels {
		r.ClusterSizes[label]++
	}
	r.Known = newClassified(c.Classes, o.classNames, in.ids)
	r.structured, r.Picked = newStructured(c.Structure, len(in.views)), o.picked
	r.important, r.Starts, r.starts, r.StartFile = o.important, newStarts(o.starts), o.starts, o.startFile()
	r.Reading, r.Notes, r.IDs, r.Labels = &in.reading, c.Notes, in.ids, o.marked(c)
	r.Confidence, r.Confidences, r.Outliers = median(c.Confidence), c.Confidence, outliersOf(c)
	for _, x := range c.Inputs() {
		r.Inputs = append(r.Inputs, x.Columns)
	}
	if c.StartScore != 0 || c.TrainedScore != 0 {
		r.StartScore, r.TrainedScore = number(c.StartScore), number(c.TrainedScore)
	}
	r.addNeighbors(&g)
	if len(c.Loss) > 0 {
		r.LossFirst, r.LossLast, r.LossNull = number(c.Loss[0]), number(c.Loss[len(c.Loss)-1]), c.NullLoss
	}
	if c.Epochs > 0 {
		r.SecondsPerEpoch = number(c.Timings.Epoch.Seconds())
	}
	r.PeakRSS = peakMiB()
	if in.labels == nil {
		return r, nil
	}
	r.Classes = &in.classes
	s, err := largemvc.Evaluate(in.labels, c.Labels)
	if err != nil {
		return nil, err
	}
	r.ACC, r.NMI, r.ARI, r.Purity = number(s.ACC), number(s.NMI), number(s.ARI), number(s.Purity)
	if c.StartLabels != nil {
		if s, err = largemvc.Evaluate(in.labels, c.StartLabels); err != nil {
			return nil, err
		}
		r.StartACC, r.StartNMI, r.StartARI = number(s.ACC), number(s.NMI), number(s.ARI)
	}
	return r, nil
}

// addNeighbors reports what the neighbours did, if there were any.
func (r *summary) addNeighbors(g *largemvc.Config) {
	if g.Neighborhood.Neighbors == largemvc.None {
		return
	}
	steps, weight, heldOut := max(g.Neighborhood.Steps, 0), max(g.Neighborhood.Weight, 0), max(g.Neighborhood.HeldOutWeight, 0)
	r.FilterSteps, r.NeighborWeight, r.HeldOutWeight = &steps, &weight, &heldOut
	if r.Samples <= max(g.Neighborhood.Exact, 1) {
		r.Neighbors = &g.Neighborhood.Neighbors
		return
	}
	landmarks := min(g.Neighborhood.Landmarks, r.Samples)
	if landmarks == 0 {
		landmarks = neighbor.DefaultLandmarks(r.Samples)
	}
	r.Landmarks = &landmarks
}

// neighbors says the same for people.
func (r *summary) neighbors() string {
	if r.FilterSteps == nil {
		return "none"
	}
	graph := ""
	if r.Landmarks != nil {
		graph = "by " + count(*r.Landmarks, "landmark")
	} else {
		graph = "up to " + count(*r.Neighbors, "nearest sample") + ", mutual"
	}
	if *r.FilterSteps > 0 {
		graph += fmt.Sprintf(", %s of smoothing", count(*r.FilterSteps, "step"))
	} else {
		graph += ", no smoothing"
	}
	if *r.NeighborWeight > 0 {
		graph += fmt.Sprintf(", weight %g", *r.NeighborWeight)
		graph += " in the loss"
	} else {
		graph += ", none in the loss"
	}
	if *r.HeldOutWeight > 0 {
		graph += fmt.Sprintf(", held-out information %g", *r.HeldOutWeight)
	}
	return graph
}

// print writes the report as one line of JSON or as a table.
func (r *summary) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	return r.table(w)
}

// table writes the report for people.
func (r *summary) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("structure", "%s", r.Structure)
	line("data", "%s", aboutSamples(r.Samples, r.Dims, r.MissingRate))
	line("network", "%s, %s, %s, activation %s", networkNames[r.Variant], count(r.Layers, "layer"), count(r.Anchors, "anchor"),
		r.Activation)
	line("preparation", "preprocessing %s, seed %d, float%d", r.Preprocess, r.Seed, r.Float)
	line("neighbours", "%s", r.neighbors())
	if r.FilterSteps != nil {
		line("inputs", "%s of %s columns", count(len(r.Inputs), "input"), join(r.Inputs, " + "))
	}
	line("training", "%d of %s (%s) on %v", r.Epochs, count(r.EpochsAsked, "epoch"), r.Status,
		machine.Ran{Device: r.Device, Why: r.DeviceWhy})
	if r.LossFirst != nil && r.LossLast != nil {
		line("loss", aboutLoss, *r.LossFirst-r.LossNull, *r.LossLast-r.LossNull)
	}
	training := fmt.Sprintf("%.3g s training", r.TrainSeconds)
	if r.SecondsPerEpoch != nil {
		training += fmt.Sprintf(" (%.3g s an epoch)", *r.SecondsPerEpoch)
	}
	line("time", "%.3g s reading, %.3g s preparation and first anchors, %s, %.3g s for the rest; %.3g s in total", r.ReadSeconds,
		r.InitSeconds, training, r.FitSeconds-r.InitSeconds-r.TrainSeconds, r.ReadSeconds+r.FitSeconds)
	if r.PeakRSS != nil {
		line("memory", "%.0f MiB at most", *r.PeakRSS)
	}
	r.aboutClusters(line)
	if r.ACC != nil {
		line("scores", "ACC %s, NMI %s, ARI %s, purity %s (%s)", percent(r.ACC), percent(r.NMI), percent(r.ARI),
			percent(r.Purity), count(*r.Classes, "class"))
	}
	if r.StartACC != nil {
		line("", "initial clustering: ACC %s, NMI %s, ARI %s", percent(r.StartACC), percent(r.StartNMI), percent(r.StartARI))
	}
	return t.Flush()
}

// aboutClusters writes the lines about the clusters.
func (r *summary) aboutClusters(line func(name, format string, args ...any)) {
	line("clusters", "%d of sizes %s", r.ClustersFound, join(r.ClusterSizes, ", "))
	if r.Picked != nil {
		line("", "%v", r.Picked)
	}
	if r.Starts != nil {
		line("start", "%v", r.starts)
	}
	if r.StartFile != "" {
		line("start", "the labels of %s", textfile.Printable(r.StartFile))
	}
	if r.Confidence != nil {
		of := ""
		if r.Judgement == score.StructureNone {
			of = ", of clusters that noise would have too"
		}
		line("confidence", "median %.2f (0: no more than chance, 1: always found again)%s", *r.Confidence, of)
	}
	if len(r.Outliers) > 0 {
		line("outliers", "%s far from nearly all others (-outliers mark gives them the label -1)",
			count(len(r.Outliers), "sample"))
	}
	if r.Kept {
		line("", "the initial clusters: their score (%.4g) is above the score after the training (%.4g)",
			*r.StartScore, *r.TrainedScore)
	}
	if r.ClustersFound < r.Clusters {
		line("", "fewer than the %d asked for: the representation has no more distinct rows", r.Clusters)
	}
	for i, text := range r.important.lines(r.ClustersFound) {
		line(map[bool]string{true: "features"}[i == 0], "%s", text)
	}
	for i, text := range r.Known.lines() {
		line(map[bool]string{true: "classes"}[i == 0], "%s", text)
	}
}

// aboutSamples describes a data set.
func aboutSamples(samples int, dims []int, missing float64) string {
	features := join(dims, " + ") + " features"
	if len(dims) == 1 {
		features = count(dims[0], "feature")
	}
	s := fmt.Sprintf("%s, %s, %s", count(samples, "sample"), count(len(dims), "view"), features)
	if missing > 0 {
		s += fmt.Sprintf(", %.1f %% of the view rows absent", 100*missing)
	}
	return s
}

// percent is a fraction in percent; a score that does not exist is a dash.
func percent(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100**x)
}

// count is textfile.Count.
func count(n int, thing string) string { return textfile.Count(n, thing) }

// join lists numbers or names, at most twenty of them.
func join[T int | string](x []T, separator string) string {
	const most = 20
	parts := make([]string, 0, min(len(x), most+1))
	for i, v := range x {
		if i == most {
			parts = append(parts, fmt.Sprintf("… (%d more)", len(x)-most))
			break
		}
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, separator)
}
