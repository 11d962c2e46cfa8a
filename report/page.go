package report

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/score"
)

// Write writes the page on a clustering of Fit to w. The same clustering and options give the same bytes.
//
// It returns an error before it writes anything if the options do not fit the clustering, or if Views hold values that Fit
// refuses. It returns the context's error soon after ctx is cancelled, the error of Options.Progress, and the error of w.
//
// The time grows with n·c·m, plus t-SNE of 3,000 samples. Memory grows with Options.Points, plus a few numbers for each sample.
func Write(ctx context.Context, w io.Writer, c *largemvc.Clustering, o Options) error {
	if err := checkTarget(ctx, w); err != nil {
		return err
	}
	r, err := ofClustering(c)
	if err != nil {
		return err
	}
	return write(ctx, w, r, o)
}

// WritePredictions writes the page on the labels that a model gives to samples. It sets Options.Views to views. It returns
// the errors of Write.
func WritePredictions(ctx context.Context, w io.Writer, p *largemvc.Predictor, views []largemvc.View, o Options) error {
	if err := checkTarget(ctx, w); err != nil {
		return err
	}
	r, err := ofPredictions(ctx, p, views)
	if err != nil {
		return err
	}
	o.Views = views
	if o.Novelty == nil {
		o.Novelty = r.judged.novelty
	}
	return write(ctx, w, r, o)
}

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	styleText string
	//go:embed script.js
	scriptText string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"style":   func() template.CSS { return template.CSS(styleText) },
		"js":      func() template.JS { return template.JS(scriptText) },
		"percent": percent, "number": number, "thousands": thousands, "plural": plural,
		"signed": signed, "fixed": fixed, "shade": shade,
		"plus": func(a, b int) int { return a + b },
	}).Parse(pageText))
)

// checkTarget returns an error for a context or a writer that is nil.
func checkTarget(ctx context.Context, w io.Writer) error {
	if err := parallel.CheckContext(ctx); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if parallel.Nil(w) {
		return errors.New("report: the writer is nil")
	}
	return nil
}

func write(ctx context.Context, w io.Writer, r *result, o Options) error {
	var p *page
	err := o.within(ctx, r, func(ctx context.Context) (err error) {
		p, err = newPage(ctx, r, &o)
		return err
	})
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	if err := pageTemplate.Execute(b, p); err != nil {
		return err
	}
	return b.Flush()
}

// page holds the content of the template.
type page struct {
	Title, Data, Created string
	Predicted            bool
	Samples, Clusters    int
	ViewNames            []string

	Summary  []string
	Warnings []string

	Map          *mapFigure
	Rows         []clusterRow // one for each cluster
	Listed, Rest int          // clusters that have a section of their own, and clusters that have none

	Confidence *bars
	Calibrated bool // confidence says how often labels are found again; else it is the margin
	Median     float64
	LeastSure  []sampleRow

	Novelty   *bars
	Novel     float64     // share above 0.95
	MostNovel []sampleRow // the highest first

	Outliers *outliers

	Apart        bool // silhouettes and neighbours are known
	Silhouette   float64
	ApartSamples int

	Importance  *Importance // nil: there are no views
	Heat        *heatMap
	Labels      template.URL // a CSV file; "": it would be too large
	Disagreeing []sampleRow
	HasTrust    bool
	RowTrust    bool // the trust is in rows, whatever the clusters
	Trust       []trustRow
	Distrusted  int             // rows of a trust below doubtful
	Suspects    []suspiciousRow // the lowest first

	Classes *classTable

	Loss     *lossFigure
	Training []Fact

	Card    []Fact
	Reading []string
	Config  []Fact
}

func (p *page) Tested() bool { return p.Importance != nil && p.Importance.Untested == "" }

type clusterRow struct {
	Number     int
	Size       int
	Share      float64
	Trained    int // its samples in the training
	Confidence float64
	Silhouette float64
	Nearest    int // −1: none
	Separation float64
	Support    ClusterSupport
	Class      string // the most frequent class
	ClassShare float64
	Typical    []string
	Features   []Feature // the largest
	More       int       // further features that distinguish the cluster
	Alone      []viewShare
	Best       *viewShare
}

// viewShare says how well a view places samples in a cluster, see ClusterSupport.Views.
type viewShare struct {
	View  string
	Share float64
}

type sampleRow struct {
	ID         string
	Cluster    int
	Next       int
	Confidence float64
	Novelty    float64
	Class      string
	Votes      []int // per view, −1: absent
}

