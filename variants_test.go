package largemvc

import (
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/unfold"
)

// Node is a node of a Gorgonia graph.
type Node = gorgonia.Node

// variant is a network of the paper's ablation.
type variant int

const (
	large variant = iota // all modules
	amvc                 // no noise
	rmvc                 // no noise, fixed anchors
)

func (v variant) String() string { return []string{"large", "amvc", "rmvc"}[v] }

// of returns the configuration without the modules that the variant lacks.
func (v variant) of(c Config) Config {
	if v != large {
		c.Noise = &NoNoise{}
	}
	if v == rmvc {
		c.Anchor = &FixedAnchors{}
	}
	return c
}

// builtModel is a model whatever its modules.
type builtModel interface {
	Network
	Build(e Env, data *Data, start StartPoint) error
	fused() unfold.Fused
}

type (
	// AMvCNet is the network without noise.
	AMvCNet = Model[*SoftThreshold, *NoNoise, *Procrustes]
	// RMvCNet is the network without noise and with fixed anchors.
	RMvCNet = Model[*SoftThreshold, *NoNoise, *FixedAnchors]
)
