package ptx

import (
	"maps"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// elements returns the parts of a vector, or the operand itself.
func elements(o *operand) []operand {
	if o.kind == vectorOperand {
		return o.list
	}
	return []operand{*o}
}

// vector returns how many elements the modifiers ask for.
func (o *opcode) vector() int {
	switch {
	case o.has("v2"):
		return 2
	case o.has("v4"):
		return 4
	case o.has("v8"):
		return 8
	}
	return 1
}

// memoryMods are modifiers of accesses that make no difference here: caching, order and scope.
var memoryMods = map[string]bool{
	"volatile": true, "relaxed": true, "acquire": true, "release": true, "acq_rel": true, "weak": true,
	"cta": true, "gpu": true, "sys": true,
	"nc": true, "ca": true, "cg": true, "cs": true, "cv": true, "lu": true, "wb": true, "wt": true,
	"L1::evict_last": true, "L1::evict_first": true, "L1::no_allocate": true, "L1::evict_normal": true,
	"L2::64B": true, "L2::128B": true, "L2::256B": true,
	"global": true, "shared": true, "shared::cta": true, "local": true, "param": true, "param::entry": true,
	"const": true,
	"v2":    true, "v4": true,
}

// known reports a modifier that is not in the set, nor the last one.
func (c *compiler) known(set map[string]bool) error {
	o := &c.in.op
	for i, m := range o.mods {
		if !set[m] && i < len(o.mods)-1 {
			return wrong(c.in.line, "unknown instruction %s (%s)", o.text, m)
		}
	}
	return nil
}

func (c *compiler) accessed() (t typ, n int, err error) {
	o := &c.in.op
	if err := c.known(memoryMods); err != nil {
		return t, 0, err
	}
	t, ok := types[o.mods[max(len(o.mods)-1, 0)]]
	if !ok || t.bits < 8 {
		return t, 0, c.unknown()
	}
	if n = o.vector(); n*t.bits > 128 {
		return t, 0, c.wrong("more than 128 bits")
	}
	return t, n, c.arguments(2)
}

func (c *compiler) load(st *step) error {
	if len(c.in.op.mods) == 0 {
		return c.unknown()
	}
	t, n, err := c.accessed()
	if err != nil {
		return err
	}
	list := elements(&c.in.args[0])
	if len(list) != n {
		return c.wrong("%d registers", len(list))
	}
	var dst []int
	var wide []uint64
	for i := range list {
		d, err := c.target(&list[i], t, true)
		if err != nil {
			return err
		}
		dst = append(dst, d)
		mask := uint64(0)
		if d >= 0 {
			mask = cut(^uint64(0), c.registers[list[i].reg].bits)
		}
		wide = append(wide, mask)
	}
	addr, offset, to, space, err := c.address(&c.in.args[1])
	st.run = load(to, space, addr, t.bits/8, offset, t.signed(), wide, dst)
	return err
}

func (c *compiler) store(st *step) error {
	if len(c.in.op.mods) == 0 {
		return c.unknown()
	}
	t, n, err := c.accessed()
	if err != nil {
		return err
	}
	list := elements(&c.in.args[1])
	if len(list) != n {
		return c.wrong("%d values", len(list))
	}
	src, err := c.sources(list, slices.Repeat([]typ{t}, n), true)
	if err != nil {
		return err
	}
	addr, offset, to, space, err := c.address(&c.in.args[0])
	if err == nil && (space == "param" || c.in.op.has("const")) {
		err = c.wrong("the memory is constant")
	}
	st.run = store(to, space, addr, t.bits/8, offset, src)
	return err
}

// async decodes cp.async and its groups.
func (c *compiler) async(st *step) error {
	in := c.in
	mods := strings.Join(in.op.without("L2::64B", "L2::128B", "L2::256B"), ".")
	switch mods {
	case "async.commit_group":
		st.run = commitGroup
		return c.arguments(0)
	case "async.wait_all":
		st.run = waitGroup(0, true)
		return c.arguments(0)
	case "async.wait_group":
		if err := c.arguments(1); err != nil {
			return err
		}
		if in.args[0].kind != intOperand || in.args[0].value > 1<<20 {
			return c.wrong("the number of groups is not a number")
		}
		st.run = waitGroup(int(in.args[0].value), false)
		return nil
	case "async.ca.shared.global", "async.cg.shared.global",
		"async.ca.shared::cta.global", "async.cg.shared::cta.global":
		return c.asyncCopy(st)
	}
	return c.unknown()
}

// asyncCopy decodes the copy of cp.async from global to shared memory.
func (c *compiler) asyncCopy(st *step) error {
	in := c.in
	if len(in.args) != 3 && len(in.args) != 4 {
		return c.wrong("%d operands", len(in.args))
	}
	n := in.args[2]
	if n.kind != intOperand || n.value != 16 && (n.value != 4 && n.value != 8 || in.op.mods[1] == "cg") {
		return c.wrong("the size is none of those that are possible")
	}
	// The two addresses are in different spaces: each is looked up as if the instruction named only that one.
	dst, dstOffset, err := c.addressIn("shared", &in.args[0])
	if err != nil {
		return err
	}
	src, srcOffset, err := c.addressIn("global", &in.args[1])
	if err != nil {
		return err
	}
	count := -1
	if len(in.args) == 4 {
		count, err = c.source(&in.args[3], types["u32"], false)
	}
	st.run = copyAsync(dst, src, dstOffset, srcOffset, int(n.value), count)
	return err
}

// addressIn returns the slot of an address in the named space, and what is to be added.
func (c *compiler) addressIn(space string, o *operand) (slot int, offset uint64, err error) {
	op := c.in.op
	defer func() { c.in.op = op }()
	c.in.op = opcode{text: op.text, base: "cp", mods: []string{space}}
	slot, offset, _, _, err = c.address(o)
	return slot, offset, err
}

var atomicOps = []string{"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}

var atomicMods = map[string]bool{
	"relaxed": true, "acquire": true, "release": true, "acq_rel": true, "cta": true, "gpu": true, "sys": true,
	"global": true, "shared": true, "shared::cta": true,
	"add": true, "min": true, "max": true, "and": true, "or": true, "xor": true,
	"exch": true, "cas": true, "inc": true, "dec": true,
}

// atomic decodes atom and red.
func (c *compiler) atomic(st *step) error {
	in := c.in
	op, t, err := c.atomicForm()
	if err != nil {
		return err
	}
	f := atomicFunction(op, t)
	if f == nil {
		return c.unknown()
	}
	args, result := in.args, -1
	if in.op.base == "atom" {
		if len(args) == 0 {
			return c.arguments(3)
		}
		if result, err = c.target(&args[0], t, false); err != nil {
			return err
		}
		args = args[1:]
	}
	want := 2
	if op == "cas" {
		want = 3
	}
	if len(args) != want || in.op.base == "red" && (op == "cas" || op == "exch") {
		return c.wrong("%d operands", len(in.args))
	}
	addr, offset, _, space, err := c.address(&args[0])
	if err != nil {
		return err
	}
	src, err := c.sources(args[1:], []typ{t, t}[:want-1], false)
	if err != nil {
		return err
	}
	st.run = atomicOp(space, addr, t.bits/8, offset, result, src, f)
	return nil
}

// atomicForm returns the name and the type of an atomic operation.
func (c *compiler) atomicForm() (op string, t typ, err error) {
	mods := c.in.op.mods
	if len(mods) == 0 {
		return "", t, c.unknown()
	}
	if err := c.known(atomicMods); err != nil {
		return "", t, err
	}
	last := len(mods) - 1
	t, ok := types[mods[last]]
	if !ok || t.bits < 32 {
		return "", t, c.unknown()
	}
	for _, m := range mods[:last] {
		if slices.Contains(atomicOps, m) {
			op = m
		}
	}
	return op, t, nil
}

// atomicFunctions are the atomic operations that are no instructions on registers.
var atomicFunctions = map[string]func(old, b, c uint64) uint64{
	"exch.b32": exchange, "exch.b64": exchange, "cas.b32": compareAndSwap, "cas.b64": compareAndSwap,
	"inc.u32": func(old, b, _ uint64) uint64 {
		if old >= b {
			return 0
		}
		return old + 1
	},
	"dec.u32": func(old, b, _ uint64) uint64 {
		if old == 0 || old > b {
			return b
		}
		return old - 1
	},
}

func exchange(_, b, _ uint64) uint64 { return b }

func compareAndSwap(old, b, c uint64) uint64 {
	if old == b {
		return c
	}
	return old
}

// atomicFunction returns what an atomic operation makes of the old value and its operands; nil: a type has none.
func atomicFunction(op string, t typ) func(old, b, c uint64) uint64 {
	name := op + "." + map[byte]string{'u': "u", 's': "s", 'f': "f", 'b': "b"}[t.kind] +
		map[int]string{32: "32", 64: "64"}[t.bits]
	if f := atomicFunctions[name]; f != nil {
		return f
	}
	switch {
	case !slices.Contains([]string{"add", "min", "max", "and", "or", "xor"}, op):
		return nil
	case t.pack != 1 || t.kind == 'f' && op != "add":
		return nil
	}
	o := table()[name]
	if o == nil || o.two == nil {
		return nil
	}
	return func(old, b, _ uint64) uint64 { return o.two(old, b) }
}
