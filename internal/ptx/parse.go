package ptx

import (
	"math"
	"strconv"
	"strings"
)

// limits on a text, so that a damaged one cannot ask for all memory.
const (
	maxRegisters    = 1 << 18
	maxInstructions = 1 << 20
	maxVariable     = 1 << 28
	maxScopes       = 64
)

// A variable is a named array in shared, local, global or constant memory.
type variable struct {
	name  string
	space string
	align int
	size  int    // bytes; -1: dynamic shared memory
	init  []byte // nil: none
	at    int    // offset in its space, or the index in the module's globals
}

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

// A scope is what lies between braces: inline assembly brings its own names.
type scope struct {
	parent   *scope
	names    map[string]int // register by name
	families map[string]family
	labels   map[string]int
	tables   map[string][]string
}

type family struct{ first, count int }

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

// module reads the whole text.
func (p *parser) run() error {
	for p.at < len(p.tokens) {
		line, s := p.line(), p.next()
		switch s {
		case ".version":
			p.next()
		case ".target":
			p.module.target = p.next()
			for p.take(",") {
				p.next()
			}
		case ".address_size":
			n, err := p.int(s, 64)
			if err != nil {
				return err
			}
			if n != 64 {
				return wrong(line, "addresses of %d bits; only 64 are known", n)
			}
		case ".file", ".loc":
			for p.at < len(p.tokens) && p.line() == line {
				p.at++
			}
		case ".section":
			p.next()
			if err := p.skipTo("}"); err != nil {
				return err
			}
		case ".extern", ".visible", ".weak", ".common", ";":
			if s == ".extern" && p.peek() == ".func" {
				return wrong(line, "functions outside of the module are not known")
			}
		case ".entry":
			if err := p.entry(); err != nil {
				return err
			}
		case ".shared", ".global", ".const":
			v, err := p.variable(s[1:])
			if err != nil {
				return err
			}
			if err := p.module.declare(v); err != nil {
				return wrong(line, "%v", err)
			}
		case ".func":
			return wrong(line, "functions that are called are not known: inline them")
		default:
			return wrong(line, "%q where a directive of a module belongs", s)
		}
	}
	return nil
}

// variable reads what follows .shared, .global, .const or .local up to the semicolon.
func (p *parser) variable(space string) (*variable, error) {
	v := &variable{space: space, align: 1}
	elem, err := p.attributes(&v.align)
	if err != nil {
		return nil, err
	}
	if v.name, err = p.word("variable"); err != nil {
		return nil, err
	}
	line := p.line()
	v.size = elem.bits / 8
	for p.take("[") {
		if p.take("]") {
			if space != "shared" {
				return nil, wrong(line, "%s has no size", v.name)
			}
			v.size = -1
			continue
		}
		n, err := p.int("size", maxVariable)
		if err != nil {
			return nil, err
		}
		if v.size < 0 || v.size*n > maxVariable {
			return nil, wrong(line, "%s is too large", v.name)
		}
		v.size *= n
		if err := p.expect("]"); err != nil {
			return nil, err
		}
	}
	if p.take("=") {
		if space != "global" && space != "const" {
			return nil, wrong(line, "%s memory has no first values", space)
		}
		v.init = make([]byte, 0, v.size)
		if err := p.initial(v, elem); err != nil {
			return nil, err
		}
		v.init = append(v.init, make([]byte, v.size-len(v.init))...)
	}
	return v, p.expect(";")
}

// attributes reads .align, a type and what else stands before a name.
func (p *parser) attributes(align *int) (typ, error) {
	var elem typ
	factor := 1
	for strings.HasPrefix(p.peek(), ".") {
		line, s := p.line(), p.next()
		switch s {
		case ".align":
			n, err := p.int("alignment", 1<<16)
			if err != nil {
				return elem, err
			}
			if n == 0 || n&(n-1) != 0 {
				return elem, wrong(line, "alignment %d is no power of two", n)
			}
			*align = n
		case ".v2":
			factor = 2
		case ".v4":
			factor = 4
		case ".ptr", ".global", ".shared", ".const", ".local":
		default:
			t, ok := types[s[1:]]
			if !ok || t.bits < 8 {
				return elem, wrong(line, "%q is no type of a variable", s)
			}
			elem = t
		}
	}
	if elem.bits == 0 {
		return elem, wrong(p.line(), "a type is missing before %q", p.peek())
	}
	*align = max(*align, elem.bits/8*factor)
	elem.bits *= factor
	return elem, nil
}

