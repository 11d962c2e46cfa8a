package report

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// chromiumPage is a page in a Chromium of its own, without a window. It speaks the DevTools protocol over a pipe, so that it
// needs no library and opens no port. It is not safe for concurrent use.
type chromiumPage struct {
	cmd     *exec.Cmd
	to      io.WriteCloser
	next    int
	session string

	mu      sync.Mutex
	answers map[int]chan pageMessage
	ended   error

	// Events are what the page did, by the names of the protocol.
	events []pageEvent
}

// pageEvent is something that happened in the page: its method is a name of the protocol, as Network.requestWillBeSent.
type pageEvent struct {
	Method string
	Params json.RawMessage
}

type pageMessage struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// findChromium returns the path of Chromium, "" where there is none.
func findChromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// startChromium starts Chromium with an empty profile in the given folder and an empty page of a size. ctx ends it, as Close
// does.
func startChromium(ctx context.Context, path, profile string, width, height int) (*chromiumPage, error) {
	fromParent, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, fromChild, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, fromParent.Close(), to.Close())
	}
	p := &chromiumPage{to: to, answers: map[int]chan pageMessage{}}
	p.cmd = exec.CommandContext(ctx, path,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--mute-audio",
		"--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
		fmt.Sprintf("--window-size=%d,%d", width, height), "--user-data-dir="+profile, "about:blank",
	)
	p.cmd.ExtraFiles = []*os.File{fromParent, fromChild}
	err = p.cmd.Start()
	err = errors.Join(err, fromParent.Close(), fromChild.Close())
	if err != nil {
		return nil, errors.Join(err, to.Close(), from.Close())
	}
	go p.read(from)
	if err := p.attach(ctx, width, height); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// attach takes hold of the page and asks for what it tells.
func (p *chromiumPage) attach(ctx context.Context, width, height int) error {
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if err := p.Call(ctx, "Target.getTargets", nil, &targets); err != nil {
			return err
		}
		if len(targets.TargetInfos) > 0 || time.Now().After(deadline) {
			break
		}
	}
	id := ""
	for _, t := range targets.TargetInfos {
		if t.Type == "page" {
			id = t.TargetID
		}
	}
	if id == "" {
		return errors.New("chromium: it has no page")
	}
	var attached struct{ SessionID string }
	if err := p.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true}, &attached); err != nil {
		return err
	}
	p.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := p.Call(ctx, domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return p.Call(ctx, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// read takes what the browser says until it ends.
func (p *chromiumPage) read(from io.ReadCloser) {
	defer from.Close()
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			p.mu.Lock()
			p.ended = fmt.Errorf("chromium: it has ended: %w", err)
			for _, to := range p.answers {
				close(to)
			}
			p.answers = nil
			p.mu.Unlock()
			return
		}
		var m pageMessage
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			continue
		}
		p.mu.Lock()
		if to := p.answers[m.ID]; m.ID != 0 && to != nil {
			to <- m
			delete(p.answers, m.ID)
		} else if m.Method != "" {
			p.events = append(p.events, pageEvent{m.Method, m.Params})
		}
		p.mu.Unlock()
	}
}

// Call calls a method of the protocol. Its result goes to out, unless that is nil.
func (p *chromiumPage) Call(ctx context.Context, method string, params, out any) error {
	p.next++
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if params == nil {
		text = []byte("{}")
	}
	answer := make(chan pageMessage, 1)
	p.mu.Lock()
	if p.ended != nil {
		defer p.mu.Unlock()
		return p.ended
	}
	p.answers[p.next] = answer
	p.mu.Unlock()
	text, err = json.Marshal(pageMessage{ID: p.next, SessionID: p.session, Method: method, Params: text})
	if err != nil {
		return err
	}
	if _, err := p.to.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return p.ended
		case m.Error != nil:
			return fmt.Errorf("chromium: %s: %s", method, m.Error.Message)
		case out == nil:
			return nil
		}
		return json.Unmarshal(m.Result, out)
	case <-ctx.Done():
		return fmt.Errorf("chromium: %s: %w", method, ctx.Err())
	}
}

