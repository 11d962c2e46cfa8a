// Package ptx runs kernels in PTX, NVIDIA's assembly language, on the CPU, and checks what a GPU does not check.
//
// It reads the text that clang writes for sm_70 to sm_90, so that the kernels that are tested are the very ones that a
// GPU gets. A warp is executed at once, its 32 lanes in arrays; blocks are spread over the processors. It needs no GPU,
// no driver and no C compiler.
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
// An argument is a Ptr (an allocation, or an address within one: p + 8), an int32, uint32, int64, uint64, float32,
// float64, int or []byte. Its size must be the parameter's; an int takes the width of the parameter and must fit. A
// []byte fills a parameter that is an array of bytes, which is what a struct passed by value becomes, and has its exact
// size.
//
// # Memory
//
// Each allocation lies in a range of addresses of its own, far from all others, and ranges are never used again. So an
// index that runs out of one array cannot land in another one, and a pointer to freed memory is known for what it is.
// Give every array an allocation of its own: parts of one allocation are not told apart. What nothing has written is
// undefined: it holds NaN, and to read it is a fault in a kernel and an error in Read and Download. Forget makes memory
// undefined again, for outputs before a launch that has to fill them.
//
// # What it checks
//
// Launch returns a *Fault (errors.As) for what a kernel does wrong. It has the kernel, the line of the PTX text and the
// instruction there, the block and the thread, the space and the address, and for a race the other thread and its
// instruction. Its Kind is one of these:
//
//   - OutOfBounds: an address in no allocation or over the end of one, beyond the shared memory of the block or the
//     local memory of the thread; a write to constant memory; an entry that a table of branches lacks.
//   - UseAfterFree.
//   - Uninitialized: a register, or global, shared or local memory, that nothing wrote. A copy of an undefined register
//     is none, since compilers make such copies; its use is. Shared memory is undefined at the beginning of each block.
//   - Race: two uses of the same memory in no order, where one writes and at most one is atomic. Two threads of a
//     block are ordered by a barrier between, two of a warp also by bar.warp.sync, two blocks of a launch by nothing. All
//     of shared and global memory is watched, in the smallest pieces that the kernel loads or stores. To write the same
//     value twice is a race, too.
//   - Misaligned: an address that is no multiple of the size of the access.
//   - Divergence: a barrier that not all threads of the block reach, or that they reach at different instructions, or
//     after some have ended; a warp-wide instruction (mma, ldmatrix, shfl, vote, redux, match, bar.warp.sync) without the
//     lanes that it names.
//   - Pending: what cp.async fills is read or written before a cp.async.wait_group of the copying thread.
//   - Trap, Limit (more instructions than Launch allows) and Undefined (an operation whose result PTX leaves open, such
//     as an integer division by zero).
//
// The parser takes only what is run: an instruction, modifier, type or directive that is not known is an error of Parse.
//
// # Arithmetic
//
// Integers, float32 and float64 are exact to the bit: add, sub, mul, fma, div.rn, rcp.rn, sqrt.rn and cvt round once, as
// IEEE 754 says, to nearest or for float32 in the direction that the instruction names; .ftz and .sat do what the manual
// says. fma is fused in float32, too. NaN results of arithmetic are the canonical ones, and conversions of NaN to integers
// give 0. The same goes for float16 and bfloat16, alone and in pairs. The approximate instructions (ex2, lg2, sin, cos, tanh,
// rsqrt, and rcp, sqrt and div with .approx or .full) are rounded from float64, so that they are better than a GPU's, whose
// bits differ: a kernel must not depend on their last digits.
//
// mma.sync with float32 sums adds as tensor cores of the Hopper generation are found to add (arXiv 2511.10909 and
// 2512.07004): the products of the k of one instruction are exact; they and the element of C are cut towards zero at 25
// bits below the leading bit of the largest; their sum is cut towards zero to float32. That is worse than a sum in float32
// rounded to nearest, by about the amount that real ones are worse. Earlier generations add in shorter series. With
// float64, mma is a series of fused multiply-adds in the order of k.
//
// # Order
//
// Results do not depend on the order of blocks and warps, nor on how many run at once, in kernels without a fault whose
// atomics are on integers. Launch.Order permutes that order, so that a test can show it; atomics on floats show there.
// Launch.Only runs some of the blocks alone: with addresses that begin far before an allocation, the last blocks of a grid of
// any size show whether a kernel counts in 32 bits what goes beyond them.
//
// # Counts
//
// Stats counts what ran: instructions, bytes, the pieces of 32 bytes of global memory that the accesses of warps touch,
// the passes through the banks of shared memory and those of them that are conflicts, and floating-point operations by
// kind. Those do not depend on how fast anything is, and are the figures to plan a kernel with.
//
// # What it cannot check
//
// It has no clock: nothing of latency, caches, occupancy or registers shows. One thing happens after another, so that the
// weak order of memory between blocks does not show: what a kernel would gain by fences and flags between its blocks is
// reported as a race, right or wrong. A value that cp.async or another thread changes too late is found by what is known
// of barriers and waits, not by a stale value. Calls of functions, textures, clusters, mbarrier, wgmma and barriers for
// part of a block are not known. Whether ptxas takes the text, and with how many registers, only ptxas says; whether a
// card rounds mma in the same way, only the card.
//
// When blocks run at once and a kernel has a race between them, what the fault is called can depend on which came first:
// it is Uninitialized where the reader was faster. Launch with Workers: 1 reports the same fault each time.
package ptx