// trustRow is the mean trust of a cluster, or of all samples, by view.
type trustRow struct {
	Name  string
	Views []float64
}

// suspiciousRow is a row of a view that probably belongs to another sample or is noise.
type suspiciousRow struct {
	sampleRow
	View  string
	Trust float64
}

const (
	mostClusters  = 200 // that have a section of their own
	mostTypical   = 6
	mostLeastSure = 20
	mostDisagree  = 20
	mostSuspects  = 20
	doubtful      = 0.5 // trust below which a row probably is not its sample's
	mostNovel     = 20
	novelAbove    = 0.95
)

func newPage(ctx context.Context, r *result, o *Options) (*page, error) {
	p := &page{
		Title: o.Title, Data: o.Data, Predicted: r.predicted, Samples: r.samples(), Clusters: r.clusters(), ViewNames: r.views,
		Reading: o.Reading,
	}
	if !o.Created.IsZero() {
		p.Created = o.Created.Format("2006-01-02 15:04 MST")
	}
	sure, err := newCertainty(ctx, r, o.Workers)
	if err != nil {
		return nil, err
	}
	p.addClusters(r, o, sure)
	p.Calibrated = r.judged.confidence != nil
	p.Confidence, p.Median = unitBars("confidence", sure.confidence), median(sure.confidence)
	for _, i := range sure.leastSure(mostLeastSure) {
		p.LeastSure = append(p.LeastSure, r.sampleRow(i, sure, o))
	}
	p.addNovelty(r, o, sure)
	p.addOutliers(r, o, sure)
	if err := p.addApart(ctx, r, o); err != nil {
		return nil, err
	}
	if err := p.addFeatures(ctx, r, o, sure); err != nil {
		return nil, err
	}
	p.Labels = labelsURL(r.labels, o.IDs)
	p.addTrust(r, o, sure)
	if o.Classes != nil {
		if p.Classes, err = newClassTable(o.Classes, r.labels, o.ClassNames); err != nil {
			return nil, err
		}
		p.addClasses(r, o)
	}
	m, err := newMapping(ctx, r, o)
	if err != nil {
		return nil, err
	}
	p.Map = newMapFigure(m, r, o, sure)
	p.Loss = newLossFigure(r.loss)
	p.addFacts(r, o)
	p.summarise(r, o, sure)
	return p, o.Progress("page", 1, 1)
}

func (p *page) addClusters(r *result, o *Options, sure *certainty) {
	p.Rows = make([]clusterRow, r.clusters())
	for i, k := range r.labels {
		p.Rows[k].Size++
		p.Rows[k].Confidence += sure.confidence[i]
	}
	shown := min(len(p.Rows), mostClusters)
	p.Listed, p.Rest = shown, len(p.Rows)-shown
	typical := sure.typical(r.labels, shown, mostTypical)
	for k := range p.Rows {
		row := &p.Rows[k]
		row.Number, row.Share, row.Trained = k, float64(row.Size)/float64(p.Samples), r.predictor.Sizes[k]
		row.Confidence /= float64(row.Size) // NaN without samples
		for q := 0; k < shown && q < len(typical[k]); q++ {
			row.Typical = append(row.Typical, o.id(typical[k][q]))
		}
	}
}

func (o *Options) id(i int) string {
	if o.IDs == nil {
		return strconv.Itoa(i)
	}
	return shorten(o.IDs[i])
}

// longestID is the number of letters of an ID that the page shows.
const longestID = 60

func shorten(s string) string {
	if letters := []rune(s); len(letters) > longestID {
		return string(letters[:longestID-1]) + "…"
	}
	return s
}

func (r *result) sampleRow(i int, sure *certainty, o *Options) sampleRow {
	row := sampleRow{ID: o.id(i), Cluster: r.labels[i], Next: sure.next[i], Confidence: sure.confidence[i]}
	if o.Classes != nil {
		row.Class = shorten(o.ClassNames[o.Classes[i]])
	}
	return row
}

// addNovelty shows how far the samples are from the training samples, if this is known.
func (p *page) addNovelty(r *result, o *Options, sure *certainty) {
	if o.Novelty == nil {
		return
	}
	p.Novelty = unitBars("novelty", o.Novelty)
	p.Novel = 1 - shareBelow(o.Novelty, math.Nextafter(novelAbove, 1))
	for _, i := range lowest(len(o.Novelty), mostNovel, func(i int) bool { return o.Novelty[i] > novelAbove },
		func(i int) float64 { return -o.Novelty[i] }) {
		row := r.sampleRow(i, sure, o)
		row.Novelty = o.Novelty[i]
		p.MostNovel = append(p.MostNovel, row)
	}
}