func (p *parser) initial(v *variable, elem typ) error {
	if p.take("{") {
		for !p.take("}") {
			if err := p.initial(v, elem); err != nil {
				return err
			}
			if !p.take(",") && p.peek() != "}" {
				return wrong(p.line(), "%q in the values of %s", p.peek(), v.name)
			}
		}
		return nil
	}
	line := p.line()
	o, err := p.operand()
	if err != nil {
		return err
	}
	if o.kind != intOperand && o.kind != floatOperand {
		return wrong(line, "only numbers can be the values of %s", v.name)
	}
	if len(v.init)+elem.bits/8 > v.size {
		return wrong(line, "too many values for %s", v.name)
	}
	bits := o.value
	if o.kind == floatOperand {
		bits = floatBits(o, elem)
	}
	for i := 0; i < elem.bits/8; i++ {
		v.init = append(v.init, byte(bits>>(8*i)))
	}
	return nil
}

// floatBits returns an immediate as an element of type t has it.
func floatBits(o operand, t typ) uint64 {
	switch {
	case o.wide && t.bits == 32 && t.kind != 'b':
		return uint64(math.Float32bits(float32(math.Float64frombits(o.value))))
	case !o.wide && t.bits == 64 && t.kind == 'f':
		return math.Float64bits(float64(math.Float32frombits(uint32(o.value))))
	}
	return o.value
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
			if _, err := p.int(s, 1<<16); err != nil {
				return err
			}
		case ".noreturn":
		case ".pragma":
			if err := p.skipTo(";"); err != nil {
				return err
			}
		default:
			return wrong(line, "%q between the head and the body of %s", s, name)
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
		name, err := p.word("label")
		if err != nil {
			return err
		}
		p.at++
		if p.peek() == ".branchtargets" {
			p.at++
			return p.table(name)
		}
		if _, twice := p.scope.labels[name]; twice {
			return wrong(line, "label %s is there twice", name)
		}
		p.scope.labels[name] = len(p.code)
		return nil
	}
	switch s {
	case ".reg":
		p.at++
		return p.declareRegisters()
	case ".shared", ".local", ".global", ".const":
		p.at++
		v, err := p.variable(s[1:])
		if err != nil {
			return err
		}
		if s == ".global" || s == ".const" {
			if err := p.module.declare(v); err != nil {
				return wrong(line, "%v", err)
			}
			return nil
		}
		if p.variables[v.name] != nil {
			return wrong(line, "%s is there twice", v.name)
		}
		p.variables[v.name] = v
		return nil
	case ".loc", ".file":
		for p.at < len(p.tokens) && p.line() == line {
			p.at++
		}
		return nil
	case ".pragma":
		return p.skipTo(";")
	}
	return p.instruction()
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

// resolve finds what branches name.
func (p *parser) resolve() error {
	find := func(in *instruction, name string) (int, error) {
		for s := in.scope; s != nil; s = s.parent {
			if at, ok := s.labels[name]; ok {
				return at, nil
			}
		}
		return 0, wrong(in.line, "no label %s", name)
	}
	for i := range p.code {
		in := &p.code[i]
		switch in.op.base {
		case "bra":
			if len(in.args) != 1 || in.args[0].kind != symbolOperand || in.args[0].value != 0 {
				return wrong(in.line, "bra has one operand, a label")
			}
			at, err := find(in, in.args[0].name)
			if err != nil {
				return err
			}
			in.target, in.args = at, nil
		case "brx":
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
				at, err := find(in, name)
				if err != nil {
					return err
				}
				in.targets = append(in.targets, at)
			}
			in.args = in.args[:1]
		}
	}
	return nil
}
