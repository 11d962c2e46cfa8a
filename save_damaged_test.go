package largemvc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/saved"
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
			!strings.HasPrefix(err.Error(), "largemvc: ") || kindOf(err) == nil {
			t.Fatalf("byte %d (%q) changed: %v, %v", i, b[i], p, err)
		}
		if p, err := ReadPredictor(bytes.NewReader(b[:i])); p != nil || err == nil ||
			!strings.Contains(err.Error(), "truncated") || kindOf(err) != saved.ErrDamaged {
			t.Fatalf("cut off after %d bytes: %v, %v", i, p, err)
		}
	}
	changed := slices.Clone(b)
	changed[len(b)-1] ^= 1
	if _, err := ReadPredictor(bytes.NewReader(changed)); err == nil ||
		!strings.Contains(err.Error(), "was changed") || kindOf(err) != saved.ErrDamaged {
		t.Errorf("the last byte changed: %v", err)
	}
	if _, err := ReadPredictor(bytes.NewReader(append(slices.Clone(b), 'x'))); err == nil ||
		!strings.Contains(err.Error(), "more in the file") || kindOf(err) != saved.ErrDamaged {
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
		"lost": { // which some models do not have
			func(f *safetensors.File) {
				f.Tensors = slices.DeleteFunc(f.Tensors, func(x safetensors.Tensor) bool { return x.Name == "novelty" })
			}, `no "novelty"`,
		},
		"confidence": {
			func(f *safetensors.File) {
				f.Tensors = append(f.Tensors, safetensors.Float64s("confidence", []float64{2, 0, 1, 1}, 4))
			}, "its curve of confidence is [2 0 1 1]",
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
			kind := saved.ErrDamaged
			switch name {
			case "newer":
				kind = saved.ErrNewer
			case "another format":
				kind = saved.ErrFormat
			case "unknown module": // a type of somebody's own, as far as anyone can tell
				kind = nil
			}
			if kindOf(err) != kind {
				t.Errorf("%v is %v, want %v", err, kindOf(err), kind)
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

// kindOf returns the one error of package saved that errors.Is finds; nil if there is none, or more.
func kindOf(err error) error {
	var found []error
	for _, kind := range []error{saved.ErrNewer, saved.ErrDamaged, saved.ErrFormat} {
		if errors.Is(err, kind) {
			found = append(found, kind)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// A program can tell what is the matter with a model or a checkpoint that it cannot read. A file of a later version is said to be
// that whatever else it has that this one does not know.
func TestKindsOfUnreadableFiles(t *testing.T) {
	future := func(format, version string) []byte {
		header := fmt.Sprintf(`{"__metadata__":{"format":%q,"version":%q,"notes":["of","some","kind"]},`+
			`"R":{"dtype":"F4","shape":[2],"data_offsets":[0,1],"scale":0.5}}`, format, version)
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...) // and no data
	}
	model, views := encode(t, someModel(t).Predictor), []View{DenseView(2, 1, []float64{1, 2})}
	state := checkpointBytes(t, None)
	failed := errors.New("the network is gone")
	folder := t.TempDir()
	resume := func(b []byte) error {
		path := filepath.Join(folder, "state")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Resume(t.Context(), views, path, nil)
		return err
	}
	load := func(b []byte) error {
		path := filepath.Join(folder, "model")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		_, again := ReadPredictor(bytes.NewReader(b))
		if kindOf(err) != kindOf(again) {
			t.Errorf("Load says %v, ReadPredictor %v", err, again)
		}
		return err
	}
	for name, x := range map[string]struct{ err, kind error }{
		"a later model":                  {load(future("largemvc-model", "7")), saved.ErrNewer},
		"a later checkpoint":             {resume(future("largemvc-checkpoint", "7")), saved.ErrNewer},
		"such things in today's version": {load(future("largemvc-model", "1")), saved.ErrDamaged},
		"a later checkpoint as a model":  {load(future("largemvc-checkpoint", "7")), saved.ErrFormat},
		"another's arrays":               {load(future("pt", "7")), saved.ErrFormat},
		"a checkpoint as a model":        {load(state), saved.ErrFormat},
		"a model as a checkpoint":        {resume(model), saved.ErrFormat},
		"text":                           {load([]byte("this is no model at all")), saved.ErrFormat},
		"bytes with a likely length":     {resume(append([]byte{200, 1, 0, 0, 0, 0, 0, 0}, "x"...)), saved.ErrFormat},
		"half of a model":                {load(model[:len(model)/2]), saved.ErrDamaged},
		"half of a checkpoint":           {resume(state[:len(state)/2]), saved.ErrDamaged},
		"nothing":                        {load(nil), saved.ErrDamaged},
		"other views":                    {resume(state), nil},
	} {
		if x.err == nil || kindOf(x.err) != x.kind {
			t.Errorf("%s: %v, which is %v, want %v", name, x.err, kindOf(x.err), x.kind)
		}
	}
	for name, r := range map[string]io.Reader{
		"at once":       iotest.ErrReader(failed),
		"in the middle": io.MultiReader(bytes.NewReader(model[:300]), iotest.ErrReader(failed)),
	} {
		if _, err := ReadPredictor(r); !errors.Is(err, failed) || kindOf(err) != nil {
			t.Errorf("a reader that fails %s: %v, which is %v", name, err, kindOf(err))
		}
	}
	for _, path := range []string{folder, filepath.Join(folder, "none")} {
		if _, err := Load(path); err == nil || kindOf(err) != nil {
			t.Errorf("no file at all: %v, which is %v", err, kindOf(err))
		}
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
			one[v] = DenseView(1, d, make([]float64, d))
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

func checkpointBytes(t testing.TB, neighbors int) []byte {
	t.Helper()
	views, _ := blobViews(30, 3, 0.8, 36, 7, 5)
	b, err := os.ReadFile(
		killed(
			t, views,
			Config{
				Clusters: 3, Epochs: 6, Checkpoint: Checkpoint{Every: 2}, Restarts: 2,
				Neighborhood: Neighborhood{Neighbors: neighbors},
			},
			1, 5,
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCheckpointDamaged(t *testing.T) { withAndWithout(t, testCheckpointDamaged) }

func testCheckpointDamaged(t *testing.T, neighbors int) {
	b := checkpointBytes(t, neighbors)
	if _, err := decodeResumed(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(b); i += 1 + len(b)/500 {
		changed := slices.Clone(b)
		changed[i] ^= 2
		if _, err := decodeResumed(bytes.NewReader(changed)); err == nil || kindOf(err) == nil {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	changes := map[string]func(f *safetensors.File){
		"newer":      func(f *safetensors.File) { f.Metadata["version"] = "9" },
		"no state":   func(f *safetensors.File) { f.Metadata["training"] = "{}" },
		"status":     replaceState(`"status":"epoch limit"`, `"status":"x"`),
		"restart":    replaceState(`"restart":1`, `"restart":0`),
		"next":       replaceState(`"next":1`, `"next":7`),
		"epochs":     replaceState(`"epochs":4`, `"epochs":5`),
		"more nodes": replaceState(`"nodes":`, `"nodes":9`),
		"adam":       replaceState(`"adam_steps":4`, `"adam_steps":-1`),
		"good":       replaceState(`"good_at":3`, `"good_at":9`),
		"features":   replaceState(`"features":5`, `"features":-5`),
		"samples":    replaceState(`"samples":30`, `"samples":31`),
		"labels":     func(f *safetensors.File) { f.Tensor("current.start_labels").Data[0] = 200 },
		"anchors":    func(f *safetensors.File) { f.Tensor("best.start_anchors.1").Name = "x" },
		"no adam":    func(f *safetensors.File) { f.Tensor("current.adam_first.0").Name = "x" },
		"view loss": func(f *safetensors.File) {
			x := f.Tensor("current.view_loss")
			x.Shape = []int{2, x.Shape[0] * x.Shape[1] / 2}
		},
		"no node":       func(f *safetensors.File) { f.Tensor("current.values.1").Name = "y" },
		"start given":   replaceState(`"start_given":""`, `"start_given":"labels"`),
		"start given 2": replaceState(`"start_given":""`, `"start_given":"anchors"`),
	}
	if neighbors != None {
		changes["fewer inputs"] = replaceState(`"inputs":2`, `"inputs":1`)
		changes["too many inputs"] = replaceState(`"inputs":2`, `"inputs":3`)
		changes["no inputs"] = replaceState(`"inputs":2`, `"inputs":0`)
	}
	for name, change := range changes {
		if c, err := decodeResumed(withChange(t, b, change)); err == nil {
			t.Errorf("%s: no error\n%+v", name, c)
		}
	}
}

// Damaged neighbours are refused, though the file has the right seal.
func TestPreparationDamaged(t *testing.T) {
	views, _ := blobViews(120, 3, 0.8, 30, 9, 5)
	for name, hood := range map[string]Neighborhood{"exact": {}, "landmarks": {Exact: None, Directions: 4, Landmarks: 20}} {
		path := stoppedIn(t, views, Config{Clusters: 3, Neighborhood: hood}, meter.Smoothing)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, count := 0, 1; i < count; i++ {
			of := ""
			for how, change := range map[string]func(*safetensors.Tensor){
				"left out": func(x *safetensors.Tensor) { x.Name = "x" },
				"shorter":  func(x *safetensors.Tensor) { *x = safetensors.Int32s(x.Name, []int32{1, 2}, 2) },
				"a value":  func(x *safetensors.Tensor) { copy(x.Data, slices.Repeat([]byte{0xff}, 8)) }, // −1 or NaN
			} {
				again := withChange(t, b, func(f *safetensors.File) {
					x := &f.Tensors[i]
					of, count = x.Name, len(f.Tensors)
					change(x)
				})
				if err := os.WriteFile(path, again.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				// Without the first tensor of a graph there is no graph, and the neighbours are sought again.
				// So they are if the graph is of other rows.
				first := how == "left out" && (strings.HasSuffix(of, "neighbors.0") || strings.HasSuffix(of, "scale.0")) ||
					how == "a value" && strings.HasSuffix(of, "graph.rows")
				if _, err := Resume(t.Context(), views, path, nil); !errors.Is(err, saved.ErrDamaged) && !(first && err == nil) {
					t.Errorf("%s, %s, %s: %v", name, of, how, err)
				}
			}
		}
		begun := withChange(t, b, replaceState(`"next":0`, `"next":1`))
		if err := os.WriteFile(path, begun.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Resume(t.Context(), views, path, nil); !errors.Is(err, saved.ErrDamaged) {
			t.Errorf("%s, without a run and at the second one: %v", name, err)
		}
	}
}

// withChange returns the file in b after a change, with the right seal.
func withChange(t testing.TB, b []byte, change func(*safetensors.File)) *bytes.Buffer {
	t.Helper()
	f, err := safetensors.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	delete(f.Metadata, file.Seal)
	change(f)
	again := new(bytes.Buffer)
	if _, err := f.Write(again, file.Seal); err != nil {
		t.Fatal(err)
	}
	return again
}

func replaceState(old, with string) func(f *safetensors.File) {
	return func(f *safetensors.File) {
		f.Metadata["training"] = strings.Replace(f.Metadata["training"], old, with, 1)
	}
}

// What decodes, with whatever in it, is resumed or refused, without a panic.
func FuzzResume(f *testing.F) {
	b := checkpointBytes(f, 0)
	f.Add(checkpointBytes(f, None), "", "")
	f.Add(b, "", "")
	f.Add(b, `"anchors":3`, `"anchors":2`)
	f.Add(b, `"neighbors":10`, `"neighbors":3`)
	f.Add(b, `"preprocess":"both"`, `"preprocess":"sample"`)
	f.Add(b, `"inputs":2`, `"inputs":1`)
	f.Add(b, `"nodes":8`, `"nodes":7`)
	f.Add(b, `"epochs":4`, `"epochs":3`)
	views, _ := blobViews(30, 3, 0.8, 36, 7, 5)
	for _, exact := range []int{0, None} { // stopped in the preparation
		hood := Neighborhood{Exact: exact}
		b, err := os.ReadFile(stoppedIn(f, views, Config{Clusters: 3, Neighborhood: hood}, meter.Smoothing))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "", "")
		f.Add(b, `"prepared":true`, `"prepared":false`)
		f.Add(b, `"next":0`, `"next":1`)
	}
	f.Fuzz(func(t *testing.T, b []byte, old, with string) {
		again := resealed(b, old, with)
		if again == nil {
			return
		}
		saved, err := decodeResumed(again)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c := *saved.config
		c.Epochs = min(c.Epochs, 5) // which have been checked, and end with the context
		_, _ = fit(ctx, processes{}, views, c, saved)
	})
}

// savedFiles are the bytes of a model and of a checkpoint of one small training.
func savedFiles(t testing.TB) (model, checkpoint []byte) {
	t.Helper()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "model"), filepath.Join(dir, "checkpoint")}
	c, err := fitAlone(context.Background(), shapesAndColors(8), Config{
		Clusters: 2, Epochs: 2, Checkpoint: Checkpoint{Path: paths[1]},
	})
	if err == nil {
		err = c.Save(paths[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	var out [2][]byte
	for k, p := range paths {
		if out[k], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	return out[0], out[1]
}

// numberInJSON finds the values of members that are numbers.
var numberInJSON = regexp.MustCompile(`:-?[0-9][0-9.eE+-]*`)

// reseal writes another number in place of the field-th one of the file's metadata and seals the file again. It returns nil
// where there is no such field.
func reseal(t testing.TB, b []byte, field int, number string) []byte {
	t.Helper()
	f, err := safetensors.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	delete(f.Metadata, "sha256")
	for _, key := range []string{"config", "training"} {
		text := f.Metadata[key]
		at := numberInJSON.FindAllStringIndex(text, -1)
		if field >= len(at) {
			field -= len(at)
			continue
		}
		f.Metadata[key] = text[:at[field][0]+1] + number + text[at[field][1]:]
		var again bytes.Buffer
		if _, err := f.Write(&again, "sha256"); err != nil {
			t.Fatal(err)
		}
		return again.Bytes()
	}
	return nil
}

// FuzzResealedFiles changes one number of a saved model or checkpoint, and seals the file again, so that its seal is right:
// loading and resuming refuse it, or take little memory and end with their context.
func FuzzResealedFiles(f *testing.F) {
	model, checkpoint := savedFiles(f)
	f.Add(uint8(0), int64(1), true)
	f.Add(uint8(3), int64(-1), false)
	f.Add(uint8(200), int64(1<<40), true)
	views := shapesAndColors(8)
	f.Fuzz(func(t *testing.T, field uint8, number int64, ofModel bool) {
		seed := checkpoint
		if ofModel {
			seed = model
		}
		b := reseal(t, seed, int(field), strconv.FormatInt(number, 10))
		if b == nil {
			return
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		var err error
		got := testutil.MostHeld(func() {
			if !ofModel {
				_, err = Resume(ctx, views, path, nil)
				return
			}
			var p *Predictor
			if p, err = Load(path); err == nil {
				_, err = p.Assign(ctx, views)
			}
		})
		if got > 256<<20 {
			t.Errorf("number %d of the file is %d: %d MiB are held, then %v", field, number, got>>20, err)
		}
		if took := time.Since(began); took > 20*time.Second && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("number %d of the file is %d: it takes %v, then %v", field, number, took, err)
		}
	})
}
