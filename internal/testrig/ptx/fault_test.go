package ptx

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// A planted fault is a kernel that must be found out, and its twin that must pass. Both have two addresses: a, 64 words that hold
// their index, and b, 64 words that nothing wrote.
type planted struct {
	name        string
	kind        Kind
	bad, good   string
	grid, block int
	says        string // part of the message
}

const sharedWords = ".shared .align 16 .b8 s[512];\n"

// own makes %d1 the address of the thread's word of a and %d2 that of b.
const own = "mul.wide.u32 %d0, %r33, 4;\nadd.s64 %d1, %d30, %d0;\nadd.s64 %d2, %d31, %d0;\n"

// ownShared makes %r1 the address of the thread's word in shared memory and %r2 that of its neighbour, and %d3 that of the
// block's word of b.
const ownShared = sharedWords + own + "shl.b32 %r0, %r30, 2;\nmov.u32 %r3, s;\nadd.u32 %r1, %r3, %r0;\n" +
	"xor.b32 %r4, %r0, 4;\n" +
	"add.u32 %r2, %r3, %r4;\nxor.b32 %r5, %r0, 128;\nadd.u32 %r5, %r3, %r5;\n"

// zeroShared has every thread write its word and wait for all.
const zeroShared = ownShared + "st.shared.u32 [%r1], 0;\nbar.sync 0;\n"

