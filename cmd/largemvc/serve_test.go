package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// client is the other program of a serve that runs in this process.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
}

func newClient(t *testing.T) (c *client, folder string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c = &client{t: t, in: inW, out: bufio.NewReader(outR), ended: make(chan error, 1)}
	go func() {
		c.ended <- serve(t.Context(), inR, outW)
		outW.Close()
	}()
	folder = c.next().Folder
	if info, err := os.Stat(folder); err != nil || !info.IsDir() || info.Mode().Perm()&0o77 != 0 {
		t.Fatalf("the folder is %q: %v, %v", folder, info, err)
	}
	return c, folder
}

func (c *client) say(format string, args ...any) {
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Error(err)
	}
}

func (c *client) next() (e event) {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &e)
	}
	if err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	return e
}

// run sends a command and returns its answer, and the phases of its progress.
func (c *client) run(args ...string) (*answer, string) {
	c.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	c.say(`{"run": %s}`, text)
	return c.answer(func(*step) {})
}

func (c *client) answer(on func(*step)) (*answer, string) {
	c.t.Helper()
	var phases strings.Builder
	for {
		e := c.next()
		if e.Answer != nil {
			return e.Answer, phases.String()
		}
		if e.Progress != nil {
			phases.WriteString(e.Progress.Phase + " ")
			on(e.Progress)
		}
	}
}

// finish ends standard input, and wants serve to end and to leave no folder.
func (c *client) finish(folder string) {
	c.t.Helper()
	c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	if err := <-c.ended; err != nil {
		c.t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		c.t.Errorf("the folder is still there: %v", err)
	}
}

// TestServe wants serve to run commands as a shell does, with the progress of a fit, and to read a model again that was
// replaced.
func TestServe(t *testing.T) {
	data := writeSet(t, 60, true)
	c, folder := newClient(t)
	model := filepath.Join(folder, "model")
	var labels []string
	for _, seed := range []string{"1", "2", "2"} {
		got, phases := c.run("fit", "-data", data, "-epochs", "5", "-seed", seed, "-save", model, "-json", "-quiet")
		if got.Status != exitOK || !strings.Contains(phases, "training") {
			t.Fatalf("fit: %+v, progress of %q", got, phases)
		}
		got, _ = c.run("predict", "-data", data, "-model", model, "-json", "-quiet")
		var p struct{ Confidences []float64 }
		if err := json.Unmarshal(got.Output, &p); got.Status != exitOK || err != nil || len(p.Confidences) != 60 {
			t.Fatalf("predict: %+v, %v", got, err)
		}
		labels = append(labels, fmt.Sprint(p.Confidences))
	}
	if labels[0] == labels[1] || labels[1] != labels[2] {
		t.Error("predictions are not from the model of the last fit")
	}
	for want, args := range map[string][]string{
		"give files in place of -":        {"fit", "-data", "-"},
		"carry the requests":              {"fit", "-data=-"},
		"runs other commands, not itself": {"serve"},
		"no command given":                {},
		"there is no command":             {"prdict"},
	} {
		if got, _ := c.run(args...); got.Status != exitUsage || !strings.Contains(got.Error, want) {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
	if got, _ := c.run("fit", "-data", "/dev/stdin"); hasDescriptors && !strings.Contains(got.Error, "carry the requests") {
		t.Errorf("standard input by another name: %+v", got)
	}
	var text string
	if got, _ := c.run("version"); got.Status != exitOK || json.Unmarshal(got.Output, &text) != nil ||
		!strings.HasPrefix(text, "largemvc ") {
		t.Errorf("version: %+v", got)
	}
	c.finish(folder)
}

// TestServeInterrupted wants a cancelled fit to give its result so far, and the end of standard input to end a fit that runs.
func TestServeInterrupted(t *testing.T) {
	data := writeSet(t, 60, true)
	c, folder := newClient(t)
	endless := fmt.Sprintf(`{"run": ["fit", "-data", %q, "-clusters", "3", "-epochs", "100000000", "-json"]}`, data)
	c.say("%s", endless)
	asked := false
	got, _ := c.answer(func(p *step) {
		if p.Phase == "training" && p.Loss != nil && !asked {
			asked = true
			c.say(`{"cancel": true}`)
		}
	})
	var result struct{ Labels []int }
	if err := json.Unmarshal(got.Output, &result); got.Status != exitError || err != nil || len(result.Labels) != 60 ||
		!strings.Contains(got.Error, "cancelled after") {
		t.Errorf("a cancelled fit: %d, %q, %v", got.Status, got.Error, err)
	}
	c.say("%s", endless)
	for c.next().Progress == nil {
	}
	c.finish(folder)
}

// TestServeCancelledAtOnce wants a cancel that is read before its command begins to interrupt it.
func TestServeCancelledAtOnce(t *testing.T) {
	var out bytes.Buffer
	ended := make(chan struct{})
	s := &server{out: json.NewEncoder(&out), interrupt: func() {}, end: func() { close(ended) }}
	data := writeSet(t, 60, true)
	lines := fmt.Sprintf(`{"run": ["fit", "-data", %q, "-clusters", "3", "-epochs", "100000000"]}`, data) + `{"cancel": true}`
	commands := make(chan func())
	go s.read(t.Context(), strings.NewReader(lines), commands)
	command := <-commands
	<-ended // the cancel is read
	command()
	if text := out.String(); !strings.Contains(text, `"status":1`) || !strings.Contains(text, "cancelled") {
		t.Error(text)
	}
}

// TestServeNonsense wants serve to end after a line that is no request, and to say so.
func TestServeNonsense(t *testing.T) {
	c, folder := newClient(t)
	c.say("hello")
	if e := c.next(); !strings.Contains(e.Line, "is no request") {
		t.Errorf("%+v", e)
	}
	c.finish(folder)
}
