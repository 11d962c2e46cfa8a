package largemvc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/safetensors"
)

// savedModels are fits of all kinds, with their views.
func savedModels(t testing.TB) map[string]struct {
	views []View
	model *Clustering
} {
	dims := []int{9, 5, 2}
	views, _ := blobViews(70, 3, 0.6, 20, dims...)
	views[1] = views[1].Named("ünïcode \"view\"")
	masked, err := Mask(views, absent(70, 3, 0.3, 20))
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
	for _, v := range []Variant{Large, AMvC, RMvC} {
		for _, a := range []Activation{ReLU, SELU} {
			for _, f := range []Float{Float32, Float64} {
				add(fmt.Sprintf("%v, %v, float%v", v, a, f), views, Config{Variant: v, Activation: a, Float: f})
			}
		}
	}
	for _, p := range []Preprocess{Balanced, ZScore, UnitNorm, Raw} {
		add("preprocessing "+p.String(), masked, Config{Preprocess: p, Preset: Paper, Reduction: Sum})
	}
	add("many options", masked, Config{Anchors: 7, Layers: 3, OneSided: true, Signs: Unconstrained, Lipschitz: 2, Tolerance: 1e-3,
		Restarts: 2, Epochs: 30, Overwrite: false, DetachAnchors: true, Start: Spectral, Progress: func(Epoch) error { return nil }})
	add("no training", views, Config{Epochs: NoTraining, Anchors: 4, StartLabels: labels})
	for _, f := range []Float{Float32, Float64} {
		add("rotated, float"+f.String(), lowRankViews(70), Config{Float: f, Rotate: RotateAlways, Preprocess: ZScore})
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

// Every field of Config is in a model file, but for what its comment in saveConfig excepts.
func TestConfigIsSaved(t *testing.T) {
	excepted := []string{"StartLabels", "StartAnchors", "Progress", "ExtraLoss", "Overwrite", "Checkpoint"}
	var c Config
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
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
		default:
			t.Fatalf("%s is a %v", name, f.Kind())
		}
	}
	text, err := json.Marshal(saveConfig(&c))
	if err != nil {
		t.Fatal(err)
	}
	var saved savedConfig
	if err := json.Unmarshal(text, &saved); err != nil {
		t.Fatal(err)
	}
	got, err := saved.restore()
	if err != nil {
		t.Fatal(err)
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
			if !slices.Equal(p.ViewNames(), []string{"", "ünïcode \"view\"", ""}) || !slices.Equal(p.Dims(), []int{9, 5, 2}) || p.Samples() != 70 {
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
			if !mat.Equal(p.R(), x.model.R()) || !mat.Equal(p.U(), x.model.U()) || !mat.Equal(p.Centroids(), x.model.Centroids()) || !mat.Equal(p.P[1], x.model.P[1]) {
				t.Error("R, U, centroids or P differ")
			}
			if !bytes.Equal(encode(t, p), encode(t, x.model.Predictor)) {
				t.Error("saved again, the bytes differ")
			}
		})
	}
}

func someModel(t testing.TB) *Clustering {
	t.Helper()
	views, _ := blobViews(40, 3, 0.6, 21, 6, 4)
	return mustFit(t, views, Config{Clusters: 3, Epochs: 2, Preprocess: Balanced})
}

// Whatever byte of a model is changed, and wherever it is cut off, the error says which.
func TestLoadDamaged(t *testing.T) {
	b := encode(t, someModel(t).Predictor)
	if _, err := ReadPredictor(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	step := max(1, len(b)/2000)
	for i := 0; i < len(b); i += step {
		changed := slices.Clone(b)
		changed[i] ^= 4
		if p, err := ReadPredictor(bytes.NewReader(changed)); p != nil || err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") {
			t.Fatalf("byte %d (%q) changed: %v, %v", i, b[i], p, err)
		}
		if p, err := ReadPredictor(bytes.NewReader(b[:i])); p != nil || err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Fatalf("cut off after %d bytes: %v, %v", i, p, err)
		}
	}
	changed := slices.Clone(b)
	changed[len(b)-1] ^= 1
	if _, err := ReadPredictor(bytes.NewReader(changed)); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("the last byte changed: %v", err)
	}
	if _, err := ReadPredictor(bytes.NewReader(append(slices.Clone(b), 'x'))); err == nil || !strings.Contains(err.Error(), "more in the file") {
		t.Errorf("a byte too many: %v", err)
	}
}

