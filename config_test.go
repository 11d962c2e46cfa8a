package largemvc

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/train"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/neighbor"
)

// otherNoise is a module of a user's own.
type otherNoise struct {
	NoNoise
	Strength float64
}

// A configuration comes out of JSON as it went in, modules included, or is refused with the name of the field.
func TestConfigInJSON(t *testing.T) {
	for name, want := range map[string]Config{
		"zero":     {},
		"defaults": (Config{Clusters: 3}).WithDefaults(),
		"paper":    (paper(Config{Clusters: 3})).WithDefaults(),
		"modules": {
			Clusters: 4, Represent: &SoftThreshold{OneSided: true, Theta0: 0.5, Activation: SELU},
			Noise: &RowShrink{Scale: []float64{2, 3}}, Anchor: &FixedAnchors{}, StartLabels: []int{0, 1, 3},
			Epochs: None, Machine: machine.Options{Workers: 3}, Checkpoint: Checkpoint{Path: "x", Every: 2},
		},
		"some": {Noise: &NoNoise{}},
	} {
		for _, x := range []any{want, &want} {
			text, err := json.Marshal(x)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got Config
			if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, %+v, want %+v, of %s", name, err, got, want, text)
			}
		}
	}
	for want, c := range map[string]Config{
		"Noise is a *largemvc.otherNoise":            {Noise: &otherNoise{Strength: 2}},
		"Represent is a nil *largemvc.SoftThreshold": {Represent: (*SoftThreshold)(nil)},
		"Start cannot": {Start: StartPoint{H: mat.NewDense(1, 1, nil)}},
		"ExtraLoss":    {ExtraLoss: func(Network) (*gorgonia.Node, error) { return nil, nil }},
	} {
		if text, err := json.Marshal(c); err == nil || !strings.Contains(err.Error(), "largemvc: "+want) {
			t.Errorf("%s, %v, want an error that says %q", text, err, want)
		}
	}
}

// What is not in a text stays as it is, and what cannot be read leaves all as it was.
func TestConfigFromJSON(t *testing.T) {
	begin := Config{Clusters: 3, Layers: 5, Noise: &NoNoise{}, Anchor: &FixedAnchors{}}
	got := begin
	text := `{"Clusters":7,"Reduction":"mean","Anchor":null,"Represent":{"Type":"SoftThreshold"}}`
	want := Config{Clusters: 7, Layers: 5, Reduction: ReductionMean, Noise: begin.Noise, Represent: &SoftThreshold{}}
	if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v, want %+v", err, got, want)
	}
	for text, want := range map[string]string{
		`{"Clusters":9,"Noise":{"Type":"*example.org/own.Noise"}}`:              "Noise is of type \"*example.org/own.Noise\"",
		`{"Clusters":9,"Noise":{"Strength":2}}`:                                 "Noise is of type \"\"",
		`{"Clusters":9,"Noise":{"Type":"Procrustes"}}`:                          "Noise cannot be a Procrustes",
		`{"Clusters":9,"Noise":{"Type":"RowShrink","Settings":{"Rho0":"few"}}}`: "the settings of Noise",
		`{"Clusters":9,"Reduction":"other"}`:                                    "other",
	} {
		got := begin
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", text, err, want)
		}
		if !reflect.DeepEqual(got, begin) {
			t.Errorf("%s: %+v was read", text, got)
		}
	}
}

// The kinds of internal/prepare have the numbers and the names of Preprocess.
func TestInternalEnumerations(t *testing.T) {
	for public, internal := range map[Preprocess]prepare.Kind{
		PreprocessSample: prepare.PerSample, PreprocessBalanced: prepare.Balanced, PreprocessZScore: prepare.ZScore,
		PreprocessUnit: prepare.UnitNorm, None: prepare.Raw, PreprocessBoth: prepare.Both, 0: 0,
		PreprocessBoth + 1: prepare.Both + 1, None - 1: prepare.Raw - 1,
	} {
		if int(public) != int(internal) || public.String() != internal.String() {
			t.Errorf("Preprocess %v is %d, inside %v, %d", public, int(public), internal, int(internal))
		}
	}
}

// The statuses of internal/train have the numbers and the names of Status, and there are no others.
func TestInternalStatuses(t *testing.T) {
	statuses := map[Status]train.Status{
		EpochLimit: train.EpochLimit, Converged: train.Converged, Stopped: train.Stopped, Cancelled: train.Cancelled,
		Diverged: train.Diverged,
	}
	for public, internal := range statuses {
		if int(public) != int(internal) || public.String() != internal.String() {
			t.Errorf("Status %v is %d, inside %v, %d", public, int(public), internal, int(internal))
		}
	}
	if len(train.StatusNames) != len(statuses) || len(statusOption.names) != len(statuses) {
		t.Errorf("%d statuses inside, %d names, want %d", len(train.StatusNames), len(statusOption.names), len(statuses))
	}
}

