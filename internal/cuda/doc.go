// Package cuda has what Gorgonia's CUDA build (-tags cuda) needs of this module besides headers and libraries: the elementwise
// kernels that Gorgonia calls and does not ship, for loss terms of users; and what is known of the driver when a program has
// started. The kernels are CUDA C in kernels/, compiled by clang to PTX, which is committed; without the tag nothing is built in.
package cuda

//go:generate sh kernels/generate.sh