func (p *page) addApart(ctx context.Context, r *result, o *Options) error {
	a, err := newApart(ctx, r, o)
	if a == nil {
		return err
	}
	p.Apart, p.Silhouette, p.ApartSamples = true, a.mean, a.samples
	for k := range p.Rows {
		p.Rows[k].Silhouette, p.Rows[k].Nearest, p.Rows[k].Separation = a.silhouette[k], a.nearest[k], a.separation[k]
	}
	return nil
}

// mostFeatures is the number of features that the page shows for each cluster.
const mostFeatures = 8

func (p *page) addFeatures(ctx context.Context, r *result, o *Options, sure *certainty) (err error) {
	if o.Views == nil {
		return nil
	}
	if p.Importance, err = findFeatures(ctx, r, o); err != nil || p.Importance.Untested != "" {
		return err
	}
	p.Heat = newHeatMap(p.Importance)
	for k := range p.Rows[:p.Listed] {
		row := &p.Rows[k]
		row.Support = p.Importance.Clusters[k]
		for v, share := range row.Support.Views {
			if !math.IsNaN(share) {
				row.Alone = append(row.Alone, viewShare{r.views[v], share})
			}
		}
		for q := range row.Alone {
			if row.Best == nil || row.Alone[q].Share > row.Best.Share {
				row.Best = &row.Alone[q]
			}
		}
	}
	for _, f := range p.Importance.Features {
		switch row := &p.Rows[f.Cluster]; {
		case len(row.Features) < mostFeatures:
			row.Features = append(row.Features, f)
		default:
			row.More++
		}
	}
	if len(r.views) < 2 || r.structure.Judgement != score.StructureClear {
		return nil
	}
	of := o.effectRows(r)
	votes, err := votesOfViews(ctx, r, o, of)
	if err == nil {
		p.addDisagreeing(r, o, sure, of, votes)
	}
	return err
}

// addDisagreeing lists the samples whose label the most views contradict, at least one. Of equally many views, the sample of
// the lowest confidence comes first.
func (p *page) addDisagreeing(r *result, o *Options, sure *certainty, of []int, byView [][]int) {
	against := func(s int) (count int) {
		for _, votes := range byView {
			if votes != nil && votes[s] >= 0 && votes[s] != r.labels[of[s]] {
				count++
			}
		}
		return count
	}
	for _, s := range lowest(len(of), mostDisagree, func(s int) bool { return against(s) > 0 }, func(s int) float64 {
		return sure.confidence[of[s]] - float64(against(s))
	}) {
		row := r.sampleRow(of[s], sure, o)
		for _, votes := range byView {
			vote := -1
			if votes != nil {
				vote = votes[s]
			}
			row.Votes = append(row.Votes, vote)
		}
		p.Disagreeing = append(p.Disagreeing, row)
	}
}

// addTrust averages the trust in the views.
func (p *page) addTrust(r *result, o *Options, sure *certainty) {
	trust := o.Trust
	if trust == nil {
		trust = r.judged.trust
	}
	if trust == nil {
		return
	}
	p.HasTrust, p.RowTrust = true, o.Trust != nil
	has := func(v, i int) bool { return o.Views == nil || o.Views[v].Has(i) }
	mean := func(name string, of func(i int) bool) {
		row := trustRow{Name: name}
		for v, t := range trust {
			sum, count := 0.0, 0.0
			for i, x := range t {
				if of(i) && has(v, i) {
					sum, count = sum+x, count+1
				}
			}
			row.Views = append(row.Views, sum/count)
		}
		p.Trust = append(p.Trust, row)
	}
	mean("all samples", func(int) bool { return true })
	for k := range p.Rows[:p.Listed] {
		mean("cluster "+thousands(k), func(i int) bool { return r.labels[i] == k })
	}
	if !p.RowTrust {
		return
	}
	n := len(r.labels)
	below := func(at int) bool { return has(at/n, at%n) && trust[at/n][at%n] < doubtful }
	for at := range n * len(trust) {
		if below(at) {
			p.Distrusted++
		}
	}
	for _, at := range lowest(n*len(trust), mostSuspects, below, func(at int) float64 { return trust[at/n][at%n] }) {
		v, i := at/n, at%n
		p.Suspects = append(p.Suspects, suspiciousRow{r.sampleRow(i, sure, o), r.views[v], trust[v][i]})
	}
}

