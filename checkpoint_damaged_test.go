package largemvc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
)

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
		f, err := safetensors.Read(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprint(f.Metadata)
		delete(f.Metadata, file.Seal)
		change(f)
		var again bytes.Buffer
		if _, err := f.Write(&again, file.Seal); err != nil {
			t.Fatal(err)
		}
		if c, err := decodeResumed(&again); err == nil {
			t.Errorf("%s: no error\n%s\n%+v", name, before, c)
		}
	}
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