// enumeration is what all of them can do.
type enumeration[E any] interface {
	*E
	encoding.TextUnmarshaler
}

// testText writes the values of an enumeration as text, by themselves, in JSON and for flags, and reads them back. Names must
// differ, and other values are errors.
func testText[E interface {
	~int
	encoding.TextMarshaler
	String() string
}, P enumeration[E]](t *testing.T, values ...E) {
	t.Helper()
	names := map[string]bool{}
	for _, x := range values {
		var byText, byJSON, byFlag E
		text, err := x.MarshalText()
		if err != nil || string(text) != x.String() || names[string(text)] {
			t.Fatalf("%T %d is %q, %v", x, int(x), text, err)
		}
		names[string(text)] = true
		if err := P(&byText).UnmarshalText(text); err != nil || byText != x {
			t.Errorf("%T %q is read as %v, %v", x, text, byText, err)
		}
		quoted, err := json.Marshal(struct{ X E }{x})
		if err != nil {
			t.Fatal(err)
		}
		in := struct{ X E }{}
		if err := json.Unmarshal(quoted, &in); err != nil || in.X != x {
			t.Errorf("%s is read as %v, %v", quoted, in.X, err)
		}
		byJSON = in.X
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.TextVar(P(&byFlag), "x", values[0], "")
		if err := flags.Parse([]string{"-x", string(text)}); err != nil || byFlag != byJSON {
			t.Errorf("the flag %q is read as %v, %v", text, byFlag, err)
		}
	}
	for _, x := range []E{-2, 99} {
		if text, err := x.MarshalText(); err == nil {
			t.Errorf("%T %d is written as %q", x, int(x), text)
		}
	}
	var x E
	if err := P(&x).UnmarshalText([]byte("sometimes")); err == nil || x != 0 {
		t.Errorf("%T: an unknown name is read as %v", x, x)
	}
}

func TestEnumerationsAsText(t *testing.T) {
	testText[Preprocess](t, None, 0, PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, PreprocessBoth)
	testText[Reduction](t, 0, ReductionMean, ReductionRelative)
	testText(t, ReLU, SELU)
	testText(t, EpochLimit, Converged, Stopped, Cancelled, Diverged)
}

