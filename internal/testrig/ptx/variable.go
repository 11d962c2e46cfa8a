package ptx

import (
	"math"
	"strings"
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
