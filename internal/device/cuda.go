//go:build ((linux && !android && (amd64 || arm64)) || (windows && amd64)) && !nogpu

package device

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

func init() { Register("CUDA", func() (Driver, error) { return OpenCUDA(findCUDA) }) }

// symbol numbers the functions of the NVIDIA driver's library in use.
type symbol int

const (
	cuInit symbol = iota
	cuDriverGetVersion
	cuGetErrorString
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetAttribute
	cuCtxCreate
	cuCtxDestroy
	cuCtxPushCurrent
	cuCtxPopCurrent
	cuCtxSynchronize
	cuMemAlloc
	cuMemFree
	cuMemGetInfo
	cuMemHostAlloc
	cuMemFreeHost
	cuMemcpyHtoD
	cuMemcpyDtoH
	cuMemsetD8
	cuModuleLoadDataEx
	cuModuleGetFunction
	cuFuncSetAttribute
	cuLaunchKernel
	numSymbols
)

var symbols = [numSymbols]string{
	"cuInit", "cuDriverGetVersion", "cuGetErrorString", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
	"cuDeviceGetAttribute", "cuCtxCreate_v2", "cuCtxDestroy_v2", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
	"cuCtxSynchronize", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetInfo_v2", "cuMemHostAlloc", "cuMemFreeHost",
	"cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
	"cuMemsetD8_v2", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncSetAttribute", "cuLaunchKernel",
}

// Constants of CUDA's interface.
const (
	computeCapabilityMajor = 75 // attributes of a device
	computeCapabilityMinor = 76
	maxSharedPerBlock      = 97 // with opt-in: every kernel may have 48 KB without asking

	jitErrorLog      = 5 // options of the compiler
	jitErrorLogBytes = 6

	maxDynamicShared = 8 // attribute of a function

	outOfMemory cudaError = 2
)

const (
	logBytes     = 16 << 10 // kept of the compiler's messages
	maxArguments = 32       // of a kernel
)

// cudaDriver is the first device of the NVIDIA driver, which CUDA_VISIBLE_DEVICES may select, with its own context. Each call
// makes the context current on its thread and restores the thread's own context, for other users of CUDA in the process.
type cudaDriver struct {
	at        [numSymbols]uintptr
	context   uintptr // 0: closed
	modules   []uintptr
	loaded    map[string]Module // by their text: a fit loads its kernels for every stage
	functions []map[string]*cudaFunction
	sync      bool // wait for each launch

	name         string
	version      int32 // of CUDA, as 12040 for 12.4
	major, minor int32
	shared       int32 // bytes of shared memory of a block, if it asks for them

	// The arguments of a launch. They lie in the driver, so that the garbage collector does not move them.
	values [maxArguments]uint64
	params [maxArguments]unsafe.Pointer
}

type cudaFunction struct {
	handle uintptr
	shared int // bytes of dynamic shared memory that the function may use
}

// OpenCUDA opens the first device of the NVIDIA driver. find returns the driver's functions by name. LARGEMVC_CUDA_SYNC=1 makes
// the driver wait for each launch, so that an error names the kernel that caused it.
func OpenCUDA(find func(name string) (uintptr, error)) (Driver, error) {
	d := &cudaDriver{sync: os.Getenv("LARGEMVC_CUDA_SYNC") == "1", loaded: map[string]Module{}}
	runtime.LockOSThread() // a library's error and the current context belong to a thread
	defer runtime.UnlockOSThread()
	var missing []string
	for s, name := range symbols {
		var err error
		if d.at[s], err = find(name); errors.Is(err, errNoCUDA) {
			return nil, err
		} else if err != nil {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("%s lacks %s: install an NVIDIA driver of CUDA 11.0 or later", libraryOfCUDA,
			strings.Join(missing, ", "))
	}
	for i := range d.values {
		d.params[i] = unsafe.Pointer(&d.values[i])
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

// errNoCUDA means that the driver's library is missing.
var errNoCUDA = errors.New("no NVIDIA driver")

// open makes the context. Creating it makes it current, which open undoes.
func (d *cudaDriver) open() error {
	if err := d.call(cuInit, 0); err != nil {
		return fmt.Errorf("%s does not start: %w", libraryOfCUDA, err)
	}
	var count, dev int32
	if err := d.call(cuDeviceGetCount, uintptr(unsafe.Pointer(&count))); err != nil {
		return fmt.Errorf("the NVIDIA driver cannot list its devices: %w", err)
	}
	if count == 0 {
		return errors.New("the NVIDIA driver has no device")
	}
	if err := d.call(cuDeviceGet, uintptr(unsafe.Pointer(&dev)), 0); err != nil {
		return fmt.Errorf("the first device: %w", err)
	}
	var name [256]byte
	err := errors.Join(
		d.call(cuDriverGetVersion, uintptr(unsafe.Pointer(&d.version))),
		d.call(cuDeviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(dev)),
		d.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&d.major)), computeCapabilityMajor, uintptr(dev)),
		d.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&d.minor)), computeCapabilityMinor, uintptr(dev)),
		d.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&d.shared)), maxSharedPerBlock, uintptr(dev)),
	)
	if err != nil {
		return fmt.Errorf("the first device: %w", err)
	}
	d.name = upToZero(name[:])
	if err := d.call(cuCtxCreate, uintptr(unsafe.Pointer(&d.context)), 0, uintptr(dev)); err != nil {
		d.context = 0
		return fmt.Errorf("%s cannot create a context: %w", d.name, err)
	}
	var own uintptr
	return d.call(cuCtxPopCurrent, uintptr(unsafe.Pointer(&own)))
}

