package hdf5

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Link is a named member of a group.
type Link struct {
	Name string
	Addr uint64
	// Elsewhere says what the link is where it names no object of this file itself: a soft link, say.
	Elsewhere string

	kind  uint8  // as in a link message
	value []byte // of a link elsewhere: what it names, as in a link message
}

type symbolTable struct{ tree, heap uint64 }

const (
	linkBytes   = 64   // of a link, beside its name
	maxLinkName = 4096 // bytes

	cachedSoftLink = 2 // of an entry of a symbol table
	softLink       = 1 // of a link message
)

// Links lists the members of a group. A dataset has none.
func (f *File) Links(o *Object) ([]Link, error) {
	switch {
	case o.symbol != nil:
		return f.oldLinks(o.symbol)
	case o.dense == nil:
		return o.links, nil
	}
	links := slices.Clone(o.links)
	err := o.dense.each(f, treeLinkNames, 4, func(b *block) error {
		l, err := link(b)
		links = append(links, l)
		return err
	})
	slices.SortFunc(links, func(a, b Link) int { return strings.Compare(a.Name, b.Name) })
	return links, err
}

// link reads a link message.
func link(b *block) (l Link, err error) {
	version, flags := b.u8(), b.u8()
	if version != 1 {
		return l, fmt.Errorf("has a link of version %d", version)
	}
	kind := uint8(0)
	if flags&8 != 0 {
		kind = b.u8()
	}
	if flags&4 != 0 {
		b.skip(8)
	}
	if flags&0x10 != 0 {
		b.skip(1)
	}
	n := b.uint(1 << (flags & 3))
	if n > maxLinkName {
		return l, fmt.Errorf("has a name of %d bytes; at most %d are read", n, maxLinkName)
	}
	if err := b.f.lim.Take("the members of a group", linkBytes+int64(n)); err != nil {
		return l, err
	}
	l.Name = string(b.take(int(n)))
	switch l.kind = kind; kind {
	case 0:
		l.Addr = b.offset()
	case softLink:
		l.Elsewhere, l.value = "a soft link", bytes.Clone(b.b)
	default:
		l.Elsewhere, l.value = "a link to another file", bytes.Clone(b.b)
	}
	return l, cmp.Or(b.err, b.f.lim.Take("the members of a group", int64(len(l.value))))
}

// oldLinks walks through the B-tree of a symbol table.
func (f *File) oldLinks(s *symbolTable) ([]Link, error) {
	names, err := f.localHeap(s.heap)
	if err != nil {
		return nil, err
	}
	defer f.done(names)
	var links []Link
	err = f.walk(s.tree, 0, f.lenSize, func(_ []byte, child uint64) error {
		more, err := f.symbols(child, names)
		links = append(links, more...)
		if len(links) > maxLinks {
			return fmt.Errorf("has a group of more than %d members", maxLinks)
		}
		return err
	})
	return links, err
}

// localHeap reads the names of a group.
func (f *File) localHeap(addr uint64) ([]byte, error) {
	head, err := f.bytes(addr, int64(8+2*f.lenSize+f.offSize))
	if err != nil {
		return nil, err
	}
	b := block{b: head, f: f}
	b.expect("HEAP")
	b.skip(4)
	n := b.length()
	b.skip(f.lenSize)
	data := b.offset()
	f.done(head)
	if b.err != nil {
		return nil, b.err
	}
	return f.bytes(data, int64(min(n, math.MaxInt64)))
}

// symbols reads a symbol table node.
func (f *File) symbols(addr uint64, names []byte) ([]Link, error) {
	head, err := f.bytes(addr, 8)
	if err != nil {
		return nil, err
	}
	b := block{b: head, f: f}
	b.expect("SNOD")
	b.skip(2)
	n := int(b.u16())
	if b.err != nil {
		return nil, b.err
	}
	width := 2*f.offSize + 24
	f.done(head)
	body, err := f.bytes(addr+8, int64(n*width))
	if err != nil {
		return nil, err
	}
	defer f.done(body)
	var links []Link
	for i := range n {
		e := block{b: body[i*width:], f: f}
		at := e.offset()
		l := Link{Addr: e.offset()}
		if e.u32() == cachedSoftLink {
			e.skip(4)
			to := cString(names[min(uint64(e.u32()), uint64(len(names))):])
			l.Elsewhere, l.kind = "a soft link", softLink
			l.value = append(binary.LittleEndian.AppendUint16(nil, uint16(len(to))), to...)
		}
		if at >= uint64(len(names)) {
			return nil, errors.New("is damaged (a name outside its heap)")
		}
		end := bytes.IndexByte(names[at:min(at+maxLinkName+1, uint64(len(names)))], 0)
		if end < 0 {
			return nil, fmt.Errorf("is damaged (a name without end, or of more than %d bytes)", maxLinkName)
		}
		l.Name = string(names[at : at+uint64(end)])
		if err := f.lim.Take("the members of a group", linkBytes+int64(end+len(l.value))); err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

// walk visits the leaves of a version 1 B-tree in order: the key before each and its address.
func (f *File) walk(root uint64, kind uint8, keyBytes int, leaf func(key []byte, child uint64) error) error {
	seen := map[uint64]bool{}
	defer func() { f.lim.Give(nodeBytes * int64(len(seen))) }()
	var visit func(addr uint64, level int) error
	visit = func(addr uint64, level int) error {
		if seen[addr] || len(seen) > maxNodes {
			return errors.New("is damaged (an index that goes in circles)")
		}
		if err := f.lim.Take("an index", nodeBytes); err != nil {
			return err
		}
		seen[addr] = true
		head, err := f.bytes(addr, int64(8+2*f.offSize))
		if err != nil {
			return err
		}
		defer f.done(head)
		b := block{b: head, f: f}
		b.expect("TREE")
		gotKind, gotLevel, n := b.u8(), int(b.u8()), int(b.u16())
		if b.err != nil {
			return b.err
		}
		if gotKind != kind || (level >= 0 && gotLevel != level) || gotLevel > 32 {
			return errors.New("is damaged (an index of the wrong kind)")
		}
		body, err := f.bytes(addr+uint64(len(head)), int64(n*(keyBytes+f.offSize)))
		if err != nil {
			return err
		}
		defer f.done(body)
		b = block{b: body, f: f}
		for range n {
			key := b.take(keyBytes)
			child := b.offset()
			if b.err != nil {
				return b.err
			}
			if gotLevel == 0 {
				err = leaf(key, child)
			} else {
				err = visit(child, gotLevel-1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return visit(root, -1)
}

const (
	maxNodes  = 1 << 22 // of one index
	nodeBytes = 64      // of the memory of having seen one
)
