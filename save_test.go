package largemvc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/optim"
)

// savedModels are fits of all kinds, with their views.
func savedModels(t testing.TB) map[string]struct {
	views []View
	model *Clustering
} {
	dims := []int{9, 5, 2}
	views, _ := blobViews(70, 3, 0.6, 20, dims...)
	views[1] = views[1].Named("ünïcode \"view\"")
	masked, err := testutil.Masked(views, absent(70, 3, 0.3, 20))
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]int, 70)
	for i := range labels {
		labels[i] = i % 4
	}
	out := map[string]struct {
		views []View
		model *Clustering
	}{}
	add := func(name string, views []View, c Config) {
		c.Clusters, c.Seed = 3, 1<<63+12345
		if c.Epochs == 0 {
			c.Epochs = 4
		}
		out[name] = struct {
			views []View
			model *Clustering
		}{views, mustFit(t, views, c)}
	}
	for _, f := range []bool{false, true} {
		for _, v := range []variant{large, amvc, rmvc} {
			for _, a := range []Activation{ReLU, SELU} {
				add(
					fmt.Sprintf("%v, %v, float%v", v, a, f), views,
					v.of(Config{
						Represent: &SoftThreshold{Activation: a}, Noise: &RowShrink{Activation: a}, Float64: f,
						Neighborhood: Neighborhood{Neighbors: None},
					}),
				)
			}
		}
		for name, views := range map[string][]View{"complete": views, "masked": masked} {
			for _, exact := range []int{0, None} {
				name := fmt.Sprintf("exact neighbours %d, %s, float%v", exact, name, f)
				add(name, views, Config{Neighborhood: Neighborhood{Exact: exact}, Float64: f})
				add(
					name+", directions", views,
					Config{
						Neighborhood: Neighborhood{Exact: exact, Directions: 3, Neighbors: 4, Steps: 2},
						Float64:      f, Noise: &NoNoise{},
					},
				)
			}
		}
	}
	for _, p := range []Preprocess{PreprocessBalanced, PreprocessZScore, PreprocessUnit, None} {
		add("preprocessing "+p.String(), masked, paper(Config{Preprocess: p, Reduction: ReductionRelative}))
		add(
			"neighbours, preprocessing "+p.String(),
			masked, Config{Preprocess: p, Neighborhood: Neighborhood{Steps: None, Landmarks: 12, Exact: None}},
		)
	}
	constant := slices.Clone(views)
	constant[2] = DenseView(70, 2, slices.Repeat([]float64{1, -3}, 70))
	add("two inputs, two inputs and one", constant, Config{})
	add(
		"many options",
		masked,
		Config{
			Anchors: 7, Layers: 3,
			Represent: &SoftThreshold{
				OneSided: true, Lipschitz: 2, Unconstrained: true,
			}, Noise: &RowShrink{Unconstrained: true}, Anchor: &Procrustes{Detach: true},
			Tolerance: 1e-3, Restarts: 2, Epochs: 30, Machine: machine.Options{Overwrite: false},
			Progress: func(Progress) error { return nil },
		},
	)
	add("no training", views, Config{Epochs: None, Anchors: 4, StartLabels: labels})
	for _, f := range []bool{false, true} {
		add(
			fmt.Sprintf("rotated, float64 %v", f),
			lowRankViews(70), Config{
				Float64: f, Preprocess: PreprocessZScore,
				Neighborhood: Neighborhood{Neighbors: None},
			},
		)
	}
	return out
}

// lowRankViews are n samples of rank 4 in 9 columns, then of full rank in 5 and 2.
func lowRankViews(n int) []View {
	dims := []int{9, 5, 2}
	x, _ := blobs(n, 3, 0.6, 20, dims...)
	for i := range n {
		row := x[0][i*9 : (i+1)*9]
		for j := 4; j < 9; j++ {
			row[j] = row[j%4] - 0.5*row[(j+1)%4]
		}
	}
	views := float64Views(x, dims...)
	views[1] = views[1].Named("ünïcode \"view\"")
	return views
}