func upToZero(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return text
}

// call calls a function of the library. The directive keeps the memory of pointer arguments alive, on the heap, until the call
// returns. So a pointer must be converted in the call itself.
//
//go:uintptrescapes
func (d *cudaDriver) call(s symbol, args ...uintptr) error {
	r, _, _ := purego.SyscallN(d.at[s], args...)
	if code := cudaError(uint32(r)); code != 0 {
		return fmt.Errorf("%s (%w)", d.describe(code), code)
	}
	return nil
}

// cudaError is CUDA's number of an error.
type cudaError uint32

func (e cudaError) Error() string { return fmt.Sprintf("CUDA error %d", uint32(e)) }

// describe returns the driver's text for an error.
func (d *cudaDriver) describe(code cudaError) string {
	var at *byte
	r, _, _ := purego.SyscallN(d.at[cuGetErrorString], uintptr(code), uintptr(unsafe.Pointer(&at)))
	if uint32(r) != 0 || at == nil {
		return "unknown error"
	}
	return upToZero(unsafe.Slice(at, textLength(at)))
}

// textLength returns the bytes before the zero that ends a text of C.
func textLength(at *byte) (n int) {
	for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return n
}

// within makes calls in the context of the device. A call after Close is an error.
func (d *cudaDriver) within(what string, f func() error) error {
	if d.context == 0 {
		return fmt.Errorf("CUDA, %s: the device was closed", what)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := d.call(cuCtxPushCurrent, d.context)
	if err == nil {
		err = f()
		var own uintptr
		if popped := d.call(cuCtxPopCurrent, uintptr(unsafe.Pointer(&own))); err == nil {
			err = popped
		}
	}
	if err != nil {
		return fmt.Errorf("CUDA, %s: %w", what, err)
	}
	return nil
}

func (d *cudaDriver) Alloc(name string, bytes int64) (p Ptr, err error) {
	err = d.within(fmt.Sprintf("%d bytes for %s", bytes, name), func() error {
		var at uint64
		err := d.call(cuMemAlloc, uintptr(unsafe.Pointer(&at)), uintptr(bytes))
		p = Ptr(at)
		if errors.Is(err, outOfMemory) {
			return fmt.Errorf("%w: %w", ErrNoMemory, err)
		}
		return err
	})
	return p, err
}

func (d *cudaDriver) Free(p Ptr) error {
	return d.within("freeing memory", func() error { return d.call(cuMemFree, uintptr(p)) })
}

// Host returns page-locked memory, which copies reach directly.
func (d *cudaDriver) Host(bytes int) (b []byte, err error) {
	err = d.within(fmt.Sprintf("%d bytes for copies", bytes), func() error {
		var at *byte
		if err := d.call(cuMemHostAlloc, uintptr(unsafe.Pointer(&at)), uintptr(bytes), 0); err != nil {
			return err
		}
		b = unsafe.Slice(at, bytes)
		clear(b)
		return nil
	})
	return b, err
}

func (d *cudaDriver) FreeHost(b []byte) error {
	return d.within("freeing memory for copies", func() error { return d.call(cuMemFreeHost, uintptr(unsafe.Pointer(&b[0]))) })
}

// Upload and Download are synchronous; a download comes after all launches, which are on the same stream.
func (d *cudaDriver) Upload(p Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return d.within(fmt.Sprintf("%d bytes to the device", len(src)), func() error {
		return d.call(cuMemcpyHtoD, uintptr(p), uintptr(unsafe.Pointer(&src[0])), uintptr(len(src)))
	})
}

func (d *cudaDriver) Download(dst []byte, p Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return d.within(fmt.Sprintf("%d bytes from the device", len(dst)), func() error {
		return d.call(cuMemcpyDtoH, uintptr(unsafe.Pointer(&dst[0])), uintptr(p), uintptr(len(dst)))
	})
}

func (d *cudaDriver) Zero(p Ptr, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return d.within("zeros", func() error { return d.call(cuMemsetD8, uintptr(p), 0, uintptr(bytes)) })
}

func (d *cudaDriver) Load(text string) (Module, error) {
	if m, ok := d.loaded[text]; ok && d.context != 0 {
		return m, nil
	}
	err := d.within("compiling PTX", func() error {
		source, log := append([]byte(text), 0), make([]byte, logBytes)
		var pin runtime.Pinner // the garbage collector sees only numbers
		defer pin.Unpin()
		pin.Pin(&log[0])
		options := [...]int32{jitErrorLog, jitErrorLogBytes}
		values := [...]uintptr{uintptr(unsafe.Pointer(&log[0])), logBytes}
		var m uintptr
		err := d.call(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&source[0])), uintptr(len(options)),
			uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
		if err != nil {
			return jitError(err, strings.TrimSpace(upToZero(log)))
		}
		d.loaded[text] = Module(len(d.modules))
		d.modules, d.functions = append(d.modules, m), append(d.functions, map[string]*cudaFunction{})
		return nil
	})
	return Module(len(d.modules) - 1), err
}

