package ptx

import (
	"math/bits"
	"strings"
)

// A constant is a register that no instruction writes. global is the variable whose address it is, -1 for none.
type constant struct {
	slot   int
	value  uint64
	global int
}

// A special is a register of the machine.
type special struct {
	slot int
	name string
}

type constantKey struct {
	value  uint64
	global int
}

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
		r := c.registers[o.reg]
		if r.kind == 'p' || t.kind == 'p' {
			return 0, c.wrong("%s is of another type", o.name)
		}
		if r.bits != t.bits && !(wider && r.bits > t.bits) {
			return 0, c.wrong("%s has %d bits, not %d", o.name, r.bits, t.bits)
		}
		return c.slot[o.reg], nil
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
		s, ok := c.specials[o.name]
		if !ok {
			s = c.newSlot()
			c.specials[o.name] = s
			c.kernel.specials = append(c.kernel.specials, special{s, o.name})
		}
		return s, nil
	case symbolOperand:
		v, global, _, ok := c.symbol(o.name)
		if !ok {
			return 0, c.wrong("%s is not declared", o.name)
		}
		return c.constant(v+o.value, global), nil
	}
	return 0, c.wrong("an operand of the wrong kind")
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
		return wrong(in.line, "unknown instruction %s", name)
	}
	if err := c.arguments(len(o.src) + 1); err != nil {
		return err
	}
	converts := in.op.base == "cvt"
	d, err := c.target(&in.args[0], o.dst, converts)
	if err != nil {
		return err
	}
	var s []int
	for i, t := range o.src {
		v, err := c.source(&in.args[i+1], t, converts)
		if err != nil {
			return err
		}
		s = append(s, v)
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

func (c *compiler) branch(st *step) error {
	st.kind, st.target = branch, c.in.target
	return nil
}

func (c *compiler) table(st *step) error {
	if c.in.op.mods == nil || c.in.op.mods[0] != "idx" {
		return wrong(c.in.line, "unknown instruction %s", c.in.op.text)
	}
	s, err := c.source(&c.in.args[0], types["u32"], false)
	st.kind, st.index, st.targets = branchTable, s, c.in.targets
	return err
}

func (c *compiler) end(st *step) error {
	st.kind = ending
	return c.arguments(0)
}

func (c *compiler) trap(st *step) error {
	st.kind = ending
	st.run = func(w *warp, m uint32) { fail(Trap, bits.TrailingZeros32(m), "the kernel ended itself") }
	return c.arguments(0)
}

// nothing decodes what has no effect here: hints, and fences, since a race is reported whether fenced or not.
func (c *compiler) nothing(st *step) error {
	st.run = func(*warp, uint32) {}
	return nil
}

// barrier decodes bar.sync, barrier.sync.aligned and bar.warp.sync.
func (c *compiler) barrier(st *step) error {
	in := c.in
	switch strings.Join(in.op.without("cta", "aligned"), ".") {
	case "sync":
		if len(in.args) < 1 || len(in.args) > 2 {
			return c.wrong("%d operands", len(in.args))
		}
		for i, most := range []uint64{15, maxThreadsOfBlock}[:len(in.args)] {
			if in.args[i].kind != intOperand || in.args[i].value > most {
				return c.wrong("operand %d is no number up to %d", i, most)
			}
		}
		if in.op.base == "barrier" && !in.op.has("aligned") {
			return wrong(in.line, "unknown instruction %s", in.op.text)
		}
		if len(in.args) == 2 { // only all threads of the block are known
			n := int(in.args[1].value)
			st.run = func(w *warp, m uint32) {
				if n != w.worker.threads {
					fail(Undefined, -1, "a barrier of %d threads in a block of %d: the simulator knows those of all threads",
						n, w.worker.threads)
				}
			}
		}
		st.kind = barrier
		return nil
	case "warp.sync":
		if err := c.arguments(1); err != nil {
			return err
		}
		s, err := c.source(&in.args[0], types["b32"], false)
		st.kind, st.members = collective, s
		st.run = func(w *warp, m uint32) {
			if m != w.live {
				fail(Undefined, bits.TrailingZeros32(w.live&^m),
					"a barrier of part of a warp: the simulator knows those of all its lanes")
			}
			w.time++
		}
		return err
	}
	return wrong(in.line, "unknown instruction %s", in.op.text)
}

// checked adds the checks of registers that some path leaves unwritten. Copies carry an undefined value on: only a use is a
// fault.
func (c *compiler) checked(st *step, e *effect) {
	in := c.in
	type use struct {
		track int
		name  string
	}
	var uses, copied []use
	var defs []int
	add := func(list *[]use, o *operand) {
		o.registers(func(r int) {
			if t := c.track[r]; t >= 0 {
				*list = append(*list, use{t, c.parser.nameOf(in, r)})
			}
		})
	}
	guard := -1
	if in.guard >= 0 {
		guard = c.track[in.guard]
	}
	for i := range in.args {
		switch {
		case i == 0 && !targetless[in.op.base] && in.args[0].kind != addressOperand:
		case in.op.base == "mov", in.op.base == "selp" && i < 3:
			add(&copied, &in.args[i])
		default:
			add(&uses, &in.args[i])
		}
	}
	for _, r := range e.defs {
		if t := c.track[r]; t >= 0 {
			defs = append(defs, t)
		}
	}
	if guard < 0 && len(uses) == 0 && len(defs) == 0 {
		return
	}
	good := func(w *warp) uint32 {
		v := full
		for _, u := range copied {
			v &= w.written[u.track]
		}
		return v
	}
	if in.op.base == "selp" && len(in.args) == 4 && in.args[3].kind == regOperand {
		of := func(o *operand) func(w *warp) uint32 {
			if o.kind != regOperand || c.track[o.reg] < 0 {
				return func(*warp) uint32 { return full }
			}
			t := c.track[o.reg]
			return func(w *warp) uint32 { return w.written[t] }
		}
		yes, no, p := of(&in.args[1]), of(&in.args[2]), c.slot[in.args[3].reg]
		good = func(w *warp) uint32 { return w.p[p]&yes(w) | ^w.p[p]&no(w) }
	}
	st.before = func(w *warp, mask, m uint32) {
		if guard >= 0 {
			if bad := mask &^ w.written[guard]; bad != 0 {
				fail(Uninitialized, bits.TrailingZeros32(bad), "the predicate was never written")
			}
		}
		for _, u := range uses {
			if bad := m &^ w.written[u.track]; bad != 0 {
				fail(Uninitialized, bits.TrailingZeros32(bad), "%s was never written", u.name)
			}
		}
		if len(defs) > 0 {
			v := good(w)
			for _, d := range defs {
				w.written[d] = w.written[d]&^m | v&m
			}
		}
	}
}
