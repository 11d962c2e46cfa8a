package ptx

import "strings"

// An instruction is one statement of a kernel as the text has it.
type instruction struct {
	line    int
	text    string
	op      opcode
	args    []operand
	guard   int // predicate register, -1: always
	negated bool
	scope   *scope
	target  int   // of a branch
	targets []int // of brx.idx
}

// body reads the statements between the braces of a kernel.
func (p *parser) body() error {
	open := p.line()
	for {
		if p.at >= len(p.tokens) {
			return wrong(open, "the body of %s has no end", p.kernel.name)
		}
		switch s := p.peek(); s {
		case "{":
			if p.depth++; p.depth > maxScopes {
				return wrong(p.line(), "more than %d braces in one another", maxScopes)
			}
			p.at++
			p.scope = &scope{parent: p.scope, names: map[string]int{}, families: map[string]family{},
				labels: map[string]int{}, tables: map[string][]string{}}
		case "}":
			p.at++
			p.scope = p.scope.parent
			if p.depth--; p.depth == 0 {
				return p.resolve()
			}
		case ";":
			p.at++
		default:
			if err := p.statement(); err != nil {
				return err
			}
		}
		if len(p.code) > maxInstructions || len(p.registers) > maxRegisters {
			return wrong(p.line(), "%s is too long", p.kernel.name)
		}
	}
}

func (p *parser) statement() error {
	line, s := p.line(), p.peek()
	if p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == ":" {
		return p.label()
	}
	switch s {
	case ".reg":
		p.at++
		return p.declareRegisters()
	case ".shared", ".local":
		p.at++
		v, err := p.variable(s[1:])
		if err != nil {
			return err
		}
		if p.variables[v.name] != nil {
			return wrong(line, "%s is there twice", v.name)
		}
		p.variables[v.name] = v
		return nil
	case ".global", ".const":
		p.at++
		return p.moduleVariable(s[1:], line)
	case ".loc", ".file":
		p.skipLine(line)
		return nil
	case ".pragma":
		return p.skipTo(";")
	}
	return p.instruction()
}

// label reads a label or a table of labels.
func (p *parser) label() error {
	line := p.line()
	name, err := p.word("label")
	if err != nil {
		return err
	}
	p.at++
	if p.take(".branchtargets") {
		return p.table(name)
	}
	if _, twice := p.scope.labels[name]; twice {
		return wrong(line, "label %s is there twice", name)
	}
	p.scope.labels[name] = len(p.code)
	return nil
}

func (p *parser) table(name string) error {
	line := p.line()
	if _, twice := p.scope.tables[name]; twice {
		return wrong(line, "table %s is there twice", name)
	}
	var list []string
	for {
		l, err := p.word("label")
		if err != nil {
			return err
		}
		list = append(list, l)
		if !p.take(",") {
			break
		}
	}
	p.scope.tables[name] = list
	return p.expect(";")
}

// nameOf returns the name of a register that an instruction has among its operands.
func (p *parser) nameOf(in *instruction, reg int) string {
	name := "a register"
	var look func(o *operand)
	look = func(o *operand) {
		if o.kind == regOperand && o.reg == reg {
			name = o.name
		}
		for i := range o.list {
			look(&o.list[i])
		}
	}
	for i := range in.args {
		look(&in.args[i])
	}
	return name
}

// instruction reads one up to its semicolon.
func (p *parser) instruction() error {
	in := instruction{line: p.line(), guard: -1, scope: p.scope}
	first := p.at
	if p.take("@") {
		in.negated = p.take("!")
		name := p.next()
		r, ok := p.register(name)
		if !ok || p.registers[r].kind != 'p' {
			return wrong(in.line, "%q is no predicate", name)
		}
		in.guard = r
	}
	word, err := p.word("instruction")
	if err != nil {
		return err
	}
	in.op = newOpcode(word)
	for p.peek() != ";" {
		if p.at >= len(p.tokens) {
			return wrong(in.line, "%s has no semicolon", word)
		}
		o, err := p.operand()
		if err != nil {
			return err
		}
		in.args = append(in.args, o)
		if !p.take(",") && p.peek() != ";" && p.peek() != "" {
			return wrong(p.line(), "%q among the operands of %s", p.peek(), word)
		}
	}
	in.text = strings.Join(strings.Fields(p.src[p.tokens[first].from:p.tokens[p.at].from]), " ")
	p.at++
	p.code = append(p.code, in)
	return nil
}
