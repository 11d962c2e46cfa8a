package report

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// openPage opens a page in Chromium, or skips the test.
func openPage(t *testing.T, html string) (context.Context, *chromiumPage) {
	t.Helper()
	testutil.Long(t, "no browser is started")
	path := findChromium()
	if path == "" {
		t.Skip("there is no Chromium (Debian's package chromium): the page is not opened")
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "report.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	p, err := startChromium(ctx, path, filepath.Join(folder, "profile"), 1100, 900)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Open(ctx, (&url.URL{Scheme: "file", Path: file}).String()); err != nil {
		t.Fatal(err)
	}
	return ctx, p
}

// quiet wants a page that asked for nothing but itself and complained of nothing.
func quiet(t *testing.T, p *chromiumPage) {
	t.Helper()
	requests, err := p.Requests()
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != 1 || !strings.HasPrefix(requests[0], "file:") {
		t.Errorf("the page asked for %q", requests)
	}
	if c := p.Complaints(); len(c) > 0 {
		t.Errorf("the page complains: %s", strings.Join(c, "\n"))
	}
}

// keep writes a picture to the folder that LARGEMVC_SCREENSHOTS names, to be looked at.
func keep(t *testing.T, name string, picture []byte, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(picture) < 1000 {
		t.Fatalf("%s has %d bytes", name, len(picture))
	}
	if folder := os.Getenv("LARGEMVC_SCREENSHOTS"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPageInBrowser(t *testing.T) {
	f := fitSet(t, 240)
	ctx, p := openPage(t, f.page(t, f.options))
	quiet(t, p)
	var title string
	var points, scripts int
	for expression, out := range map[string]any{
		"document.querySelector('h1').textContent":                                     &title,
		"JSON.parse(document.getElementById('map-data').textContent).x.length":         &points,
		"document.querySelectorAll('img, iframe, link, object, script[src]').length+0": &scripts,
	} {
		if err := p.Eval(ctx, expression, out); err != nil {
			t.Fatal(err)
		}
	}
	if title != "Clusters of patients.csv" || points != 240 || scripts != 0 {
		t.Errorf("the title is %q, the map has %d points, the page refers to %d others", title, points, scripts)
	}
	for _, dark := range []bool{false, true} {
		if err := p.Media(ctx, "screen", dark); err != nil {
			t.Fatal(err)
		}
		picture, err := p.Screenshot(ctx, true)
		keep(t, map[bool]string{false: "light.png", true: "dark.png"}[dark], picture, err)
		var ground string
		if err := p.Eval(ctx, "getComputedStyle(document.body).backgroundColor", &ground); err != nil {
			t.Fatal(err)
		}
		if white := ground == "rgb(255, 255, 255)"; white == dark {
			t.Errorf("dark %v: the ground is %s", dark, ground)
		}
	}
	if err := p.Media(ctx, "print", true); err != nil {
		t.Fatal(err)
	}
	picture, err := p.Screenshot(ctx, true)
	keep(t, "print.png", picture, err)
	printed, err := p.PDF(ctx)
	keep(t, "print.pdf", printed, err)
	quiet(t, p)
}

// TestHover points at a sample of the map and wants its id, cluster, confidence and class.
func TestHover(t *testing.T) {
	f := fitSet(t, 60)
	ctx, p := openPage(t, f.page(t, f.options))
	const place = `(function(i){ var s = document.getElementById('map-figure'); s.scrollIntoView({block: 'center'});
		var d = JSON.parse(document.getElementById('map-data').textContent), b = s.getBoundingClientRect();
		var q = b.width / s.viewBox.baseVal.width;
		return {x: b.left + q*d.x[i], y: b.top + q*d.y[i], px: d.x[i], py: d.y[i]} })(17)`
	var at struct{ X, Y, PX, PY float64 }
	if err := p.Eval(ctx, place, &at); err != nil {
		t.Fatal(err)
	}
	if err := p.Move(ctx, at.X, at.Y); err != nil {
		t.Fatal(err)
	}
	var tip struct {
		Text   string
		Hidden bool
	}
	const said = `(function(){ var t = document.getElementById('tip'); return {text: t.textContent, hidden: t.hidden} })()`
	if err := p.Eval(ctx, said, &tip); err != nil {
		t.Fatal(err)
	}
	// Another sample may lie in the same place; it is the first of them that is shown.
	if tip.Hidden || !strings.Contains(tip.Text, "sample-0") || !strings.Contains(tip.Text, "cluster ") ||
		!strings.Contains(tip.Text, "confidence ") || !strings.Contains(tip.Text, "known class ") {
		t.Errorf("hidden %v: %q", tip.Hidden, tip.Text)
	}
	picture, err := p.Screenshot(ctx, false)
	keep(t, "hover.png", picture, err)
	if err := p.Move(ctx, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := p.Eval(ctx, said, &tip); err != nil {
		t.Fatal(err)
	}
	if !tip.Hidden {
		t.Error("the tip stays when the mouse has left")
	}
	// The same by the keyboard, and by looking a sample up; a hostile id is text.
	if err := p.Eval(ctx, "document.getElementById('map-figure').focus()", nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Press(ctx, "ArrowRight", 39); err != nil {
			t.Fatal(err)
		}
	}
	var told string
	const telling = "document.getElementById('told').textContent"
	if err := p.Eval(ctx, telling, &told); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(told, "Sample sample-") || !strings.Contains(told, "confidence") {
		t.Errorf("the keyboard tells %q", told)
	}
	if err := p.Eval(ctx, `(function(){ var f = document.getElementById('find'); f.value = '</script>';
		f.dispatchEvent(new Event('input')) })()`, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Eval(ctx, telling, &told); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(told, `Sample </script><img src="http://example.com/x.png"`) {
		t.Errorf("looking up tells %q", told)
	}
	quiet(t, p)
}

// TestColourBy colours the map by known classes and by confidence, and shows one group alone.
func TestColourBy(t *testing.T) {
	f := fitSet(t, 60)
	ctx, p := openPage(t, f.page(t, f.options))
	for _, by := range []struct{ value, first string }{{"t", "ill <b>"}, {"c", "confidence "}, {"k", "cluster 0"}} {
		var legend string
		if err := p.Eval(ctx, `(function(v){ var s = document.getElementById('colour-by'); s.value = v;
			s.dispatchEvent(new Event('change')); return document.querySelector('#map-legend button').textContent })('`+
			by.value+`')`, &legend); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(legend, by.first) {
			t.Errorf("by %s the legend begins with %q", by.value, legend)
		}
	}
	var dimmed int
	if err := p.Eval(ctx, `(function(){ document.querySelector('#map-legend button').click();
		return document.querySelectorAll('#map-points .dim').length })()`, &dimmed); err != nil {
		t.Fatal(err)
	}
	if dimmed != 2 {
		t.Errorf("%d of the other two clusters are dimmed", dimmed)
	}
	quiet(t, p)
}

// TestSorting clicks on the heads of tables.
func TestSorting(t *testing.T) {
	f := fitSet(t, 60)
	ctx, p := openPage(t, f.page(t, f.options))
	column := func() (values []float64, order string) {
		var out struct {
			Values []float64
			Order  string
		}
		if err := p.Eval(ctx, `(function(){ var t = document.getElementById('least-sure');
			return {values: Array.from(t.tBodies[0].rows).map(function(r){ return +r.cells[3].getAttribute('data-v') }),
				order: t.tHead.rows[0].cells[3].getAttribute('aria-sort') || ''} })()`, &out); err != nil {
			t.Fatal(err)
		}
		return out.Values, out.Order
	}
	click := func() {
		var at struct{ X, Y float64 }
		if err := p.Eval(ctx, `(function(){ var b = document.querySelector('#least-sure thead th:nth-child(4) button');
			b.scrollIntoView({block: 'center'}); var r = b.getBoundingClientRect();
			return {x: r.left + r.width/2, y: r.top + r.height/2} })()`, &at); err != nil {
			t.Fatal(err)
		}
		if err := p.Click(ctx, at.X, at.Y); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		order string
		sign  float64
	}{{"ascending", 1}, {"descending", -1}, {"ascending", 1}} {
		click()
		values, order := column()
		if len(values) != 20 || order != want.order {
			t.Fatalf("%d values, %s", len(values), order)
		}
		for i := 1; i < len(values); i++ {
			if want.sign*values[i] < want.sign*values[i-1] {
				t.Fatalf("%s: %v", order, values)
			}
		}
	}
	// Text, and the keyboard.
	if err := p.Eval(ctx, "document.querySelector('#class-table thead button').focus()", nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Press(ctx, "Enter", 13); err != nil {
		t.Fatal(err)
	}
	var classes []string
	if err := p.Eval(ctx,
		`Array.from(document.querySelectorAll('#class-table tbody th')).map(function(h){ return h.textContent })`,
		&classes); err != nil {
		t.Fatal(err)
	}
	if strings.Join(classes, ",") != "ill <b>,unknown,well" {
		t.Errorf("the classes are %q", classes)
	}
	quiet(t, p)
}
