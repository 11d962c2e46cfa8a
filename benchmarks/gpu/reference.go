package main

import (
	"context"
	_ "embed" // of the reference
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/machine"
)

//go:embed reference.json
var reference []byte

// small is a fit whose losses are known.
type small struct {
	Name   string
	N      int
	Dims   []int
	Config largemvc.Config `json:"-"`
	Losses []float64       // before each epoch and after the last
}

func smallFits() []small {
	const epochs = 20
	return []small{
		{Name: "paper", N: 400, Dims: []int{40, 24, 9},
			Config: largemvc.Config{Clusters: 5, Preset: largemvc.PresetPaper, Epochs: epochs}},
		{Name: "default", N: 400, Dims: []int{40, 24, 9}, Config: largemvc.Config{Clusters: 5, Epochs: epochs}},
		{Name: "wide", N: 6000, Dims: []int{70, 33},
			Config: largemvc.Config{Clusters: 12, Layers: 3, Preset: largemvc.PresetPaper, Epochs: epochs}},
	}
}

// views makes the data of a fit: normal centres and uniform noise.
func (s *small) views() []largemvc.View {
	rng := rand.New(rand.NewPCG(7, 7))
	var out []largemvc.View
	for _, d := range s.Dims {
		centre := make([]float32, s.Config.Clusters*d)
		for j := range centre {
			centre[j] = float32(rng.NormFloat64())
		}
		x := make([]float32, s.N*d)
		for i := range x {
			x[i] = centre[i/d%s.Config.Clusters*d+i%d] + 2*rng.Float32() - 1
		}
		out = append(out, largemvc.Float32View(s.N, d, x))
	}
	return out
}

func (s *small) fit(device machine.Device) error {
	s.Config.Machine.Device = device
	c, err := largemvc.Fit(context.Background(), s.views(), s.Config)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	s.Losses = c.Loss
	return nil
}

func writeReference() error {
	list := smallFits()
	for i := range list {
		if err := list[i].fit(machine.CPU); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(list, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile("reference.json", append(text, '\n'), 0o644)
}

// tolerance is how far losses of a device may be from those of the CPU, relatively: each rounds sums of float32 in its own
// way, and the difference grows from epoch to epoch.
const tolerance = 1e-4

// compareWithReference runs the small fits and compares their losses after 1 and 20 epochs with those of the CPU.
func compareWithReference(out io.Writer, device machine.Device) error {
	var want []small
	if err := json.Unmarshal(reference, &want); err != nil {
		return err
	}
	for i, s := range smallFits() {
		if err := s.fit(device); err != nil {
			return err
		}
		if want[i].Name != s.Name || len(want[i].Losses) != len(s.Losses) {
			return fmt.Errorf("reference.json is of other fits")
		}
		off := func(k int) float64 { return math.Abs(s.Losses[k]-want[i].Losses[k]) / math.Abs(want[i].Losses[k]) }
		last := len(s.Losses) - 1
		fmt.Fprintf(out, "%s: the loss is off by %.1e after 1 epoch and %.1e after %d\n", s.Name, off(1), off(last), last)
		if !(max(off(1), off(last)) <= tolerance) {
			return fmt.Errorf("%s: the losses are not those of the CPU", s.Name)
		}
	}
	return nil
}
