package ranks

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
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

// GatherFirst gives rank 0 the numbers that each rank has, one after another. A communicator that cannot send to one rank gives
// them to all.
func GatherFirst[T Number](g *Group, what string, mine []T) ([]T, error) {
	if g == nil {
		return mine, nil
	}
	world, can := g.world.(Exchanger)
	if !can {
		return GatherAll(g, what, mine, -1)
	}
	if _, err := g.head(what, 0, working); err != nil {
		return nil, err
	}
	out, err := ToFirst(world, mine)
	g.broken = err
	return out, err
}

// pieceBytes is the most bytes that ToFirst sends at once.
const pieceBytes = 4 << 20

// ToFirst returns on rank 0 the numbers of all ranks, on the others nil.
func ToFirst[T Number](world Exchanger, own []T) ([]T, error) {
	rest, all := Bytes(own), bytes.Buffer{}
	err := WriteFirst(world, func() (piece []byte, _ error) {
		piece, rest = rest[:min(len(rest), pieceBytes)], rest[min(len(rest), pieceBytes):]
		return piece, nil
	}, &all)
	if err != nil || world.Rank() > 0 {
		return nil, err
	}
	out := make([]T, all.Len()/int(unsafe.Sizeof(*new(T))))
	copy(Bytes(out), all.Bytes())
	return out, nil
}

// WriteFirst writes to out of rank 0 the bytes of all ranks, in the order of the ranks. next returns the next piece of this rank,
// an empty one at the end. Only rank 0 receives the pieces.
func WriteFirst(world Exchanger, next func() ([]byte, error), out io.Writer) error {
	for r := range world.Size() {
		for more := true; more; {
			var piece []byte
			var err error
			if r == world.Rank() {
				if piece, err = next(); err != nil {
					return err
				}
			}
			if piece, more, err = sendFirst(world, r, piece); err != nil {
				return err
			}
			if world.Rank() == 0 {
				if _, err := out.Write(piece); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sendFirst returns on rank 0 the piece of a rank, and on all ranks whether it has bytes.
func sendFirst(world Exchanger, from int, piece []byte) (received []byte, more bool, err error) {
	if from == 0 {
		return piece, len(piece) > 0, nil
	}
	ctx, size := context.Background(), binary.LittleEndian.AppendUint64(nil, uint64(len(piece)))
	if err := world.Broadcast(ctx, from, size); err != nil {
		return nil, false, err
	}
	n := int(binary.LittleEndian.Uint64(size))
	sent, got := make([]int, world.Size()), make([]int, world.Size())
	switch world.Rank() {
	case from:
		sent[0] = n
	case 0:
		received, got[from] = make([]byte, n), n
	}
	return received, n > 0, world.AllToAll(ctx, piece, sent, received, got)
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
