// Package device trains the stock network on a GPU: Shard is an engine.Shard whose rows and row state lie in a device's
// memory and whose passes are kernels. The kernels are CUDA C in kernels/, compiled by clang to PTX (go generate), which is
// committed and embedded; the driver of the device compiles it for the card.
//
// What a device must do is the interface Driver. The tests have one, internal/testrig/simdevice, which runs the same PTX on the
// CPU and finds faults that a card does not report; so everything here is tested without a GPU.
//
//	drv := &simdevice.Sim{}
//	shard, err := device.New(drv, &spec, x, present, h0, true)   // asks for the memory before it takes any
//	net, err := engine.NewNet(spec, []engine.Shard{shard}, engine.InOrder{}, start)
//
// # Bits
//
// A pass is a fixed sequence of launches whose grids depend on sizes alone. No two blocks of a launch write to the same place or
// read what another writes, and sums over samples are taken by chunks, in the type of the data, and these in float64 in the
// engine's tree. So results have the same bits in whatever order blocks run. They are not those of another kind of device.
package device

//go:generate sh kernels/generate.sh
