package hdf5

import (
	"errors"
	"math/bits"
)

// Types of version 2 B-trees, by what their records are.
const (
	treeLinkNames      = 5
	treeAttributeNames = 8
	treeChunks         = 10
	treeFiltered       = 11 // chunks that go through filters
)

const (
	nodePrefix = 10 // signature, version, type and checksum of a node
	maxLevels  = 32
)

// tree2 is a version 2 B-tree.
type tree2 struct {
	f      *File
	kind   uint8
	record int // bytes
	node   int // bytes
	counts int // bytes of the number of the records of a node
	totals []int
	seen   map[uint64]bool
	each   func(record block) error
}

// walk2 visits the records of a version 2 B-tree: those of a node before those of its children. width says whether
// a record may have that many bytes.
func (f *File) walk2(addr uint64, kind uint8, width func(int) bool, each func(record block) error) error {
	head, err := f.bytes(addr, int64(22+f.offSize+f.lenSize))
	if err != nil {
		return err
	}
	defer f.done(head)
	b := block{b: head, f: f}
	b.expect("BTHD")
	version, got := b.u8(), b.u8()
	t := &tree2{f: f, kind: kind, node: int(b.u32()), record: int(b.u16()), seen: map[uint64]bool{}, each: each}
	depth := int(b.u16())
	b.skip(2)
	root, count, total := b.offset(), int(b.u16()), b.length()
	b.checksum(head, "B-tree")
	if b.err != nil {
		return b.err
	}
	if version != 0 || got != kind || depth > maxLevels || t.record == 0 || !width(t.record) || t.node > 1<<26 {
		return errors.New("is damaged (a B-tree of the wrong kind)")
	}
	if total == 0 || root == undefined {
		return nil
	}
	defer func() { f.lim.Give(nodeBytes * int64(len(t.seen))) }()
	t.sizes(depth)
	return t.visit(root, depth, count)
}

// sizes finds how many bytes the numbers of records take that internal nodes have of their children: as many as the largest
// possible numbers need.
func (t *tree2) sizes(depth int) {
	bytesFor := func(x uint64) int { return (max(bits.Len64(x), 1)-1)/8 + 1 }
	most := uint64(max(t.node-nodePrefix, 0) / t.record)
	t.counts, t.totals = bytesFor(most), []int{0}
	total := most
	for level := 1; level <= depth; level++ {
		pointer := t.f.offSize + t.counts + t.totals[level-1]
		here := uint64(max(t.node-nodePrefix-pointer, 0) / (t.record + pointer))
		hi, below := bits.Mul64(here+1, total)
		if total = below + here; hi > 0 || total < below {
			total = 1<<64 - 1
		}
		t.totals = append(t.totals, bytesFor(total))
	}
}

// visit reads a node of some records, at a level from 0, the level of the leaves.
func (t *tree2) visit(addr uint64, level, count int) error {
	if t.seen[addr] {
		return errors.New("is damaged (a B-tree that goes in circles)")
	}
	if err := t.f.lim.Take("an index", nodeBytes); err != nil {
		return err
	}
	t.seen[addr] = true
	size, signature := nodePrefix+count*t.record, "BTLF"
	if level > 0 {
		size += (count + 1) * (t.f.offSize + t.counts + t.totals[level-1])
		signature = "BTIN"
	}
	if size > t.node {
		return errors.New("is damaged (a node of a B-tree with more records than it has room for)")
	}
	body, err := t.f.bytes(addr, int64(size))
	if err != nil {
		return err
	}
	defer t.f.done(body)
	if err := t.f.verify(body, "B-tree"); err != nil {
		return err
	}
	b := block{b: body[:len(body)-4], f: t.f}
	b.expect(signature)
	if version, kind := b.u8(), b.u8(); b.err == nil && (version != 0 || kind != t.kind) {
		return errors.New("is damaged (a node of a B-tree of the wrong kind)")
	}
	for range count {
		record := block{b: b.take(t.record), f: t.f}
		if b.err != nil {
			return b.err
		}
		if err := t.each(record); err != nil {
			return err
		}
	}
	if level == 0 {
		return b.err
	}
	return t.children(b, level, count)
}

// children visits the nodes below one of some records, whose addresses come next.
func (t *tree2) children(b block, level, count int) error {
	for range count + 1 {
		child, records := b.offset(), int(b.uint(t.counts))
		b.skip(t.totals[level-1])
		if b.err != nil {
			return b.err
		}
		if err := t.visit(child, level-1, records); err != nil {
			return err
		}
	}
	return nil
}
