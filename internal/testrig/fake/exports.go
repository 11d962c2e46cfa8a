//go:build cuda

package fake

// #include <stdint.h>
// #include <stdlib.h>
//
// void fake_install(void);
// void *fake_symbol(const char *name);
import "C"

import (
	"unsafe"

	_ "gorgonia.org/cu/blas" // what stands behind cuBLAS is replaced

	"github.com/largemvc/largemvc/internal/testrig/ptx"
)

// The functions that fake.c calls. Their results are CUDA's numbers of errors; c is the current context of the calling thread.

//export fakeCapability
func fakeCapability() C.int { return C.int(there.card.Capability) }

//export fakeMostShared
func fakeMostShared() C.int { return C.int(ptx.MaxShared(there.card.target())) }

//export fakeMemory
func fakeMemory(total C.int) C.size_t {
	there.mutex.Lock()
	defer there.mutex.Unlock()
	if total != 0 {
		return C.size_t(there.card.Memory)
	}
	return C.size_t(there.free())
}

//export fakeNewContext
func fakeNewContext() C.uintptr_t { return C.uintptr_t(there.newContext()) }

//export fakeDropContext
func fakeDropContext(c C.uintptr_t) C.int { return C.int(there.dropContext(handle(c))) }

//export fakeState
func fakeState(c C.uintptr_t) C.int {
	return there.within(c, func(*owner) result { return success })
}

//export fakeAlloc
func fakeAlloc(c C.uintptr_t, to unsafe.Pointer, n C.size_t, managed C.int) C.int {
	return there.within(c, func(x *owner) result {
		p, r := there.alloc(x, int64(n), managed != 0)
		*(*uint64)(to) = p
		return r
	})
}

//export fakeFree
func fakeFree(c C.uintptr_t, p C.uint64_t) C.int {
	return there.within(c, func(x *owner) result { return there.release(x, uint64(p)) })
}

//export fakeCopy
func fakeCopy(c C.uintptr_t, to, from C.uint64_t, n C.size_t) C.int {
	return there.within(c, func(x *owner) result {
		data := make([]byte, n)
		if r := there.read(x, data, uint64(from)); r != success {
			return r
		}
		return there.write(x, uint64(to), data)
	})
}

//export fakeUpload
func fakeUpload(c C.uintptr_t, to C.uint64_t, from unsafe.Pointer, n C.size_t) C.int {
	return there.within(c, func(x *owner) result { return there.write(x, uint64(to), unsafe.Slice((*byte)(from), n)) })
}

//export fakeDownload
func fakeDownload(c C.uintptr_t, to unsafe.Pointer, from C.uint64_t, n C.size_t) C.int {
	return there.within(c, func(x *owner) result { return there.read(x, unsafe.Slice((*byte)(to), n), uint64(from)) })
}

//export fakeFill
func fakeFill(c C.uintptr_t, to C.uint64_t, value C.uchar, n C.size_t) C.int {
	return there.within(c, func(x *owner) result {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(value)
		}
		return there.write(x, uint64(to), data)
	})
}

//export fakeLoad
func fakeLoad(c C.uintptr_t, to, text, log unsafe.Pointer, size C.size_t) C.int {
	return there.within(c, func(x *owner) result {
		m, complaint, r := there.load(x, C.GoString((*C.char)(text)))
		*(*handle)(to) = m
		if log != nil && size > 0 {
			n := copy(unsafe.Slice((*byte)(log), size-1), complaint)
			unsafe.Slice((*byte)(log), size)[n] = 0
		}
		return r
	})
}

//export fakeFunction
func fakeFunction(c C.uintptr_t, to unsafe.Pointer, m C.uintptr_t, name *C.char) C.int {
	return there.within(c, func(x *owner) result {
		f, r := there.function(x, handle(m), C.GoString(name))
		*(*handle)(to) = f
		return r
	})
}

//export fakeShared
func fakeShared(c, f C.uintptr_t, bytes C.int) C.int {
	return there.within(c, func(x *owner) result { return there.allowShared(x, handle(f), int(bytes)) })
}

//export fakeLaunch
func fakeLaunch(c, f C.uintptr_t, gx, gy, gz, bx, by, bz, shared C.uint, params unsafe.Pointer) C.int {
	return there.within(c, func(x *owner) result {
		grid, block := [3]int{int(gx), int(gy), int(gz)}, [3]int{int(bx), int(by), int(bz)}
		return there.launch(x, handle(f), grid, block, int(shared), params)
	})
}

// productFailed is cuBLAS's number of an execution that failed.
const productFailed = 13

// fakeProduct returns 0 where the operands of a product lie in managed memory of the context of its handle.
//
//export fakeProduct
func fakeProduct(c C.uintptr_t, x, y, to unsafe.Pointer) C.int {
	there.mutex.Lock()
	defer there.mutex.Unlock()
	owner := there.owners[handle(c)]
	for _, p := range []unsafe.Pointer{x, y, to} {
		if owner == nil || owner.host(uint64(uintptr(p)), 1) == nil {
			there.complain(invalidContext, "a product of cuBLAS with memory of another context than its handle's")
			return productFailed
		}
	}
	return 0
}

// within calls f under the lock, in a context that is there and that no fault has lost.
func (d *driver) within(c C.uintptr_t, f func(x *owner) result) C.int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	x := d.owners[handle(c)]
	switch {
	case x == nil:
		return C.int(d.complain(invalidContext, "the context was destroyed"))
	case x.lost != success:
		return C.int(x.lost)
	}
	return C.int(f(x))
}

func hostMemory(n int64) unsafe.Pointer { return C.aligned_alloc(256, C.size_t((n+255)/256*256)) }

func freeHost(p unsafe.Pointer) { C.free(p) }

func install() { C.fake_install() }

func symbol(name string) uintptr {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return uintptr(C.fake_symbol(text))
}
