package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// stages is the processor time of the phases of default fits of mnist3v on one thread: of all samples, and with a sample to train on.
func (r *ownRun) stages() error {
	s, err := r.shuffled("mnist3v")
	if err != nil {
		return err
	}
	if err := r.phases("mnist3v", s, largemvc.Config{Epochs: r.epochs}); err != nil {
		return err
	}
	const sample = 10_000
	return r.phases(fmt.Sprintf("mnist3v, FitSamples %d", sample), s, largemvc.Config{Epochs: r.epochs, FitSamples: sample})
}

// phases prints the seconds of the phases of a fit, in their order.
func (r *ownRun) phases(name string, s *samples, config largemvc.Config) error {
	spent, order := map[string]float64{}, []string(nil)
	phase, since := "", 0.0
	next := func(of string) {
		now := work.ProcessorTime().Seconds()
		if phase != "" {
			spent[phase] += now - since
		}
		if _, found := spent[of]; !found && of != "" {
			spent[of], order = 0, append(order, of)
		}
		phase, since = of, now
	}
	config.Clusters, config.Machine = mnistClusters, machine.Options{Workers: 1, Device: machine.CPU}
	config.Progress = func(p largemvc.Progress) error {
		if p.Phase != phase {
			next(p.Phase)
		}
		return nil
	}
	began := work.ProcessorTime().Seconds()
	c, err := largemvc.Fit(context.Background(), s.all(), config)
	if err != nil {
		return err
	}
	next("")
	var parts []string
	for _, of := range order {
		parts = append(parts, fmt.Sprintf("%s %.2f", of, spent[of]))
	}
	return r.print(fmt.Sprintf("%s, %d epochs, one thread: processor time of the phases, s", name, c.Epochs),
		"%s; in all %.1f", strings.Join(parts, ", "), work.ProcessorTime().Seconds()-began)
}
