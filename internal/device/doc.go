// Package device trains the stock network on a GPU. Shard is an engine.Shard whose rows and row state lie in a device's memory
// and whose passes are kernels. The kernels are CUDA C in kernels/. clang compiles them to PTX (go generate), which is committed
// and embedded. The device's driver compiles the PTX for the card.
//
// The interface Driver has all operations of a device. The driver of the tests, internal/testrig/simdevice, runs the same PTX on
// the CPU and finds faults that a card does not report. So all code here is tested without a GPU.
//
//	drv := &simdevice.Sim{}
//	shard, err := device.New(drv, &spec, x, present, h0, true)   // asks for the memory before it takes any
//	net, err := engine.NewNet(spec, []engine.Shard{shard}, engine.InOrder{}, start)
//
// # Bits
//
// A pass is a fixed sequence of launches whose grids depend only on sizes. No two blocks of a launch write to the same place, and
// none reads a place that another one writes. Sums over samples are computed by chunks, in the type of the data, and the chunks
// are added in float64 in the engine's tree. So results have the same bits for any order of the blocks. Another type of device
// gives other bits.
package device

//go:generate sh kernels/generate.sh