// What a user prints says what it is, without the fields of internal types.
func TestStrings(t *testing.T) {
	views, classes := blobViews(40, 3, 0.5, 401, 6, 4)
	c := mustFit(t, views, Config{Clusters: 3, Epochs: 2})
	s, err := Evaluate(classes, c.Labels)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Assign(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	k, err := KMeans(t.Context(), c.H, KMeansConfig{Clusters: 3})
	if err != nil {
		t.Fatal(err)
	}
	for want, x := range map[string]any{
		"3 clusters of 40 samples in 2 views":   c,
		"3 clusters of 40 samples in 2 views, ": c.Predictor,
		"an empty predictor":                    &Predictor{},
		"40 samples, by cluster map[":           a,
		"a 40×3 matrix":                         c.H,
		"ACC ":                                  s,
		"restart 2/3, epoch 4/5: loss 0.25":     Progress{Restart: 1, Restarts: 3, Epoch: 4, Epochs: 5, Loss: 0.25},
		"1.5s (preparation ":                    Timings{Total: 1500 * time.Millisecond},
		"seen of 40 samples and 6 features":     views[0].Named("seen"),
		"view 0, preprocessing zscore, ":        c.Inputs()[0],
		"3 clusters of 40 rows, inertia ":       k,
		"epoch limit":                           c.Status,
	} {
		if got := fmt.Sprint(x); !strings.HasPrefix(got, want) || strings.Contains(got, "{") {
			t.Errorf("%T is printed as %q, want %q", x, got, want)
		}
	}
}

// panicking is a module of a user's own whose Init panics.
type panicking struct{ RowShrink }

func (*panicking) Init(Env) error { panic("no such thing") }

// stuckMatrix panics from row 1 on.
type stuckMatrix struct{ mat.Matrix }

func (m stuckMatrix) At(i, j int) float64 {
	if i > 0 {
		panic("no such row")
	}
	return m.Matrix.At(i, j)
}

// A nil pointer in an interface, and a panic of a user's module, are errors that say what is wrong.
func TestTypedNils(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var matrix *mat.Dense
	var none context.Context
	good := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 7})
	two := Config{Clusters: 2}
	fit := func(x ...View) error { _, err := fitAlone(ctx, x, two); return err }
	build := func(b interface {
		Build(Env, *Data, StartPoint) error
	}) error {
		data, err := NewData(tensor.Float64, []mat.Matrix{good}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b.Build(Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{good.Slice(0, 2, 0, 2)}})
	}
	trained := mustFit(t, []View{MatrixView(good)}, two).Predictor
	fitted, err := KMeans(ctx, good, KMeansConfig{Clusters: 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		run  func() error
		want string
	}{
		"view": {func() error { return fit(MatrixView(matrix)) }, "view 0"},
		"predict": {func() error {
			c, err := fitAlone(ctx, []View{MatrixView(good)}, two)
			if err == nil {
				_, err = c.Predict(ctx, []View{MatrixView(matrix)})
			}
			return err
		}, "view 0"},
		"matrix that panics": {func() error {
			_, err := KMeans(ctx, stuckMatrix{good}, KMeansConfig{Clusters: 2})
			return err
		}, "largemvc: reading the matrix: panic: no such row"},
		"matrix that panics, again": {func() error {
			_, err := fitted.Predict(stuckMatrix{good})
			return err
		}, "no such row"},
		"result of nothing": {func() error {
			_, err := (&KMeansResult{}).Predict(good)
			return err
		}, "KMeans makes one"},
		"no result": {func() error {
			_, err := (*KMeansResult)(nil).Predict(good)
			return err
		}, "KMeans makes one"},
		"emit": {func() error {
			return trained.AssignRows(ctx, []View{MatrixView(mat.NewDense(1, 2, []float64{math.NaN(), 0}))}, nil)
		}, "largemvc: the function that takes the assignments is nil"},
		"writer": {func() error {
			_, err := trained.WriteTo(nil)
			return err
		}, "largemvc: the writer is nil"},
		"writer, typed": {func() error {
			_, err := trained.WriteTo((*bytes.Buffer)(nil))
			return err
		}, "the writer is nil"},
		"reader": {func() error {
			_, err := ReadPredictor(nil)
			return err
		}, "largemvc: loading a model: the reader is nil"},
		"reader, typed": {func() error {
			_, err := ReadPredictor((*bytes.Buffer)(nil))
			return err
		}, "the reader is nil"},
		"product": {func() error {
			return neighbor.Mul[float64](ctx, nil, 1, nil, nil, 16)
		}, "the operator is nil"},
		"product of a graph": {func() error {
			return neighbor.Mul[float32](ctx, (*neighbor.Graph)(nil), 1, nil, nil, 16)
		}, "is nil"},
		"product of nothing": {func() error {
			return neighbor.Mul[float32](ctx, &neighbor.Factor{}, 1, nil, nil, 16)
		}, "is empty"},
		"product without a context": {func() error {
			return neighbor.Mul[float32](none, &neighbor.Factor{}, 1, nil, nil, 16)
		}, "the context is nil"},
		"data": {func() error {
			_, err := NewData(tensor.Float64, []mat.Matrix{matrix}, nil)
			return err
		}, "view 0"},
		"k-means": {func() error {
			_, err := KMeans(ctx, matrix, KMeansConfig{Clusters: 1})
			return err
		}, "matrix"},
		"k-means, again": {func() error { _, err := fitted.Predict(matrix); return err }, "matrix"},
		"smoothing": {func() error {
			_, err := neighbor.Smooth[float64](ctx, (*neighbor.Graph)(nil), nil, 1, 1)
			return err
		}, "neighbor"},
		"module": {func() error { return build(&Model[*SoftThreshold, *panicking, *Procrustes]{}) }, "nil"},
		"module in an interface": {func() error {
			return build(&Model[*SoftThreshold, Noise, *Procrustes]{Noise: (*panicking)(nil)})
		}, "nil"},
		"module that panics": {func() error {
			return build(&Model[*SoftThreshold, *panicking, *Procrustes]{Noise: &panicking{}})
		}, "largemvc: building the network: panic: no such thing"},
		"start anchors that panic": {func() error {
			_, err := fitAlone(ctx, []View{MatrixView(good).Named("pixels")}, Config{
				Clusters: 2, Start: StartPoint{Anchors: []mat.Matrix{stuckMatrix{good.Slice(0, 2, 0, 2)}}},
				Neighborhood: Neighborhood{Neighbors: None},
			})
			return err
		}, "largemvc: row 1, column 0 of Start.Anchors of view 0 (pixels) cannot be read: panic: no such row"},
		"data that panic": {func() error {
			_, err := NewData(tensor.Float32, []mat.Matrix{good, stuckMatrix{good}}, nil)
			return err
		}, "largemvc: view 1, row 1, column 0 cannot be read: panic: no such row"},
		"start that panics": {func() error {
			data, err := NewData(tensor.Float64, []mat.Matrix{good}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return new(LargeMvCNet).Build(Env{G: gorgonia.NewGraph()}, data,
				StartPoint{Anchors: []mat.Matrix{stuckMatrix{good.Slice(0, 2, 0, 2)}}})
		}, "largemvc: row 1, column 0 of StartPoint.Anchors[0] cannot be read: panic: no such row"},
		"module without a graph":  {func() error { return new(SoftThreshold).Init(Env{}) }, "largemvc: Env.G is nil"},
		"module without a graph,": {func() error { return new(RowShrink).Init(Env{}) }, "largemvc: Env.G is nil"},
		"module without a type": {func() error {
			return new(SoftThreshold).Init(Env{G: gorgonia.NewGraph()})
		}, "largemvc: Env.Of is neither"},
		"module without sizes": {func() error {
			return new(SoftThreshold).Init(Env{G: gorgonia.NewGraph(), Of: tensor.Float32, Layers: 2, Views: 1})
		}, "largemvc: Env.Layers is 2, Views 1 and Anchors 0, want"},
		"mean of nothing": {func() error { _, err := Env{}.MeanViews(); return err }, "MeanViews has 0 matrices"},
		"mean of nil":     {func() error { _, err := Env{Views: 1}.MeanViews(nil); return err }, "largemvc: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := x.run(); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want it to say %q", err, x.want)
			}
		})
	}
}

