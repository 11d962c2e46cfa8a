package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/largemvc/largemvc"
)

const (
	mostBytes   = 8 << 20          // of a request
	mostSamples = 4096             // of a request
	mostValues  = mostBytes / 2    // of a request: more do not fit into mostBytes, unless rows are null
	mostTime    = 10 * time.Second // of an answer
	mostWaiting = 16               // requests for each that is computed
)

// service answers requests with a model, which is safe for concurrent use.
type service struct {
	model *largemvc.Predictor
	slots chan struct{} // requests that are decoded and computed at a time
	taken chan struct{} // requests that wait or are computed
}

func newService(model *largemvc.Predictor, atATime int) http.Handler {
	s := &service{model, make(chan struct{}, atATime), make(chan struct{}, mostWaiting*atATime)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /assign", s.assign)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}

// request has the rows of samples by view.
type request struct {
	Views [][]row `json:"views"`
}

// row has the values of a sample in a view. It is nil if the sample lacks the view: then it is null in JSON.
type row []float32

// UnmarshalJSON makes NaN of the first value that is null, and viewsOf refuses it. Package json would make 0 of it.
func (r *row) UnmarshalJSON(text []byte) error {
	if *r = nil; string(text) == "null" {
		return nil
	}
	err := json.Unmarshal(text, (*[]float32)(r))
	if at := bytes.Index(text, []byte("null")); at >= 0 && err == nil {
		(*r)[bytes.Count(text[:at], []byte(","))] = float32(math.NaN())
	}
	return err
}

type response struct {
	Labels     []int     `json:"labels"`
	Confidence []float64 `json:"confidence,omitempty"`
	Novelty    []float64 `json:"novelty,omitempty"`
}

// fault is the answer to a wrong request. View, row and column count from 0; −1: the fault is of none.
type fault struct {
	Error  string `json:"error"`
	View   int    `json:"view"`
	Row    int    `json:"row"`
	Column int    `json:"column"`
}

// assign reads a request before it takes a place, so that a slow client keeps no place from the others. It answers after the
// place is free again.
func (s *service) assign(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	if err != nil {
		fail(w, &badRequest{err})
		return
	}
	a, err := s.labels(r.Context(), body)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, response{a.Labels, a.Confidence, a.Novelty})
}

// labels decodes a request and labels its samples, both after it has a slot. The numbers of slots and of waiting requests bound
// the memory.
func (s *service) labels(ctx context.Context, body []byte) (*largemvc.Assignments, error) {
	select {
	case s.taken <- struct{}{}:
		defer func() { <-s.taken }()
	default:
		return nil, errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, errBusy
	}
	var asked request
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, &badRequest{err}
	}
	views, err := viewsOf(asked.Views, s.model.Dims())
	if err != nil {
		return nil, err
	}
	return s.model.Assign(ctx, views)
}

// viewsOf makes views of rows. The model refuses values that are too large, and samples without a view.
func viewsOf(rows [][]row, dims []int) ([]largemvc.View, error) {
	if len(rows) != len(dims) {
		return nil, wrong(-1, -1, -1, "the number of views is %d, the model has %d", len(rows), len(dims))
	}
	n, width := len(rows[0]), 0
	if n < 1 || n > mostSamples {
		return nil, wrong(-1, -1, -1, "the number of samples is %d, want 1 to %d", n, mostSamples)
	}
	for _, d := range dims {
		width += d
	}
	if n*width > mostValues {
		return nil, wrong(-1, -1, -1, "%d samples of %d features are %d values, want at most %d: send fewer samples at a time",
			n, width, n*width, mostValues)
	}
	var views []largemvc.View
	for v, d := range dims {
		if len(rows[v]) != n {
			return nil, wrong(v, -1, -1, "view %d: the number of samples is %d, in view 0 it is %d", v, len(rows[v]), n)
		}
		x, present := make([]float32, n*d), make([]bool, n)
		for i, values := range rows[v] {
			if present[i] = values != nil; present[i] && len(values) != d {
				return nil, wrong(v, i, -1, "view %d, row %d: the number of values is %d, want %d", v, i, len(values), d)
			}
			if j := slices.IndexFunc(values, isNaN); j >= 0 {
				return nil, wrong(v, i, j, "view %d, row %d, column %d: the value is null; fill it in, or send null in place "+
					"of the row if the sample lacks the view", v, i, j)
			}
			copy(x[i*d:], values)
		}
		views = append(views, largemvc.DenseView(n, d, x).WithPresent(present))
	}
	return views, nil
}

func isNaN(x float32) bool { return math.IsNaN(float64(x)) }

// wrong is an error of the same type as the model's: fail answers with its view, its row and its column.
func wrong(view, row, column int, format string, args ...any) error {
	return &largemvc.InputError{View: view, Row: row, Column: column, Err: fmt.Errorf(format, args...)}
}

var errBusy = errors.New("busy: try again in a second")

// badRequest is an error of a request that the model never saw.
type badRequest struct{ error }

func (e *badRequest) Unwrap() error { return e.error }

// fail answers with what went wrong, and with the status that says whose fault it is.
func fail(w http.ResponseWriter, err error) {
	f, status := fault{err.Error(), -1, -1, -1}, http.StatusInternalServerError
	var input *largemvc.InputError
	var bad *badRequest
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &input):
		f.View, f.Row, f.Column, status = input.View, input.Row, input.Column, http.StatusBadRequest
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded): // of http.Server.ReadTimeout
		f.Error, status = "the request did not arrive in time", http.StatusRequestTimeout
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.Is(err, errBusy), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		w.Header().Set("Retry-After", "1")
		f.Error, status = errBusy.Error(), http.StatusServiceUnavailable
	default:
		log.Printf("%+v", err) // with the stack of a largemvc.PanicError
		f.Error = "internal error"
	}
	answer(w, status, f)
}

func answer(w http.ResponseWriter, status int, x any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(x); err != nil {
		log.Print(err)
	}
}
