package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/score"
)

// TestPageSays wants what was put in, in words.
func TestPageSays(t *testing.T) {
	f := fitSet(t, 120)
	html := f.page(t, f.options)
	s, err := largemvc.Evaluate(f.classes, f.c.Labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"120 samples, seen in 2 views, were grouped into 3 clusters of " + between(f.c.Sizes) + ".",
		"<title>Clusters of patients.csv</title>",
		"an accuracy of " + percent(s.ACC), "an NMI of " + percent(s.NMI), "ill &lt;b&gt;", "gene0", "feature 3",
		"from &lt;patients.csv&gt;", "<dt>Clusters</dt><dd>3</dd>", "peak memory", "12 MiB", "t-SNE of the representation H",
		fmt.Sprintf("<td>%s</td>", number(f.c.Loss[len(f.c.Loss)-1]-f.c.NullLoss)), "epoch limit", "genes, 12 features",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"<img", "onerror=\"", "http://example.com/x.png\" on", "ZgotmplZ", "<no value>", "NaN", "%!"} {
		if strings.Contains(shown(html), never) {
			t.Errorf("the page has %q", never)
		}
	}
	for _, refers := range regexp.MustCompile(`(?:src|href|action|data)="([^#"][^"]*)"`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(refers[1], "data:text/csv;") {
			t.Errorf("the page refers to %s", refers[1])
		}
	}
}

// TestOneSample: a bar of one sample has the singular.
func TestOneSample(t *testing.T) {
	f := fitSet(t, 30)
	html := f.page(t, f.options)
	if strings.Contains(html, ": 1 samples") || !strings.Contains(html, ": 1 sample<") {
		t.Error("the page has no bar of 1 sample")
	}
}

func TestBetween(t *testing.T) {
	for want, sizes := range map[string][]int{
		"1 sample": {1, 1}, "100 samples": {100, 100}, "3 to 1,200 samples": {40, 3, 1200},
	} {
		if got := between(sizes); got != want {
			t.Errorf("%v: %q, want %q", sizes, got, want)
		}
	}
}

// TestSuspects wants the rows that are rather not their samples' to be named, the least trusted first, and to be counted.
func TestSuspects(t *testing.T) {
	const n = 60
	f := fitSet(t, n)
	present := make([][]bool, n)
	for i := range present {
		present[i] = []bool{true, i != 5}
	}
	o := f.options
	var err error
	if o.Views, err = testutil.Masked(f.views, present); err != nil {
		t.Fatal(err)
	}
	o.Trust = [][]float64{make([]float64, n), make([]float64, n)}
	for i := range n {
		o.Trust[0][i], o.Trust[1][i] = 0.5, 0.9
	}
	const none = "No row of a view has a trust below 0.5."
	o.Trust[1][5] = 0.01 // is not there
	if html := f.page(t, o); !strings.Contains(html, none) || strings.Contains(html, `id="suspects"`) {
		t.Error("rows of a trust of 0.5 and more are suspects")
	}
	o.Trust[1][7], o.Trust[0][8] = 0.2, 0.125
	html := f.page(t, o)
	_, table, found := strings.Cut(html, `id="suspects"`)
	table, _, _ = strings.Cut(table, "</table>")
	first, second := strings.Index(table, "sample-008</th><td>genes</td>"), strings.Index(table, "sample-007</th><td>scans</td>")
	if !found || first < 0 || second < first || !strings.Contains(table, ">0.125<") || strings.Contains(table, "sample-005") ||
		!strings.Contains(table, "are noise: 2.") || strings.Contains(html, none) {
		t.Errorf("the suspects are\n%s", table)
	}
	for i := range n {
		o.Trust[0][i] = 0.3
	}
	if html := f.page(t, o); !strings.Contains(html, "are noise: the 20 lowest of 61.") {
		t.Error("the page does not count 61 rows")
	}
}

// shown is the page without its script.
func shown(html string) string { return html[:strings.LastIndex(html, "<script>")] }

// TestPageSaysWhatIsKept wants the page to name the initial clusters if Fit kept them, and only then.
func TestPageSaysWhatIsKept(t *testing.T) {
	f := fitSet(t, 60)
	for _, kept := range []bool{false, true} {
		f.c.Predictor.Kept = kept
		if html := f.page(t, f.options); strings.Contains(html, "the initial ones: their score is above") != kept {
			t.Errorf("kept %v: the page does not say so", kept)
		}
	}
}

// TestPageIsReproducible wants the same bytes for any number of goroutines.
func TestPageIsReproducible(t *testing.T) {
	f := fitSet(t, 120)
	o := f.options
	o.Workers = 1
	one := f.page(t, o)
	o.Workers = 3
	if three := f.page(t, o); one != three {
		t.Error("the page depends on the number of goroutines")
	}
}

