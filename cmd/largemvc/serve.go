package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/largemvc/largemvc"
)

const aboutServe = `Usage: largemvc serve

Runs commands for another program, such as the package of Python, until its standard input ends. Then it interrupts the
command that runs, deletes its folder and exits.

A line of standard input is a JSON object, and the next request waits for the answer:
  {"run": ["predict", "-model", "m.safetensors", …]}   runs the command of these arguments
  {"cancel": true}                                     interrupts it, as Ctrl-C in a terminal does

A line of standard output is a JSON object with one of
  folder    first: a new private folder for files, deleted at the end
  progress  of a fit: phase, done and total (units of work), left (seconds), loss
  line      a line that the command prints on standard error
  answer    last: status (of exit), error, output (standard output; an object where it is JSON)

The last model that was read stays in memory while its file is the same.
`

// request is a line of the standard input of serve.
type request struct {
	Run    []string `json:"run"`
	Cancel bool     `json:"cancel"`
}

// event is a line of its standard output.
type event struct {
	Folder   string  `json:"folder,omitempty"`
	Progress *step   `json:"progress,omitempty"`
	Line     string  `json:"line,omitempty"`
	Answer   *answer `json:"answer,omitempty"`
}

// step is the progress of a fit.
type step struct {
	Phase string   `json:"phase"`
	Done  int      `json:"done"`
	Total int      `json:"total"`
	Left  float64  `json:"left"` // seconds; 0: not known
	Loss  *float64 `json:"loss"` // null outside the training
}

// answer is the result of a command.
type answer struct {
	Status int             `json:"status"`
	Error  string          `json:"error"`
	Output json.RawMessage `json:"output"`
}

const (
	serveGrace = 2 * time.Second        // for the command that runs at the end of serve
	parentLook = time.Second            // between two looks whether the parent process lives
	stepPause  = 100 * time.Millisecond // between two events of progress
)

func runServe(ctx context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("serve")
	if done, err := f.start(args, stdout, aboutServe, ""); done || err != nil {
		return err
	}
	return serve(ctx, os.Stdin, stdout)
}

// server writes events. Its methods are safe for concurrent use.
type server struct {
	mu        sync.Mutex
	out       *json.Encoder
	interrupt context.CancelFunc // of the command that runs
	end       context.CancelFunc // of all
	stepped   time.Time          // the last event of progress
}

// serve answers the requests of in until it ends.
func serve(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "largemvc-*")
	if err != nil {
		return fmt.Errorf("serve: no folder can be made in the folder of temporary files (TMPDIR, on Windows TMP, names "+
			"another): %w", err)
	}
	defer func() {
		left := os.RemoveAll(folder)
		for try := 0; try < 5 && left != nil; try++ { // a command that did not stop in time may still write
			time.Sleep(stepPause)
			left = os.RemoveAll(folder)
		}
		err = errors.Join(err, left)
	}()
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := &server{out: json.NewEncoder(out), interrupt: func() {}, end: end}
	s.out.SetEscapeHTML(false)
	loaded, reported := loadModel, onEpoch
	defer func() { loadModel, onEpoch = loaded, reported }()
	loadModel, onEpoch = (&modelCache{}).load, func(_ int, e largemvc.Progress) { s.progress(e) }

	s.send(event{Folder: folder})
	requests := make(chan func())
	go s.read(ctx, in, requests)
	go watchParent(ctx, end)
	for {
		select {
		case <-ctx.Done():
			return nil
		case run := <-requests:
			run()
		}
	}
}

// watchParent ends serve when its parent process is gone, even if another process holds the other end of standard input open.
func watchParent(ctx context.Context, end context.CancelFunc) {
	tick := time.NewTicker(parentLook)
	defer tick.Stop()
	for parent := os.Getppid(); os.Getppid() == parent; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	end()
}

