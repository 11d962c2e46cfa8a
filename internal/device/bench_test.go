package device

import (
	"context"
	"fmt"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
)

// BenchmarkEpoch measures epochs of the selftest's networks on the first device. Without a device it is skipped.
func BenchmarkEpoch(b *testing.B) {
	all := Kinds()
	if len(all) == 0 {
		b.Skip(ErrNotBuilt)
	}
	drv, err := all[0].Open()
	if err != nil {
		b.Skip(err)
	}
	defer func() { _ = drv.Close() }()
	for _, t := range trials {
		b.Run(fmt.Sprint(t.samples), func(b *testing.B) {
			made, err := t.network()
			if err != nil {
				b.Fatal(err)
			}
			net, epoch, err := made.begin(context.Background(), engine.NewParams(&made.spec), onDriver[float32](drv))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := epoch(); err != nil {
					b.Fatal(err)
				}
			}
			if err := net.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
