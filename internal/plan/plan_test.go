package plan

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
)

// zeros is a source of rows of zeros.
type zeros struct{ n, d int }

func (z zeros) Dims() (n, d int)                               { return z.n, z.d }
func (z zeros) ReadRows(context.Context, int, []float32) error { return nil }

// outside returns views of n samples outside memory.
func outside(n int, dims ...int) (out []view.View) {
	for _, d := range dims {
		out = append(out, view.View{Rows: n, Cols: d, Source: zeros{n, d}})
	}
	return out
}

// paper is a fit without neighbours.
func paper(views []view.View) *Fit {
	return &Fit{
		Views: views, Kinds: 1, Epochs: 10, KMeansStarts: 10,
		Spec: engine.Spec{Anchors: 3, Layers: 2, Anchored: true, Noise: true, Workers: 2},
	}
}

// TestPlace walks through all places of rows and state, each in one byte less than the one before needs.
func TestPlace(t *testing.T) {
	f := paper(outside(20_000, 300, 250))
	where, m, err := f.Place()
	if err != nil || !where.Streamed || where.Why != "rows are read whenever they are needed, their state is in memory" {
		t.Fatal(where, m, err)
	}
	f.MaxMemory = 1 << 40
	const read = "rows are read whenever they are needed, "
	for k, want := range []struct {
		s   Storage
		why string
	}{
		{Storage{}, "rows and state have room in memory: "},
		{Storage{Streamed: true}, read + "their state has room in memory: "},
		{Storage{Streamed: true, Again: true}, read + "the state of the samples is computed again"},
	} {
		where, m, err := f.Place()
		if err != nil || !strings.HasPrefix(where.Why, want.why) {
			t.Fatalf("place %d: %+v, %v", k, where, err)
		}
		if where.Why = ""; where != want.s || m.Total > f.MaxMemory {
			t.Errorf("place %d: %+v with %v", k, where, m)
		}
		f.MaxMemory = m.Total - 1
	}
	f.Ranks = true
	_, _, err = f.Place()
	for _, way := range []string{
		"Config.Machine.MaxMemory allows", "Config.FitSamples", "Config.Machine.Comm", "Config.Machine.Workers 1",
	} {
		if err == nil || !strings.Contains(err.Error(), way) {
			t.Errorf("%v does not offer %s", err, way)
		}
	}
	if f.Whole = true; f.recomputed(f.estimate()) != f.estimate() {
		t.Error("state that something wants whole is computed again")
	}
}

// A fit on a sample takes less memory than one on all samples, and its time does not grow with them.
func TestSample(t *testing.T) {
	near := paper([]view.View{{Rows: 50_000, Cols: 40}})
	near.Smooth = &smooth.Options{Neighbors: 10, Exact: 10_000}
	all := near.estimate()
	near.Sample = 2000
	if some := near.estimate(); some.Total >= all.Total {
		t.Errorf("%v for a sample, %v for all", some, all)
	}
	f := paper(outside(50_000, 40))
	whole := f.Costs()
	f.Sample, f.Draws = 2000, 3
	some := f.Costs()
	if some[meter.Training] >= whole[meter.Training] || some[meter.Draws] == 0 || whole[meter.Draws] != 0 {
		t.Errorf("costs %v of a sample, %v of all", some, whole)
	}
}

// A pass over rows on disk counts as reading them: while they are checked, what is left is in proportion to the passes to come.
func TestCostsCountReading(t *testing.T) {
	const values, passes = 3000 * 550, 2 + 7 + 5*10 + 3
	views := outside(3000, 300, 250)
	reads, _ := rows.NewReads(context.Background())
	defer reads.End()
	for _, streamed := range []bool{true, false} {
		f := paper(view.Bind(views, reads, 2, !streamed))
		cost, total, want := f.reading(), 0.0, 2.0
		for _, x := range cost {
			total += x
		}
		if streamed {
			want = passes
		}
		if pass := cost[meter.Checks]; pass != 2*fromDisk*values || math.Abs(total/pass-want) > 1e-9 {
			t.Errorf("streamed %v: %v for the checks, %.1f passes, want %v", streamed, pass, total/pass, want)
		}
		f.Sample = 500
		if cost := f.reading(); cost[meter.Checks] != 0 || cost[meter.Clusters] != 2*fromDisk*values {
			t.Errorf("%v for a fit on a sample", cost)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, f := range map[string]*Fit{
		"0 samples":                paper(outside(0, 3)),
		"view 1 has 0 features":    paper(outside(10, 3, 0)),
		"not fit in memory":        paper(outside(1<<60, 1<<30)),
		"the views have more than": paper(outside(10, math.MaxInt, 2)),
		"":                         paper(outside(9, 2)),
	} {
		if err := f.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestTotal: training and the search for its start do not take their memory at the same time, all else is there at once.
func TestTotal(t *testing.T) {
	near := paper([]view.View{{Rows: 5000, Cols: 400}})
	near.Smooth = &smooth.Options{Neighbors: 10, Exact: 10_000, Directions: 10}
	for what, f := range map[string]*Fit{"training": paper([]view.View{{Rows: 5000, Cols: 40}}), "start": near} {
		m := f.estimate().Memory
		if want := m.Views + m.Neighbors + m.Result + max(m.Start, m.State+m.Network); m.Total != want || m.Network == 0 {
			t.Errorf("%s: the total of %+v is %d bytes, want %d", what, m, m.Total, want)
		}
		if training := m.State+m.Network > m.Start; training != (what == "training") {
			t.Errorf("%s does not take more: %+v", what, m)
		}
	}
}
