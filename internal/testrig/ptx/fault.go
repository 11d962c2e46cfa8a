package ptx

import (
	"fmt"
	"strings"
)

// A Kind says what a kernel did wrong.
type Kind int

const (
	OutOfBounds   Kind = iota + 1 // an address in no allocation, or beyond a block's shared or a thread's local memory
	UseAfterFree                  // an address in an allocation that was freed
	Uninitialized                 // a register or memory is read that nothing wrote
	Race                          // two threads use the same memory in no order, and one of them writes
	Misaligned                    // an address that is no multiple of the size of the access
	Divergence                    // part of a block at a barrier, or part of a warp at an instruction for all of it
	Pending                       // memory that cp.async is still filling is used
	Trap                          // the kernel ended itself by trap
	Limit                         // too many instructions
	Undefined                     // an operation whose result PTX leaves open, such as division of a whole number by zero
)

var kindNames = [...]string{"", "out of bounds", "use after free", "uninitialized", "race", "misaligned", "divergence",
	"copy in flight", "trap", "limit", "undefined"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// A Fault is an error of a kernel, with its place.
type Fault struct {
	Kind          Kind
	Kernel        string
	Line          int    // of the PTX text; 0 where no instruction is to blame
	Instruction   string // as the text has it
	Block, Thread [3]int // Thread is {-1, -1, -1} for what a whole warp or block did
	Space         string // "global", "shared", "local", "param" or ""
	Address       uint64 // in global memory as kernels see it, otherwise an offset in its space
	Detail        string
}

func (f *Fault) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "kernel %s, block %v", f.Kernel, f.Block)
	if f.Thread[0] >= 0 {
		fmt.Fprintf(&s, ", thread %v", f.Thread)
	}
	if f.Line > 0 {
		fmt.Fprintf(&s, ", line %d (%s)", f.Line, f.Instruction)
	}
	fmt.Fprintf(&s, ": %v", f.Kind)
	if f.Space != "" {
		fmt.Fprintf(&s, " at %s address %#x", f.Space, f.Address)
	}
	if f.Detail != "" {
		fmt.Fprintf(&s, ": %s", f.Detail)
	}
	return s.String()
}

// fault is what running code panics with; the launch recovers it and adds the place.
type fault struct {
	kind    Kind
	lane    int // -1: the warp
	space   string
	address uint64
	detail  string
}

func fail(kind Kind, lane int, format string, args ...any) {
	panic(&fault{kind: kind, lane: lane, detail: fmt.Sprintf(format, args...)})
}

func failAt(kind Kind, lane int, space string, address uint64, format string, args ...any) {
	panic(&fault{kind, lane, space, address, fmt.Sprintf(format, args...)})
}
