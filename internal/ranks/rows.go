package ranks

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Join sends all ranks the number of rows of this one, and values that must be the same on all, as lines "name: value".
func (g *Group) Join(rows int, same []string) error {
	if g == nil {
		return nil
	}
	mine := binary.LittleEndian.AppendUint64(nil, uint64(rows))
	all, err := g.Gather("the sizes", append(mine, strings.Join(same, "\n")...))
	if err != nil {
		return err
	}
	g.rows, g.total, g.counts = rows, 0, nil
	for r, b := range all {
		if r == g.Rank() {
			g.first = g.total
		}
		g.counts = append(g.counts, int(binary.LittleEndian.Uint64(b)))
		g.total += g.counts[r]
		if err := compare(string(all[0][8:]), string(b[8:]), r); err != nil {
			return err
		}
	}
	at, unit := 0, comm.Unit(g.total)
	for r, n := range g.counts {
		if at%unit != 0 {
			lo, hi, err := comm.Share(g.total, r, g.Size())
			if err != nil {
				return err
			}
			return fmt.Errorf(
				"rank %d begins at sample %d of %d, which are cut at multiples of %d: give it those from %d to %d (comm.Share)",
				r, at, g.total, unit, lo, hi-1,
			)
		}
		if n < 1 {
			return fmt.Errorf("rank %d has no samples", r)
		}
		at += n
	}
	return nil
}

// compare returns what differs between rank 0 and another.
func compare(zero, other string, rank int) error {
	if zero == other {
		return nil
	}
	a, b := strings.Split(zero, "\n"), strings.Split(other, "\n")
	for i, x := range a {
		if i < len(b) && b[i] != x {
			return fmt.Errorf("rank 0 and rank %d differ: %s on rank 0, %s on rank %d", rank, x, b[i], rank)
		}
	}
	return fmt.Errorf("rank 0 and rank %d differ in what they were given", rank)
}

// SumInts replaces x, of one length on all ranks, by its sum over them.
func (g *Group) SumInts(what string, x []int) error {
	return g.foldInts(what, x, func(a, b int) int { return a + b })
}

// MinInts replaces x, of one length on all ranks, by its minimum over them.
func (g *Group) MinInts(what string, x []int) error {
	return g.foldInts(what, x, func(a, b int) int { return min(a, b) })
}

func (g *Group) foldInts(what string, x []int, fold func(a, b int) int) error {
	if g == nil {
		return nil
	}
	mine := make([]byte, 0, 8*len(x))
	for _, v := range x {
		mine = binary.LittleEndian.AppendUint64(mine, uint64(v))
	}
	all, err := g.Gather(what, mine)
	if err != nil {
		return err
	}
	for r, b := range all {
		if len(b) != len(mine) {
			return g.differ("%s is %d numbers on rank %d and %d on rank %d", what, len(b)/8, r, len(x), g.Rank())
		}
		for i := range x {
			if y := int(binary.LittleEndian.Uint64(b[8*i:])); r == 0 {
				x[i] = y
			} else {
				x[i] = fold(x[i], y)
			}
		}
	}
	return nil
}

