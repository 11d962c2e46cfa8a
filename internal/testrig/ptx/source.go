package ptx

// A constant is a register that no instruction writes. global is the variable whose address it is, -1 for none.
type constant struct {
	slot   int
	value  uint64
	global int
}

type constantKey struct {
	value  uint64
	global int
}

// newSlot adds a register that only the launch writes.
func (c *compiler) newSlot() int {
	c.kernel.slots++
	return c.kernel.slots - 1
}

func (c *compiler) constant(v uint64, global int) int {
	key := constantKey{v, global}
	s, ok := c.constants[key]
	if !ok {
		s = c.newSlot()
		c.constants[key] = s
		c.kernel.constants = append(c.kernel.constants, constant{s, v, global})
	}
	return s
}

// symbol returns the address of a variable in its own space, and the space.
func (c *compiler) symbol(name string) (value uint64, global int, space string, ok bool) {
	if at, ok := c.shared[name]; ok {
		return uint64(at), -1, "shared", true
	}
	if at, ok := c.local[name]; ok {
		return uint64(at), -1, "local", true
	}
	if p := c.parser.params[name]; p != nil {
		return uint64(p.at), -1, "param", true
	}
	for i, v := range c.parser.module.globals {
		if v.name == name {
			return 0, i, "global", true
		}
	}
	return 0, 0, "", false
}

// source returns the slot of a value of type t. wider allows a register with more bits than t.
func (c *compiler) source(o *operand, t typ, wider bool) (int, error) {
	switch o.kind {
	case regOperand:
		return c.registerSlot(o, t, wider)
	case intOperand:
		if t.kind == 'f' {
			return 0, c.wrong("a whole number where a float belongs")
		}
		return c.constant(cut(o.value, t.bits), -1), nil
	case floatOperand:
		if t.kind == 'u' || t.kind == 's' || t.bits < 32 {
			return 0, c.wrong("a float where a whole number belongs")
		}
		return c.constant(cut(floatBits(*o, t), t.bits), -1), nil
	case specialOperand:
		if t.bits < 32 || t.kind == 'f' {
			return 0, c.wrong("%s has 32 bits", o.name)
		}
		return c.special(o.name), nil
	case symbolOperand:
		v, global, _, ok := c.symbol(o.name)
		if !ok {
			return 0, c.wrong("%s is not declared", o.name)
		}
		return c.constant(v+o.value, global), nil
	}
	return 0, c.wrong("an operand of the wrong kind")
}

func (c *compiler) registerSlot(o *operand, t typ, wider bool) (int, error) {
	r := c.registers[o.reg]
	if r.kind == 'p' || t.kind == 'p' {
		return 0, c.wrong("%s is of another type", o.name)
	}
	if r.bits != t.bits && !(wider && r.bits > t.bits) {
		return 0, c.wrong("%s has %d bits, not %d", o.name, r.bits, t.bits)
	}
	return c.slot[o.reg], nil
}

// special returns the slot of a register of the machine.
func (c *compiler) special(name string) int {
	s, ok := c.specials[name]
	if !ok {
		s = c.newSlot()
		c.specials[name] = s
		c.kernel.specials = append(c.kernel.specials, newSpecial(s, name))
	}
	return s
}

// sources returns the slots of values of these types.
func (c *compiler) sources(list []operand, of []typ, wider bool) ([]int, error) {
	var s []int
	for i, t := range of {
		v, err := c.source(&list[i], t, wider)
		if err != nil {
			return nil, err
		}
		s = append(s, v)
	}
	return s, nil
}

// target returns the slot of a result; −1 for _.
func (c *compiler) target(o *operand, t typ, wider bool) (int, error) {
	if o.kind == sinkOperand {
		return -1, nil
	}
	if o.kind != regOperand || o.negated {
		return 0, c.wrong("the result is no register")
	}
	return c.source(o, t, wider)
}

// predicate returns the index of a predicate register and the mask that negates it.
func (c *compiler) predicate(o *operand) (int, uint32, error) {
	if o.kind != regOperand || c.registers[o.reg].kind != 'p' {
		return 0, 0, c.wrong("%s is no predicate", o.name)
	}
	if o.negated {
		return c.slot[o.reg], full, nil
	}
	return c.slot[o.reg], 0, nil
}

// predicateResult returns the index of a predicate register that an instruction writes.
func (c *compiler) predicateResult(o *operand) (int, error) {
	p, flip, err := c.predicate(o)
	if err == nil && flip != 0 {
		err = c.wrong("the result is negated")
	}
	return p, err
}

// address returns the slot of an address, what is to be added, and the way to its space.
func (c *compiler) address(o *operand) (slot int, offset uint64, to reach, space string, err error) {
	to, space = c.in.op.reachOf()
	if o.kind != addressOperand {
		return 0, 0, nil, "", c.wrong("an address in brackets is missing")
	}
	base := &o.list[0]
	switch base.kind {
	case regOperand:
		r := c.registers[base.reg]
		if r.kind == 'p' || r.kind == 'f' || r.bits != 64 && (r.bits != 32 || space == "" || space == "global") {
			return 0, 0, nil, "", c.wrong("%s is no address", base.name)
		}
		return c.slot[base.reg], o.value, to, space, nil
	case symbolOperand:
		v, global, has, ok := c.symbol(base.name)
		if !ok {
			return 0, 0, nil, "", c.wrong("%s is not declared", base.name)
		}
		if has != space {
			return 0, 0, nil, "", c.wrong("%s is in %s memory", base.name, has)
		}
		return c.constant(v, global), o.value, to, space, nil
	}
	return c.constant(base.value, -1), o.value, to, space, nil
}
