package largemvc

import (
	"context"
	"errors"
	"time"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// meter follows a fit through its phases for Config.Progress. It is used by the goroutine of the fit alone; nil does nothing.
type meter struct {
	call   func(Epoch) error
	cancel context.CancelCauseFunc
	err    error // of the callback, outside of the training

	config *Config
	loops  [phases]bool    // whether a phase is made of many loops that do not say how many
	cost   [phases]float64 // of the phases, of anchors and training for one run, in a unit of their own

	phase      phase
	run        int
	began      time.Time // of the phase
	said       time.Time // when the callback was called
	share      float64   // of the phase that is done
	from, to   float64   // what part of it the present step is
	spent      float64   // cost of the phases that are over
	spentFor   time.Duration
	beforeThis bool // whether a phase has begun
}

// sayEvery is the time from one call of the callback to the next within a phase other than the training.
const sayEvery = 100 * time.Millisecond

// withMeter returns the meter of a fit, and a context that ends with an error of its callback; without a callback there is none.
func withMeter(ctx context.Context, c *Config, views []view.View, restart int) (context.Context, *meter) {
	if c.Progress == nil {
		return ctx, nil
	}
	m := &meter{call: c.Progress, config: c, cost: costs(c, views), run: restart}
	for p, x := range readingCosts(c, views) {
		m.cost[p] += x
	}
	n := trainedOn(c, views[0].Rows)
	m.loops[phaseDraws], m.loops[phaseRegression], m.loops[phaseClusters] = true, true, true
	// The state of a training says which rows it is of.
	m.loops[phaseChecks] = c.Checkpoint.Path != ""
	m.loops[phaseNeighbors] = c.Neighborhood.Exact == None || n > max(c.Neighborhood.Exact, 1) // landmarks
	ctx, m.cancel = context.WithCancelCause(ctx)
	return parallel.WithWatch(ctx, m.loop), m
}

// within returns a context for work with phases of its own, which are no phases of the fit: its loops move the phase that the
// fit is in.
func (m *meter) within(ctx context.Context) context.Context {
	if m == nil {
		return ctx
	}
	return parallel.WithWatch(ctx, func(done, total int, told bool) {
		if !told {
			m.loop(done, total, false)
		}
	})
}

// stop ends the meter's context.
func (m *meter) stop() {
	if m != nil {
		m.cancel(nil)
	}
}

// failure is the callback's error outside of the training; nil without.
func (m *meter) failure() error {
	if m == nil {
		return nil
	}
	return m.err
}

// enter begins a phase, and says so unless it is the training, which speaks for itself.
func (m *meter) enter(p phase, run int) error {
	if m == nil {
		return nil
	}
	now := time.Now()
	if m.beforeThis {
		m.spent, m.spentFor = m.spent+m.cost[m.phase], m.spentFor+now.Sub(m.began)
	}
	m.phase, m.run, m.began, m.share, m.from, m.to, m.beforeThis = p, run, now, 0, 0, 1, true
	if p == phaseTraining {
		return nil
	}
	return m.say(now)
}

// say calls the callback.
func (m *meter) say(now time.Time) error {
	const steps = 1000
	m.said = now
	e := Epoch{
		Phase: m.phase.String(), Done: int(steps * m.share), Total: steps, Left: m.left(now), Restart: m.run,
		Restarts: m.config.Restarts,
		Epochs:   max(m.config.Epochs, 0), Elapsed: now.Sub(m.began),
	}
	if m.err == nil {
		if m.err = m.call(e); m.err != nil {
			m.cancel(m.err)
		}
	}
	return m.err
}

// loop is told how far loops and longer works are. What is done never falls; of a work in steps, a loop moves it within its
// step.
func (m *meter) loop(done, total int, told bool) {
	if m.phase == phaseTraining || !m.beforeThis || total < 1 {
		return
	}
	share := float64(done) / float64(total)
	switch {
	case told:
		m.from, m.to = share, min(share+1/float64(total), 1)
	case m.loops[m.phase]: // each takes half of what is left: nobody knows how many are to come
		whole := done == total
		share = m.from + share*(m.to-m.from)/2
		if whole {
			m.from = share
		}
	default:
		share = m.from + share*(m.to-m.from)
	}
	m.share = max(m.share, share)
	if now := time.Now(); now.Sub(m.said) >= sayEvery {
		_ = m.say(now) // the error is kept, and the context ends
	}
}

// epochDone returns what is left after an epoch.
func (m *meter) epochDone(epochs int, c *Config) time.Duration {
	if m == nil {
		return 0
	}
	m.share = float64(epochs) / float64(c.Epochs)
	return m.left(time.Now())
}

// left estimates the time that the fit has still to take: of this phase by its own pace, of those to come by their cost.
func (m *meter) left(now time.Time) time.Duration {
	elapsed := now.Sub(m.began)
	done := m.spent + m.share*m.cost[m.phase]
	whole := m.spentFor + elapsed
	if done <= 0 || whole < sayEvery {
		return 0
	}
	pace := whole.Seconds() / done // seconds for a unit of cost
	rest := (1 - m.share) * m.cost[m.phase] * pace
	const telling = 0.1
	if m.share > telling {
		rest = elapsed.Seconds() * (1 - m.share) / m.share
	}
	ahead := float64(m.config.Restarts-1-m.run) * (m.cost[phaseAnchors] + m.cost[phaseTraining])
	for p := m.phase + 1; p < phases; p++ {
		ahead += m.cost[p]
	}
	return time.Duration((rest + ahead*pace) * float64(time.Second))
}

// costs estimates the processor time that the phases of a fit take, in nanoseconds of one machine. Only their ratios matter, and
// only until a phase is on its way. The factors are fitted to the times of five sets of 210 to 60,000 samples in 3 to 6 views
// of 9 to 2,000 features, with both presets; most are right to a factor of two.
func costs(c *Config, views []view.View) (out [phases]float64) {
	n := float64(trainedOn(c, views[0].Rows))
	m, kinds := float64(c.Anchors), float64(len(prepare.Kind(c.Preprocess).Parts()))
	width, inputs := 0.0, kinds*float64(len(views)) // of the inputs
	neighbors := c.Neighborhood.Neighbors != None
	for _, x := range views {
		d := float64(x.Cols)
		kept := min(d, n)
		if !neighbors && d > n {
			out[phasePreparation] += 0.3 * kinds * n * n * d // rotated
		}
		if dirs := float64(c.Neighborhood.Directions); neighbors && dirs > 0 && dirs < d {
			kept = min(dirs, n)
			out[phasePreparation] += kinds * kept * (0.12*n*d + 12*kept*kept)
		}
		out[phaseChecks] += 0.3 * n * d
		out[phasePreparation] += 8 * kinds * n * d
		if c.hasHeldOutLoss() {
			out[phaseRegression] += kinds * kept * (5*n + 0.07*n*kept + 4*kept*kept)
		}
		width += kinds * kept
	}
	if neighbors {
		spaces, rowSteps := inputs+kinds, n*float64(max(c.Neighborhood.Steps, 0))
		if exact := c.Neighborhood.Exact; exact != None && n <= float64(max(exact, 1)) {
			out[phaseNeighbors] = n * n * (0.1*width + 2.8*spaces)
			out[phaseSmoothing] = rowSteps * (2500 + 4*width)
		} else {
			landmarks := float64(c.Neighborhood.Landmarks)
			if landmarks == 0 {
				landmarks = float64(neighbor.DefaultLandmarks(int(n)))
			}
			out[phaseNeighbors] = n * landmarks * (0.045*width + 2.8*spaces)
			out[phaseSmoothing] = rowSteps * (2500 + 0.8*width*spaces)
		}
	}
	means := 45 * float64(c.KMeansStarts) * min(n, 10_000) * m * m
	out[phaseAnchors] = 1.4*means + n*width*(m+10)
	out[phaseTraining] = float64(max(c.Epochs, 0)) *
		(float64(c.Layers)*n*m*(0.12*width+14*inputs) + 4e5*inputs)
	out[phaseClusters] = 0.5*means + 5*n*m*m
	if c.comparesDraws(views[0].Rows) {
		for p := phasePreparation; p <= phaseAnchors; p++ {
			out[phaseDraws] += draws * out[p]
		}
	}
	return out
}

// valueFromDisk is the time in which a disk gives a value of four bytes, in nanoseconds.
const valueFromDisk = 4

// readingCosts is what rows outside memory add to costs: each pass over them, in which the processors wait for the disk. With
// neighbours the passes of anchors and training are over what was made of the rows.
func readingCosts(c *Config, views []view.View) (out [phases]float64) {
	once, streamed := 0.0, 0.0
	for _, x := range views {
		if x.Source == nil {
			continue
		}
		pass := valueFromDisk * float64(parallel.Workers(c.Machine.Workers)) * float64(x.Rows) * float64(x.Cols)
		once += pass
		if x.Streams() {
			streamed += pass
		}
	}
	if c.samples(views[0].Rows) { // the others are read to be labelled
		out[phaseClusters] = once
		return out
	}
	out[phaseChecks], out[phasePreparation] = once, once
	if c.Checkpoint.Path != "" { // the rows are read once more, and hashed, to know them again
		out[phaseChecks] += 3 * once
	}
	if c.Neighborhood.Neighbors != None {
		out[phaseNeighbors] = streamed
		if c.hasHeldOutLoss() {
			out[phaseRegression] = streamed
		}
		return out
	}
	out[phaseAnchors], out[phaseClusters] = 7*streamed, 3*streamed
	out[phaseTraining] = float64(max(c.Epochs, 0)*(2*c.Layers+1)) * streamed
	return out
}

// stopped is what Fit returns for an error of the callback outside of the training, where err came of it: the callback's own, as
// in the training, whoever has put the library's name before it on the way.
func (m *meter) stopped(err error) error {
	f := m.failure()
	if f != nil && (err == nil || errors.Is(err, context.Canceled) || err.Error() == withName(f).Error()) {
		return f
	}
	return err
}