// Events returns those so far whose method is among the given ones.
func (p *chromiumPage) Events(methods ...string) []pageEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []pageEvent
	for _, e := range p.events {
		for _, m := range methods {
			if e.Method == m {
				out = append(out, e)
			}
		}
	}
	return out
}

// Open goes to a URL and waits until it is loaded.
func (p *chromiumPage) Open(ctx context.Context, url string) error {
	before := len(p.Events("Page.loadEventFired"))
	var went struct{ ErrorText string }
	if err := p.Call(ctx, "Page.navigate", map[string]any{"url": url}, &went); err != nil {
		return err
	}
	if went.ErrorText != "" {
		return fmt.Errorf("chromium: %s: %s", url, went.ErrorText)
	}
	for len(p.Events("Page.loadEventFired")) == before {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// Eval evaluates an expression in the page. What it returns goes to out, unless that is nil.
func (p *chromiumPage) Eval(ctx context.Context, expression string, out any) error {
	var r struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := p.Call(ctx, "Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r); err != nil {
		return err
	}
	if e := r.ExceptionDetails; e != nil {
		return fmt.Errorf("chromium: %s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.Result.Value, out)
}

// Move moves the mouse to a place in the window.
func (p *chromiumPage) Move(ctx context.Context, x, y float64) error {
	return p.Call(ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
}

// Click clicks at a place in the window.
func (p *chromiumPage) Click(ctx context.Context, x, y float64) error {
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		if err := p.Call(ctx, "Input.dispatchMouseEvent",
			map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Press presses a key by its name, as Tab, Enter and ArrowLeft.
func (p *chromiumPage) Press(ctx context.Context, key string, code int) error {
	text := map[string]string{"Enter": "\r"}[key]
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if text != "" && kind == "keyDown" {
			params["text"] = text
		}
		if err := p.Call(ctx, "Input.dispatchKeyEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// Media sets what the page is shown on, screen or print, and whether the system is dark.
func (p *chromiumPage) Media(ctx context.Context, media string, dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	return p.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{"media": media,
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Screenshot returns a PNG of the window, or of the whole page.
func (p *chromiumPage) Screenshot(ctx context.Context, whole bool) ([]byte, error) {
	return p.bytes(ctx, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
}

// PDF returns the page as it is printed.
func (p *chromiumPage) PDF(ctx context.Context) ([]byte, error) {
	return p.bytes(ctx, "Page.printToPDF", map[string]any{"printBackground": false, "paperWidth": 8.27, "paperHeight": 11.69})
}

func (p *chromiumPage) bytes(ctx context.Context, method string, params map[string]any) ([]byte, error) {
	var out struct{ Data string }
	if err := p.Call(ctx, method, params, &out); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(out.Data)
}

// Requests returns the URLs that the page asked for.
func (p *chromiumPage) Requests() ([]string, error) {
	var urls []string
	for _, e := range p.Events("Network.requestWillBeSent") {
		var r struct{ Request struct{ URL string } }
		if err := json.Unmarshal(e.Params, &r); err != nil {
			return nil, err
		}
		urls = append(urls, r.Request.URL)
	}
	return urls, nil
}

// Complaints returns exceptions, errors and warnings of the page's script, its styles and its policies.
func (p *chromiumPage) Complaints() []string {
	var out []string
	for _, e := range p.Events("Runtime.exceptionThrown", "Log.entryAdded") {
		out = append(out, string(e.Params))
	}
	for _, e := range p.Events("Runtime.consoleAPICalled") {
		if text := string(e.Params); strings.Contains(text, `"type":"error"`) || strings.Contains(text, `"type":"warning"`) {
			out = append(out, text)
		}
	}
	return out
}

// Close ends the browser.
func (p *chromiumPage) Close() error {
	err := p.to.Close() // which ends it
	done := make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // its status says nothing of the page
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		err = errors.Join(err, p.cmd.Process.Kill())
		<-done
	}
	return err
}
