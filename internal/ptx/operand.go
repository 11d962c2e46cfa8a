package ptx

import (
	"strconv"
	"strings"
)

// operand reads one operand.
func (p *parser) operand() (operand, error) { return p.operandWithin(0) }

func (p *parser) operandWithin(depth int) (operand, error) {
	line := p.line()
	if depth > 4 {
		return operand{}, wrong(line, "braces too deep")
	}
	switch p.peek() {
	case "{":
		p.at++
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
	case "[":
		p.at++
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
			s := p.next()
			v, ok := integer(s)
			if !ok {
				return o, wrong(line, "%q is no offset", s)
			}
			if minus {
				v = -v
			}
			o.value += v
		}
		return o, p.expect("]")
	}
	o, err := p.scalar(line)
	if err != nil || depth > 0 || o.kind != symbolOperand || p.peek() != "+" {
		return o, err
	}
	p.at++
	s := p.next()
	v, ok := integer(s)
	if !ok {
		return o, wrong(line, "%q is no offset", s)
	}
	o.value = v
	return o, nil
}

// scalar reads a register, number, symbol, or one of the machine's own registers.
func (p *parser) scalar(line int) (operand, error) {
	negated := p.take("!")
	minus := !negated && p.take("-")
	s := p.next()
	if s == "_" {
		return operand{kind: sinkOperand}, nil
	}
	if s == "" || !wordByte(s[0]) {
		return operand{}, wrong(line, "%q where an operand belongs", s)
	}
	if s[0] >= '0' && s[0] <= '9' {
		o, err := number(s, line)
		if err != nil || negated {
			return o, orWrong(err, line, "! before a number")
		}
		if minus {
			if o.kind != intOperand {
				return o, wrong(line, "- before the bits of a float")
			}
			o.value = -o.value
		}
		return o, nil
	}
	if minus {
		return operand{}, wrong(line, "- before %s", s)
	}
	if r, ok := p.register(s); ok {
		o := operand{kind: regOperand, reg: r, negated: negated, name: s}
		if negated && p.registers[r].kind != 'p' {
			return o, wrong(line, "! before %s, which is no predicate", s)
		}
		if p.take("|") {
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
		return o, nil
	}
	if negated {
		return operand{}, wrong(line, "%q is no predicate", s)
	}
	if s[0] == '%' {
		if _, ok := specials[s]; !ok {
			return operand{}, wrong(line, "%s is not declared", s)
		}
		return operand{kind: specialOperand, name: s}, nil
	}
	if s == "WARP_SZ" {
		return operand{kind: intOperand, value: 32}, nil
	}
	if strings.HasPrefix(s, ".") {
		return operand{}, wrong(line, "%q where an operand belongs", s)
	}
	return operand{kind: symbolOperand, name: s}, nil
}

func orWrong(err error, line int, text string) error {
	if err != nil {
		return err
	}
	return wrong(line, "%s", text)
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