// TestCertainty compares the confidence with what the model says of the same samples.
func TestCertainty(t *testing.T) {
	f := fitSet(t, 90)
	r, err := ofClustering(f.c)
	if err != nil {
		t.Fatal(err)
	}
	sure, err := newCertainty(context.Background(), r, 2)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.c.Assign(context.Background(), f.views)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Labels {
		want := a.Confidence[i]
		if math.Abs(sure.confidence[i]-want) > 1e-3 || math.Abs(sure.distance[i]*sure.distance[i]-a.Near[i]) > 1e-4 {
			t.Errorf("sample %d: confidence %v, want %v; squared distance %v, want %v", i, sure.confidence[i], want,
				sure.distance[i]*sure.distance[i], a.Near[i])
		}
		if sure.next[i] == a.Labels[i] || sure.next[i] < 0 {
			t.Errorf("sample %d of cluster %d: the next is %d", i, a.Labels[i], sure.next[i])
		}
	}
	least := sure.leastSure(5)
	for q, i := range least {
		for j, c := range sure.confidence {
			if c < sure.confidence[i] && !contains(least[:q], j) {
				t.Errorf("sample %d is less sure than the %dth in the list, %d", j, q, i)
			}
		}
	}
	for k, ids := range sure.typical(r.labels, 3, 4) {
		for _, i := range ids {
			if r.labels[i] != k {
				t.Errorf("sample %d is typical of %d and lies in %d", i, k, r.labels[i])
			}
		}
	}
	r.judged.confidence = nil // as of a fit without a judgement
	if sure, err = newCertainty(context.Background(), r, 2); err != nil {
		t.Fatal(err)
	}
	for i := range a.Labels {
		if want := 1 - math.Sqrt(a.Near[i]/a.Next[i]); math.Abs(sure.confidence[i]-want) > 1e-3 {
			t.Errorf("sample %d: margin %v, want %v", i, sure.confidence[i], want)
		}
	}
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if y == x {
			return true
		}
	}
	return false
}

// TestVotes compares the votes of views with their definition, on dense and on mostly empty views that some samples lack.
func TestVotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, empty := range []bool{false, true} {
		const n, d, clusters = 57, 6, 3
		x := mat.NewDense(n, d, nil)
		labels, present, of := make([]int, n), make([]bool, n), make([]int, n)
		for i := range n {
			labels[i], present[i], of[i] = i%clusters, i%5 != 2, i
			for j := range d {
				if !empty || rng.Float64() < 0.3 {
					x.Set(i, j, rng.NormFloat64()+3*float64(labels[i])*float64(j%2))
				}
			}
		}
		in, err := largemvc.MatrixView(x).WithPresent(present).Content()
		if err != nil {
			t.Fatal(err)
		}
		m, err := newMoments(context.Background(), in, labels, clusters, of)
		if err != nil {
			t.Fatal(err)
		}
		votes, err := m.votes(context.Background(), in, labels, of, true, 2)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([][]float64, n) // as distances see them
		mean, deviation := columnMoments(x, present)
		for i := range rows {
			rows[i] = mat.Row(nil, i, x)
			norm := mat.Norm(x.RowView(i), 2)
			for j := range rows[i] {
				if empty {
					rows[i][j] /= math.Max(norm, 1e-300)
				} else {
					rows[i][j] = (rows[i][j] - mean[j]) / deviation[j]
				}
			}
		}
		for i := range n {
			want := -1
			if present[i] {
				want = literalVote(rows, labels, present, clusters, i)
			}
			if votes[i] != want {
				t.Errorf("empty %v, sample %d: the view says %d, want %d", empty, i, votes[i], want)
			}
		}
	}
}

func columnMoments(x *mat.Dense, present []bool) (mean, deviation []float64) {
	n, d := x.Dims()
	mean, deviation = make([]float64, d), make([]float64, d)
	for j := range d {
		count := 0.0
		for i := range n {
			if present[i] {
				mean[j] += x.At(i, j)
				count++
			}
		}
		mean[j] /= count
		for i := range n {
			if present[i] {
				deviation[j] += (x.At(i, j) - mean[j]) * (x.At(i, j) - mean[j]) / count
			}
		}
		deviation[j] = math.Sqrt(deviation[j])
	}
	return mean, deviation
}

// literalVote is the cluster whose mean, sample i left out, is nearest to it.
func literalVote(rows [][]float64, labels []int, present []bool, clusters, i int) int {
	at, nearest := -1, math.Inf(1)
	for k := range clusters {
		centre, count := make([]float64, len(rows[i])), 0.0
		for q, row := range rows {
			if q != i && present[q] && labels[q] == k {
				count++
				for j, a := range row {
					centre[j] += a
				}
			}
		}
		distance := 0.0
		for j, c := range centre {
			distance += (rows[i][j] - c/count) * (rows[i][j] - c/count)
		}
		if distance < nearest {
			at, nearest = k, distance
		}
	}
	return at
}