var plantedFaults = []planted{
	{name: "read beyond the end", kind: OutOfBounds, says: "4 bytes at byte 256 of a, which has 256",
		bad: own + "ld.global.u32 %r1, [%d1+4];\n", good: own + "ld.global.u32 %r1, [%d1];\n"},
	{name: "read before the beginning", kind: OutOfBounds, says: "4 bytes at byte -4 of a, which has 256",
		bad: own + "ld.global.u32 %r1, [%d1-4];\n", good: own + "ld.global.u32 %r1, [%d1+-0];\n"},
	{name: "write beyond the end", kind: OutOfBounds,
		bad: own + "st.global.u32 [%d2+4], %r30;\n", good: own + "st.global.u32 [%d2], %r30;\n"},
	{name: "vector over the end", kind: OutOfBounds, block: 16,
		bad:  own + "shl.b64 %d3, %d0, 2;\nadd.s64 %d4, %d30, %d3;\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d4+16];\n",
		good: own + "shl.b64 %d3, %d0, 2;\nadd.s64 %d4, %d30, %d3;\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d4];\n"},
	{name: "address of nothing", kind: OutOfBounds, bad: "mov.u64 %d1, 0;\nld.global.u32 %r1, [%d1];\n"},
	{name: "shared memory too small", kind: OutOfBounds, says: "the block has 512",
		bad:  ownShared + "st.shared.u32 [%r1+320], %r30;\n",
		good: ownShared + "st.shared.u32 [%r1+256], %r30;\n"},
	{name: "local memory too small", kind: OutOfBounds,
		bad:  ".local .align 4 .b8 l[64];\nmov.u64 %d1, l;\nst.local.u32 [%d1+64], %r30;\n",
		good: ".local .align 4 .b8 l[64];\nmov.u64 %d1, l;\nst.local.u32 [%d1+60], %r30;\n"},
	{name: "generic address beyond the end", kind: OutOfBounds,
		bad: own + "ld.u32 %r1, [%d1+4];\n", good: own + "ld.u32 %r1, [%d1];\n"},
	{name: "table without the entry", kind: OutOfBounds,
		bad:  "t: .branchtargets one, two;\nand.b32 %r1, %r30, 3;\nbrx.idx %r1, t;\none: two:\n",
		good: "t: .branchtargets one, two;\nand.b32 %r1, %r30, 1;\nbrx.idx %r1, t;\none: two:\n"},

	{name: "global memory that nothing wrote", kind: Uninitialized, says: " of b",
		bad:  own + "ld.global.u32 %r1, [%d2];\n",
		good: own + "st.global.u32 [%d2], %r30;\nld.global.u32 %r1, [%d2];\n"},
	{name: "shared memory that nothing wrote", kind: Uninitialized,
		bad:  ownShared + "ld.shared.u32 %r6, [%r1];\n",
		good: ownShared + "st.shared.u32 [%r1], %r30;\nld.shared.u32 %r6, [%r1];\n"},
	{name: "local memory that nothing wrote", kind: Uninitialized,
		bad: ".local .align 4 .b8 l[8];\nmov.u64 %d1, l;\nst.local.u32 [%d1], %r30;\nld.local.v2.u32 {%r1, %r2}, [%d1];\n",
		good: ".local .align 4 .b8 l[8];\nmov.u64 %d1, l;\nst.local.v2.u32 [%d1], {%r30, %r30};\n" +
			"ld.local.v2.u32 {%r1, %r2}, [%d1];\n"},
	{name: "register that nothing wrote", kind: Uninitialized, says: "%r7 was never written",
		bad: "add.u32 %r1, %r7, 1;\n", good: "mov.u32 %r7, 2;\nadd.u32 %r1, %r7, 1;\n"},
	{name: "register written on one path", kind: Uninitialized, says: "%r7 was never written",
		bad:  "setp.lt.u32 %p1, %r30, 63;\n@!%p1 bra over;\nmov.u32 %r7, 2;\nover:\nadd.u32 %r1, %r7, 1;\n",
		good: "setp.lt.u32 %p1, %r30, 64;\n@!%p1 bra over;\nmov.u32 %r7, 2;\nover:\nadd.u32 %r1, %r7, 1;\n"},
	{name: "register written under a predicate", kind: Uninitialized,
		bad:  "setp.lt.u32 %p1, %r30, 63;\n@%p1 mov.u32 %r7, 2;\nadd.u32 %r1, %r7, 1;\n",
		good: "setp.lt.u32 %p1, %r30, 63;\n@%p1 mov.u32 %r7, 2;\n@!%p1 mov.u32 %r7, 3;\nadd.u32 %r1, %r7, 1;\n"},
	{name: "undefined copy that is used", kind: Uninitialized, says: "%r8 was never written",
		bad: "mov.u32 %r8, %r7;\nadd.u32 %r1, %r8, 1;\n", good: "mov.u32 %r8, %r7;\n"},
	{name: "undefined value that selp chooses", kind: Uninitialized,
		bad:  "setp.lt.u32 %p1, %r30, 63;\nselp.b32 %r8, 5, %r7, %p1;\nadd.u32 %r1, %r8, 1;\n",
		good: "setp.lt.u32 %p1, %r30, 64;\nselp.b32 %r8, 5, %r7, %p1;\nadd.u32 %r1, %r8, 1;\n"},
	{name: "predicate that nothing wrote", kind: Uninitialized,
		bad: "@%p1 bra over;\nover:\n", good: "setp.eq.u32 %p1, %r30, 1;\n@%p1 bra over;\nover:\n"},
	{name: "stored value that nothing wrote", kind: Uninitialized,
		bad: own + "st.global.u32 [%d2], %r7;\n", good: own + "mov.u32 %r7, 1;\nst.global.u32 [%d2], %r7;\n"},
	{name: "shuffle from a lane that is not there", kind: Uninitialized, block: 48, says: "reads lane 16",
		bad:  "shfl.sync.down.b32 %r1, %r30, 1, 31, -1;\n",
		good: "shfl.sync.bfly.b32 %r1, %r30, 8, 31, -1;\n"},

	{name: "write and read of another warp", kind: Race, says: "no barrier between",
		bad:  zeroShared + "st.shared.u32 [%r1], %r30;\nld.shared.u32 %r6, [%r5];\n",
		good: zeroShared + "st.shared.u32 [%r1], %r30;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\n"},
	{name: "write and read of the same warp", kind: Race,
		bad:  ownShared + "st.shared.u32 [%r1], %r30;\nld.shared.u32 %r6, [%r2];\n",
		good: ownShared + "st.shared.u32 [%r1], %r30;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r2];\n"},
	{name: "warp barrier between different warps", kind: Race,
		bad:  zeroShared + "st.shared.u32 [%r1], %r30;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r5];\n",
		good: zeroShared + "st.shared.u32 [%r1], %r30;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\n"},
	{name: "read and then write of another", kind: Race,
		bad: ownShared + "st.shared.u32 [%r1], %r30;\nbar.sync 0;\nld.shared.u32 %r6, [%r2];\nst.shared.u32 [%r1], %r6;\n",
		good: ownShared + "st.shared.u32 [%r1], %r30;\nbar.sync 0;\nld.shared.u32 %r6, [%r2];\nbar.sync 0;\n" +
			"st.shared.u32 [%r1], %r6;\n"},
	{name: "read by all and write by one", kind: Race,
		bad: ownShared + "setp.ne.u32 %p1, %r30, 0;\n@!%p1 st.shared.u32 [s], 1;\nbar.sync 0;\nld.shared.u32 %r6, [s];\n" +
			"@!%p1 st.shared.u32 [s], %r6;\n",
		good: ownShared + "setp.ne.u32 %p1, %r30, 0;\n@!%p1 st.shared.u32 [s], 1;\nbar.sync 0;\nld.shared.u32 %r6, [s];\n" +
			"bar.sync 0;\n@!%p1 st.shared.u32 [s], %r6;\n"},
	{name: "two threads write one word", kind: Race,
		bad: ownShared + "st.shared.u32 [s], %r30;\n", good: ownShared + "st.shared.u32 [%r1], %r30;\n"},
	{name: "two threads write the same value", kind: Race,
		bad:  ownShared + "st.shared.u32 [s], 7;\n",
		good: ownShared + "setp.eq.u32 %p1, %r30, 40;\n@%p1 st.shared.u32 [s], 7;\n"},
	{name: "atomic and plain write", kind: Race,
		bad: ownShared + "setp.eq.u32 %p1, %r30, 0;\n@%p1 st.shared.u32 [s], 0;\nbar.sync 0;\n" +
			"atom.shared.add.u32 %r6, [s], 1;\n@%p1 st.shared.u32 [s], 0;\n",
		good: ownShared + "setp.eq.u32 %p1, %r30, 0;\n@%p1 st.shared.u32 [s], 0;\nbar.sync 0;\n" +
			"atom.shared.add.u32 %r6, [s], 1;\nbar.sync 0;\n@%p1 st.shared.u32 [s], 0;\n"},
	{name: "bytes of one word", kind: Race,
		bad:  ownShared + "shr.u32 %r6, %r30, 1;\nadd.u32 %r6, %r6, %r3;\nst.shared.u8 [%r6], %r30;\n",
		good: ownShared + "add.u32 %r6, %r30, %r3;\nst.shared.u8 [%r6], %r30;\n"},
	{name: "two threads of a block write one word of global memory", kind: Race,
		bad: own + "st.global.u32 [%d31], %r30;\n", good: own + "st.global.u32 [%d2], %r30;\n"},
	{name: "global memory read before the barrier", kind: Race, block: 64,
		bad:  own + "st.global.u32 [%d1], %r30;\nxor.b64 %d3, %d1, 128;\nld.global.u32 %r1, [%d3];\n",
		good: own + "st.global.u32 [%d1], %r30;\nbar.sync 0;\nxor.b64 %d3, %d1, 128;\nld.global.u32 %r1, [%d3];\n"},
	{name: "two blocks write one word", kind: Race, grid: 2, block: 32,
		bad:  "setp.ne.u32 %p1, %r30, 0;\n@!%p1 st.global.u32 [%d31], %r31;\n",
		good: own + "st.global.u32 [%d2], %r31;\n"},
	{name: "one block reads what another writes", kind: Race, grid: 2, block: 32,
		bad: own + "ld.global.u32 %r1, [%d1];\nst.global.u32 [%d1], %r1;\nxor.b64 %d3, %d1, 128;\n" +
			"st.global.u32 [%d3], %r1;\n",
		good: own + "ld.global.u32 %r1, [%d1];\nst.global.u32 [%d1], %r1;\n"},

	{name: "word at an odd address", kind: Misaligned,
		bad: own + "ld.global.u32 %r1, [%d30+2];\n", good: own + "ld.global.u16 %h1, [%d30+2];\n"},
	{name: "vector at a word's address", kind: Misaligned,
		bad:  own + "ld.global.v2.u32 {%r1, %r2}, [%d30+4];\n",
		good: own + "ld.global.v2.u32 {%r1, %r2}, [%d30+8];\n"},
	{name: "shared memory at an odd address", kind: Misaligned, block: 1,
		bad: ownShared + "st.shared.u64 [%r1+4], %d1;\n", good: ownShared + "st.shared.u64 [%r1+8], %d1;\n"},
	{name: "copy to a word's address", kind: Misaligned, block: 1,
		bad:  ownShared + "cp.async.cg.shared.global [%r1+4], [%d1], 16;\n",
		good: ownShared + "cp.async.cg.shared.global [%r1+16], [%d1], 16;\n"},

	{name: "barrier under a predicate", kind: Divergence,
		bad:  "setp.lt.u32 %p1, %r30, 40;\n@%p1 bar.sync 0;\n",
		good: "setp.lt.u32 %p1, %r30, 64;\n@%p1 bar.sync 0;\n"},
	{name: "barrier for some warps", kind: Divergence,
		bad:  "setp.lt.u32 %p1, %r30, 32;\n@%p1 bra over;\nbar.sync 0;\nover:\n",
		good: "setp.lt.u32 %p1, %r30, 64;\n@!%p1 bra over;\nbar.sync 0;\nover:\n"},
	{name: "barrier for part of a warp", kind: Divergence,
		bad:  "setp.lt.u32 %p1, %r30, 8;\n@%p1 bra over;\nbar.sync 0;\nover:\n",
		good: "setp.lt.u32 %p1, %r30, 8;\n@%p1 bra over;\nover:\nbar.sync 0;\n"},
	{name: "two barriers", kind: Divergence,
		bad: "setp.lt.u32 %p1, %r30, 32;\n@%p1 bra one;\nbar.sync 0;\nbra over;\none:\nbar.sync 0;\nover:\n"},
	{name: "threads that ended before the barrier", kind: Divergence, says: "thread [63 0 0] ended",
		bad:  "setp.eq.u32 %p1, %r30, 63;\n@%p1 ret;\nbar.sync 0;\n",
		good: "setp.eq.u32 %p1, %r30, 63;\nbar.sync 0;\n@%p1 ret;\n"},
	{name: "shuffle in part of a warp", kind: Divergence,
		bad:  "setp.eq.u32 %p1, %r30, 3;\n@%p1 bra over;\nshfl.sync.idx.b32 %r1, %r30, 0, 31, -1;\nover:\n",
		good: "setp.eq.u32 %p1, %r30, 3;\n@%p1 bra over;\nover:\nshfl.sync.idx.b32 %r1, %r30, 0, 31, -1;\n"},
	{name: "shuffle by a lane that is not named", kind: Divergence,
		bad:  "shfl.sync.idx.b32 %r1, %r30, 0, 31, 1;\n",
		good: "setp.eq.u32 %p1, %r30, 0;\n@%p1 shfl.sync.idx.b32 %r1, %r30, 0, 31, 1;\n"},

	{name: "copy read before the wait", kind: Pending, block: 1, says: "cp.async of thread [0 0 0]",
		bad: ownShared + "cp.async.cg.shared.global [%r1], [%d1], 16;\ncp.async.commit_group;\nld.shared.u32 %r6, [%r1];\n",
		good: ownShared + "cp.async.cg.shared.global [%r1], [%d1], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n" +
			"ld.shared.u32 %r6, [%r1];\n"},
	{name: "wait for one group less", kind: Pending, block: 1,
		bad: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\ncp.async.commit_group;\n" +
			"cp.async.ca.shared.global [%r1+4], [%d1], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n" +
			"ld.shared.u32 %r6, [%r1+4];\n",
		good: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\ncp.async.commit_group;\n" +
			"cp.async.ca.shared.global [%r1+4], [%d1], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n" +
			"ld.shared.u32 %r6, [%r1];\n"},
	{name: "wait without a commit", kind: Pending, block: 1,
		bad: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\ncp.async.wait_group 0;\nld.shared.u32 %r6, [%r1];\n",
		good: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\ncp.async.wait_all;\n" +
			"ld.shared.u32 %r6, [%r1];\n"},
	{name: "write under a copy", kind: Pending, block: 1,
		bad: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\nst.shared.u32 [%r1], 0;\n",
		good: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\ncp.async.wait_all;\n" +
			"st.shared.u32 [%r1], 0;\n"},
	{name: "copy of another thread without a barrier", kind: Race,
		bad: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\ncp.async.wait_all;\nld.shared.u32 %r6, [%r2];\n",
		good: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\ncp.async.wait_all;\nbar.sync 0;\n" +
			"ld.shared.u32 %r6, [%r2];\n"},
	{name: "copy onto what others still read", kind: Race,
		bad: ownShared + "st.shared.u32 [%r1], 0;\nbar.sync 0;\nld.shared.u32 %r6, [%r2];\n" +
			"cp.async.ca.shared.global [%r1], [%d1], 4;\n",
		good: ownShared + "st.shared.u32 [%r1], 0;\nbar.sync 0;\nld.shared.u32 %r6, [%r2];\nbar.sync 0;\n" +
			"cp.async.ca.shared.global [%r1], [%d1], 4;\n"},
	{name: "copy from beyond the end", kind: OutOfBounds,
		bad:  ownShared + "cp.async.ca.shared.global [%r1], [%d1+4], 4;\n",
		good: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4;\n"},
	{name: "copy of what nothing wrote", kind: Uninitialized,
		bad:  ownShared + "cp.async.ca.shared.global [%r1], [%d2], 4;\n",
		good: ownShared + "cp.async.ca.shared.global [%r1], [%d2], 4, 0;\n"},
	{name: "copy of more bytes than it has", kind: OutOfBounds,
		bad:  ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4, 8;\n",
		good: ownShared + "cp.async.ca.shared.global [%r1], [%d1], 4, 3;\n"},

	{name: "trap", kind: Trap, bad: "setp.eq.u32 %p1, %r30, 9;\n@%p1 trap;\n", good: "setp.eq.u32 %p1, %r30, 99;\n" +
		"@%p1 trap;\n"},
	{name: "division by zero", kind: Undefined, bad: "div.u32 %r1, 7, %r30;\n", good: "add.u32 %r1, %r30, 1;\n" +
		"div.u32 %r1, 7, %r1;\n"},
}

func TestPlantedFaults(t *testing.T) {
	for _, p := range plantedFaults {
		t.Run(p.name, func(t *testing.T) {
			if p.block == 0 {
				p.block = 64
			}
			for i, body := range []string{p.bad, p.good} {
				if body == "" {
					continue
				}
				k := kernel(t, entry(2, body))
				for _, l := range []Launch{{Workers: 1}, {Workers: 1, Order: 7}, {Workers: 2}} {
					if i == 0 && p.grid > 1 && l.Workers > 1 && raceDetector {
						continue // the kernel's race is one of the simulator's goroutines, too
					}
					m := NewMemory(0)
					a, b := alloc(t, m, "a", 64, true), alloc(t, m, "b", 64, false)
					l.Grid, l.Block, l.Args = [3]int{p.grid}, [3]int{p.block}, []any{a, b}
					_, err := k.Launch(context.Background(), m, l)
					if i == 1 {
						if err != nil {
							t.Errorf("the kernel without the fault: %v", err)
						}
						continue
					}
					if f := faultOf(t, err, p.kind); f.Kernel != "k" {
						t.Errorf("the fault is of kernel %q", f.Kernel)
					}
					if !strings.Contains(err.Error(), p.says) {
						t.Errorf("%v does not say %q", err, p.says)
					}
				}
			}
		})
	}
}

// TestFaultNamesPlace holds the places of a fault to those of the text.
func TestFaultNamesPlace(t *testing.T) {
	text := entry(2, own+"setp.ne.u32 %p1, %r33, 41;\n@%p1 bra over;\nld.global.u32 %r1, [%d2];\nover:\n")
	k := kernel(t, text)
	m := NewMemory(0)
	a, b := alloc(t, m, "a", 64, true), alloc(t, m, "b", 64, false)
	f := faultOf(t, launch(k, m, 2, 32, a, b), Uninitialized)
	line := strings.Count(text[:strings.Index(text, "ld.global")], "\n") + 1
	if f.Line != line || f.Instruction != "ld.global.u32 %r1, [%d2]" || f.Block != [3]int{1} || f.Thread != [3]int{9} ||
		f.Space != "global" || f.Address != uint64(b)+4*41 {
		t.Errorf("%+v; the line is %d, the address %#x", f, line, uint64(b)+4*41)
	}
	want := fmt.Sprintf("kernel k, block [1 0 0], thread [9 0 0], line %d (ld.global.u32 %%r1, [%%d2]): uninitialized at global "+
		"address %#x: byte 164 of b", line, f.Address)
	if f.Error() != want {
		t.Errorf("%q, not %q", f.Error(), want)
	}
}

func TestUseAfterFree(t *testing.T) {
	k := kernel(t, entry(2, own+"ld.global.u32 %r1, [%d1];\n"))
	m := NewMemory(0)
	a, b := alloc(t, m, "a", 64, true), alloc(t, m, "b", 64, false)
	if err := launch(k, m, 1, 64, a, b); err != nil {
		t.Fatal(err)
	}
	if err := m.Free(a); err != nil {
		t.Fatal(err)
	}
	alloc(t, m, "c", 64, true) // must not take the freed one's addresses
	if f := faultOf(t, launch(k, m, 1, 64, a, b), UseAfterFree); !strings.Contains(f.Error(), "of a") {
		t.Error(f)
	}
}

// TestRaceNamesBoth holds that a race names the other thread and its instruction.
func TestRaceNamesBoth(t *testing.T) {
	text := entry(2, zeroShared+"st.shared.u32 [%r1], %r30;\nld.shared.u32 %r6, [%r5];\n")
	k := kernel(t, text)
	m := NewMemory(0)
	f := faultOf(t, launch(k, m, 1, 64, alloc(t, m, "a", 64, true), alloc(t, m, "b", 64, false)), Race)
	line := func(s string) int { return strings.Count(text[:strings.LastIndex(text, s)], "\n") + 1 }
	// Warp 0 reads what warp 1 has still to write.
	want := fmt.Sprintf("the thread writes byte 128 of shared memory, which thread [0 0 0] reads at line %d (ld.shared.u32 "+
		"%%r6, [%%r5]) with no barrier between", line("ld.shared"))
	if f.Detail != want || f.Thread != [3]int{32} || f.Line != line("st.shared") || f.Space != "shared" || f.Address != 128 {
		t.Errorf("%v; want %s", f, want)
	}
}

// TestLimit ends kernels that do not end by themselves.
func TestLimit(t *testing.T) {
	k := kernel(t, entry(0, "over:\nadd.u32 %r30, %r30, 1;\nbra over;\n"))
	_, err := k.Launch(context.Background(), NewMemory(0), Launch{Grid: [3]int{4}, Block: [3]int{64},
		MaxInstructions: 1 << 22})
	faultOf(t, err, Limit)

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := k.Launch(ctx, NewMemory(0), Launch{Grid: [3]int{4}, Block: [3]int{64}})
		done <- err
	}()
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
}
