// Package meter follows a fit through its phases, and says how far it is and about how long it still takes.
package meter

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Phase is a part of a fit. A fit goes through them in this order, once for each run through Anchors and Training.
type Phase int

const (
	Checks      Phase = iota // values are checked
	Draws                    // samples are drawn and their starts compared
	Preparation              // the views are standardised and cut to their leading directions, or rotated
	Regression               // what the held-out information needs
	Neighbors                // neighbours are sought
	Smoothing                // views are smoothed along their graph
	Anchors                  // the first anchors of a run
	Training                 // the epochs of a run
	Clusters                 // clusters of the representation, and the predictor
	Structure                // whether the samples have clusters

	Phases = iota
)

// String returns the name of the phase.
func (p Phase) String() string {
	return [Phases]string{
		"checks", "draws", "preparation", "regression", "neighbours", "smoothing", "first anchors", "training", "clusters",
		"structure",
	}[p]
}

// Costs are the processor time of each phase, of Anchors and Training for one run, in a unit of their own.
type Costs [Phases]float64

// Report says how far a fit is, outside of the training.
type Report struct {
	Phase       Phase
	Done, Total int           // of the phase
	Left        time.Duration // of the fit; 0: not known
	Elapsed     time.Duration // of the phase
	Restart     int
}

// Options say what is known of a fit before it begins.
type Options struct {
	Restarts int          // number of runs
	Restart  int          // the run to begin with
	Costs    Costs        // of the phases
	Loops    [Phases]bool // whether a phase has many loops, nobody knows how many
}

// Meter follows a fit. It is used by the goroutine of the fit alone. All methods work on nil, which reports nothing.
type Meter struct {
	call   func(Report) error
	cancel context.CancelCauseFunc
	err    error // of call, outside of the training
	o      Options

	phase    Phase
	run      int
	began    time.Time // of the phase
	said     time.Time // of the last call
	share    float64   // of the phase that is done
	from, to float64   // what part of it the present step is
	spent    float64   // cost of the phases that are over
	spentFor time.Duration
	begun    bool // whether a phase has begun
}

// Interval is the time from one call to the next within a phase other than the training.
const Interval = 100 * time.Millisecond

// New returns a meter that calls call at the start of each phase but the training, and at most once an Interval within it. The
// context that it returns ends with the first error of call.
func New(ctx context.Context, call func(Report) error, o Options) (context.Context, *Meter) {
	m := &Meter{call: call, o: o, run: o.Restart}
	ctx, m.cancel = context.WithCancelCause(ctx)
	return parallel.WithWatch(ctx, m.loop), m
}

// Within returns a context for work with phases of its own, which are no phases of the fit: its loops move the phase that the
// fit is in.
func (m *Meter) Within(ctx context.Context) context.Context {
	if m == nil {
		return ctx
	}
	return parallel.WithWatch(ctx, func(done, total int, told bool) {
		if !told {
			m.loop(done, total, false)
		}
	})
}

// Stop ends the meter's context.
func (m *Meter) Stop() {
	if m != nil {
		m.cancel(nil)
	}
}

// Failure returns the first error of the callback outside of the training; nil without one.
func (m *Meter) Failure() error {
	if m == nil {
		return nil
	}
	return m.err
}

// Stopped returns the callback's own error in place of err where err came of it, by whatever name it is prefixed on the way.
func (m *Meter) Stopped(err error) error {
	f := m.Failure()
	if f == nil || err != nil && !errors.Is(err, context.Canceled) && plain(err) != plain(f) {
		return err
	}
	return f
}

func plain(err error) string { return strings.TrimPrefix(err.Error(), "largemvc: ") }

// Enter begins a phase of a run. It calls the callback unless the phase is the training, where every epoch reports.
func (m *Meter) Enter(p Phase, run int) error {
	if m == nil {
		return nil
	}
	now := time.Now()
	if m.begun {
		m.spent, m.spentFor = m.spent+m.o.Costs[m.phase], m.spentFor+now.Sub(m.began)
	}
	m.phase, m.run, m.began, m.share, m.from, m.to, m.begun = p, run, now, 0, 0, 1, true
	if p == Training {
		return nil
	}
	return m.say(now)
}

// say calls the callback.
func (m *Meter) say(now time.Time) error {
	const steps = 1000
	m.said = now
	r := Report{
		Phase: m.phase, Done: int(steps * m.share), Total: steps, Left: m.left(now), Elapsed: now.Sub(m.began), Restart: m.run,
	}
	if m.err == nil {
		if m.err = m.call(r); m.err != nil {
			m.cancel(m.err)
		}
	}
	return m.err
}

// loop is called with the progress of loops and longer works. The share that is done never falls; in a work in steps, a loop
// moves it within its step.
func (m *Meter) loop(done, total int, told bool) {
	if m.phase == Training || !m.begun || total < 1 {
		return
	}
	share := float64(done) / float64(total)
	switch {
	case told:
		m.from, m.to = share, min(share+1/float64(total), 1)
	case m.o.Loops[m.phase]: // each takes half of what is left, as nobody knows how many are to come
		whole := done == total
		share = m.from + share*(m.to-m.from)/2
		if whole {
			m.from = share
		}
	default:
		share = m.from + share*(m.to-m.from)
	}
	m.share = max(m.share, share)
	if now := time.Now(); now.Sub(m.said) >= Interval {
		_ = m.say(now) // the error is kept, and the context ends
	}
}

// Epoch returns the time that the fit still takes after some epochs of a run.
func (m *Meter) Epoch(done, total int) time.Duration {
	if m == nil {
		return 0
	}
	m.share = float64(done) / float64(total)
	return m.left(time.Now())
}

// left estimates the time that the fit still takes: of this phase by its own pace, of those to come by their cost.
func (m *Meter) left(now time.Time) time.Duration {
	elapsed, costs := now.Sub(m.began), &m.o.Costs
	done := m.spent + m.share*costs[m.phase]
	whole := m.spentFor + elapsed
	if done <= 0 || whole < Interval {
		return 0
	}
	pace := whole.Seconds() / done // seconds for a unit of cost
	rest := (1 - m.share) * costs[m.phase] * pace
	const enough = 0.1 // of a phase, to go by its own pace
	if m.share > enough {
		rest = elapsed.Seconds() * (1 - m.share) / m.share
	}
	ahead := float64(m.o.Restarts-1-m.run) * (costs[Anchors] + costs[Training])
	for p := m.phase + 1; p < Phases; p++ {
		ahead += costs[p]
	}
	return time.Duration((rest + ahead*pace) * float64(time.Second))
}