// Whatever turns into memory or a loop has an upper limit, and the error names field, value and limit.
func TestConfigLimits(t *testing.T) {
	t.Parallel()
	views := shapesAndColors(8)
	// The limits come before any work, and so before a context that has ended: without one the test fails and does no harm.
	ended, end := context.WithCancel(context.Background())
	end()
	for _, value := range []int{math.MaxInt, math.MaxInt / 3, 1<<31 - 1} {
		for name, x := range map[string]struct {
			config Config
			most   string
		}{
			"Layers":             {Config{Layers: value}, "1000"},
			"Epochs":             {Config{Epochs: value}, "1000000000"},
			"Restarts":           {Config{Restarts: value}, "10000"},
			"KMeansStarts":       {Config{KMeansStarts: value}, "1000"},
			"Workers":            {Config{Machine: machine.Options{Workers: value}}, "4096"},
			"Neighborhood.Steps": {Config{Neighborhood: Neighborhood{Steps: value}}, "1000"},
		} {
			x.config.Clusters = 2
			_, err := fitAlone(ended, views, x.config)
			want := name + " is " + strconv.Itoa(value) + ", want at most " + x.most
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want it to say %q", err, want)
			}
		}
		// What the samples bound is not limited.
		if _, err := fitAlone(context.Background(), views, Config{
			Clusters: 2, Epochs: 1,
			Neighborhood: Neighborhood{Neighbors: value, Directions: value, Exact: value, Landmarks: value},
			Patience:     value, Checkpoint: Checkpoint{Every: value},
		}); err != nil {
			t.Error(err)
		}
		if _, err := KMeans(context.Background(), mat.NewDense(4, 1, []float64{1, 2, 7, 8}), KMeansConfig{
			Clusters: 2, Workers: value,
		}); err != nil {
			t.Error(err)
		}
	}
}

// The numbers of a model or a checkpoint that is sealed, each made absurd in turn: it is refused, or does no harm.
func TestResealedNumbers(t *testing.T) {
	t.Parallel()
	model, checkpoint := savedFiles(t)
	views, path := shapesAndColors(8), filepath.Join(t.TempDir(), "file")
	limited := regexp.MustCompile(`want at most \d+`)
	for _, number := range []int64{math.MaxInt64, math.MaxInt64 / 8, 1 << 40, 1<<31 - 1, math.MinInt64} {
		for _, seed := range [][]byte{model, checkpoint} {
			refused := 0
			for field := 0; ; field++ {
				b := reseal(t, seed, field, strconv.FormatInt(number, 10))
				if b == nil {
					break
				}
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				var err error
				began := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				got := testutil.Allocated(func() {
					if &seed[0] == &checkpoint[0] {
						_, err = Resume(ctx, views, path, nil)
						return
					}
					var p *Predictor
					if p, err = Load(path); err == nil {
						_, err = p.Assign(ctx, views)
					}
				})
				cancel()
				if took := time.Since(began); got > 64<<20 || took > 20*time.Second {
					t.Errorf("number %d is %d: %d MiB, %v, then %v", field, number, got>>20, took, err)
				}
				if err != nil && limited.MatchString(err.Error()) {
					refused++
				}
			}
			if number > 0 && refused < 6 {
				t.Errorf("%d: %d fields are above their limits, want 6", number, refused)
			}
		}
	}
}

