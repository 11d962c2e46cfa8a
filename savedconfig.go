package largemvc

import (
	"errors"
	"fmt"
)

// savedConfig is a Config in the JSON of files, its options by name.
type savedConfig struct {
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

// saveConfig returns what files hold of a configuration with its defaults: all but functions, values as large as the
// data, and what is the caller's own (Overwrite, Checkpoint).
func saveConfig(c *Config) savedConfig {
	return savedConfig{
		Clusters: c.Clusters, Anchors: c.Anchors, Layers: c.Layers, Epochs: c.Epochs, LearningRate: c.LearningRate, Seed: c.Seed,
		Restarts: c.Restarts, Variant: c.Variant.String(), Activation: c.Activation.String(), Preset: c.Preset.String(),
		Preprocess: c.Preprocess.String(), Start: c.Start.String(), Float: c.Float.String(), Workers: c.Workers, Theta0: c.Theta0,
		Rho0: c.Rho0, RhoScale: c.RhoScale.String(), Signs: c.Signs.String(), OneSided: c.OneSided, Lipschitz: c.Lipschitz,
		Reduction: c.Reduction.String(), DetachAnchors: c.DetachAnchors, Tolerance: c.Tolerance, Patience: c.Patience,
		KMeansStarts: c.KMeansStarts, ReadOut: c.ReadOut.String(), CheckpointEvery: c.CheckpointEvery, Rotate: c.Rotate.String(),
		Neighbors: c.Neighbors, Directions: c.Directions, FilterSteps: c.FilterSteps, NeighborWeight: c.NeighborWeight, HeldOutWeight: c.HeldOutWeight,
		Temperature: c.Temperature, ExactNeighbors: c.ExactNeighbors, Landmarks: c.Landmarks, LowestInertia: c.LowestInertia,
	}
}

// restore is the inverse of saveConfig.
func (s *savedConfig) restore() (*Config, error) {
	c := &Config{
		Clusters: s.Clusters, Anchors: s.Anchors, Layers: s.Layers, Epochs: s.Epochs, LearningRate: s.LearningRate, Seed: s.Seed,
		Restarts: s.Restarts, Workers: s.Workers, Theta0: s.Theta0, Rho0: s.Rho0, OneSided: s.OneSided, Lipschitz: s.Lipschitz,
		DetachAnchors: s.DetachAnchors, Tolerance: s.Tolerance, Patience: s.Patience, KMeansStarts: s.KMeansStarts,
		CheckpointEvery: s.CheckpointEvery, Neighbors: s.Neighbors, Directions: s.Directions, FilterSteps: s.FilterSteps,
		NeighborWeight: s.NeighborWeight, HeldOutWeight: s.HeldOutWeight, Temperature: s.Temperature, ExactNeighbors: s.ExactNeighbors, Landmarks: s.Landmarks,
		LowestInertia: s.LowestInertia,
	}
	var errs [11]error
	c.Variant, errs[0] = ParseVariant(s.Variant)
	c.Preset, errs[1] = ParsePreset(s.Preset)
	c.Preprocess, errs[2] = ParsePreprocess(s.Preprocess)
	c.Start, errs[3] = ParseStart(s.Start)
	c.Float, errs[4] = ParseFloat(s.Float)
	c.RhoScale, errs[5] = ParseRhoScale(s.RhoScale)
	c.Signs, errs[6] = ParseSigns(s.Signs)
	c.Rotate, errs[9] = ParseRotation(s.Rotate)
	c.ReadOut, errs[10] = ParseReadOut(s.ReadOut)
	switch s.Activation {
	case ReLU.String():
	case SELU.String():
		c.Activation = SELU
	default:
		errs[7] = fmt.Errorf("largemvc: unknown activation %q", s.Activation)
	}
	c.Reduction, errs[8] = ParseReduction(s.Reduction)
	return c, errors.Join(errs[:]...)
}
