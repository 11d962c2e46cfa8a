package ptx

import (
	"fmt"
	"slices"
)

// A Module is a parsed text: kernels, and variables in global memory.
type Module struct {
	target  string
	kernels map[string]*Kernel
	order   []string
	globals []*variable
	shared  []*variable // declared outside of kernels
}

// A Param is a parameter of a kernel.
type Param struct {
	Name  string
	Size  int // bytes
	at    int
	bytes bool // an array of bytes
}

// A Kernel is an entry of a module, ready to be launched.
type Kernel struct {
	name        string
	module      *Module
	params      []*Param
	paramBytes  int
	maxThreads  int
	exact       bool
	sharedBytes int // static
	dynamicAt   int // where dynamic shared memory begins
	localBytes  int // of a thread
	code        []step
	lines       []int
	texts       []string
	slots       int // registers of a warp, constants included
	predicates  int
	tracked     int // registers whose reads are checked at run time
	constants   []constant
	specials    []special
	sharedShift uint // log2 of the bytes that races in shared memory tell apart
	globalShift uint
}

// Parse reads a PTX text and prepares all of its kernels. What is wrong with the text, or not known, is an error with its line.
func Parse(text string) (*Module, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	m := &Module{kernels: map[string]*Kernel{}}
	p := &parser{src: text, tokens: tokens, module: m}
	if err := p.run(); err != nil {
		return nil, err
	}
	return m, nil
}

// declare adds a variable of the module.
func (m *Module) declare(v *variable) error {
	for _, w := range slices.Concat(m.globals, m.shared) {
		if w.name == v.name {
			return fmt.Errorf("%s is there twice", v.name)
		}
	}
	if v.space == "shared" {
		m.shared = append(m.shared, v)
		return nil
	}
	if v.size < 0 {
		return fmt.Errorf("%s has no size", v.name)
	}
	v.at = len(m.globals)
	m.globals = append(m.globals, v)
	return nil
}

// Target returns the architecture that the text is for, such as sm_80.
func (m *Module) Target() string { return m.target }

// Kernels returns the names of the kernels in the order of the text.
func (m *Module) Kernels() []string { return slices.Clone(m.order) }

// Kernel returns a kernel by its name.
func (m *Module) Kernel(name string) (*Kernel, error) {
	k := m.kernels[name]
	if k == nil {
		return nil, fmt.Errorf("no kernel %q in the module", name)
	}
	return k, nil
}

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

// Params returns the parameters in order.
func (k *Kernel) Params() []Param {
	out := make([]Param, len(k.params))
	for i, p := range k.params {
		out[i] = *p
	}
	return out
}

// SharedBytes returns the bytes of static shared memory of a block.
func (k *Kernel) SharedBytes() int { return k.sharedBytes }

// MaxThreads returns the most threads of a block that the text allows, 0 when it names no bound.
func (k *Kernel) MaxThreads() int { return k.maxThreads }

// staticsOf returns the addresses of the module's variables in m, which it makes at the first launch.
func (m *Memory) staticsOf(mod *Module) ([]Ptr, error) {
	if list, ok := m.statics[mod]; ok {
		return list, nil
	}
	list := make([]Ptr, len(mod.globals))
	for i, v := range mod.globals {
		p, err := m.Alloc(v.name, int64(v.size))
		if err != nil {
			return nil, err
		}
		list[i] = p
		if v.init != nil {
			err = m.Write(p, v.init)
		} else {
			err = m.Fill(p, 0, int64(v.size))
		}
		if err != nil {
			return nil, err
		}
		if v.space == "const" {
			m.constants[int(p>>rangeBits)-1] = true
		}
	}
	m.statics[mod] = list
	return list, nil
}
