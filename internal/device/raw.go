package device

import "unsafe"

// rawBytes returns the memory of x as bytes. The machine and the device are both little-endian.
func rawBytes[E any](x []E) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*size[E]())
}