// TestPlanted wants the feature that was made to tell a class, and the samples whose second view was taken from another class.
func TestPlanted(t *testing.T) {
	f := fitSet(t, 240)
	r, err := ofClustering(f.c)
	if err != nil {
		t.Fatal(err)
	}
	o := f.options
	if err := o.complete(240, r.dims); err != nil {
		t.Fatal(err)
	}
	p, err := newPage(context.Background(), r, &o)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, row := range p.Rows {
		if row.Class == "ill <b>" && row.ClassShare > 0.8 {
			found = len(row.Features) > 0 && row.Features[0].Name == "gene0" && row.Features[0].Effect > 1.5
		}
	}
	if !found {
		t.Errorf("gene0 does not stand out: %+v", p.Rows)
	}
	planted := 0
	for _, row := range p.Disagreeing {
		var i int
		if _, err := fmt.Sscanf(row.ID, "sample-%d", &i); err == nil && i%10 == 0 {
			planted++
		}
	}
	if planted < len(p.Disagreeing)*3/4 || len(p.Disagreeing) < 15 {
		t.Errorf("%d of the %d samples that disagree were made so", planted, len(p.Disagreeing))
	}
}

// TestLargeSetsAreSampled wants a page of 10,000 samples under 3 MB, and of more samples as many, and the page to say so.
func TestLargeSetsAreSampled(t *testing.T) {
	testutil.Long(t, "no map of 10,000 samples")
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 10_000
	x, classes, ids := make([]float64, n*4), make([]int, n), make([]string, n)
	for i := range n {
		classes[i], ids[i] = i%5, fmt.Sprintf("%05d%s", i, strings.Repeat("x", 80))
		for j := range 4 {
			x[4*i+j] = rng.NormFloat64() + 4*float64((classes[i]>>j)&1)
		}
	}
	views := []largemvc.View{largemvc.DenseView(n, 4, x)}
	config := largemvc.PaperConfig(5)
	config.Epochs = 2
	c, err := largemvc.Fit(context.Background(), views, config)
	if err != nil {
		t.Fatal(err)
	}
	f := &fitted{c: c}
	html := f.page(t, Options{Views: views, IDs: ids, Classes: classes, PCA: true})
	if len(html) > 3_000_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
	if strings.Contains(html, "drawn at random.</strong>") {
		t.Error("a map of all samples says that they were drawn")
	}
	html = f.page(t, Options{Points: 500, PCA: true})
	if !strings.Contains(html, "Shown are 500 of 10,000 samples, drawn at random.") || !strings.Contains(html,
		"principal components") {
		t.Error("the page does not say that the map is of principal components of a sample")
	}
}

