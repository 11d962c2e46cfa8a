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
	var src []int
	for i := range list {
		s, err := c.source(&list[i], t, true)
		if err != nil {
			return err
		}
		src = append(src, s)
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
	default:
		return c.unknown()
	}
	if len(in.args) != 3 && len(in.args) != 4 {
		return c.wrong("%d operands", len(in.args))
	}
	n := in.args[2]
	if n.kind != intOperand || n.value != 16 && (n.value != 4 && n.value != 8 || in.op.mods[1] == "cg") {
		return c.wrong("the size is none of those that are possible")
	}
	// The two addresses are in different spaces: each is looked up as if the instruction named only that one.
	op := in.op
	in.op = newOpcode("cp.shared")
	in.op.text = op.text
	dst, dstOffset, _, _, err := c.address(&in.args[0])
	if err == nil {
		var src, count int
		var srcOffset uint64
		in.op.mods = []string{"global"}
		src, srcOffset, _, _, err = c.address(&in.args[1])
		in.op = op
		if count = -1; err == nil && len(in.args) == 4 {
			count, err = c.source(&in.args[3], types["u32"], false)
		}
		st.run = copyAsync(dst, src, dstOffset, srcOffset, int(n.value), count)
	}
	in.op = op
	return err
}

var atomicMods = map[string]bool{
	"relaxed": true, "acquire": true, "release": true, "acq_rel": true, "cta": true, "gpu": true, "sys": true,
	"global": true, "shared": true, "shared::cta": true,
	"add": true, "min": true, "max": true, "and": true, "or": true, "xor": true,
	"exch": true, "cas": true, "inc": true, "dec": true,
}

// atomic decodes atom and red.
func (c *compiler) atomic(st *step) error {
	in := c.in
	if len(in.op.mods) == 0 {
		return c.unknown()
	}
	if err := c.known(atomicMods); err != nil {
		return err
	}
	t, ok := types[in.op.mods[len(in.op.mods)-1]]
	if !ok || t.bits < 32 {
		return c.unknown()
	}
	op := ""
	for _, m := range in.op.mods[:len(in.op.mods)-1] {
		switch m {
		case "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec":
			op = m
		}
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
		var err error
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
	var src []int
	for i := range args[1:] {
		s, err := c.source(&args[1+i], t, false)
		if err != nil {
			return err
		}
		src = append(src, s)
	}
	st.run = atomicOp(space, addr, t.bits/8, offset, result, src, f)
	return nil
}

func atomicFunction(op string, t typ) func(old, b, c uint64) uint64 {
	name := map[byte]string{'u': "u", 's': "s", 'f': "f", 'b': "b"}[t.kind] + map[int]string{32: "32", 64: "64"}[t.bits]
	switch op {
	case "exch":
		if t.kind == 'b' {
			return func(_, b, _ uint64) uint64 { return b }
		}
	case "cas":
		if t.kind == 'b' {
			return func(old, b, c uint64) uint64 {
				if old == b {
					return c
				}
				return old
			}
		}
	case "inc":
		if name == "u32" {
			return func(old, b, _ uint64) uint64 {
				if old >= b {
					return 0
				}
				return old + 1
			}
		}
	case "dec":
		if name == "u32" {
			return func(old, b, _ uint64) uint64 {
				if old == 0 || old > b {
					return b
				}
				return old - 1
			}
		}
	case "and", "or", "xor":
		if t.kind != 'b' {
			return nil
		}
		fallthrough
	case "add", "min", "max":
		if t.kind == 'f' && op != "add" || t.pack != 1 {
			return nil
		}
		if o := table()[op+"."+name]; o != nil && o.two != nil {
			two := o.two
			return func(old, b, _ uint64) uint64 { return two(old, b) }
		}
	}
	return nil
}
