package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/examples/synthetic"
)

// TestService asks for samples of known classes, and for what is no request, and wants the status that says whose fault it is.
func TestService(t *testing.T) {
	model, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	handler := newService(model, 1)
	post := func(body string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/assign", strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	x, _ := synthetic.Views(1, 600, 5, 0.7, 30, 12)
	rows := func(v, n int) (out [][]float64) {
		for i := range n {
			out = append(out, x[v].RawRowView(i))
		}
		return out
	}
	body := func(a, b any) string {
		text, err := json.Marshal(map[string]any{"views": []any{a, b}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var got response
	status, text := post(body(rows(0, 10), rows(1, 10)))
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK || len(got.Confidence) != 10 {
		t.Fatalf("status %d: %s", status, text)
	}
	// Sample i is of class i mod 5.
	if first := slices.Clone(got.Labels[:5]); !slices.Equal(first, got.Labels[5:]) ||
		len(slices.Compact(slices.Sorted(slices.Values(first)))) != 5 {
		t.Errorf("labels %v", got.Labels)
	}
	want := got.Labels[0]
	if status, text = post(body([]any{nil}, rows(1, 1))); status != http.StatusOK ||
		!strings.Contains(text, fmt.Sprintf(`"labels":[%d]`, want)) {
		t.Errorf("by the second view alone: status %d: %s", status, text)
	}
	for _, c := range []struct {
		body, says string
		status     int
	}{
		{"{", "unexpected EOF", http.StatusBadRequest},
		{`{"views": [[[1]]]}`, "the number of views is 1, the model has 2", http.StatusBadRequest},
		{body([]any{}, []any{}), "the number of samples is 0, want 1", http.StatusBadRequest},
		{body(rows(0, 2), rows(1, 1)), "view 1: the number of samples is 1, in view 0 it is 2", http.StatusBadRequest},
		{body(rows(1, 1), rows(1, 1)), "view 0, row 0: the number of values is 12, want 30", http.StatusBadRequest},
		{body(rows(1, 1), rows(1, 1)), `"view":0,"row":0,"column":-1`, http.StatusBadRequest},
		{body(rows(0, 2), rows(1, 1)), `"view":1,"row":-1`, http.StatusBadRequest},
		{body([]any{nil}, []any{nil}), `"row":0`, http.StatusBadRequest}, // a sample without a view
		{`{"views": "` + strings.Repeat("x", mostBytes) + `"}`, "too large", http.StatusRequestEntityTooLarge},
	} {
		if status, text := post(c.body); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%.60s: status %d, want %d: %s", c.body, status, c.status, text)
		}
	}
	w := httptest.NewRecorder()
	newService(model, 0).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/assign", strings.NewReader("{}")))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a service that takes no more: status %d: %s", w.Code, w.Body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w = httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/assign", strings.NewReader(body(rows(0, 1), rows(1, 1)))).WithContext(ctx)
	if handler.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a request that was given up: status %d: %s", w.Code, w.Body)
	}
}

// TestLoad starts the service as main does, sends requests, and ends it.
func TestLoad(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, options{listen: "127.0.0.1:0", load: 200 * time.Millisecond, clients: 3}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`3 connections: [1-9]\d* requests a second`).MatchString(out.String()) {
		t.Error(out.String())
	}
}
