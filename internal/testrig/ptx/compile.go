package ptx

import "math/bits"

// A compiler turns the instructions of one kernel into steps.
type compiler struct {
	kernel    *Kernel
	parser    *parser
	registers []typ
	slot      []int // of each register
	track     []int // index among the registers that are checked, -1: needs no check
	constants map[constantKey]int
	specials  map[string]int
	shared    map[string]int // offsets
	local     map[string]int
	in        *instruction
}

// compile checks and decodes what the parser has read.
func (k *Kernel) compile(p *parser) error {
	last := 0
	if n := len(p.code); n > 0 {
		last = p.code[n-1].line
	}
	p.code = append(p.code, instruction{line: last, text: "ret", op: newOpcode("ret"), guard: -1})
	f := newFlow(p.code, len(p.registers))
	if len(f.next)*len(p.registers) > 1<<28 {
		return wrong(last, "%s is too large", k.name)
	}
	c := &compiler{kernel: k, parser: p, registers: p.registers, constants: map[constantKey]int{}, specials: map[string]int{}}
	c.slot, k.slots, k.predicates = slots(f, p.registers)
	c.track = make([]int, len(p.registers))
	unsure := f.unsure()
	for r := range c.track {
		c.track[r] = -1
		if unsure.has(r) {
			c.track[r] = k.tracked
			k.tracked++
		}
	}
	if err := c.layout(); err != nil {
		return err
	}
	c.granularity()
	k.code = make([]step, len(p.code))
	for i := range p.code {
		c.in = &p.code[i]
		st, err := c.step()
		if err != nil {
			return err
		}
		if k.tracked > 0 {
			c.checked(&st, &f.effects[i])
		}
		k.code[i] = st
		k.lines, k.texts = append(k.lines, c.in.line), append(k.texts, c.in.text)
	}
	return nil
}

func (c *compiler) wrong(format string, args ...any) error {
	return wrong(c.in.line, c.in.op.text+": "+format, args...)
}

// layout places the variables that the kernel names.
func (c *compiler) layout() error {
	c.shared, c.local = map[string]int{}, map[string]int{}
	named := map[string]bool{}
	var note func(o *operand)
	note = func(o *operand) {
		if o.kind == symbolOperand {
			named[o.name] = true
		}
		for i := range o.list {
			note(&o.list[i])
		}
	}
	for i := range c.parser.code {
		for j := range c.parser.code[i].args {
			note(&c.parser.code[i].args[j])
		}
	}
	var all []*variable
	all = append(all, c.parser.module.shared...)
	for _, name := range sortedKeys(c.parser.variables) {
		all = append(all, c.parser.variables[name])
	}
	k := c.kernel
	dynamic := 16
	for _, v := range all {
		if !named[v.name] {
			continue
		}
		switch {
		case v.space == "local":
			k.localBytes = roundUp(k.localBytes, v.align)
			c.local[v.name] = k.localBytes
			k.localBytes += v.size
		case v.size < 0:
			dynamic = max(dynamic, v.align)
		default:
			k.sharedBytes = roundUp(k.sharedBytes, v.align)
			c.shared[v.name] = k.sharedBytes
			k.sharedBytes += v.size
		}
		if k.localBytes > 1<<19 || k.sharedBytes > 1<<20 {
			return wrong(c.parser.code[0].line, "the variables of %s are too large", k.name)
		}
	}
	k.dynamicAt = k.sharedBytes
	for _, v := range all {
		if named[v.name] && v.size < 0 {
			k.dynamicAt = roundUp(k.sharedBytes, dynamic)
			c.shared[v.name] = k.dynamicAt
		}
	}
	return nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// granularity chooses the units in which races are told apart: the smallest piece that any access of the kernel has.
func (c *compiler) granularity() {
	shared, global := uint(3), uint(3)
	for i := range c.parser.code {
		o := &c.parser.code[i].op
		size := uint(2)
		switch o.base {
		case "ld", "st", "atom", "red":
			if t, ok := o.typ(); ok {
				size = uint(bits.Len(uint(t.bits/8))) - 1
			}
		case "cp", "ldmatrix":
		default:
			continue
		}
		_, space := o.reachOf()
		if space == "shared" || space == "" || o.base == "cp" {
			shared = min(shared, size)
		}
		if space == "global" || space == "" || o.base == "cp" {
			global = min(global, size)
		}
	}
	c.kernel.sharedShift, c.kernel.globalShift = shared, global
}

// unknown returns the error of an instruction that the simulator does not know.
func (c *compiler) unknown() error {
	return wrong(c.in.line, "unknown instruction %s", c.in.op.text)
}

func (c *compiler) arguments(n int) error {
	if len(c.in.args) != n {
		return c.wrong("%d operands, not %d", len(c.in.args), n)
	}
	return nil
}

// step decodes one instruction.
func (c *compiler) step() (step, error) {
	in := c.in
	st := step{guard: -1, members: -1}
	if in.guard >= 0 {
		st.guard = c.slot[in.guard]
		if in.negated {
			st.flip = full
		}
	}
	special := map[string]func(*step) error{
		"bra": c.branch, "brx": c.table, "ret": c.end, "exit": c.end, "trap": c.trap,
		"bar": c.barrier, "barrier": c.barrier, "membar": c.nothing, "fence": c.nothing, "nanosleep": c.nothing,
		"prefetch": c.nothing, "prefetchu": c.nothing,
		"ld": c.load, "ldu": c.load, "st": c.store, "cp": c.async, "atom": c.atomic, "red": c.atomic,
		"mov": c.move, "cvta": c.generic, "selp": c.choose, "setp": c.compare, "set": c.compareValue,
		"bfi": c.insert, "lop3": c.logic, "testp": c.test,
		"shfl": c.shuffle, "vote": c.vote, "activemask": c.active, "redux": c.reduce, "match": c.match,
		"mma": c.matrix, "ldmatrix": c.loadMatrix,
	}
	f := special[in.op.base]
	if f == nil {
		f = c.plain
	}
	return st, f(&st)
}

// plain decodes an operation of the table.
func (c *compiler) plain(st *step) error {
	in := c.in
	name := in.op.text
	o := table()[name]
	if o == nil {
		if t, ok := in.op.typ(); ok && t.kind == 'p' {
			return c.logicOfPredicates(st)
		}
		return c.unknown()
	}
	if err := c.arguments(len(o.src) + 1); err != nil {
		return err
	}
	converts := in.op.base == "cvt"
	d, err := c.target(&in.args[0], o.dst, converts)
	if err != nil {
		return err
	}
	s, err := c.sources(in.args[1:], o.src, converts)
	if err != nil {
		return err
	}
	if d < 0 {
		return c.wrong("the result is no register")
	}
	if have := c.registers[in.args[0].reg].bits; converts && o.dst.signed() && have > o.dst.bits {
		// In a register that is wider than the type a signed result keeps its sign.
		narrow, one, bits := *o, o.one, o.dst.bits
		narrow.all1 = nil
		narrow.one = func(a uint64) uint64 { return cut(uint64(signed(one(a), bits)), have) }
		o = &narrow
	}
	st.run = o.code(d, s)
	return nil
}