func (p *page) addClasses(r *result, o *Options) {
	counts := make([]map[int]int, len(p.Rows))
	for i, k := range r.labels {
		if counts[k] == nil {
			counts[k] = map[int]int{}
		}
		counts[k][o.Classes[i]]++
	}
	for k := range p.Rows {
		most := 0
		for class, n := range counts[k] {
			if n > most || n == most && class < slices.Index(o.ClassNames, p.Rows[k].Class) {
				most, p.Rows[k].Class = n, o.ClassNames[class]
			}
		}
		p.Rows[k].ClassShare = float64(most) / float64(p.Rows[k].Size)
	}
}

func (p *page) addFacts(r *result, o *Options) {
	card := func(name, value string) { p.Card = append(p.Card, Fact{name, value}) }
	card("samples", thousands(p.Samples))
	if r.predicted {
		card("samples of the training", thousands(r.trained))
	}
	for v, name := range r.views {
		card("view "+thousands(v), name+", "+plural(r.dims[v], "feature"))
	}
	card("clusters", thousands(r.clusters()))
	card("anchors", thousands(r.anchors))
	card("inputs of the network", thousands(len(r.inputs)))
	card("seed", strconv.FormatUint(r.seed, 10))
	for _, f := range o.Facts {
		card(f.Name, f.Value)
	}
	program := "largemvc"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if m.Path == "github.com/largemvc/largemvc" && m.Version != "" {
				program += " " + m.Version
			}
		}
	}
	card("made with", program+", "+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH)
	p.Training = append(p.Training, Fact{"epochs", thousands(r.epochs)}, Fact{"end", r.status},
		Fact{"trained on", r.predictor.Ran.String()})
	if r.restarts > 1 {
		p.Training = append(p.Training, Fact{"restart kept", thousands(r.restart+1) + " of " + thousands(r.restarts)})
	}
	if r.predictor.Kept {
		p.Training = append(p.Training, Fact{"clusters", "the initial ones: their score is above the score after the training"})
	}
	if len(r.loss) > 0 {
		p.Training = append(p.Training, Fact{"first loss (0: the loss of H = 0)", number(r.loss[0])},
			Fact{"last loss", number(r.loss[len(r.loss)-1])})
	}
	p.Training = append(p.Training, r.timings...)
	p.Config = r.settings
}

// classTable compares known classes with clusters.
type classTable struct {
	ACC, NMI, ARI, Purity float64
	Count                 int        // of the classes
	Columns               []int      // the clusters
	Rows                  []classRow // nil: too many
}

type classRow struct {
	Class  string
	Size   int
	Counts []classCell
}

type classCell struct {
	Count int
	Share float64 // of the class
	Match bool    // the cluster that is matched to the class
}

// mostTable is the number of classes, and of clusters, up to which the page shows their table.
const mostTable = 60

// newClassTable compares the known classes of samples with their clusters.
func newClassTable(classes, labels []int, names []string) (*classTable, error) {
	t, err := score.NewContingency(classes, labels)
	if err != nil {
		return nil, err
	}
	s, err := largemvc.Evaluate(classes, labels)
	if err != nil {
		return nil, err
	}
	match, err := t.Match() // cluster → class
	if err != nil {
		return nil, err
	}
	out := &classTable{ACC: s.ACC, NMI: s.NMI, ARI: s.ARI, Purity: s.Purity}
	present, sizes := t.Classes()
	out.Count = len(present)
	found, _ := t.Clusters()
	if len(present) > mostTable || len(found) > mostTable {
		return out, nil
	}
	out.Columns = found
	counts := t.Counts()
	order := make([]int, len(present)) // rows in the order of their clusters
	place := func(row int) int {
		for c, k := range found {
			if class, ok := match[k]; ok && class == present[row] {
				return c
			}
		}
		return len(found)
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return place(a) - place(b) })
	for _, i := range order {
		row := classRow{Class: shorten(names[present[i]]), Size: sizes[i]}
		for c, n := range counts[i] {
			class, ok := match[found[c]]
			row.Counts = append(row.Counts, classCell{n, float64(n) / float64(sizes[i]), ok && class == present[i]})
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
