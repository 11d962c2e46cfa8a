package machine

import "context"

type askedKey struct{}

type asked struct {
	device Device
	ran    *Ran
}

// On returns a context whose calls of a largemvc.Predictor that label samples or give their representation (Predict, Assign,
// AssignRows, Transform) take them through the network on a device, in batches. With CUDA a call that cannot is an error; with
// Auto it is done on the CPU. CPU is what calls do that have no such context. Samples are standardised, linked to neighbours and
// given to clusters on the CPU, as in every call, so that the device pays for many samples in one call and where the layers are
// most of the work: without neighbours. Opening it takes part of a second in each call.
//
// ran, unless it is nil, becomes where the last call with this context ran, and why there; then such calls must not be
// concurrent. Labels are those of the CPU but for samples within the last bits of a border between clusters.
func On(ctx context.Context, d Device, ran *Ran) context.Context {
	return context.WithValue(ctx, askedKey{}, asked{d, ran})
}

// Asked returns what On has put into a context; the CPU without it.
func Asked(ctx context.Context) (d Device, ran *Ran) {
	if a, ok := ctx.Value(askedKey{}).(asked); ok {
		return a.device, a.ran
	}
	return CPU, nil
}
