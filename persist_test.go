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

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/machine"
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
	fillValue(t, "", reflect.ValueOf(&c).Elem(), []string{"Represent", "Noise", "Anchor", "StartLabels", "StartAnchors",
		"Progress", "ExtraLoss", "Machine.Overwrite", "Machine.MaxMemory", "Machine.Device",
		"Machine.Comm", "Checkpoint.Path"})
	c.Represent = &SoftThreshold{Theta0: 0.1, Lipschitz: 2, Activation: SELU, OneSided: true, Unconstrained: true}
	c.Noise = &RowShrink{Rho0: 0.1, Scale: []float64{1, 2}, Activation: SELU, Unconstrained: true}
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
