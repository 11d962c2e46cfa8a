package largemvc

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
