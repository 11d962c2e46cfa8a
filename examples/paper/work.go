package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/progress"
)

// job is a piece of work: a key that says all that its result depends on, and how to do it.
type job[T any] struct {
	key string
	do  func(context.Context) (T, error)
}

// finished is what is kept of a job.
type finished[T any] struct {
	Key   string `json:"key"`
	Value T      `json:"value"`
}

// do returns the results of the jobs, in their order. Results that the output folder holds are read from there; the
// others are written there as soon as they are there, so that a run that is stopped loses one job at most.
func do[T any](ctx context.Context, s *study, name string, jobs []job[T]) ([]T, error) {
	folder := s.path("work")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	bar := progress.New(s.stderr, name)
	defer bar.End()
	began := time.Now()
	out := make([]T, len(jobs))
	for i, j := range jobs {
		path := filepath.Join(folder, fileName(name+" "+j.key)+".json")
		if kept, ok := recall[T](path, name+" "+j.key); ok {
			out[i] = kept
			bar.Show(i+1, len(jobs), "kept", time.Since(began))
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		value, err := j.do(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.key, err)
		}
		if err := keep(path, finished[T]{name + " " + j.key, value}); err != nil {
			return nil, err
		}
		out[i] = value
		bar.Show(i+1, len(jobs), j.key, time.Since(began))
	}
	return out, nil
}

// recall reads a result; a file that is not whole or belongs to another key is as good as none.
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
	return writeWhole(path, data)
}

// writeWhole writes a file that is there whole or not at all.
func writeWhole(path string, data []byte) error {
	if err := os.WriteFile(path+".tmp", data, 0o666); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// fileName makes a name of a key: its letters and digits, and a hash that tells keys apart that differ elsewhere.
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

// about is the part of a key that names a set: the name and the shape.
func (d *set) about() string {
	return fmt.Sprintf("%s %d %d", d.name, d.n, len(d.views))
}
