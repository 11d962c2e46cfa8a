//go:build cuda

package device

// #include <stdlib.h>
// #include <cuda.h>
//
// // load compiles a text of PTX; what the compiler says of a fault stands in log.
// static CUresult load(CUmodule *m, const char *text, char *log, size_t size) {
//   CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
//   void *values[] = {log, (void *)size};
//   log[0] = 0;
//   return cuModuleLoadDataEx(m, text, 2, options, values);
// }
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/largemvc/largemvc/internal/cuda"
)

func init() { Register("CUDA", func() (Driver, error) { return openCUDA() }) }

// cudaDriver is the first device of the NVIDIA driver, which CUDA_VISIBLE_DEVICES may choose, with a context of its own. Contexts
// belong to threads, so that all calls are made by one goroutine on a thread of its own.
type cudaDriver struct {
	calls   chan func()
	ended   chan struct{}
	context *cu.Ctx
	modules []cudaModule

	name         string
	major, minor int
	shared       int // bytes of shared memory of a block, if it asks for them
}

type cudaModule struct {
	cu.Module
	functions map[string]*cudaFunction
}

type cudaFunction struct {
	cu.Function
	shared int // bytes of dynamic shared memory that the function may have
}

func openCUDA() (*cudaDriver, error) {
	if why := cuda.Missing(); why != "" {
		return nil, errors.New(why)
	}
	d := &cudaDriver{calls: make(chan func()), ended: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and its context with it
		defer close(d.ended)
		for f := range d.calls {
			f()
		}
	}()
	err := d.do("opening the device", func() error {
		dev, err := cu.GetDevice(0)
		if err != nil {
			return err
		}
		if d.name, err = dev.Name(); err != nil {
			return err
		}
		if d.major, d.minor, err = dev.ComputeCapability(); err != nil {
			return err
		}
		// Every kernel may have 48 KB without asking; gorgonia.org/cu has no name for what it may ask for.
		if d.shared, err = dev.Attribute(C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN); err != nil {
			return err
		}
		made, err := dev.MakeContext(cu.SchedAuto)
		if err == nil {
			d.context = cu.CtxFromCUContext(dev, made, cu.SchedAuto)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// do makes calls in the context of the device. A panic within becomes an error, and so does a call after Close.
func (d *cudaDriver) do(what string, f func() error) error {
	if d.calls == nil {
		return fmt.Errorf("CUDA, %s: the device was closed", what)
	}
	done := make(chan error, 1)
	d.calls <- func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("panic: %v", v)
			}
		}()
		done <- f()
	}
	if err := <-done; err != nil {
		return fmt.Errorf("CUDA, %s: %w", what, err)
	}
	return nil
}

func (d *cudaDriver) Alloc(name string, bytes int64) (p Ptr, err error) {
	err = d.do(fmt.Sprintf("%d bytes for %s", bytes, name), func() error {
		at, err := cu.MemAlloc(bytes)
		p = Ptr(at)
		if errors.Is(err, cu.OutOfMemory) {
			return fmt.Errorf("%w: %w", ErrNoMemory, err)
		}
		return err
	})
	return p, err
}

func (d *cudaDriver) Free(p Ptr) error {
	return d.do("freeing memory", func() error { return cu.MemFree(cu.DevicePtr(p)) })
}

// Upload and Download are synchronous; a download comes after all launches, which are on the same stream.
func (d *cudaDriver) Upload(p Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return d.do(fmt.Sprintf("%d bytes to the device", len(src)), func() error {
		return cu.MemcpyHtoD(cu.DevicePtr(p), unsafe.Pointer(&src[0]), int64(len(src)))
	})
}

func (d *cudaDriver) Download(dst []byte, p Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return d.do(fmt.Sprintf("%d bytes from the device", len(dst)), func() error {
		return cu.MemcpyDtoH(unsafe.Pointer(&dst[0]), cu.DevicePtr(p), int64(len(dst)))
	})
}

func (d *cudaDriver) Zero(p Ptr, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return d.do("zeros", func() error { return cu.MemsetD8(cu.DevicePtr(p), 0, bytes) })
}

// logBytes is what is kept of the compiler's messages.
const logBytes = 16 << 10

func (d *cudaDriver) Load(text string) (Module, error) {
	err := d.do("compiling PTX", func() error {
		source, log := C.CString(text), (*C.char)(C.malloc(logBytes))
		defer C.free(unsafe.Pointer(source))
		defer C.free(unsafe.Pointer(log))
		var handle C.CUmodule
		if code := C.load(&handle, source, log, logBytes); code != C.CUDA_SUCCESS {
			return jitError(int(code), strings.TrimSpace(C.GoString(log)))
		}
		// cu.Module is its handle and nothing else; gorgonia.org/cu makes none with the compiler's messages.
		d.modules = append(d.modules, cudaModule{*(*cu.Module)(unsafe.Pointer(&handle)), map[string]*cudaFunction{}})
		return nil
	})
	return Module(len(d.modules) - 1), err
}

// jitErrors are those of CUDA's errors that say why a driver does not compile PTX, most of them without a message of its own.
var jitErrors = map[int]string{
	C.CUDA_ERROR_OUT_OF_MEMORY:     "the card has no memory left for the kernels",
	C.CUDA_ERROR_NO_BINARY_FOR_GPU: "the kernels are for newer cards",
	C.CUDA_ERROR_INVALID_PTX:       "the driver does not take the text",
	C.CUDA_ERROR_JIT_COMPILER_NOT_FOUND: "the driver's compiler is missing (libnvidia-ptxjitcompiler.so.1, " +
		"which containers may lack)",
	C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION: "the driver is older than the text: one of CUDA 11.0 or later is needed",
	C.CUDA_ERROR_JIT_COMPILATION_DISABLED: "the driver may not compile (the environment variable CUDA_DISABLE_PTX_JIT " +
		"forbids it)",
}

// jitError says why a text was not compiled, with what the driver's compiler said, if anything.
func jitError(code int, log string) error {
	text := fmt.Sprintf("error %d", code)
	if why := jitErrors[code]; why != "" {
		text += ", " + why
	}
	if log != "" {
		text += ": " + log
	}
	return errors.New(text)
}

func (d *cudaDriver) Launch(m Module, kernel string, l Launch, args ...any) error {
	values := make([]uint64, len(args))
	params := make([]unsafe.Pointer, len(args))
	if l.Grid[0] > math.MaxInt32 || l.Grid[1] > math.MaxUint16 || l.Grid[2] > math.MaxUint16 { // cut to 32 bits without a word
		return fmt.Errorf("CUDA, kernel %s: a grid of %v blocks is more than a launch can have", kernel, l.Grid)
	}
	for i, a := range args {
		switch x := a.(type) {
		case Ptr:
			values[i] = uint64(x)
		case int32:
			values[i] = uint64(uint32(x))
		case int64:
			values[i] = uint64(x)
		case float32:
			values[i] = uint64(math.Float32bits(x))
		case float64:
			values[i] = math.Float64bits(x)
		default:
			return fmt.Errorf("CUDA, kernel %s: argument %d is a %T", kernel, i, a)
		}
		params[i] = unsafe.Pointer(&values[i]) // cu.Function.Launch copies 8 bytes of each
	}
	return d.do("kernel "+kernel, func() error {
		f, err := d.function(m, kernel, l.Shared)
		if err != nil {
			return err
		}
		return f.Launch(l.Grid[0], l.Grid[1], l.Grid[2], l.Block, 1, 1, l.Shared, cu.NoStream, params)
	})
}

// function returns a kernel that may have the given bytes of dynamic shared memory.
func (d *cudaDriver) function(m Module, name string, shared int) (*cudaFunction, error) {
	f := d.modules[m].functions[name]
	if f == nil {
		found, err := d.modules[m].Function(name)
		if err != nil {
			return nil, err
		}
		f = &cudaFunction{Function: found}
		d.modules[m].functions[name] = f
	}
	if shared > f.shared {
		handle := *(*C.CUfunction)(unsafe.Pointer(&f.Function))
		code := C.cuFuncSetAttribute(handle, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(shared))
		if code != C.CUDA_SUCCESS {
			return nil, fmt.Errorf("%d bytes of shared memory: error %d", shared, int(code))
		}
		f.shared = shared
	}
	return f, nil
}

func (d *cudaDriver) Sync() error { return d.do("waiting", cu.Synchronize) }

func (d *cudaDriver) Memory() (free, total int64, err error) {
	err = d.do("asking for memory", func() error {
		var err error
		free, total, err = cu.MemInfo()
		return err
	})
	return free, total, err
}

func (d *cudaDriver) Capability() (major, minor int) { return d.major, d.minor }

func (d *cudaDriver) SharedMemory() int { return d.shared }

func (d *cudaDriver) Name() string { return d.name }

// Close destroys the context, and with it all that is on the device, and ends the thread. It may be called again.
func (d *cudaDriver) Close() error {
	if d.calls == nil {
		return nil
	}
	err := d.do("closing the device", func() error {
		if d.context == nil {
			return nil
		}
		return d.context.Close()
	})
	close(d.calls)
	<-d.ended
	d.calls = nil
	return err
}
