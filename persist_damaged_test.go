package largemvc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
)

// Whatever byte of a model is changed, and wherever it is cut off, the error says which.
func TestLoadDamaged(t *testing.T) {
	for name, model := range map[string]*Clustering{"no neighbours": someModel(t), "neighbours": neighborModel(t, Config{})} {
		t.Run(name, func(t *testing.T) { testLoadDamaged(t, encode(t, model.Predictor)) })
	}
}

func testLoadDamaged(t *testing.T, b []byte) {
	if _, err := ReadPredictor(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	step := max(1, len(b)/1000)
	for i := 0; i < len(b); i += step {
		changed := slices.Clone(b)
		changed[i] ^= 4
		if p, err := ReadPredictor(bytes.NewReader(changed)); p != nil || err == nil ||
			!strings.HasPrefix(err.Error(), "largemvc: ") {
			t.Fatalf("byte %d (%q) changed: %v, %v", i, b[i], p, err)
		}
		if p, err := ReadPredictor(bytes.NewReader(b[:i])); p != nil || err == nil ||
			!strings.Contains(err.Error(), "truncated") {
			t.Fatalf("cut off after %d bytes: %v, %v", i, p, err)
		}
	}
	changed := slices.Clone(b)
	changed[len(b)-1] ^= 1
	if _, err := ReadPredictor(bytes.NewReader(changed)); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("the last byte changed: %v", err)
	}
	if _, err := ReadPredictor(bytes.NewReader(append(slices.Clone(b), 'x'))); err == nil ||
		!strings.Contains(err.Error(), "more in the file") {
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
		"newer":              {replace("version", "6", "7"), "newer"},
		"no version":         {replace("version", "6", "one"), "version"},
		"another format":     {replace("format", "largemvc-model", "llama"), `"llama"`},
		"no configuration":   {func(f *safetensors.File) { delete(f.Metadata, "config") }, "configuration"},
		"no training":        {func(f *safetensors.File) { delete(f.Metadata, "training") }, "training"},
		"unknown module":     {replace("config", `"RowShrink"`, `"RowGrow"`), "RowGrow"},
		"misplaced module":   {replace("config", `"RowShrink"`, `"Procrustes"`), "Noise cannot be a Procrustes"},
		"no module":          {replace("config", `"RowShrink"`, `""`), "no type"},
		"odd settings":       {replace("config", `"Rho0":0.01`, `"Rho0":"few"`), "settings of Noise"},
		"unknown activation": {replace("config", `"relu"`, `"gelu"`), `"gelu"`},
		"unknown reduction":  {replace("config", `"relative"`, `"max"`), `"max"`},
		"unknown status":     {replace("training", `"epoch limit"`, `"asleep"`), `"asleep"`},
		"no clusters":        {replace("config", `"Clusters":3`, `"Clusters":0`), "Clusters is 0"},
		"fewer clusters":     {replace("config", `"Clusters":3`, `"Clusters":2`), "3 clusters"},
		"many anchors":       {replace("config", `"Anchors":3`, `"Anchors":40`), "shape"},
		"endless layers":     {replace("config", `"Layers":2`, `"Layers":1000000000000`), "at most 1000"},
		"another variant":    {replace("config", `"RowShrink"`, `"NoNoise"`), ""},
		"samples":            {replace("training", `"samples":40`, `"samples":41`), "41"},
		"no features":        {replace("training", `"features":6`, `"features":0`), "view 0"},
		"features":           {replace("training", `"features":6`, `"features":7`), "anchors.0.0"},
		"no views": {
			func(f *safetensors.File) { f.Metadata["training"] = `{"samples":40,"status":"converged"}` }, "0 views",
		},
		"epochs": {replace("training", `"epochs":2`, `"epochs":-2`), "-2 epochs"},
		"NaN": {
			tensor("anchors.1.1", func(x *safetensors.Tensor) { copy(x.Data[16:], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}) }),
			"NaN",
		},
		"shape":         {tensor("R", func(x *safetensors.Tensor) { x.Shape = []int{9} }), "R"},
		"type":          {tensor("theta", func(x *safetensors.Tensor) { x.Dtype = "I64" }), "theta"},
		"sizes":         {tensor("sizes", func(x *safetensors.Tensor) { x.Data[0]++ }), "samples"},
		"negative size": {tensor("sizes", func(x *safetensors.Tensor) { x.Data[7] = 0xff }), "cluster 0"},
		"huge centroids": {
			tensor("centroids", func(x *safetensors.Tensor) { copy(x.Data, []byte{0, 0, 0x7f, 0x7f}) }),
			"centroids",
		},
		"missing": {tensor("mean.1", func(x *safetensors.Tensor) { x.Name = "mean.9" }), "mean.1"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := p.file()
			if err != nil {
				t.Fatal(err)
			}
			x.change(f)
			var b bytes.Buffer
			if _, err := f.Write(&b, file.Seal); err != nil {
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
	for _, p := range []*Predictor{
		someModel(f).Predictor, neighborModel(f, Config{}).Predictor,
		neighborModel(f, Config{Neighborhood: Neighborhood{Exact: None, Directions: 3}}).Predictor,
	} {
		b := encode(f, p)
		f.Add(b, "", "")
		f.Add(b, `"Anchors":3`, `"Anchors":4`)
		f.Add(b, `"neighbors":10`, `"neighbors":-1`)
		f.Add(b, `"exact_neighbors":10000`, `"exact_neighbors":3`)
		f.Add(b, `"columns":3`, `"columns":4`)
	}
	f.Fuzz(func(t *testing.T, b []byte, old, with string) {
		again := resealed(b, old, with)
		if again == nil {
			return
		}
		got, err := ReadPredictor(again)
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

// resealed returns the file in b, sealed again after a change of its text: what a checksum would stop goes past it. It
// returns nil if b is no file.
func resealed(b []byte, old, with string) *bytes.Buffer {
	f, err := safetensors.Read(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	if f.Metadata == nil {
		f.Metadata = map[string]string{}
	}
	delete(f.Metadata, file.Seal)
	for k, v := range f.Metadata {
		if old != "" {
			f.Metadata[k] = strings.ReplaceAll(v, old, with)
		}
	}
	again := new(bytes.Buffer)
	if _, err := f.Write(again, file.Seal); err != nil {
		return nil
	}
	return again
}