// fillValue sets all that is a plain value, in structs within structs too.
func fillValue(t *testing.T, name string, v reflect.Value, excepted []string) {
	for i := range v.NumField() {
		name := strings.TrimPrefix(name+"."+v.Type().Field(i).Name, ".")
		if slices.Contains(excepted, name) {
			continue
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(1)
		case reflect.Uint64:
			f.SetUint(1<<64 - 1)
		case reflect.Float64:
			f.SetFloat(0.1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			fillValue(t, name, f, excepted)
		default:
			t.Fatalf("%s is a %v", name, f.Kind())
		}
	}
}

// Every field of Config is in a model file, except what the comment of saveConfig says.
func TestConfigIsSaved(t *testing.T) {
	var c Config
	fillValue(t, "", reflect.ValueOf(&c).Elem(), []string{"Represent", "Noise", "Anchor", "StartLabels", "Start", "Known",
		"Progress", "ExtraLoss", "Optimizer.Solver", "Machine.Overwrite", "Machine.PerModule", "Machine.MaxMemory",
		"Machine.Device", "Machine.Comm", "Checkpoint.Path"})
	c.Represent = &SoftThreshold{Theta0: 0.1, Lipschitz: 2, Activation: SELU, OneSided: true, Unconstrained: true, Fixed: true}
	c.Noise = &RowShrink{Rho0: 0.1, Scale: []float64{1, 2}, Activation: SELU, Unconstrained: true, Fixed: true}
	c.Anchor = &Procrustes{Detach: true}
	settings, err := saveConfig(&c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	var saved savedConfig
	if err := json.Unmarshal(text, &saved); err != nil {
		t.Fatal(err)
	}
	got, types, err := saved.restore()
	if err != nil || types != (foreign{}) {
		t.Fatal(types, err)
	}
	if !reflect.DeepEqual(*got, c) {
		t.Errorf("restored %+v\nfrom %s", *got, text)
	}
	saved.Optimizer, saved.LearningRate = optim.Options{}, 0.3
	if got, _, err := saved.restore(); err != nil ||
		!reflect.DeepEqual(got.Optimizer, optim.Options{LearningRate: 0.3}.WithDefaults()) {
		t.Errorf("without Optimizer: %+v, %v", got.Optimizer, err)
	}
}

func encode(t testing.TB, p *Predictor) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := p.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func TestSaveAndLoad(t *testing.T) {
	ctx := context.Background()
	for name, x := range savedModels(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.safetensors")
			if err := x.model.Save(path); err != nil {
				t.Fatal(err)
			}
			p, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			samePredictor(t, x.model.Predictor, p)
			if !reflect.DeepEqual(p.Config(), x.model.Config()) {
				t.Errorf("configuration %+v, want %+v", p.Config(), x.model.Config())
			}
			if !slices.Equal(p.ViewNames(), []string{"", "ünïcode \"view\"", ""}) ||
				!slices.Equal(p.Dims(), []int{9, 5, 2}) ||
				p.Samples() != 70 {
				t.Errorf("%q, %v, %d samples", p.ViewNames(), p.Dims(), p.Samples())
			}
			want, err := x.model.Assign(ctx, x.views)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Assign(ctx, x.views)
			if err != nil || !reflect.DeepEqual(got, want) || !slices.Equal(got.Labels, x.model.Labels) {
				t.Errorf("predictions differ: %v", err)
			}
			h, err := p.Transform(ctx, x.views)
			if err != nil {
				t.Fatal(err)
			}
			sameMatrix(t, "H", h, x.model.H)
			if !slices.Equal(p.Inputs(), x.model.Inputs()) {
				t.Errorf("inputs %v, want %v", p.Inputs(), x.model.Inputs())
			}
			if !mat.Equal(p.R(), x.model.R()) || !mat.Equal(p.U(), x.model.U()) ||
				!mat.Equal(p.Centroids(), x.model.Centroids()) ||
				!mat.Equal(p.P[1], x.model.P[1]) {
				t.Error("R, U, centroids or P differ")
			}
			if !bytes.Equal(encode(t, p), encode(t, x.model.Predictor)) {
				t.Error("saved again, the bytes differ")
			}
		})
	}
}

// neighborModel is a fit of incomplete samples with neighbours.
func neighborModel(t testing.TB, c Config) *Clustering {
	t.Helper()
	views, _ := blobViews(40, 3, 0.6, 21, 20, 4)
	masked, err := testutil.Masked(views, absent(40, 2, 0.2, 22))
	if err != nil {
		t.Fatal(err)
	}
	c.Clusters, c.Epochs = 3, 2
	return mustFit(t, masked, c)
}

