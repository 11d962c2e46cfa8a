package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/examples/synthetic"
)

// TestService asks for samples of known classes, and for what is no request, and wants the status that says whose fault it is.
func TestService(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none") // the image of the Dockerfile has no folder of temporary files
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, none)
	}
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
	hole := slices.Insert(slices.Repeat([]any{0.5}, 10), 3, any(nil), nil)
	for _, c := range []struct {
		body, says string
		status     int
	}{
		{"{", "unexpected end of JSON input", http.StatusBadRequest},
		{body(rows(0, 1), rows(1, 1)) + "{}", "after top-level value", http.StatusBadRequest},
		{body(rows(0, 2), []any{[]any{1}, hole}), `"view":1,"row":0,"column":-1`, http.StatusBadRequest},
		{body(rows(0, 2), []any{nil, hole}), "view 1, row 1, column 3: the value is null", http.StatusBadRequest},
		{body(rows(0, 2), []any{nil, hole}), `"view":1,"row":1,"column":3`, http.StatusBadRequest},
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

// TestNullRows: a small request of absent rows asks for no memory that a request of values could not ask for.
func TestNullRows(t *testing.T) {
	if _, err := viewsOf([][]row{make([]row, 4)}, []int{mostValues / 4}); err != nil {
		t.Error(err)
	}
	_, err := viewsOf([][]row{make([]row, 4), make([]row, 4)}, []int{mostValues / 4, 1})
	if err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Error(err)
	}
	// A name that comes twice must not bring the first values back.
	var asked request
	if err := json.Unmarshal([]byte(`{"views": [[[1, 2]]], "views": [[null]]}`), &asked); err != nil || asked.Views[0][0] != nil {
		t.Error(asked, err)
	}
}

// TestNoSlot: a request is decoded only after it has a slot.
func TestNoSlot(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &service{nil, make(chan struct{}), make(chan struct{}, 1)}
	w := httptest.NewRecorder()
	if s.assign(w, httptest.NewRequest(http.MethodPost, "/assign", strings.NewReader("{")).WithContext(ctx)); w.Code !=
		http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// slowClient sends the head of a request without its body, and returns the next responses.
func slowClient(t *testing.T, server *httptest.Server) func() *http.Response {
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, "POST /assign HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	return func() *http.Response {
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
}

// TestSlowClients: clients that send no body keep no place from the others, and are told when their time is over.
func TestSlowClients(t *testing.T) {
	server := httptest.NewServer(newService(nil, 1))
	t.Cleanup(server.Close)
	for range mostWaiting + 1 {
		if response := slowClient(t, server)(); response.StatusCode != http.StatusContinue {
			t.Fatal(response.Status)
		}
	}
	response, err := http.Post(server.URL+"/assign", "application/json", strings.NewReader("{"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Error(response.Status)
	}
	server = httptest.NewUnstartedServer(newService(nil, 1))
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	next := slowClient(t, server)
	response = next()
	if response.StatusCode == http.StatusContinue {
		response = next()
	}
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "did not arrive in time") {
		t.Errorf("%s: %s", response.Status, text)
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
