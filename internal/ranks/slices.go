package ranks

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/machine"
)

// Where the branches of a tree are large, every rank finishes it for a slice of the numbers alone, and the totals are gathered:
// it receives its slice of all branches, and not all of them, so that the bytes do not grow with the ranks. Numbers are added up
// in the same order as before, each by itself.

// Exchanger is a communicator by which every rank can give each of the others bytes of their own.
type Exchanger interface {
	machine.Comm
	// AllToAll gives every rank the bytes that the others have for it. Those in mine for rank r are to[r] long and follow those
	// for the lower ranks; those in all from rank r are from[r] long, and follow those of the lower ranks.
	AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error
}

const (
	// leastSaved is the number of bytes from which a third message pays.
	leastSaved = 1 << 16
	// mostExchanged is the number of bytes to and from a rank that can be exchanged at once.
	mostExchanged = 1 << 30
	nodeBytes     = 16 // of a branch before its numbers: where it is
)

// sliced reports whether branches of size bytes of numbers are joined by slices. sizes are those of the ranks (bytes).
func (g *Group) sliced(sizes []int, size int) bool {
	_, can := g.world.(Exchanger)
	return can && pays(sizes, size)
}

func pays(sizes []int, size int) bool {
	total, most := 0, 0
	for _, n := range sizes {
		if n%(nodeBytes+size) != 0 {
			return false
		}
		total, most = total+n, max(most, n)
	}
	ranks := len(sizes)
	return total-total/ranks-size >= leastSaved && max(most, 2*total/ranks) < mostExchanged
}

// slice returns where the numbers of a rank's slice begin and end.
func slice(numbers, rank, ranks int) (lo, hi int) {
	return numbers * rank / ranks, numbers * (rank + 1) / ranks
}

// joinSlices is JoinTree by slices.
func joinSlices[S any](g *Group, tree *parallel.Tree[S], values func(part, like S) []float64, sizes []int, numbers int) error {
	ranks := g.Size()
	own := tree.Nodes()
	like := own[0].Sum
	g.sent = g.sent[:0]
	to, from, received := make([]int, ranks), make([]int, ranks), 0
	first, end := slice(numbers, g.Rank(), ranks)
	width := end - first
	for r := range ranks {
		lo, hi := slice(numbers, r, ranks)
		for _, n := range own {
			g.sent = binary.LittleEndian.AppendUint64(g.sent, uint64(n.Level))
			g.sent = binary.LittleEndian.AppendUint64(g.sent, uint64(n.Index))
			g.sent = append(g.sent, Bytes(values(n.Sum, like)[lo:hi])...)
		}
		to[r] = len(own) * (nodeBytes + 8*(hi-lo))
		from[r] = sizes[r] / (nodeBytes + 8*numbers) * (nodeBytes + 8*width)
		received += from[r]
	}
	all := g.room(received)
	g.spent += int64(received)
	if err := g.world.(Exchanger).AllToAll(context.WithoutCancel(g.outer), g.sent, to, all, from); err != nil {
		g.broken = err
		return err
	}
	if g.slices == nil || g.width != width {
		g.slices, g.width = parallel.NewVectorTree(width), width
	}
	g.slices.Reset()
	for b := all; len(b) > 0; b = b[nodeBytes+8*width:] {
		part := g.slices.Part()
		copy(Bytes(part), b[nodeBytes:nodeBytes+8*width])
		g.slices.PushNode(int(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[8:])), part)
	}
	total := g.slices.Total()
	if len(total) != width {
		return errors.New("no rank has rows")
	}
	totals := make([]int, ranks)
	for r := range totals {
		lo, hi := slice(numbers, r, ranks)
		totals[r] = 8 * (hi - lo)
	}
	all = g.room(8 * numbers)
	copy(all[8*first:8*end], Bytes(total))
	if err := g.gather(all[8*first:8*end], totals, all); err != nil {
		return err
	}
	tree.Reset()
	part := tree.Part()
	copy(Bytes(values(part, like)), all)
	tree.Push(0, part)
	return nil
}
