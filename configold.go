package largemvc

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
)

// oldConfig is the configuration in files of the versions 1 to 3, whose networks have stock modules alone.
type oldConfig struct {
	Clusters        int     `json:"clusters"`
	Anchors         int     `json:"anchors"`
	Layers          int     `json:"layers"`
	Epochs          int     `json:"epochs"`
	LearningRate    float64 `json:"learning_rate"`
	Seed            uint64  `json:"seed"`
	Restarts        int     `json:"restarts"`
	Variant         string  `json:"variant"`
	Activation      string  `json:"activation"`
	Preset          string  `json:"preset"`
	Preprocess      string  `json:"preprocess"`
	Start           string  `json:"start"`
	Float           string  `json:"float"`
	Workers         int     `json:"workers"`
	Theta0          float64 `json:"theta0"`
	Rho0            float64 `json:"rho0"`
	RhoScale        string  `json:"rho_scale"`
	Signs           string  `json:"signs"`
	OneSided        bool    `json:"one_sided"`
	Lipschitz       float64 `json:"lipschitz"`
	Reduction       string  `json:"reduction"`
	DetachAnchors   bool    `json:"detach_anchors"`
	Tolerance       float64 `json:"tolerance"`
	Patience        int     `json:"patience"`
	KMeansStarts    int     `json:"kmeans_starts"`
	ReadOut         string  `json:"read_out"`
	CheckpointEvery int     `json:"checkpoint_every"`
	Rotate          string  `json:"rotate"`
	Neighbors       int     `json:"neighbors"`
	Directions      int     `json:"directions"`
	FilterSteps     int     `json:"filter_steps"`
	NeighborWeight  float64 `json:"neighbor_weight"`
	HeldOutWeight   float64 `json:"held_out_weight"`
	Temperature     float64 `json:"temperature"`
	ExactNeighbors  int     `json:"exact_neighbors"`
	Landmarks       int     `json:"landmarks"`
	LowestInertia   bool    `json:"lowest_inertia"`
}

// readOldConfig reads the configuration of a file of the versions 1 to 3.
func readOldConfig(text []byte, version int) (*Config, error) {
	var s oldConfig
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("its configuration: %w", err)
	}
	if version == 1 { // It has neither neighbours nor another read-out.
		s.Neighbors, s.ReadOut = None, "plain"
	}
	if version < 3 && s.Neighbors != None {
		s.HeldOutWeight = None
	}
	c := &Config{
		Clusters: s.Clusters, Anchors: s.Anchors, Layers: s.Layers, Epochs: s.Epochs, LearningRate: s.LearningRate, Seed: s.Seed,
		Restarts: s.Restarts, Workers: s.Workers, KMeansStarts: s.KMeansStarts,
		EarlyStop: EarlyStop{s.Tolerance, s.Patience}, Checkpoint: Checkpoint{Every: s.CheckpointEvery},
		Neighborhood: Neighborhood{
			Neighbors: s.Neighbors, Directions: s.Directions, Steps: s.FilterSteps, Weight: s.NeighborWeight,
			HeldOutWeight: s.HeldOutWeight, Temperature: s.Temperature, Exact: s.ExactNeighbors, Landmarks: s.Landmarks,
			LowestInertia: s.LowestInertia,
		},
	}
	return c, errors.Join(s.options(c), s.modules(c))
}

// options reads the enumerations.
func (s *oldConfig) options(c *Config) error {
	var errs []error
	for _, o := range []struct {
		text string
		to   encoding.TextUnmarshaler
	}{
		{s.Preset, &c.Preset}, {s.Preprocess, &c.Preprocess}, {s.Start, &c.Start.Method}, {s.Rotate, &c.Rotate},
		{s.ReadOut, &c.ReadOut}, {s.Reduction, &c.Reduction},
	} {
		errs = append(errs, o.to.UnmarshalText([]byte(o.text)))
	}
	if c.Float64 = s.Float == "64"; s.Float != "64" && s.Float != "32" {
		errs = append(errs, fmt.Errorf("largemvc: unknown float size %q", s.Float))
	}
	return errors.Join(errs...)
}

// modules makes the modules that the fields stand for.
func (s *oldConfig) modules(c *Config) error {
	var sigma Activation
	if err := sigma.UnmarshalText([]byte(s.Activation)); err != nil {
		return err
	}
	if s.Signs != "free" && s.Signs != "nonnegative" {
		return fmt.Errorf("largemvc: unknown sign constraint %q", s.Signs)
	}
	if s.RhoScale != "data" && s.RhoScale != "unit" {
		return fmt.Errorf("largemvc: unknown rho scale %q", s.RhoScale)
	}
	free := s.Signs == "free"
	c.Represent = &SoftThreshold{
		Theta0: s.Theta0, Lipschitz: s.Lipschitz, Activation: sigma, OneSided: s.OneSided, Unconstrained: free,
	}
	c.Noise, c.Anchor = &NoNoise{}, &Procrustes{Detach: s.DetachAnchors}
	switch s.Variant {
	case "large":
		c.Noise = &RowShrink{
			Rho0: s.Rho0, Activation: sigma, Unconstrained: free, DataScale: s.RhoScale == "data",
		}
	case "amvc":
	case "rmvc":
		c.Anchor = &FixedAnchors{}
	default:
		return fmt.Errorf("largemvc: unknown variant %q", s.Variant)
	}
	return nil
}