// read passes the commands of the requests on, and interrupts at once. It ends serve at the end of in, and after a line that is
// no request.
func (s *server) read(ctx context.Context, in io.Reader, commands chan<- func()) {
	defer s.end()
	for d := json.NewDecoder(in); ; {
		var r request
		if err := d.Decode(&r); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrClosed) {
				s.send(event{Line: "largemvc: serve: a line of standard input is no request: " + err.Error()})
			}
			return
		}
		if r.Cancel {
			s.mu.Lock()
			s.interrupt()
			s.mu.Unlock()
			continue
		}
		// A cancel behind the command may be read before the command begins, and interrupts it too.
		run, interrupt := context.WithCancel(ctx)
		s.mu.Lock()
		s.interrupt = interrupt
		s.mu.Unlock()
		command := func() {
			defer interrupt()
			s.answer(ctx, run, r.Run)
		}
		select {
		case commands <- command:
		case <-ctx.Done():
			interrupt()
			return
		}
	}
}

// answer runs a command, which run interrupts, and sends its answer. At the end of serve it waits for the command, but not for
// long.
func (s *server) answer(ctx, run context.Context, args []string) {
	done := make(chan *answer, 1)
	go func() { done <- s.command(run, args) }()
	select {
	case a := <-done:
		s.send(event{Answer: a})
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(serveGrace):
		}
	}
}

// command runs a command.
func (s *server) command(ctx context.Context, args []string) *answer {
	var out, failed bytes.Buffer
	err := usagef("serve: standard input and output carry the requests: give files in place of -")
	switch {
	case len(args) > 0 && args[0] == "serve":
		err = usagef("serve: runs other commands, not itself")
	case !slices.ContainsFunc(args, standardStream):
		err = dispatch(ctx, args, &out, s)
	}
	a := &answer{Status: exitStatus(err, &failed), Output: bytes.TrimSpace(out.Bytes())}
	a.Error = strings.TrimPrefix(strings.TrimSpace(failed.String()), "largemvc: ")
	if !json.Valid(a.Output) {
		a.Output, _ = json.Marshal(out.String()) // a text is always JSON
	}
	return a
}

// standardStream reports whether an argument, or the value of a flag, is standard input or output.
func standardStream(arg string) bool {
	if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
		arg = value
	}
	n, ok := descriptorOf(arg)
	return arg == standard || ok && n < 2
}

// Write sends what a command prints on standard error, line by line.
func (s *server) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.send(event{Line: strings.TrimRight(line, "\r\n")})
	}
	return len(p), nil
}

// send writes a line. Where nobody reads it, serve ends.
func (s *server) send(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(e); err != nil {
		s.end()
	}
}

// progress sends the progress of a fit, some ten times a second, and the last step of each phase.
func (s *server) progress(e largemvc.Progress) {
	if now := time.Now(); e.Done == e.Total || now.Sub(s.stepped) >= stepPause {
		s.stepped = now
		p := &step{Phase: e.Phase, Done: e.Done, Total: e.Total, Left: e.Left.Seconds()}
		if e.Training() {
			p.Loss = number(e.Loss - e.NullLoss)
		}
		s.send(event{Progress: p})
	}
}

// loadModel reads the model of predict and report; serve replaces it by a modelCache.
var loadModel = func(path string) (*largemvc.Predictor, error) { return largemvc.Load(path) }

// modelCache keeps the last model in memory.
type modelCache struct {
	path  string
	info  fs.FileInfo
	model *largemvc.Predictor
}

// load returns the model of a file, which it reads again if the file is not the same.
func (c *modelCache) load(path string) (*largemvc.Predictor, error) {
	info, err := os.Stat(path)
	if err == nil && c.model != nil && path == c.path && os.SameFile(info, c.info) && info.Size() == c.info.Size() &&
		info.ModTime().Equal(c.info.ModTime()) {
		return c.model, nil
	}
	model, err := largemvc.Load(path)
	if err == nil && info != nil {
		*c = modelCache{path, info, model}
	}
	return model, err
}
