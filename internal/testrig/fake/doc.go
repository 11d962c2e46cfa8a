// Package fake is an NVIDIA driver for tests of programs built with -tags cuda, on machines without one: a card whose kernels
// run on the simulator, internal/testrig/ptx. It takes the place of libcuda behind the shims that tools/cudaenv makes, so that
// gorgonia.org/cu, Gorgonia and this module run as they are.
//
// It is strict where a card is not: a call without a current context, memory, a module or a function of another context, and
// whatever a kernel does wrong are errors. After a fault of a kernel, all calls of its context fail, as they do on a card.
package fake
