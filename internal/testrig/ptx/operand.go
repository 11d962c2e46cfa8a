package ptx

import "strconv"

// operand reads one operand.
func (p *parser) operand() (operand, error) { return p.operandWithin(0) }

func (p *parser) operandWithin(depth int) (operand, error) {
	line := p.line()
	if depth > 4 {
		return operand{}, wrong(line, "braces too deep")
	}
	switch {
	case p.take("{"):
		return p.vectorOperand(depth)
	case p.take("["):
		return p.addressOperand(line, depth)
	}
	o, err := p.scalar(line)
	if err == nil && depth == 0 && o.kind == symbolOperand && p.take("+") {
		o.value, err = p.offset(line)
	}
	return o, err
}

// vectorOperand reads the list of operands after an opening brace.
func (p *parser) vectorOperand(depth int) (operand, error) {
	o := operand{kind: vectorOperand}
	for {
		e, err := p.operandWithin(depth + 1)
		if err != nil {
			return o, err
		}
		o.list = append(o.list, e)
		if p.take("}") {
			return o, nil
		}
		if err := p.expect(","); err != nil {
			return o, err
		}
	}
}

// addressOperand reads a base and its offsets after an opening bracket.
func (p *parser) addressOperand(line, depth int) (operand, error) {
	base, err := p.operandWithin(depth + 1)
	if err != nil {
		return base, err
	}
	switch base.kind {
	case regOperand, symbolOperand, intOperand:
	default:
		return base, wrong(line, "not an address")
	}
	o := operand{kind: addressOperand, list: []operand{base}}
	for p.peek() == "+" || p.peek() == "-" {
		minus := p.next() == "-"
		if p.take("-") {
			minus = !minus
		}
		v, err := p.offset(line)
		if err != nil {
			return o, err
		}
		if minus {
			v = -v
		}
		o.value += v
	}
	return o, p.expect("]")
}

func (p *parser) offset(line int) (uint64, error) {
	s := p.next()
	v, ok := integer(s)
	if !ok {
		return 0, wrong(line, "%q is no offset", s)
	}
	return v, nil
}

// scalar reads a register, number, symbol, or one of the machine's own registers.
func (p *parser) scalar(line int) (operand, error) {
	negated := p.take("!")
	minus := !negated && p.take("-")
	s := p.next()
	switch {
	case s == "_":
		return operand{kind: sinkOperand}, nil
	case s == "" || !wordByte(s[0]):
		return operand{}, wrong(line, "%q where an operand belongs", s)
	case s[0] >= '0' && s[0] <= '9':
		return signedNumber(s, line, negated, minus)
	case minus:
		return operand{}, wrong(line, "- before %s", s)
	}
	if r, ok := p.register(s); ok {
		return p.registerOperand(s, r, line, negated)
	}
	_, special := specials[s]
	switch {
	case negated:
		return operand{}, wrong(line, "%q is no predicate", s)
	case special:
		return operand{kind: specialOperand, name: s}, nil
	case s[0] == '%':
		return operand{}, wrong(line, "%s is not declared", s)
	case s == "WARP_SZ":
		return operand{kind: intOperand, value: 32}, nil
	case s[0] == '.':
		return operand{}, wrong(line, "%q where an operand belongs", s)
	}
	return operand{kind: symbolOperand, name: s}, nil
}

// signedNumber reads a number that a sign may precede.
func signedNumber(s string, line int, negated, minus bool) (operand, error) {
	o, err := number(s, line)
	switch {
	case err != nil:
		return o, err
	case negated:
		return o, wrong(line, "! before a number")
	case minus && o.kind != intOperand:
		return o, wrong(line, "- before the bits of a float")
	case minus:
		o.value = -o.value
	}
	return o, nil
}

// registerOperand reads what follows the name of register r: nothing, or a bar and a second register.
func (p *parser) registerOperand(name string, r, line int, negated bool) (operand, error) {
	o := operand{kind: regOperand, reg: r, negated: negated, name: name}
	if negated && p.registers[r].kind != 'p' {
		return o, wrong(line, "! before %s, which is no predicate", name)
	}
	if !p.take("|") {
		return o, nil
	}
	line, s := p.line(), p.next()
	second := operand{kind: sinkOperand}
	if s != "_" {
		r, ok := p.register(s)
		if !ok {
			return o, wrong(line, "%q is no register", s)
		}
		second = operand{kind: regOperand, reg: r, name: s}
	}
	return operand{kind: pairOperand, list: []operand{o, second}}, nil
}

// number reads 0f3F800000, 0d3FF0000000000000 or an integer.
func number(s string, line int) (operand, error) {
	if len(s) > 2 && s[0] == '0' && (s[1]|32 == 'f' || s[1]|32 == 'd') {
		digits := 8
		if s[1]|32 == 'd' {
			digits = 16
		}
		v, err := strconv.ParseUint(s[2:], 16, 64)
		if err != nil || len(s)-2 != digits {
			return operand{}, wrong(line, "%q is not a number", s)
		}
		return operand{kind: floatOperand, value: v, wide: digits == 16}, nil
	}
	v, ok := integer(s)
	if !ok {
		return operand{}, wrong(line, "%q is not a number", s)
	}
	return operand{kind: intOperand, value: v}, nil
}
