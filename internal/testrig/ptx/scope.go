package ptx

import (
	"strconv"
	"strings"
)

// A scope is the code between braces: inline assembly brings its own names.
type scope struct {
	parent   *scope
	names    map[string]int // register by name
	families map[string]family
	labels   map[string]int
	tables   map[string][]string
}

type family struct{ first, count int }

func (p *parser) declareRegisters() error {
	line, s := p.line(), p.next()
	if !strings.HasPrefix(s, ".") {
		return wrong(line, "%q is no type of a register", s)
	}
	t, ok := types[s[1:]]
	if !ok {
		return wrong(line, "%q is no type of a register", s)
	}
	for {
		line := p.line()
		name, err := p.word("register")
		if err != nil {
			return err
		}
		count := 1
		if p.take("<") {
			if count, err = p.int("number of registers", maxRegisters); err != nil {
				return err
			}
			if err := p.expect(">"); err != nil {
				return err
			}
			if _, twice := p.scope.families[name]; twice {
				return wrong(line, "registers %s<> are there twice", name)
			}
			p.scope.families[name] = family{len(p.registers), count}
		} else {
			if _, twice := p.scope.names[name]; twice {
				return wrong(line, "register %s is there twice", name)
			}
			p.scope.names[name] = len(p.registers)
		}
		if len(p.registers)+count > maxRegisters {
			return wrong(line, "more than %d registers", maxRegisters)
		}
		for range count {
			p.registers = append(p.registers, t)
		}
		if !p.take(",") {
			return p.expect(";")
		}
	}
}

// register finds a register by its name from the innermost scope outwards.
func (p *parser) register(name string) (int, bool) {
	digits := len(name)
	for digits > 0 && name[digits-1] >= '0' && name[digits-1] <= '9' {
		digits--
	}
	number := -1
	if d := name[digits:]; d != "" && (d == "0" || d[0] != '0') {
		if n, err := strconv.Atoi(d); err == nil {
			number = n
		}
	}
	for s := p.scope; s != nil; s = s.parent {
		if r, ok := s.names[name]; ok {
			return r, true
		}
		if f, ok := s.families[name[:digits]]; ok && number >= 0 && number < f.count {
			return f.first + number, true
		}
	}
	return 0, false
}

// resolve finds what branches name.
func (p *parser) resolve() error {
	for i := range p.code {
		var err error
		switch in := &p.code[i]; in.op.base {
		case "bra":
			err = in.resolveBranch()
		case "brx":
			err = in.resolveTable()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *instruction) resolveBranch() (err error) {
	if len(in.args) != 1 || in.args[0].kind != symbolOperand || in.args[0].value != 0 {
		return wrong(in.line, "bra has one operand, a label")
	}
	in.target, err = in.findLabel(in.args[0].name)
	in.args = nil
	return err
}

func (in *instruction) resolveTable() error {
	if len(in.args) != 2 || in.args[1].kind != symbolOperand {
		return wrong(in.line, "brx.idx has two operands, an index and a table")
	}
	var list []string
	for s := in.scope; s != nil && list == nil; s = s.parent {
		list = s.tables[in.args[1].name]
	}
	if list == nil {
		return wrong(in.line, "no table %s", in.args[1].name)
	}
	for _, name := range list {
		at, err := in.findLabel(name)
		if err != nil {
			return err
		}
		in.targets = append(in.targets, at)
	}
	in.args = in.args[:1]
	return nil
}

// findLabel returns the instruction at a label of the innermost scope that has it.
func (in *instruction) findLabel(name string) (int, error) {
	for s := in.scope; s != nil; s = s.parent {
		if at, ok := s.labels[name]; ok {
			return at, nil
		}
	}
	return 0, wrong(in.line, "no label %s", name)
}
