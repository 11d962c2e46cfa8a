// Package ptx runs kernels in PTX, NVIDIA's assembly language, on the CPU, and checks what a GPU does not check.
//
// It reads the text that clang writes for sm_70 to sm_90, so that the kernels that are tested are the very ones that a GPU
// gets. A warp is executed at once, its 32 lanes in arrays; blocks are spread over the processors. It needs no GPU, no driver
// and no C compiler.
//
//	module, err := ptx.Parse(text)                      // every fault of the text is an error with its line
//	kernel, err := module.Kernel("fold")
//	memory := ptx.NewMemory(0)                          // 0: no limit; otherwise bytes
//	p, err := memory.Alloc("part", 4*n)                 // the name is for messages
//	err = ptx.Upload(memory, p, []float32{...})
//	stats, err := kernel.Launch(ctx, memory, ptx.Launch{
//		Grid:   [3]int{blocks, 1, 1},                   // a zero counts as one
//		Block:  [3]int{256, 1, 1},
//		Shared: bytes,                                  // dynamic shared memory of a block
//		Args:   []any{m, p, int32(n), 1.5},             // one for each parameter, in order
//	})
//	err = ptx.Download(memory, sums, p)                 // sums []float64; bytes that nothing wrote are an error
//	err = memory.Free(p)
//
// # Arguments
//
// An argument is a Ptr (an allocation, or an address within one: p + 8), an int32, uint32, int64, uint64, float32, float64, int
// or []byte. Its size must be the parameter's; an int takes the width of the parameter and must fit. A []byte fills a parameter
// that is an array of bytes, which is what a struct passed by value becomes, and has its exact size.
//
// # Memory
//
//	NewMemory(limit int64) *Memory
//	(*Memory) Alloc(name string, bytes int64) (Ptr, error)   // base aligned to 256; contents undefined until written
//	(*Memory) Free(p Ptr) error                              // p as Alloc gave it
//	(*Memory) Write(p Ptr, src []byte) error
//	(*Memory) Read(dst []byte, p Ptr) error                  // an error where nothing wrote
//	(*Memory) Fill(p Ptr, value byte, bytes int64) error     // as cuMemsetD8
//	(*Memory) Forget(p Ptr, bytes int64) error               // undefined again, and poisoned with NaN
//	(*Memory) Used() int64; (*Memory) Limit() int64
//	Upload[T](m *Memory, p Ptr, src []T) error               // T: a number of fixed size
//	Download[T](m *Memory, dst []T, p Ptr) error
//
// Each allocation lies in a range of addresses of its own, far from all others, and ranges are never used again. So an index
// that runs out of one array cannot land in another one, and a pointer to freed memory is known for what it is. Give every array
// an allocation of its own: parts of one allocation are not told apart.
//
// # Kernels and launches
//
//	Parse(text string) (*Module, error)
//	(*Module) Kernels() []string; (*Module) Kernel(name string) (*Kernel, error); (*Module) Target() string
//	(*Kernel) Name() string
//	(*Kernel) Params() []Param              // Name, Size in bytes
//	(*Kernel) SharedBytes() int             // static shared memory
//	(*Kernel) MaxThreads() int              // of .maxntid; 0 when the text names none
//	(*Kernel) Launch(ctx, *Memory, Launch) (Stats, error)
//
// Launch has further fields: Order permutes the order of blocks and of the warps of a block (0: by number; any other value is
// the seed of a permutation), Workers bounds the goroutines (0: one for each processor), MaxInstructions ends a kernel that does
// not end by itself (0: 1<<36 executed instructions, counted by threads). Launch returns when the grid has ended. A launch
// that fails leaves memory as the faulting kernel left it. A Memory serves one launch at a time.
//
// Stats counts what ran: Instructions by thread, WarpInstructions, bytes and 32-byte sectors of global memory, bytes and
// wavefronts (bank conflicts) of shared memory, floating-point operations by kind.
//
// # Faults
//
// Launch returns a *Fault (errors.As) for what a kernel does wrong: Kind, Kernel, Line of the PTX text and the instruction there,
// Block, Thread, Space, Address, and what else is known, such as the other thread of a race. Kinds: OutOfBounds, UseAfterFree,
// Uninitialized, Race, Misaligned, Divergence, Pending (data of cp.async used before wait_group), Trap, Limit.
package ptx
