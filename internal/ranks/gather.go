package ranks

import (
	"fmt"
	"unsafe"
)

// Number is a number whose memory is sent as it is: ranks are processes of one kind of machine.
type Number interface {
	~uint8 | ~int32 | ~int | ~float32 | ~float64
}

// Bytes returns the memory of x.
func Bytes[T Number](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// GatherAll gives every rank the numbers that each of them has, one after another, n in all; −1: as many as there are.
func GatherAll[T Number](g *Group, what string, mine []T, n int) ([]T, error) {
	if g == nil {
		return mine, nil
	}
	parts, err := g.Gather(what, Bytes(mine))
	if err != nil {
		return nil, err
	}
	var one T
	total := 0
	for _, p := range parts {
		total += len(p)
	}
	size := int(unsafe.Sizeof(one))
	if total%size != 0 || n >= 0 && total != n*size {
		return nil, fmt.Errorf("%s: %d bytes of all ranks, want %d", what, total, n*size)
	}
	out := make([]T, total/size)
	raw, at := Bytes(out), 0
	for _, p := range parts {
		at += copy(raw[at:], p)
	}
	return out, nil
}

// Owner returns the rank that has a row.
func (g *Group) Owner(row int) int {
	for r, n := range g.counts {
		if row < n {
			return r
		}
		row -= n
	}
	return g.Size() - 1
}