// TestOddClusterings writes pages where much is missing.
func TestOddClusterings(t *testing.T) {
	ctx := context.Background()
	x := mat.NewDense(5, 2, []float64{1, 2, 3, 1, 0, 1, 9, 9, 8, 9})
	var doubled mat.Dense
	doubled.Scale(2, x)
	for name, test := range map[string]struct {
		views  []largemvc.View
		config largemvc.Config
	}{
		"one cluster": {[]largemvc.View{largemvc.MatrixView(x)}, largemvc.Config{Clusters: 1}},
		"two of five": {[]largemvc.View{largemvc.MatrixView(x)}, largemvc.Config{Clusters: 2}},
		"all apart":   {[]largemvc.View{largemvc.MatrixView(x)}, largemvc.Config{Clusters: 5}},
		"untrained": {[]largemvc.View{largemvc.MatrixView(x), largemvc.MatrixView(&doubled)},
			largemvc.Config{Clusters: 2, Epochs: largemvc.None}},
		"paper": {[]largemvc.View{largemvc.MatrixView(x)}, largemvc.PaperConfig(2)},
		"missing": {[]largemvc.View{largemvc.MatrixView(x), largemvc.MatrixView(x).WithPresent([]bool{true, false,
			false, true, true})},
			largemvc.Config{Clusters: 2}},
	} {
		c, err := largemvc.Fit(ctx, test.views, test.config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, o := range []Options{{}, {Views: test.views, Created: time.Unix(0, 0).UTC(), Classes: []int{0, 1, 1, 0, 0}}} {
			var b bytes.Buffer
			if err := Write(ctx, &b, c, o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if html := b.String(); !strings.HasSuffix(html, "</html>\n") || strings.Contains(shown(html), "NaN") {
				t.Errorf("%s: the page is not whole, or has a NaN", name)
			}
			if strings.Contains(shown(b.String()), "The network was not trained") != (name == "untrained") {
				t.Errorf("%s: whether the network was trained", name)
			}
		}
	}
}

// TestWritePredictions saves a model, loads it and reports on the samples of the training, which the model knows nothing of.
func TestWritePredictions(t *testing.T) {
	f := fitSet(t, 60)
	path := filepath.Join(t.TempDir(), "model")
	if err := f.c.Save(path); err != nil {
		t.Fatal(err)
	}
	p, err := largemvc.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	o := f.options
	o.Views = nil
	if err := WritePredictions(context.Background(), &b, p, f.views, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"were put by a trained model into ", "Training samples", "samples of the training",
		"no features that distinguish clusters: a model labelled these samples",
		"of the samples have a novelty above 0.95", "Histogram of the novelty"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestErrors(t *testing.T) {
	f := fitSet(t, 30)
	for name, w := range map[string]io.Writer{"nil": nil, "nil pointer": (*bytes.Buffer)(nil)} {
		for _, err := range []error{
			Write(t.Context(), w, f.c, f.options), WritePredictions(t.Context(), w, f.c.Predictor, f.views, f.options),
			WriteChoices(w, &choose.Choices{Choices: make([]choose.Choice, 2)}),
		} {
			if err == nil || err.Error() != "report: the writer is nil" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var none context.Context
	ctx := context.Background()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	enough := errors.New("enough")
	for name, test := range map[string]struct {
		ctx  context.Context
		c    *largemvc.Clustering
		o    Options
		want string
	}{
		"context":   {none, f.c, f.options, "report: the context is nil"},
		"nil":       {ctx, nil, Options{}, "the clustering is empty"},
		"ids":       {ctx, f.c, Options{IDs: []string{"a"}}, "IDs has the length 1, want 30"},
		"classes":   {ctx, f.c, Options{Classes: []int{1}}, "Classes has the length 1, want 30"},
		"class":     {ctx, f.c, Options{Classes: f.classes, ClassNames: []string{"a"}}, "Classes[1] is 1, want"},
		"names":     {ctx, f.c, Options{ClassNames: []string{"a"}}, "ClassNames is set without Classes"},
		"views":     {ctx, f.c, Options{Views: f.views[:1]}, "Views has the length 1, want 2"},
		"no values": {ctx, f.c, Options{Views: []largemvc.View{f.views[0], {}}}, "Views[1] has 0 samples, the clustering has 30"},
		"values": {ctx, f.c, Options{Views: []largemvc.View{largemvc.DenseView[float64](30, 2, nil), f.views[1]}},
			"Views[0] has no values"},
		"mask": {ctx, f.c, Options{Views: []largemvc.View{f.views[0].WithPresent([]bool{true}), f.views[1]}},
			"mask of Views[0] has the length 1, want 30"},
		"exchanged": {ctx, f.c, Options{Views: []largemvc.View{f.views[1], f.views[0]}},
			"give the views of the fit in their order"},
		"features": {ctx, f.c, Options{Views: []largemvc.View{f.views[0].WithFeatures([]string{}), f.views[1]}},
			"the names of features of Views[0] has the length 0"},
		"points":        {ctx, f.c, Options{Points: -1}, "Points is -1"},
		"trust":         {ctx, f.c, Options{Trust: make([][]float64, 2)}, "Trust[0] has the length 0, want 30"},
		"cancelled":     {cancelled, f.c, Options{}, context.Canceled.Error()},
		"stopped early": {ctx, f.c, Options{Progress: func(string, int, int) error { return enough }}, "enough"},
	} {
		var b bytes.Buffer
		err := Write(test.ctx, &b, test.c, test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written", name, b.Len())
		}
	}
}

// TestNoiseIsNotPraised wants the first sentence to say that noise has no clusters, and none of those that noise would earn, too.
func TestNoiseIsNotPraised(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	noise, planted := make([]float64, 210*8), make([]float64, 210*8)
	for i := range noise {
		noise[i] = rng.NormFloat64()
		planted[i] = noise[i] + 8*float64((i/8+i%8)%3)
	}
	for first, x := range map[string][]float64{
		"The clusters are no better than clusters of noise with the same spread": noise,
		"The samples have clear clusters":                                        planted,
	} {
		views := []largemvc.View{largemvc.DenseView(210, 8, x)}
		c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: 3, Epochs: 5})
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := Write(context.Background(), &page, c, Options{Views: views}); err != nil {
			t.Fatal(err)
		}
		text := page.String()
		summary := text[strings.Index(text, `id="summary"`):]
		if at := strings.Index(summary, "<p>"); at < 0 || !strings.HasPrefix(summary[at+3:], first) {
			t.Errorf("the first sentence is %.200q, want %q", summary[max(at, 0):], first)
		}
		for _, praise := range []string{"is found most reliably", "have a confidence of at least"} {
			if strings.Contains(text, praise) != (c.Structure.Judgement == score.StructureClear) {
				t.Errorf("%v: %q", c.Structure, praise)
			}
		}
	}
}
