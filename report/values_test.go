package report

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// source is a view of n samples outside memory.
type source struct {
	n, d int
	x    []float32
	err  error
}

func (s source) Dims() (n, d int) { return s.n, s.d }

func (s source) ReadRows(_ context.Context, first int, dst []float32) error {
	copy(dst, s.x[first*s.d:])
	return s.err
}

// Views with values of which no mean can be formed are refused before anything is written, but where the sample lacks the view.
func TestValuesOfViews(t *testing.T) {
	const n, row, column = 60, 7, 5
	f := fitSet(t, n)
	_, d := f.views[1].Dims()
	broken := errors.New("the disk is gone")
	for name, x := range map[string]struct {
		value float64
		err   error
		want  string
	}{
		"NaN":         {math.NaN(), nil, "view 1 has NaN at row 7, column 5"},
		"infinity":    {math.Inf(-1), nil, "view 1 has -Inf at row 7, column 5"},
		"too large":   {1e300, nil, "view 1: the squares of the values of row 7 are too large: scale them down"},
		"not read":    {1, broken, "the disk is gone"},
		"well":        {1, nil, ""},
		"well, large": {1e30, nil, ""},
	} {
		long, short := make([]float64, 0, n*d), make([]float32, 0, n*d)
		for i := range n {
			values := f.views[1].Row(nil, i)
			if i == row {
				values[column] = x.value
			}
			for _, a := range values {
				long, short = append(long, a), append(short, float32(a))
			}
		}
		present := make([]bool, n)
		for i := range present {
			present[i] = i != row
		}
		dense, outside := largemvc.DenseView(n, d, long), largemvc.RowsView(source{n, d, short, x.err})
		for kind, v := range map[string]largemvc.View{"dense": dense, "outside": outside} {
			want := x.want
			switch {
			case kind == "dense" && x.err != nil:
				continue
			case kind == "outside" && x.value == 1e300: // is no float32
				want = "view 1 has +Inf at row 7, column 5"
			}
			o := f.options
			o.Views = []largemvc.View{f.views[0], v}
			var b bytes.Buffer
			err := Write(context.Background(), &b, f.c, o)
			if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || b.Len() > 0) {
				t.Errorf("%s, %s: %v after %d bytes, want %q", name, kind, err, b.Len(), want)
			}
			if x.err != nil {
				continue
			}
			o.Views[1] = v.WithPresent(present)
			if html := f.page(t, o); strings.Contains(shown(html), "NaN") {
				t.Errorf("%s, %s: the page of an absent row has NaN", name, kind)
			}
		}
	}
}

// A row that cannot be read later, after all values were checked, is an error and not NaN in the figures.
func TestReadThatFails(t *testing.T) {
	const n = 60
	f := fitSet(t, n)
	_, d := f.views[1].Dims()
	x := make([]float64, 0, n*d)
	for i := range n {
		x = append(x, f.views[1].Row(nil, i)...)
	}
	s, o := testutil.NewSource(n, d, x), f.options
	o.Views = []largemvc.View{f.views[0], largemvc.RowsView(s).Named("sensor")}
	for name, call := range map[string]func() error{
		"Write":    func() error { return Write(t.Context(), io.Discard, f.c, o) },
		"Features": func() error { _, err := Features(t.Context(), f.c, o); return err },
	} {
		s.EachReadFails(t, name, "view 1 (sensor)", call)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 123: "123", 1234: "1,234", 123456: "123,456", -1234567: "−1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
