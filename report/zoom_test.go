package report

import (
	"encoding/base64"
	"strings"
	"testing"
)

// window is the part of the map that the page shows.
type window struct {
	X, Y, Width float64
	Zoomed      bool
	Out         bool // whether zooming out is possible
}

const windowOfMap = `(function(){ var f = document.getElementById('map-figure'), b = f.viewBox.baseVal;
	return {x: b.x, y: b.y, width: b.width, zoomed: f.classList.contains('zoomed'),
		out: !document.getElementById('zoom-out').disabled} })()`

// TestZoom zooms the map by buttons, wheel and keys, drags it, and wants marks and points to stay in place.
func TestZoom(t *testing.T) {
	f := fitSet(t, 60)
	ctx, p := openPage(t, f.page(t, f.options))
	eval := func(expression string, out any) {
		t.Helper()
		if err := p.Eval(ctx, expression, out); err != nil {
			t.Fatal(err)
		}
	}
	look := func() (w window) {
		t.Helper()
		eval(windowOfMap, &w)
		return w
	}
	whole := window{Width: mapWidth}
	if w := look(); w != whole {
		t.Errorf("the map begins as %+v", w)
	}
	eval("document.getElementById('zoom-in').click()", nil)
	if w := look(); w.Width != mapWidth/1.6 || !w.Zoomed || !w.Out {
		t.Errorf("a click on + shows %+v", w)
	}
	eval("document.getElementById('zoom-all').click()", nil)
	if w := look(); w != whole {
		t.Errorf("the whole map is %+v", w)
	}
	// The wheel scrolls the page until the map has the focus; then the place under the pointer stays.
	type wheeled struct {
		Prevented bool
		AtX, AtY  float64
		Ring, Own string
	}
	const wheel = `(function(){ var f = document.getElementById('map-figure'); f.scrollIntoView({block: 'center'});
		var b = f.getBoundingClientRect(), e = new WheelEvent('wheel', {deltaY: -100, cancelable: true, bubbles: true,
			clientX: b.left + b.width/4, clientY: b.top + b.height/4});
		f.dispatchEvent(e);
		var v = f.viewBox.baseVal;
		return {prevented: e.defaultPrevented, atX: v.x + v.width/4, atY: v.y + v.height/4,
			ring: document.getElementById('map-ring').getAttribute('r'), own: f.style.getPropertyValue('--zoom')} })()`
	var w wheeled
	if eval(wheel, &w); w.Prevented || look() != whole {
		t.Errorf("the wheel zooms a map without the focus: %+v", w)
	}
	eval("document.getElementById('map-figure').focus()", nil)
	for range 3 {
		eval(wheel, &w)
		if !near(w.AtX, mapWidth/4) || !near(w.AtY, mapHeight/4) {
			t.Errorf("the place under the pointer moves: %+v", w)
		}
	}
	if v := look(); !w.Prevented || !near(v.Width, mapWidth/1.953125) || w.Own != "1.953125" || w.Ring != "3.584" {
		t.Errorf("the wheel shows %+v, %+v", v, w)
	}
	// Dragging moves the map with the pointer.
	before := look()
	eval(`(function(){ var f = document.getElementById('map-figure'), b = f.getBoundingClientRect();
		f.setPointerCapture = function(){};
		[['pointerdown', 0], ['pointermove', 50], ['pointerup', 50]].forEach(function(s){
			f.dispatchEvent(new PointerEvent(s[0],
				{clientX: b.left + 300 + s[1], clientY: b.top + 300, pointerId: 1})) }) })()`, nil)
	var scale float64
	eval(`document.getElementById('map-figure').getBoundingClientRect().width`, &scale)
	if v := look(); !near(before.X-v.X, 50*before.Width/scale) || !near(v.Y, before.Y) {
		t.Errorf("dragging goes from %+v to %+v", before, v)
	}
	// Keys: + and 0; points that the arrows reach are in the window.
	if err := p.Press(ctx, "0", 48); err != nil {
		t.Fatal(err)
	}
	if v := look(); v != whole {
		t.Errorf("0 shows %+v", v)
	}
	for range 4 {
		if err := p.Press(ctx, "+", 187); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		if err := p.Press(ctx, "ArrowLeft", 37); err != nil {
			t.Fatal(err)
		}
	}
	var inside bool
	if eval(`(function(){ var r = document.getElementById('map-ring'), b = document.getElementById('map-figure').viewBox.baseVal,
		x = +r.getAttribute('cx'), y = +r.getAttribute('cy');
		return x >= b.x && x <= b.x + b.width && y >= b.y && y <= b.y + b.height })()`, &inside); !inside {
		t.Error("the point of the keyboard is outside the window")
	}
	picture, err := p.Screenshot(ctx, false)
	keep(t, "zoom.png", picture, err)
	quiet(t, p)
}

// near compares places on the map: the browser rounds places in the window.
func near(a, b float64) bool { return a-b < 1 && b-a < 1 }

// TestPhone wants a page of 400 pixels without a part that is wider, and the download of the labels.
func TestPhone(t *testing.T) {
	f := fitSet(t, 240)
	ctx, p := openPage(t, f.page(t, f.options))
	for _, dark := range []bool{false, true} {
		if err := p.Media(ctx, "screen", dark); err != nil {
			t.Fatal(err)
		}
		if err := p.Call(ctx, "Emulation.setDeviceMetricsOverride",
			map[string]any{"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": true}, nil); err != nil {
			t.Fatal(err)
		}
		var width float64
		if err := p.Eval(ctx, "document.scrollingElement.scrollWidth", &width); err != nil {
			t.Fatal(err)
		}
		if width > 400 {
			t.Errorf("the page is %g pixels wide", width)
		}
		picture, err := p.Screenshot(ctx, true)
		keep(t, map[bool]string{false: "phone.png", true: "phone-dark.png"}[dark], picture, err)
	}
	var file, name string
	for expression, out := range map[string]*string{
		"document.getElementById('labels-file').href": &file, "document.getElementById('labels-file').download": &name,
	} {
		if err := p.Eval(ctx, expression, out); err != nil {
			t.Fatal(err)
		}
	}
	text, err := base64.StdEncoding.DecodeString(file[strings.Index(file, ",")+1:])
	if err != nil || name != "labels.csv" || strings.Count(string(text), "\n") != 241 {
		t.Errorf("the labels are %q, %q, %v", name, text, err)
	}
	quiet(t, p)
}
