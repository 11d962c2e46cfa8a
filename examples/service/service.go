package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/largemvc/largemvc"
)

const (
	mostBytes   = 8 << 20          // of a request
	mostSamples = 4096             // of a request
	mostTime    = 10 * time.Second // of an answer
	mostWaiting = 16               // requests for each that is computed
)

// service answers requests with a model, which is safe for concurrent use.
type service struct {
	model *largemvc.Predictor
	slots chan struct{} // requests that are computed at a time
	taken chan struct{} // requests that are read, wait or are computed: they bound the memory
}

func newService(model *largemvc.Predictor, atATime int) http.Handler {
	s := &service{model, make(chan struct{}, atATime), make(chan struct{}, mostWaiting*atATime)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /assign", s.assign)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}

// request has the rows of samples by view. A row that is null says that the sample lacks the view.
type request struct {
	Views [][][]float32 `json:"views"`
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

func (s *service) assign(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), mostTime)
	defer cancel()
	select {
	case s.taken <- struct{}{}:
		defer func() { <-s.taken }()
	default:
		fail(w, errBusy)
		return
	}
	var asked request
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBytes))
	if err := body.Decode(&asked); err != nil {
		fail(w, &badRequest{err})
		return
	}
	views, err := viewsOf(asked.Views, s.model.Dims())
	if err != nil {
		fail(w, err)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		fail(w, errBusy)
		return
	}
	a, err := s.model.Assign(ctx, views)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, response{a.Labels, a.Confidence, a.Novelty})
}

// viewsOf makes views of rows. What is wrong with their values is left to the model, which names the place.
func viewsOf(rows [][][]float32, dims []int) ([]largemvc.View, error) {
	if len(rows) != len(dims) {
		return nil, wrong(-1, -1, "the number of views is %d, the model has %d", len(rows), len(dims))
	}
	n := len(rows[0])
	if n < 1 || n > mostSamples {
		return nil, wrong(-1, -1, "the number of samples is %d, want 1 to %d", n, mostSamples)
	}
	var views []largemvc.View
	for v, d := range dims {
		if len(rows[v]) != n {
			return nil, wrong(v, -1, "view %d: the number of samples is %d, in view 0 it is %d", v, len(rows[v]), n)
		}
		x, present := make([]float32, n*d), make([]bool, n)
		for i, row := range rows[v] {
			if present[i] = row != nil; present[i] && len(row) != d {
				return nil, wrong(v, i, "view %d, row %d: the number of values is %d, want %d", v, i, len(row), d)
			}
			copy(x[i*d:], row)
		}
		views = append(views, largemvc.DenseView(n, d, x).WithPresent(present))
	}
	return views, nil
}

// wrong is an error of the same type as the model's: fail answers with its view and its row.
func wrong(view, row int, format string, args ...any) error {
	return &largemvc.InputError{View: view, Row: row, Column: -1, Err: fmt.Errorf(format, args...)}
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