// JoinTree makes the tree of this rank's chunks part of a tree of all ranks, whose total alone is valid. values returns the
// numbers of a part that is filled like another.
func JoinTree[S any](g *Group, what string, tree *parallel.Tree[S], values func(part, like S) []float64) error {
	if g == nil {
		return nil
	}
	if g.Rank() == g.Size()-1 {
		tree.Finish()
	}
	nodes := tree.Nodes()
	if len(nodes) == 0 {
		return fmt.Errorf("%s: this rank has no rows", what)
	}
	own := slices.Clone(nodes)
	like := own[0].Sum
	size := 8 * len(values(like, like))
	sizes, err := g.head(what, len(own)*(16+size), working)
	if err != nil {
		return err
	}
	total, at := 0, 0
	for r, n := range sizes {
		if n%(16+size) != 0 {
			return g.differ("%s has another length on rank %d than on rank %d", what, r, g.Rank())
		}
		if r == g.Rank() {
			at = total
		}
		total += n
	}
	if g.sliced(sizes, size) {
		return joinSlices(g, tree, values, sizes, size/8)
	}
	all := g.room(total)
	mine := all[at : at+sizes[g.Rank()]] // where it is to be
	for k, n := range own {
		b := mine[k*(16+size):]
		binary.LittleEndian.PutUint64(b, uint64(n.Level))
		binary.LittleEndian.PutUint64(b[8:], uint64(n.Index))
		copy(b[16:], Bytes(values(n.Sum, like)))
	}
	if err := g.gather(mine, sizes, all); err != nil {
		return err
	}
	tree.Take()
	for at := range total / (16 + size) {
		b := all[at*(16+size):]
		level, index := int(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[8:]))
		if len(own) > 0 && level == own[0].Level && index == own[0].Index {
			tree.PushNode(level, index, own[0].Sum)
			own = own[1:]
			continue
		}
		part := tree.Part()
		copy(Bytes(values(part, like)), b[16:16+size])
		tree.PushNode(level, index, part)
	}
	return nil
}

// room returns n bytes of memory that is used again and again.
func (g *Group) room(n int) []byte {
	if cap(g.all) < n {
		g.all = make([]byte, n)
	}
	return g.all[:n]
}

// RowSum describes a sum over the rows of all ranks.
type RowSum struct {
	What    string // its name in errors
	Workers int
	Rows    int // of this rank
	Chunk   int // the rows of a chunk; the number of this rank's first row is a multiple
	Size    int // the numbers in the sum
}

// SumRows returns the sum of what work adds to part for the rows from lo to hi of every chunk, of this rank and of all others.
// part is zero before. The chunks are added up in the fixed tree of their numbers.
func SumRows[B any](
	ctx context.Context, g *Group, s RowSum, newBuf func() B, work func(worker, lo, hi int, b B, part []float64) error,
) ([]float64, error) {
	n, chunk := s.Rows, s.Chunk
	if g != nil && (n != g.rows || g.first%chunk != 0) {
		return nil, fmt.Errorf("%s: %d rows from %d in chunks of %d, on a rank with %d", s.What, n, g.first, chunk, g.rows)
	}
	tree := parallel.NewVectorTree(s.Size)
	err := parallel.Sum(ctx, s.Workers, g.First()/chunk, (n+chunk-1)/chunk, tree, newBuf,
		func(worker, i int, b B, part []float64) error {
			clear(part)
			return work(worker, i*chunk, min((i+1)*chunk, n), b, part)
		})
	if err != nil { // the others learn it from Leave
		return nil, err
	}
	if err := JoinTree(g, s.What, tree, func(part, _ []float64) []float64 { return part }); err != nil {
		return nil, err
	}
	if n == 0 {
		return make([]float64, s.Size), nil
	}
	return slices.Clone(tree.Total()), nil
}

// Sum returns the sum of one number for every row, in the chunks of all rows.
func Sum(ctx context.Context, g *Group, what string, workers int, x []float64) (float64, error) {
	s := RowSum{What: what, Workers: workers, Rows: len(x), Chunk: 1024, Size: 1}
	total, err := SumRows(ctx, g, s, func() struct{} { return struct{}{} },
		func(_, lo, hi int, _ struct{}, part []float64) error {
			for _, v := range x[lo:hi] {
				part[0] += v
			}
			return nil
		})
	if err != nil {
		return 0, err
	}
	return total[0], nil
}

// Here returns those of some rows of all, in increasing order, that are among the n of this rank, by their numbers here.
func (g *Group) Here(rows []int, n int) []int {
	if g == nil {
		return rows
	}
	lo, _ := slices.BinarySearch(rows, g.first)
	hi, _ := slices.BinarySearch(rows, g.first+n)
	out := slices.Clone(rows[lo:hi])
	for j := range out {
		out[j] -= g.first
	}
	return out
}
