// Package work does pieces of work and stores their results in a folder, so that a stopped run loses at most one of them.
package work

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/progress"
)

// Job is a piece of work: a key that names everything its result depends on, and a function.
type Job[T any] struct {
	Key  string
	Name string // what the progress calls it; empty: its key
	Do   func(context.Context) (T, error)
}

// finished is the stored result of a job.
type finished[T any] struct {
	Key   string `json:"key"`
	Value T      `json:"value"`
}

// All returns the results of the jobs, in their order. It reads results that the folder holds, and writes each new one at once.
// progressTo receives the progress, under a name that is part of the keys.
func All[T any](ctx context.Context, folder string, progressTo io.Writer, name string, jobs []Job[T]) ([]T, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	bar := progress.New(progressTo, name)
	defer bar.End()
	began := time.Now()
	out := make([]T, len(jobs))
	for i, j := range jobs {
		path := filepath.Join(folder, fileName(name+" "+j.Key)+".json")
		if kept, ok := recall[T](path, name+" "+j.Key); ok {
			out[i] = kept
			bar.Show(i+1, len(jobs), "kept", time.Since(began))
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		value, err := j.Do(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.Key, err)
		}
		if err := keep(path, finished[T]{name + " " + j.Key, value}); err != nil {
			return nil, err
		}
		out[i] = value
		shown := j.Name
		if shown == "" {
			shown = j.Key
		}
		bar.Show(i+1, len(jobs), shown, time.Since(began))
	}
	return out, nil
}

// recall reads a result. It ignores a file that is incomplete or belongs to another key.
func recall[T any](path, key string) (T, bool) {
	var f finished[T]
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &f) != nil || f.Key != key {
		return f.Value, false
	}
	return f.Value, true
}

func keep(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return WriteWhole(path, data)
}

// WriteWhole writes a file, and never leaves a partial one.
func WriteWhole(path string, data []byte) error {
	return file.Replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// fileName makes a file name from a key: its letters and digits, and a hash of the whole key.
func fileName(key string) string {
	h := fnv.New32a()
	h.Write([]byte(key))
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, key)
	return fmt.Sprintf("%.80s-%08x", clean, h.Sum32())
}
