package largemvc_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// savedFiles are the bytes of a model and of a checkpoint of one small training.
func savedFiles(t testing.TB) (model, checkpoint []byte) {
	t.Helper()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "model"), filepath.Join(dir, "checkpoint")}
	c, err := largemvc.Fit(context.Background(), shapesAndColours(8), largemvc.Config{
		Clusters: 2, Epochs: 2, Checkpoint: largemvc.Checkpoint{Path: paths[1]},
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
	views := shapesAndColours(8)
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
				_, err = largemvc.Resume(ctx, views, path, nil)
				return
			}
			var p *largemvc.Predictor
			if p, err = largemvc.Load(path); err == nil {
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