func someModel(t testing.TB) *Clustering {
	t.Helper()
	views, _ := blobViews(40, 3, 0.6, 21, 6, 4)
	return mustFit(
		t, views,
		Config{Clusters: 3, Epochs: 2, Preprocess: PreprocessBalanced, Neighborhood: Neighborhood{Neighbors: None}},
	)
}

// A process that is killed while it saves, again and again, leaves a model that can be loaded.
func TestKilledWhileSaving(t *testing.T) {
	const variable = "LARGEMVC_TEST_SAVE_TO"
	if path := os.Getenv(variable); path != "" {
		p := someModel(t).Predictor
		for {
			if err := p.Save(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "model")
	want := someModel(t).Predictor
	for i := range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileSaving$")
		cmd.Env = append(os.Environ(), variable+"="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(path); err == nil {
				break
			}
		}
		time.Sleep(time.Duration(3+5*i) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		p, err := Load(path)
		if err != nil {
			t.Fatalf("killed %d times: %v", i+1, err)
		}
		samePredictor(t, want, p)
	}
}

// smoothedModels are fits of incomplete samples with neighbours, small enough to be changed in every way, with their views.
func smoothedModels(t testing.TB) (views []View, models map[string]*Clustering) {
	t.Helper()
	plain, _ := blobViews(26, 3, 0.6, 111, 20, 4)
	views, err := testutil.Masked(plain, absent(26, 2, 0.2, 112))
	if err != nil {
		t.Fatal(err)
	}
	models = map[string]*Clustering{}
	for name, c := range map[string]Config{
		"exact": {
			Neighborhood: Neighborhood{Directions: 5, Neighbors: 4},
		}, "exact, float64": {Float64: true, Preprocess: PreprocessZScore},
		"landmarks": {
			Neighborhood: Neighborhood{Directions: 5, Exact: None, Landmarks: 7},
		}, "landmarks, float64": {Float64: true, Neighborhood: Neighborhood{Exact: None}},
	} {
		c.Clusters, c.Epochs = 3, 1
		models[name] = mustFit(t, views, c)
	}
	return views, models
}

// readChanged reads a model after a change of the content of its file; usable says whether the change left a model.
func readChanged(t testing.TB, model *Clustering, change func(*safetensors.File)) (*Predictor, error) {
	t.Helper()
	f, err := model.file()
	if err != nil {
		t.Fatal(err)
	}
	change(f)
	var b bytes.Buffer
	if _, err := f.Write(&b, file.Seal); err != nil {
		t.Fatal(err)
	}
	return ReadPredictor(&b)
}

// mustRefuse fails the test unless there is an error that names the part.
func mustRefuse(t testing.TB, what, part string, p *Predictor, err error) {
	t.Helper()
	if p != nil || err == nil || !strings.HasPrefix(err.Error(), "largemvc: loading a model: ") ||
		!strings.Contains(err.Error(), part) {
		t.Errorf("%s: %v, %v, want an error that says %q", what, p != nil, err, part)
	}
}

// A file without one of its arrays, or with one of another shape or type, or with a value that is not finite, is refused by
// name.
func TestArraysOfSmoothing(t *testing.T) {
	_, models := smoothedModels(t)
	for name, model := range models {
		names := map[string]bool{}
		for i, x := range intakeOf(model.Predictor).Tensors {
			names[x.Name] = true
			at := func(f *safetensors.File) *safetensors.Tensor { return f.Tensor(x.Name) }
			p, err := readChanged(t, model, func(f *safetensors.File) { at(f).Name = "another" })
			mustRefuse(t, name+", without "+x.Name, x.Name, p, err)
			p, err = readChanged(t, model, func(f *safetensors.File) { at(f).Shape = append([]int{1}, x.Shape...) })
			mustRefuse(t, name+", another shape of "+x.Name, x.Name, p, err)
			p, err = readChanged(
				t, model,
				func(f *safetensors.File) { *at(f) = safetensors.Float64s(x.Name, make([]float64, 6), 2, 3) },
			)
			mustRefuse(t, name+", another size of "+x.Name, "", p, err)
			p, err = readChanged(t, model, func(f *safetensors.File) {
				if y := at(f); y.Dtype == "I64" {
					y.Dtype = "F64"
				} else {
					y.Data[len(y.Data)-1], y.Data[len(y.Data)-2] = 0x7f, 0xff // NaN, of 32 or 64 bits
				}
			})
			mustRefuse(t, fmt.Sprintf("%s, a wrong value of %s, array %d", name, x.Name, i), x.Name, p, err)
		}
		want := []string{"filter.0", "filter_all.0", "filter_have.0", "last_filter", "last_steps", "mean.1", "scale.1"}
		if strings.HasPrefix(name, "exact") {
			want = append(want, "neighbors.0", "neighbor_distances.0", "samples.1", "present.0")
		} else {
			want = append(want, "landmarks.0.0", "landmark_scale.1")
		}
		if model.Config().Neighborhood.Directions == 5 {
			want = append(want, "directions.0", "singular_values.0")
		}
		for _, w := range want {
			if !names[w] {
				t.Errorf("%s: no array %s", name, w)
			}
		}
	}
}

// Values that do not fit each other, in a file with a right checksum.
func TestInconsistentSmoothing(t *testing.T) {
	views, models := smoothedModels(t)
	ints := func(name string, change func(x []int)) func(*safetensors.File) {
		return func(f *safetensors.File) {
			y := f.Tensor(name)
			x, err := y.Ints()
			if err != nil {
				t.Fatal(err)
			}
			change(x)
			*y = safetensors.Ints(name, x, y.Shape...)
		}
	}
	floats := func(name string, change func(x []float64)) func(*safetensors.File) {
		return func(f *safetensors.File) {
			y := f.Tensor(name)
			x, err := y.Float64s()
			if err != nil {
				t.Fatal(err)
			}
			change(x)
			if *y = safetensors.Float64s(name, x, y.Shape...); y.Dtype == "F32" {
				*y = safetensors.Float32s(name, x, y.Shape...)
			}
		}
	}
	replace := func(key, old, with string) func(*safetensors.File) {
		return func(f *safetensors.File) {
			if !strings.Contains(f.Metadata[key], old) {
				t.Fatalf("%s is %s, without %s", key, f.Metadata[key], old)
			}
			f.Metadata[key] = strings.Replace(f.Metadata[key], old, with, 1)
		}
	}
	for _, test := range []struct {
		model, name string
		change      func(*safetensors.File)
		want        string
	}{
		{"exact", "a neighbour beyond", ints("neighbors.0", func(x []int) { x[3] = 26 }), "26"},
		{"exact", "a neighbour far beyond", ints("neighbors.1", func(x []int) { x[3] = 1 << 40 }), "1099511627776"},
		{"exact", "a negative neighbour", ints("neighbors.1", func(x []int) { x[3] = -2 }), "-2"},
		{"exact", "its own neighbour", ints("neighbors.0", func(x []int) { x[5*4] = 5 }), "sample 5"},
		{"exact", "a neighbour twice", ints("neighbors.0", func(x []int) { x[1] = x[0] }), "twice"},
		{"exact", "a gap", ints("neighbors.0", func(x []int) { x[0] = -1 }), "order"},
		{"exact", "unordered", floats("neighbor_distances.0", func(x []float64) { x[0] = 100 }), "order"},
		{"exact", "a negative distance", floats("neighbor_distances.0", func(x []float64) { x[0] = -0.5 }), "distance"},
		{"exact", "huge samples", floats("samples.0", func(x []float64) { x[0] = 1e30 }), "neighbours"},
		{"exact", "more neighbours", replace("config", `"Neighbors":4`, `"Neighbors":5`), "neighbors.0"},
		{"exact", "landmarks", replace("config", `"Exact":10000`, `"Exact":-1`), "landmark_scale.0"},
		{"exact", "no neighbours", replace("config", `"Neighbors":4`, `"Neighbors":-1`), "no effect"},
		{"exact", "neighbours 0", replace("config", `"Neighbors":4`, `"Neighbors":0`), "Neighbors is 0"},
		{"exact", "more samples", replace("training", `"samples":26`, `"samples":1000000000000`), "samples"},
		{"exact", "one standardisation", replace("config", `"Preprocess":"both"`, `"Preprocess":"sample"`), "zscore"},
		{"exact", "another standardisation", replace("training", `"preprocess":"zscore"`, `"preprocess":"unit"`), "unit"},
		{"exact", "no standardisation", replace("training", `"preprocess":"zscore"`, `"preprocess":"abc"`), "abc"},
		{"exact", "the same input twice", replace("training", `"preprocess":"zscore"`, `"preprocess":"sample"`), "twice"},
		{"exact", "no inputs", replace("training", `"inputs":[`, `"no":[`), "view 0 is not an input"},
		{"exact", "a view beyond", replace("training", `"view":1`, `"view":2`), "view 2"},
		{"exact", "a negative view", replace("training", `"view":1`, `"view":-1`), "view -1"},
		{
			"exact", "more columns than features",
			replace("training", `"zscore","columns":5,"length":1}],`, `"zscore","columns":6,"length":1}],`), "6 columns",
		},
		{"exact", "a negative length", replace("training", `"length":1`, `"length":-1`), "length -1"},
		{"exact", "a huge length", replace("training", `"length":1`, `"length":1e300`), "length 1e+300"},
		{"exact", "no start that is kept", replace("training", `"samples"`, `"kept":true,"samples"`), "start_singular_values"},
		{"exact", "no columns", replace("training", `"columns":5`, `"columns":0`), "0 columns"},
		{"exact", "other steps", ints("last_steps", func(x []int) { x[0]++ }), "last_steps"},
		{"exact", "fewer columns", replace("training", `"columns":5`, `"columns":3`), "shape"},
		{"landmarks", "a negative scale", floats("landmark_scale.2", func(x []float64) { x[0] = -1 }), "scale"},
		{"landmarks", "huge landmarks", floats("landmarks.0.0", func(x []float64) { x[0] = 1e30 }), "neighbours"},
		{"landmarks", "no landmarks", func(f *safetensors.File) {
			*f.Tensor("landmark_scale.0") = safetensors.Float64s("landmark_scale.0", nil, 0)
		}, "landmarks.0.0"},
		{"landmarks", "exact neighbours", replace("config", `"Exact":-1`, `"Exact":26`), "neighbors.0"},
		{"landmarks", "steps", replace("config", `"Steps":6`, `"Steps":-6`), "Steps"},
	} {
		p, err := readChanged(t, models[test.model], test.change)
		mustRefuse(t, test.model+", "+test.name, test.want, p, err)
	}
	// Other values than the fit's, which no check can tell from them, predict something.
	for _, test := range []struct {
		model, name string
		change      func(*safetensors.File)
	}{
		{"exact", "zero filter", floats("filter.0", func(x []float64) { clear(x) })},
		{"exact", "large filter", floats("filter.0", func(x []float64) { x[0] = 3e38 })},
		{"exact", "zero last filter", floats("last_filter", func(x []float64) { clear(x) })},
		{"exact", "large last filter", floats("last_filter", func(x []float64) { x[0], x[3] = 3e38, 3e38 })},
		{"landmarks", "large last filter", floats("last_filter", func(x []float64) { x[0] = -3e38 })},
		{"exact", "nobody", floats("filter_have.0", func(x []float64) { clear(x) })},
		{"exact", "all absent", ints("present.0", func(x []int) { clear(x) })},
		{"exact", "zero directions", floats("directions.0", func(x []float64) { clear(x) })},
		{"exact", "equal samples", floats("samples.0", func(x []float64) { clear(x) })},
		{"exact", "no neighbours", func(f *safetensors.File) {
			ints("neighbors.0", func(x []int) {
				for i := range x {
					x[i] = -1
				}
			})(f)
		}},
		{"exact", "large scale", floats("scale.0", func(x []float64) { x[0] = 1e300 })},
		{"landmarks", "equal landmarks", floats("landmarks.0.0", func(x []float64) { clear(x) })},
		{"landmarks", "no scale", floats("landmark_scale.0", func(x []float64) { clear(x) })},
		{"landmarks", "many steps", replace("config", `"Steps":6`, `"Steps":4000000000000000000`)},
	} {
		p, err := readChanged(t, models[test.model], test.change)
		if err != nil {
			continue
		}
		a, err := p.Assign(context.Background(), views)
		if err == nil && (slices.Min(a.Labels) < 0 || slices.Max(a.Labels) >= p.Clusters) {
			t.Errorf("%s, %s: labels %v", test.model, test.name, a.Labels)
		}
	}
}

// A finished training goes on to more epochs also if the function sets a whole Config, whose other fields are 0 for defaults.
func TestResumeToMoreEpochsFromDefaults(t *testing.T) {
	views, _ := blobViews(80, 3, 0.8, 31, 8, 5)
	config := Config{Clusters: 3, Epochs: 12, NoStructure: true, Checkpoint: Checkpoint{Path: filepath.Join(t.TempDir(), "x")}}
	mustFit(t, views, config)
	longer := config
	longer.Checkpoint, longer.Epochs = Checkpoint{}, 17
	want := mustFit(t, views, longer)
	sameResult(t, want, mustResume(t, views, config.Checkpoint.Path, func(c *Config) { *c = longer }))
	longer.Epochs = 0 // the default, 30
	got := mustResume(t, views, config.Checkpoint.Path, func(c *Config) { *c = longer })
	sameResult(t, mustFit(t, views, longer), got)
	if got.Epochs != 30 {
		t.Errorf("%d epochs, want 30", got.Epochs)
	}
}

// A training that stopped early goes on only if its early stop changes; more epochs alone are an error.
func TestResumeAfterEarlyStop(t *testing.T) {
	views, _ := blobViews(90, 3, 0.8, 30, 9, 5)
	config := paper(Config{Clusters: 3, Epochs: 20, Tolerance: 0.99, Patience: 3})
	config.Checkpoint.Path = filepath.Join(t.TempDir(), "x")
	early := mustFit(t, views, config)
	if early.Status != Converged || early.Epochs >= 20 {
		t.Fatalf("%v after %d epochs", early.Status, early.Epochs)
	}
	_, err := Resume(t.Context(), views, config.Checkpoint.Path, func(c *Config) { c.Epochs = 25 })
	if err == nil || !strings.Contains(err.Error(), "Tolerance 0.99 with Patience 3 would stop it there again") {
		t.Errorf("more epochs: %v", err)
	}
	sameResult(t, early, mustResume(t, views, config.Checkpoint.Path, nil))
	config.Tolerance, config.Patience = 0, 0
	got := mustResume(t, views, config.Checkpoint.Path, func(c *Config) {
		c.Tolerance, c.Patience, c.Checkpoint.Path = 0, 0, ""
	})
	config.Checkpoint.Path = ""
	sameResult(t, mustFit(t, views, config), got)
}

// Changes behind pointers, in slices, and of fields whose defaults depend on the samples are seen, too.
func TestResumeSeesEveryChange(t *testing.T) {
	views, labels := blobViews(60, 3, 0.8, 31, 8, 5)
	stop := func(c Config) string { return killed(t, views, c, 0, 3) }
	modules := stop(Config{
		Clusters: 3, Seed: 1 << 60, Epochs: 6, Checkpoint: Checkpoint{Every: 1}, Noise: &RowShrink{Scale: []float64{1, 1}},
	})
	steps := stop(Config{Clusters: 3, Epochs: 6, Checkpoint: Checkpoint{Every: 1}, Neighborhood: Neighborhood{Steps: 3}})
	given := stop(paper(Config{Clusters: 3, Epochs: 6, Checkpoint: Checkpoint{Every: 1}, StartLabels: labels}))
	x, y := slices.Repeat([]float64{0.5}, 24), slices.Repeat([]float64{0.1}, 15)
	p := []mat.Matrix{mat.NewDense(3, 8, x), mat.NewDense(3, 5, y)}
	anchors := stop(paper(Config{Clusters: 3, Epochs: 6, Checkpoint: Checkpoint{Every: 1}, Start: StartPoint{Anchors: p}}))
	for _, x := range []struct {
		path, want string
		change     func(*Config)
	}{
		{modules, "OneSided", func(c *Config) { c.Represent.(*SoftThreshold).OneSided = true }},
		{modules, "Scale", func(c *Config) { c.Noise.(*RowShrink).Scale[0] = 2 }},
		{modules, "Seed was 1152921504606846976 and is 1152921504606846977 now", func(c *Config) { c.Seed++ }},
		{steps, "Neighborhood.Steps was 3 and is 6 now", func(c *Config) { c.Neighborhood = Neighborhood{} }},
		{given, "StartLabels", func(c *Config) { c.StartLabels[0] = (c.StartLabels[0] + 1) % 3 }},
		{anchors, "Start.Anchors", func(c *Config) { c.Start.Anchors[1] = nil }},
		{anchors, "Start.Anchors", func(c *Config) { c.Start.Anchors[1].(*mat.Dense).Set(0, 0, 7) }},
	} {
		if c, err := Resume(context.Background(), views, x.path, x.change); c != nil || err == nil ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("want %q: %v, %v", x.want, c, err)
		}
	}
	mustResume(t, views, modules, nil)
	mustResume(t, views, anchors, nil)
}
