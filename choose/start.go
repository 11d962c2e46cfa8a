package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

const (
	startDraws   = 6    // parts of the samples in which a start is repeated
	startShare   = 0.8  // of the samples, in each part
	startSamples = 1200 // at most, in each part
	startStream  = 0x63617265

	// The clusters of one standardisation must be less even by sampleEvenness than the clusters of both, and may be less stable
	// by sampleLoss.
	sampleEvenness, sampleLoss = 0.1, 0.08
	// K-means without neighbours must be less even by plainEvenness and have more held-out information by plainHeldOut, and the
	// two together must be plainGain. It may be less stable by plainLoss.
	plainEvenness, plainHeldOut, plainGain, plainLoss = 0.05, 0.02, 0.15, 0.06
)

// StartCandidate is an initial clustering that Start compares.
type StartCandidate struct {
	Name     string  // the clustering in words
	Evenness float64 // entropy of the sizes of its clusters, relative to equal sizes, 0 to 1
	// HeldOut is the information about a sample's cluster that the other samples have (package terms), relative to the logarithm
	// of the anchors, 0 to 1.
	HeldOut float64
	// Stability is the mean NMI of initial clusterings of six parts of 80 % of the samples, in pairs, on the samples that both
	// have. NaN if it is not needed.
	Stability float64
}

// Starts is the result of Start.
type Starts struct {
	Candidates []StartCandidate // the default first
	Chosen     int              // index of the chosen one in Candidates
}

// String says which start is chosen, and why.
func (s *Starts) String() string {
	if s == nil || s.Chosen < 0 || s.Chosen >= len(s.Candidates) {
		return "no initial clusterings were compared"
	}
	var text string
	for i, c := range s.Candidates {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s: evenness %.2f, held-out information %.2f", c.Name, c.Evenness, c.HeldOut)
		if !math.IsNaN(c.Stability) {
			text += fmt.Sprintf(", stability %.2f", c.Stability)
		}
	}
	return fmt.Sprintf("%s (%s)", s.Candidates[s.Chosen].Name, text)
}

// starter makes initial clusterings.
type starter struct {
	name   string
	config largemvc.Config
	// beats says whether a candidate differs enough from the default to ask for its stability; nil: it is the default.
	beats func(c, base *StartCandidate) bool
	loss  float64 // by how much less stable it may be
}

// Start compares three initial clusterings and returns the configuration with the chosen one:
//
//   - the default: k-means of the smoothed views, in both standardisations;
//   - the same with PreprocessSample alone, if Preprocess is PreprocessBoth, its default, and Noise has no Scale;
//   - k-means of the standardised views side by side, without neighbours.
//
// The default favours clusters of equal sizes. So another start is chosen only if its clusters are clearly less even, and about
// as stable on parts of the samples. Clusters without neighbours must also be better predicted by held-out samples. This helps
// where classes are of very different sizes: docs/expect.md has figures. It takes 2.5 times as long as the default's start, and
// about nine times where another start is a candidate, whose stability is measured.
//
// The configuration needs neighbours. StartLabels, Start.Anchors, FitSamples and Machine.Comm must not be set. If ctx ends, Start
// returns its error. Equal seeds and data give equal bits.
func Start(ctx context.Context, views []largemvc.View, config largemvc.Config) (largemvc.Config, *Starts, error) {
	out := config
	if err := named(parallel.CheckContext(ctx)); err != nil {
		return out, nil, err
	}
	if err := checkStart(views, config); err != nil {
		return out, nil, err
	}
	all := starters(config)
	found := &Starts{}
	var labels [][]int
	for _, s := range all {
		l, err := s.labels(ctx, views, 0)
		if err != nil {
			return out, nil, err
		}
		labels = append(labels, l)
		found.Candidates = append(found.Candidates, StartCandidate{s.name, even(l, s.config.Anchors), 0, math.NaN()})
	}
	if err := found.compare(ctx, all, views, labels); err != nil {
		return out, nil, err
	}
	switch chosen := all[found.Chosen]; {
	case chosen.config.Neighborhood.Neighbors == largemvc.None:
		out.StartLabels = labels[found.Chosen]
	case found.Chosen > 0:
		out.Preprocess = chosen.config.Preprocess
	}
	return out, found, nil
}

// compare measures the candidates and chooses one.
func (s *Starts) compare(ctx context.Context, all []starter, views []largemvc.View, labels [][]int) error {
	told, err := heldOut(ctx, views, &all[0].config, labels)
	if err != nil {
		return err
	}
	for i := range told {
		s.Candidates[i].HeldOut = told[i]
	}
	base := &s.Candidates[0]
	parts := partsOf(views, all[0].config.Seed)
	for i := 1; i < len(all); i++ {
		c := &s.Candidates[i]
		if !all[i].beats(c, base) {
			continue
		}
		if math.IsNaN(base.Stability) {
			if base.Stability, err = all[0].stability(ctx, views, parts); err != nil {
				return err
			}
		}
		if c.Stability, err = all[i].stability(ctx, views, parts); err != nil {
			return err
		}
		if c.Stability >= base.Stability-all[i].loss && (s.Chosen == 0 || c.Stability > s.Candidates[s.Chosen].Stability) {
			s.Chosen = i
		}
	}
	return nil
}