// jitErrors are the errors of CUDA when a driver does not compile PTX; most of them have no text.
var jitErrors = map[cudaError]string{
	outOfMemory: "the card has no memory left for the kernels",
	209:         "the kernels need a newer card",
	218:         "the driver rejects the kernels",
	221:         "the driver's compiler is missing (libnvidia-ptxjitcompiler.so.1, which containers may lack)",
	222:         "the driver is too old: install a driver of CUDA 11.0 or later",
	223:         "the environment variable CUDA_DISABLE_PTX_JIT forbids the driver to compile",
}

// jitError returns the error of a failed compilation, with the messages of the driver's compiler, if any.
func jitError(err error, log string) error {
	var code cudaError
	if errors.As(err, &code) && jitErrors[code] != "" {
		err = fmt.Errorf("%s (%w)", jitErrors[code], code)
	}
	if log != "" {
		err = fmt.Errorf("%w: %s", err, log)
	}
	return err
}

func (d *cudaDriver) Launch(m Module, kernel string, l Launch, args ...any) error {
	if l.Grid[0] > math.MaxInt32 || l.Grid[1] > math.MaxUint16 || l.Grid[2] > math.MaxUint16 { // cut to 32 bits
		return fmt.Errorf("CUDA, kernel %s: a grid of %v blocks exceeds the limits of a launch", kernel, l.Grid)
	}
	if len(args) > maxArguments {
		return fmt.Errorf("CUDA, kernel %s: %d arguments, want at most %d", kernel, len(args), maxArguments)
	}
	for i, a := range args {
		switch x := a.(type) {
		case Ptr:
			d.values[i] = uint64(x)
		case int32:
			d.values[i] = uint64(uint32(x))
		case int64:
			d.values[i] = uint64(x)
		case float32:
			d.values[i] = uint64(math.Float32bits(x))
		case float64:
			d.values[i] = math.Float64bits(x)
		default:
			return fmt.Errorf("CUDA, kernel %s: argument %d is a %T", kernel, i, a)
		}
	}
	return d.within("kernel "+kernel, func() error {
		f, err := d.function(m, kernel, l.Shared)
		if err != nil {
			return err
		}
		err = d.call(cuLaunchKernel, f.handle, uintptr(l.Grid[0]), uintptr(l.Grid[1]), uintptr(l.Grid[2]), uintptr(l.Block), 1, 1,
			uintptr(l.Shared), 0, uintptr(unsafe.Pointer(&d.params[0])), 0)
		if err == nil && d.sync {
			err = d.call(cuCtxSynchronize)
		}
		return err
	})
}

// function returns a kernel that may have the given bytes of dynamic shared memory.
func (d *cudaDriver) function(m Module, name string, shared int) (*cudaFunction, error) {
	f := d.functions[m][name]
	if f == nil {
		f = &cudaFunction{}
		text := append([]byte(name), 0)
		err := d.call(cuModuleGetFunction, uintptr(unsafe.Pointer(&f.handle)), d.modules[m], uintptr(unsafe.Pointer(&text[0])))
		if err != nil {
			return nil, err
		}
		d.functions[m][name] = f
	}
	if shared > f.shared {
		if err := d.call(cuFuncSetAttribute, f.handle, maxDynamicShared, uintptr(shared)); err != nil {
			return nil, fmt.Errorf("%d bytes of shared memory: %w", shared, err)
		}
		f.shared = shared
	}
	return f, nil
}

func (d *cudaDriver) Sync() error {
	return d.within("waiting", func() error { return d.call(cuCtxSynchronize) })
}

func (d *cudaDriver) Memory() (free, total int64, err error) {
	err = d.within("asking for memory", func() error {
		var sizes [2]uintptr
		err := d.call(cuMemGetInfo, uintptr(unsafe.Pointer(&sizes[0])), uintptr(unsafe.Pointer(&sizes[1])))
		free, total = int64(sizes[0]), int64(sizes[1])
		return err
	})
	return free, total, err
}

func (d *cudaDriver) Capability() (major, minor int) { return int(d.major), int(d.minor) }

func (d *cudaDriver) SharedMemory() int { return int(d.shared) }

func (d *cudaDriver) Name() string { return d.name }

// Version returns the version of CUDA that the driver has.
func (d *cudaDriver) Version() string { return fmt.Sprintf("%d.%d", d.version/1000, d.version%1000/10) }

// Close destroys the context, and all memory on the device. It may be called again.
func (d *cudaDriver) Close() error {
	if d.context == 0 {
		return nil
	}
	err := d.call(cuCtxDestroy, d.context)
	if d.context = 0; err != nil {
		return fmt.Errorf("CUDA, closing the device: %w", err)
	}
	return nil
}
