package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// IsText reports whether elements are texts.
func (t Datatype) IsText() bool {
	return t.Class == String || t.Class == VariableLength && t.text
}

// Texts hands over the texts of a dataset, each with its number in row-major order. They are good until run returns. Elements
// never written are not handed over.
func (f *File) Texts(o *Object, run func(i int, text []byte) error) error {
	if !o.Type.IsText() {
		return errors.New("holds no texts")
	}
	g := globalHeap{f: f}
	defer g.done()
	return f.Read(o, func(off int, raw []byte) error {
		return g.texts(o.Type, raw, func(i int, text []byte) error { return run(off+i, text) })
	})
}

// FieldTexts is Texts for one member of a compound.
func (f *File) FieldTexts(o *Object, field Field, run func(i int, text []byte) error) error {
	if !field.Type.IsText() {
		return errors.New("holds no texts")
	}
	g, width := globalHeap{f: f}, o.Type.Size
	defer g.done()
	return f.Read(o, func(off int, raw []byte) error {
		for i := 0; len(raw) >= width; i++ {
			err := g.texts(field.Type, raw[field.Offset:field.Offset+field.Type.Size], func(_ int, text []byte) error {
				return run(off+i, text)
			})
			if err != nil {
				return err
			}
			raw = raw[width:]
		}
		return nil
	})
}

// AttributeTexts returns the texts of an attribute, of fixed or variable length; nil if it holds none.
func (f *File) AttributeTexts(a Attribute) (out []string, err error) {
	if !a.Type.IsText() {
		return nil, nil
	}
	g := globalHeap{f: f}
	defer g.done()
	err = g.texts(a.Type, a.raw, func(_ int, text []byte) error {
		out = append(out, string(text))
		return nil
	})
	return out, err
}

// texts hands over the texts of some elements.
func (g *globalHeap) texts(t Datatype, raw []byte, run func(i int, text []byte) error) error {
	for i := 0; len(raw) > 0; i++ {
		text := raw[:t.Size]
		raw = raw[t.Size:]
		if t.Class == VariableLength {
			var err error
			if text, err = g.object(block{b: text, f: g.f}); err != nil {
				return err
			}
		}
		if end := bytes.IndexByte(text, 0); end >= 0 && !t.padded {
			text = text[:end]
		}
		if text = bytes.TrimRight(text, "\x00"); t.blanks {
			text = bytes.TrimRight(text, " ")
		}
		if err := run(i, text); err != nil {
			return err
		}
	}
	return nil
}

// globalHeap reads the objects of global heaps, in which elements of variable length lie. It holds the collections of objects
// that it has read, for elements may go to and fro between them.
type globalHeap struct {
	f    *File
	held map[uint64]*collection
}

type collection struct {
	body    []byte
	objects map[uint16][]byte
}

const (
	collectionBytes = 512     // beside its content
	heapObjectBytes = 48      // of an entry of the map
	maxText         = 1 << 12 // bytes
)

// object is the object that an element of variable length names.
func (g *globalHeap) object(b block) ([]byte, error) {
	n, addr, index := b.u32(), b.offset(), b.u32()
	switch {
	case b.err != nil:
		return nil, b.err
	case n > maxText:
		return nil, fmt.Errorf("holds a text of %d bytes; at most %d are read", n, maxText)
	case n == 0 || addr == 0 || addr == undefined:
		return nil, nil
	}
	c := g.held[addr]
	if c == nil {
		var err error
		if c, err = g.read(addr); err != nil {
			return nil, err
		}
	}
	text, ok := c.objects[uint16(index)]
	if !ok || index > 1<<16-1 || uint64(n) > uint64(len(text)) {
		return nil, errors.New("is damaged (a text that its heap does not hold)")
	}
	return text[:n], nil
}

// read reads a collection of objects.
func (g *globalHeap) read(addr uint64) (*collection, error) {
	head, err := g.f.bytes(addr, int64(8+g.f.lenSize))
	if err != nil {
		return nil, err
	}
	b := block{b: head, f: g.f}
	b.expect("GCOL")
	b.skip(4)
	size := b.length()
	g.f.done(head)
	if b.err != nil {
		return nil, b.err
	}
	if size < uint64(len(head)) || size > uint64(g.f.size) {
		return nil, errHeap
	}
	if g.held == nil {
		g.held = map[uint64]*collection{}
	}
	if err := g.f.lim.Take("texts", collectionBytes); err != nil {
		return nil, err
	}
	c := &collection{objects: map[uint16][]byte{}}
	g.held[addr] = c
	if c.body, err = g.f.bytes(addr, int64(size)); err != nil {
		return nil, err
	}
	b = block{b: c.body[len(head):], f: g.f}
	for len(b.b) >= 8+g.f.lenSize {
		index := b.u16()
		b.skip(6)
		n := b.length()
		if index == 0 { // what is left is free
			break
		}
		if _, twice := c.objects[index]; twice || n > uint64(len(b.b)) {
			return nil, errHeap
		}
		if err := g.f.lim.Take("texts", heapObjectBytes); err != nil {
			return nil, err
		}
		c.objects[index] = slices.Clip(b.take(int(n)))
		b.skip(min(int(-n&7), len(b.b)))
	}
	return c, b.err
}

func (g *globalHeap) done() {
	for _, c := range g.held {
		g.f.lim.Give(collectionBytes + heapObjectBytes*int64(len(c.objects)))
		g.f.done(c.body)
	}
	g.held = nil
}