// checkStart refuses what leaves no start to choose.
func checkStart(views []largemvc.View, config largemvc.Config) error {
	switch {
	case config.Neighborhood.Neighbors == largemvc.None:
		return errors.New("choose: without neighbours there is one initial clustering alone: want Neighborhood.Neighbors above 0")
	case config.StartLabels != nil || config.Start.Anchors != nil:
		return errors.New("choose: StartLabels or Start.Anchors give the initial clustering already: leave them out")
	case config.FitSamples != 0:
		return errors.New("choose: the initial clustering is chosen for all samples, and FitSamples is set: leave it out")
	case config.Machine.Comm != nil:
		return errors.New("choose: the initial clustering is chosen in one process, and Machine.Comm is set: leave it out")
	}
	return config.Check(views)
}

// starters returns what makes the candidates.
func starters(config largemvc.Config) []starter {
	base := config.WithDefaults()
	base.Epochs, base.Restarts, base.NoStructure, base.Progress = largemvc.None, 1, true, nil
	base.Checkpoint, base.ExtraLoss, base.Machine.Overwrite, base.Noise = largemvc.Checkpoint{}, nil, false, &largemvc.NoNoise{}
	base.Known, base.Neighborhood.KnownWeight, base.Neighborhood.Neighbors = nil, 0, config.Neighborhood.Neighbors
	out := []starter{{name: "smoothed views", config: base}}
	if s, _ := config.Noise.(*largemvc.RowShrink); base.Preprocess == largemvc.PreprocessBoth && (s == nil || s.Scale == nil) {
		sample := base
		sample.Preprocess = largemvc.PreprocessSample
		out = append(out, starter{"smoothed views, each sample standardised", sample, func(c, base *StartCandidate) bool {
			return c.Evenness <= base.Evenness-sampleEvenness
		}, sampleLoss})
	}
	plain := base
	plain.Preprocess, plain.Neighborhood = largemvc.PreprocessSample, largemvc.Neighborhood{Neighbors: largemvc.None}
	return append(out, starter{"views without neighbours", plain, func(c, base *StartCandidate) bool {
		uneven, told := base.Evenness-c.Evenness, c.HeldOut-base.HeldOut
		return uneven >= plainEvenness && told >= plainHeldOut && uneven+told >= plainGain
	}, plainLoss})
}

// labels returns an initial clustering.
func (s *starter) labels(ctx context.Context, views []largemvc.View, draw uint64) ([]int, error) {
	c := s.config
	c.Seed += draw
	fit, err := largemvc.Fit(ctx, views, c)
	if err != nil {
		return nil, err
	}
	return fit.StartLabels, nil
}

// partsOf draws parts of the samples, each in increasing order.
func partsOf(views []largemvc.View, seed uint64) (out [startDraws][]int) {
	n, _ := views[0].Dims()
	for t := range out {
		rng := rand.New(rand.NewPCG(seed, startStream+uint64(t)))
		out[t] = rng.Perm(n)[:min(int(startShare*float64(n)), startSamples)]
		slices.Sort(out[t])
	}
	return out
}

// stability returns the mean NMI of the initial clusterings of parts, NaN if a part is too small for the clusters.
func (s *starter) stability(ctx context.Context, views []largemvc.View, parts [startDraws][]int) (float64, error) {
	var found [startDraws]map[int]int
	for t, part := range parts {
		some, err := taken(views, part)
		if err != nil {
			return math.NaN(), err
		}
		if refused(s.config, some) {
			return math.NaN(), nil
		}
		labels, err := s.labels(ctx, some, uint64(t)+1)
		if err != nil {
			return math.NaN(), err
		}
		found[t] = make(map[int]int, len(part))
		for i, sample := range part {
			found[t][sample] = labels[i]
		}
	}
	sum, pairs := 0.0, 0.0
	for t, part := range parts {
		for u := range t {
			var a, b []int
			for _, sample := range part {
				if other, both := found[u][sample]; both {
					a, b = append(a, found[t][sample]), append(b, other)
				}
			}
			if len(a) == 0 {
				continue
			}
			table, err := score.NewContingency(a, b)
			if err != nil {
				return math.NaN(), err
			}
			sum, pairs = sum+table.NMI(score.NMIArithmetic), pairs+1
		}
	}
	return sum / pairs, nil
}

// even returns the entropy of the sizes of clusters, relative to the entropy of equal sizes.
func even(labels []int, clusters int) float64 {
	counts := make([]int, clusters)
	for _, k := range labels {
		counts[k]++
	}
	sum := 0.0
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / float64(len(labels))
			sum -= p * math.Log(p)
		}
	}
	if clusters < 2 {
		return 1
	}
	return sum / math.Log(float64(clusters))
}

// heldOut returns the held-out information of labelings of all samples, each relative to the logarithm of the anchors.
func heldOut(ctx context.Context, views []largemvc.View, c *largemvc.Config, labels [][]int) ([]float64, error) {
	out := make([]float64, len(labels))
	err := within(ctx, views, c, func(ctx context.Context, views []view.View) error {
		in, err := newReduced(ctx, views, c)
		if err != nil {
			return err
		}
		held, err := information.NewLeaveOneOut(ctx, smooth.Matrices(in.filled, in.n),
			information.Regression{Workers: c.Machine.Workers})
		if err != nil {
			return err
		}
		tell := information.NewHeldOut(c.Machine.Workers, c.Anchors, held, 0).LabelScore()
		for i, l := range labels {
			if out[i], err = tell(ctx, l); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}
