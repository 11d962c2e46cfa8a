package ptx

import "cmp"

// limits on a text, so that a damaged one cannot ask for all memory.
const (
	maxRegisters    = 1 << 18
	maxInstructions = 1 << 20
	maxVariable     = 1 << 28
	maxScopes       = 64
)

type parser struct {
	src    string
	tokens []token
	at     int
	module *Module

	// of the kernel that is being read
	kernel    *Kernel
	registers []typ
	code      []instruction
	scope     *scope
	depth     int
	variables map[string]*variable
	params    map[string]*Param
}

func (p *parser) line() int {
	if p.at < len(p.tokens) {
		return p.tokens[p.at].line
	}
	if n := len(p.tokens); n > 0 {
		return p.tokens[n-1].line
	}
	return 1
}

// peek returns the token's text, and "" at the end.
func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at].text
	}
	return ""
}

func (p *parser) next() string {
	s := p.peek()
	p.at++
	return s
}

func (p *parser) take(s string) bool {
	if p.peek() != s {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(s string) error {
	if p.take(s) {
		return nil
	}
	return wrong(p.line(), "%q where %q belongs", p.peek(), s)
}

func (p *parser) int(what string, most uint64) (int, error) {
	line, s := p.line(), p.next()
	v, ok := integer(s)
	if !ok || v > most {
		return 0, wrong(line, "%s is %q, not a number up to %d", what, s, most)
	}
	return int(v), nil
}

func (p *parser) word(what string) (string, error) {
	line, s := p.line(), p.next()
	if s == "" || !wordByte(s[0]) || s[0] == '.' || s[0] >= '0' && s[0] <= '9' {
		return "", wrong(line, "%q is no name of a %s", s, what)
	}
	return s, nil
}

// skipTo passes everything up to and with s.
func (p *parser) skipTo(s string) error {
	line := p.line()
	for p.at < len(p.tokens) {
		if p.next() == s {
			return nil
		}
	}
	return wrong(line, "no %q to the end of the text", s)
}

// run reads the whole text.
func (p *parser) run() error {
	for p.at < len(p.tokens) {
		line, s := p.line(), p.next()
		if err := p.directive(s, line); err != nil {
			return err
		}
	}
	return nil
}

// directive reads what follows the first word of a directive of the module.
func (p *parser) directive(s string, line int) error {
	switch s {
	case ".version":
		p.next()
	case ".target":
		p.module.target = p.next()
		for p.take(",") {
			p.next()
		}
	case ".address_size":
		if n, err := p.int(s, 64); err != nil || n != 64 {
			return cmp.Or(err, wrong(line, "addresses of %d bits; only 64 are known", n))
		}
	case ".file", ".loc":
		p.skipLine(line)
	case ".section":
		p.next()
		return p.skipTo("}")
	case ".extern", ".visible", ".weak", ".common", ";":
		if s == ".extern" && p.peek() == ".func" {
			return wrong(line, "functions outside of the module are not known")
		}
	case ".entry":
		return p.entry()
	case ".shared", ".global", ".const":
		return p.moduleVariable(s[1:], line)
	case ".func":
		return wrong(line, "functions that are called are not known: inline them")
	default:
		return wrong(line, "%q where a directive of a module belongs", s)
	}
	return nil
}

func (p *parser) skipLine(line int) {
	for p.at < len(p.tokens) && p.line() == line {
		p.at++
	}
}

// moduleVariable reads a variable that all kernels see.
func (p *parser) moduleVariable(space string, line int) error {
	v, err := p.variable(space)
	if err != nil {
		return err
	}
	if err := p.module.declare(v); err != nil {
		return wrong(line, "%v", err)
	}
	return nil
}

// entry reads a kernel from its name on.
func (p *parser) entry() error {
	line := p.line()
	name, err := p.word("kernel")
	if err != nil {
		return err
	}
	if _, twice := p.module.kernels[name]; twice {
		return wrong(line, "kernel %s is there twice", name)
	}
	p.kernel = &Kernel{name: name, module: p.module}
	p.registers, p.code, p.scope, p.depth = nil, nil, nil, 0
	p.variables, p.params = map[string]*variable{}, map[string]*Param{}
	if err := p.parameters(); err != nil {
		return err
	}
	for p.peek() != "{" {
		line, s := p.line(), p.next()
		if err := p.tuning(s, line); err != nil {
			return err
		}
	}
	if err := p.body(); err != nil {
		return err
	}
	if err := p.kernel.compile(p); err != nil {
		return err
	}
	p.module.kernels[name] = p.kernel
	p.module.order = append(p.module.order, name)
	return nil
}

// tuning reads a directive between the head and the body of a kernel.
func (p *parser) tuning(s string, line int) error {
	switch s {
	case ".maxntid", ".reqntid":
		n := 1
		for {
			d, err := p.int(s, 1<<16)
			if err != nil {
				return err
			}
			n = min(n*d, 1<<16)
			if !p.take(",") {
				break
			}
		}
		p.kernel.maxThreads = n
		p.kernel.exact = s == ".reqntid"
	case ".minnctapersm", ".maxnreg", ".maxnctapersm":
		_, err := p.int(s, 1<<16)
		return err
	case ".noreturn":
	case ".pragma":
		return p.skipTo(";")
	default:
		return wrong(line, "%q between the head and the body of %s", s, p.kernel.name)
	}
	return nil
}

func (p *parser) parameters() error {
	if !p.take("(") {
		return nil
	}
	k := p.kernel
	for !p.take(")") {
		if err := p.expect(".param"); err != nil {
			return err
		}
		align := 1
		elem, err := p.attributes(&align)
		if err != nil {
			return err
		}
		line := p.line()
		name, err := p.word("parameter")
		if err != nil {
			return err
		}
		if _, twice := p.params[name]; twice {
			return wrong(line, "parameter %s is there twice", name)
		}
		q := &Param{Name: name, Size: elem.bits / 8}
		if p.take("[") {
			n, err := p.int("size", 4096)
			if err != nil {
				return err
			}
			q.Size, q.bytes = q.Size*n, true
			if err := p.expect("]"); err != nil {
				return err
			}
		}
		k.paramBytes = (k.paramBytes + align - 1) / align * align
		q.at = k.paramBytes
		if k.paramBytes += q.Size; k.paramBytes > 4352 {
			return wrong(line, "the parameters of %s take %d bytes, more than 4352", k.name, k.paramBytes)
		}
		p.params[name] = q
		k.params = append(k.params, q)
		if !p.take(",") && p.peek() != ")" {
			return wrong(p.line(), "%q among the parameters of %s", p.peek(), k.name)
		}
	}
	return nil
}
