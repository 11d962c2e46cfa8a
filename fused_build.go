package largemvc

// network returns the model that the configuration describes, not built yet.
func (c *Config) network(rhoScale []float64) builtModel {
	free := c.Signs == Unconstrained
	soft := &SoftThreshold{Theta0: c.Theta0, Lipschitz: c.Lipschitz, Activation: c.Activation, OneSided: c.OneSided, Unconstrained: free}
	switch c.Variant {
	case AMvC:
		return &AMvCNet{Represent: soft, Anchor: &Procrustes{Detach: c.DetachAnchors}, Reduction: c.Reduction}
	case RMvC:
		return &RMvCNet{Represent: soft, Reduction: c.Reduction}
	}
	return &LargeMvCNet{
		Represent: soft, Noise: &RowShrink{Rho0: c.Rho0, Scale: rhoScale, Activation: c.Activation, Unconstrained: free},
		Anchor: &Procrustes{Detach: c.DetachAnchors}, Reduction: c.Reduction,
	}
}
