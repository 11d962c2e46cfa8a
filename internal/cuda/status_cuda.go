//go:build cuda

package cuda

// #include <stddef.h>
//
// // Of the shims that tools/cudaenv makes; a program that is linked against libcuda itself has none of them.
// extern int largemvc_cuda_status(const char **why) __attribute__((weak));
//
// static int status(const char **why) {
//   *why = "";
//   return largemvc_cuda_status ? largemvc_cuda_status(why) : 0;
// }
import "C"

import "gorgonia.org/cu"

// Missing returns why there is no CUDA device, in a sentence; empty where there is one.
func Missing() string {
	var why *C.char
	if C.status(&why) != 0 {
		return C.GoString(why)
	}
	switch n, err := cu.NumDevices(); {
	case err != nil:
		return "the NVIDIA driver does not count its devices: " + err.Error()
	case n == 0:
		return "the NVIDIA driver has no device"
	}
	return ""
}