// Models with a right checksum and wrong content.
func TestLoadInconsistent(t *testing.T) {
	p := someModel(t).Predictor
	replace := func(key, old, with string) func(*safetensors.File) {
		return func(f *safetensors.File) {
			if !strings.Contains(f.Metadata[key], old) {
				t.Fatalf("%s is %s, without %s", key, f.Metadata[key], old)
			}
			f.Metadata[key] = strings.Replace(f.Metadata[key], old, with, 1)
		}
	}
	tensor := func(name string, change func(*safetensors.Tensor)) func(*safetensors.File) {
		return func(f *safetensors.File) { change(f.Tensor(name)) }
	}
	for name, x := range map[string]struct {
		change func(*safetensors.File)
		want   string
	}{
		"newer":              {replace("version", "1", "2"), "newer"},
		"no version":         {replace("version", "1", "one"), "version"},
		"another format":     {replace("format", "largemvc-model", "llama"), `"llama"`},
		"no configuration":   {func(f *safetensors.File) { delete(f.Metadata, "config") }, "configuration"},
		"no training":        {func(f *safetensors.File) { delete(f.Metadata, "training") }, "training"},
		"unknown variant":    {replace("config", `"large"`, `"huge"`), `"huge"`},
		"unknown activation": {replace("config", `"relu"`, `"gelu"`), `"gelu"`},
		"unknown reduction":  {replace("config", `"mean"`, `"max"`), `"max"`},
		"unknown status":     {replace("training", `"epoch limit"`, `"asleep"`), `"asleep"`},
		"no clusters":        {replace("config", `"clusters":3`, `"clusters":0`), "Clusters is 0"},
		"fewer clusters":     {replace("config", `"clusters":3`, `"clusters":2`), "3 clusters"},
		"many anchors":       {replace("config", `"anchors":3`, `"anchors":40`), "shape"},
		"endless layers":     {replace("config", `"layers":2`, `"layers":1000000000000`), "theta"},
		"another variant":    {replace("config", `"large"`, `"amvc"`), ""},
		"samples":            {replace("training", `"samples":40`, `"samples":41`), "41"},
		"no features":        {replace("training", `"features":6`, `"features":0`), "view 0"},
		"features":           {replace("training", `"features":6`, `"features":7`), "mean.0"},
		"no views":           {func(f *safetensors.File) { f.Metadata["training"] = `{"samples":40,"status":"converged"}` }, "0 views"},
		"epochs":             {replace("training", `"epochs":2`, `"epochs":-2`), "-2 epochs"},
		"NaN":                {tensor("anchors.1.1", func(x *safetensors.Tensor) { copy(x.Data[16:], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}) }), "NaN"},
		"shape":              {tensor("R", func(x *safetensors.Tensor) { x.Shape = []int{9} }), "R"},
		"type":               {tensor("theta", func(x *safetensors.Tensor) { x.Dtype = "I64" }), "theta"},
		"sizes":              {tensor("sizes", func(x *safetensors.Tensor) { x.Data[0]++ }), "samples"},
		"negative size":      {tensor("sizes", func(x *safetensors.Tensor) { x.Data[7] = 0xff }), "cluster 0"},
		"huge centroids":     {tensor("centroids", func(x *safetensors.Tensor) { copy(x.Data, []byte{0, 0, 0x7f, 0x7f}) }), "centroids"},
		"missing":            {tensor("mean.1", func(x *safetensors.Tensor) { x.Name = "mean.9" }), "mean.1"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := p.file()
			if err != nil {
				t.Fatal(err)
			}
			x.change(f)
			var b bytes.Buffer
			if _, err := f.Write(&b, metaSeal); err != nil {
				t.Fatal(err)
			}
			got, err := ReadPredictor(&b)
			if x.want == "" { // a model of its own
				if err != nil || got == nil || got.Rho != nil {
					t.Errorf("%v, %v", got, err)
				}
				return
			}
			if got != nil || err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, %v, want it to say %q", got, err, x.want)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("this is no model at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

func FuzzReadPredictor(f *testing.F) {
	p := someModel(f).Predictor
	f.Add(encode(f, p), "", "")
	f.Add(encode(f, p), `"anchors":3`, `"anchors":4`)
	f.Fuzz(func(t *testing.T, b []byte, old, with string) {
		// Past the checksum, which would stop nearly all of it, go the same bytes sealed again after a change of the text.
		file, err := safetensors.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		if file.Metadata == nil {
			file.Metadata = map[string]string{}
		}
		delete(file.Metadata, metaSeal)
		for k, v := range file.Metadata {
			if old != "" {
				file.Metadata[k] = strings.ReplaceAll(v, old, with)
			}
		}
		var again bytes.Buffer
		if _, err := file.Write(&again, metaSeal); err != nil {
			return
		}
		got, err := ReadPredictor(&again)
		if err != nil {
			return
		}
		one := make([]View, len(got.Dims()))
		for v, d := range got.Dims() {
			one[v] = Float64View(1, d, make([]float64, d))
		}
		if a, err := got.Assign(context.Background(), one); err == nil && (a.Labels[0] < 0 || a.Labels[0] >= got.Clusters) {
			t.Errorf("label %d of %d clusters", a.Labels[0], got.Clusters)
		}
	})
}

func TestEmptyPredictor(t *testing.T) {
	views, _ := blobViews(1, 1, 1, 1, 2)
	for _, p := range []*Predictor{nil, {}} {
		if _, err := p.Predict(context.Background(), views); err == nil {
			t.Error("Predict: no error")
		}
		if _, err := p.Transform(context.Background(), views); err == nil {
			t.Error("Transform: no error")
		}
		if _, err := p.WriteTo(io.Discard); err == nil {
			t.Error("WriteTo: no error")
		}
		if err := p.Save(filepath.Join(t.TempDir(), "x")); err == nil {
			t.Error("Save: no error")
		}
	}
	p := &Predictor{}
	if p.Anchors(0, 0) != nil || p.R() != nil || p.U() != nil || p.Centroids() != nil || len(p.Dims()) != 0 {
		t.Error("an empty predictor has something")
	}
}

func TestSaveIsAtomic(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "model")
	p := someModel(t).Predictor
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A write that fails in the middle leaves the file as it was, and nothing beside it.
	broken := errors.New("disk full")
	err = writeFile(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return broken
	})
	after, readErr := os.ReadFile(path)
	if !errors.Is(err, broken) || readErr != nil || !bytes.Equal(before, after) {
		t.Errorf("%v, %v; the file changed: %v", err, readErr, !bytes.Equal(before, after))
	}
	names := func() []string {
		list, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range list {
			out = append(out, e.Name())
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"model"}) {
		t.Errorf("the folder holds %q", got)
	}
	// A file keeps its permissions, a link stays a link.
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if link := filepath.Join(folder, "link"); os.Symlink("model", link) == nil {
		if err := p.Save(link); err != nil {
			t.Fatal(err)
		}
		if target, err := os.Readlink(link); err != nil || target != "model" {
			t.Errorf("%q, %v", target, err)
		}
		if got := names(); !slices.Equal(got, []string{"link", "model"}) {
			t.Errorf("the folder holds %q", got)
		}
	}
	for _, path := range []string{folder, filepath.Join(folder, "no", "such"), filepath.Join(path, "below")} {
		if err := p.Save(path); err == nil {
			t.Errorf("saved to %s", path)
		}
	}
	if got := names(); !slices.Equal(got, []string{"link", "model"}) && !slices.Equal(got, []string{"model"}) {
		t.Errorf("the folder holds %q", got)
	}
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