// A checkpoint that is sealed and speaks of another number of layers than it has values for is refused before any work.
func TestResealedLayers(t *testing.T) {
	t.Parallel()
	_, checkpoint := savedFiles(t)
	path := filepath.Join(t.TempDir(), "file")
	ended, end := context.WithCancel(context.Background())
	end()
	refused := map[string]bool{}
	for _, layers := range []string{"1", "999"} {
		for field := 0; ; field++ {
			b := reseal(t, checkpoint, field, layers)
			if b == nil {
				break
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Resume(ended, shapesAndColors(8), path, nil)
			if err != nil && strings.Contains(err.Error(), "a network of "+layers+" layers for") {
				refused[layers] = true
			}
		}
		if !refused[layers] {
			t.Errorf("no checkpoint of %s layers is refused for its values", layers)
		}
	}
}

// TestKnownErrors wants faults of the known labels to be errors before any work.
func TestKnownErrors(t *testing.T) {
	views, truth := blobViews(60, 3, 0.6, 20, 12, 9)
	for want, c := range map[string]Config{
		"5 labels for 60 samples":                     {Known: truth[:5]},
		"fewer than two classes":                      {Known: make([]int, 60)},
		"Known[0] is -2":                              {Known: slices.Repeat([]int{-2}, 60)},
		"the 60 samples of this rank":                 {Known: truth[:2], Machine: machine.Options{Comm: comm.Local(1)[0]}},
		"for Config.Known needs neighbo":              {Known: truth, Neighborhood: Neighborhood{Neighbors: None}},
		"KnownWeight is -1":                           {Known: truth, Neighborhood: Neighborhood{KnownWeight: -1}},
		"KnownWeight needs known labels":              {Neighborhood: Neighborhood{KnownWeight: 1}},
		"FitSamples is 30":                            {Known: truth, Neighborhood: Neighborhood{KnownWeight: 1}, FitSamples: 30},
		"Anchors is 4 and the known labels have 3 cl": {Known: truth, Neighborhood: Neighborhood{KnownWeight: 1}, Anchors: 4},
		"Exact samples (0); set Config.Neighborhood.KnownWeight to 0": {
			Known: truth, Neighborhood: Neighborhood{Exact: None, KnownWeight: 1},
			Machine: machine.Options{Comm: comm.Local(1)[0]},
		},
	} {
		c.Clusters = 3
		if _, err := fitAlone(t.Context(), views, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A start has no form in JSON: it is an error by its present and its former name, and null is none.
func TestStartInJSON(t *testing.T) {
	for text, wrong := range map[string]bool{
		`{"StartAnchors":[[[1,2]]]}`: true, `{"Start":{"H":[[1]]}}`: true,
		`{"StartAnchors":null}`: false, `{"Start":null}`: false,
	} {
		var c Config
		if err := json.Unmarshal([]byte(text), &c); (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "Start ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A checkpoint tells a given H from a given E of the same entries.
func TestSumOfStart(t *testing.T) {
	x := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	h, err := sumOfStart(t.Context(), nil, &Config{Start: StartPoint{H: x}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := sumOfStart(t.Context(), nil, &Config{Start: StartPoint{E: []mat.Matrix{x}}})
	if err != nil || h == e {
		t.Errorf("%q and %q: %v", h, e, err)
	}
}

// Lists that are read do not change those of a Config that was copied.
func TestReadingConfigKeepsOthers(t *testing.T) {
	first := Config{Known: []int{1, 2, 3}, StartLabels: []int{0, 1}}
	second := first
	if err := json.Unmarshal([]byte(`{"Known": [7, 8, 9], "StartLabels": [5]}`), &second); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Known, []int{1, 2, 3}) || !slices.Equal(first.StartLabels, []int{0, 1}) ||
		!slices.Equal(second.Known, []int{7, 8, 9}) || !slices.Equal(second.StartLabels, []int{5}) {
		t.Errorf("%v %v, %v %v", first.Known, first.StartLabels, second.Known, second.StartLabels)
	}
}
