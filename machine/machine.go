// Package machine says what a fit may use of the machine that it runs on. Nothing here changes a result but for the last bits,
// which a device has of its own: the same views, seed and configuration give the same bits for any number of goroutines.
package machine

// Options are what a fit may use. The zero value uses all cores and leaves the caller's views as they are. Files hold the
// number of goroutines and nothing else of it.
type Options struct {
	// Workers is the number of goroutines, up to 4,096; 0: GOMAXPROCS.
	Workers int

	// Overwrite lets views that are in the arithmetic of the fit already be standardised in place, in place of a copy, which
	// saves the size of the data in memory. The caller's values are different ones afterwards.
	Overwrite bool `json:"-"`

	// Device is where the network is trained, and where its inputs, first anchors and clusters are sought; default: a GPU where
	// it can be had. New samples are labelled on the CPU.
	Device Device `json:"-"`
}
