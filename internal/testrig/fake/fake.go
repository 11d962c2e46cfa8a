//go:build cuda

package fake

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"github.com/largemvc/largemvc/internal/testrig/ptx"
)

// Card describes the device that the driver finds.
type Card struct {
	Memory     int64 // bytes
	Capability int   // as 80 for sm_80
	// Refuse is what the driver's compiler says of every text; empty: it takes them. RefuseAs is the number of the error; 0: that
	// of a text which is no PTX.
	Refuse   string
	RefuseAs int
	// Unmanaged is a card without managed memory, on which Gorgonia's allocator has none.
	Unmanaged bool
	// Fail is the number of the launch, from 1 on, at which the card is lost; 0: never. As on a real card, the launch itself is
	// told nothing of it: the next call is, and all that follow.
	Fail int
}

// Ampere is a card that takes all kernels, Ada one whose blocks may have less shared memory.
var (
	Ampere = Card{Memory: 16 << 30, Capability: 80}
	Ada    = Card{Memory: 16 << 30, Capability: 89}
)

// target is the card's architecture.
func (c *Card) target() string { return fmt.Sprintf("sm_%d", c.Capability) }

// Install puts the driver with a card behind the shims, and forgets what an earlier card held. The program must not use the
// driver at the time, and what it made on an earlier card is void.
func Install(c Card) {
	there.mutex.Lock()
	defer there.mutex.Unlock()
	there.card, there.memory, there.used = c, ptx.NewMemory(0), 0
	there.owners, there.launches, there.complaint = map[handle]*owner{}, 0, ""
	install()
}

// Symbol returns a function of the driver, as a library of CUDA does.
func Symbol(name string) (uintptr, error) {
	if f := symbol(name); f != 0 {
		return f, nil
	}
	return 0, fmt.Errorf("fake: no %s", name)
}

// Launches returns how many kernels the card has run, and Complaint what was wrong last, empty for nothing.
func Launches() int {
	there.mutex.Lock()
	defer there.mutex.Unlock()
	return there.launches
}

// Complaint returns what was wrong last; empty for nothing.
func Complaint() string {
	there.mutex.Lock()
	defer there.mutex.Unlock()
	return there.complaint
}

// Used returns the bytes of device memory that are taken.
func Used() int64 {
	there.mutex.Lock()
	defer there.mutex.Unlock()
	return there.used
}

// handle stands for a context, a module or a function.
type handle uintptr

// result is one of CUDA's numbers of errors.
type result int

const (
	success        result = 0
	invalidValue   result = 1
	outOfMemory    result = 2
	invalidContext result = 201
	noBinary       result = 209
	invalidPTX     result = 218
	invalidHandle  result = 400
	notFound       result = 500
	illegalAddress result = 700
	notSupported   result = 801
)

type driver struct {
	mutex     sync.Mutex
	card      Card
	memory    *ptx.Memory
	used      int64
	last      handle
	owners    map[handle]*owner
	launches  int
	complaint string
}

// there is the one driver of a process.
var there = &driver{}

// owner is a context with what belongs to it.
type owner struct {
	lost      result // what all calls return since a kernel failed
	plain     map[ptx.Ptr]int64
	managed   []managed
	modules   map[handle]*ptx.Module
	functions map[handle]*function
}

// managed is memory of the host that the card sees, too. The simulator has a copy, which is made again for each launch.
type managed struct {
	at   unsafe.Pointer
	size int64
	copy ptx.Ptr
}

func (m managed) holds(p uint64) bool {
	return p >= uint64(uintptr(m.at)) && p < uint64(uintptr(m.at))+uint64(m.size)
}

func (m managed) bytes() []byte { return unsafe.Slice((*byte)(m.at), m.size) }

type function struct {
	*ptx.Kernel
	shared int // bytes of dynamic shared memory that it may have
}

// withoutAsking is the shared memory, static and dynamic, that every function may have.
const withoutAsking = 48 << 10

func (d *driver) complain(r result, format string, args ...any) result {
	d.complaint = fmt.Sprintf(format, args...)
	return r
}

func (d *driver) free() int64 { return d.card.Memory - d.used }

func (d *driver) next() handle {
	d.last += 16
	return d.last
}

func (d *driver) newContext() handle {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	h := d.next()
	d.owners[h] = &owner{plain: map[ptx.Ptr]int64{}, modules: map[handle]*ptx.Module{}, functions: map[handle]*function{}}
	return h
}

func (d *driver) dropContext(h handle) result {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	x := d.owners[h]
	if x == nil {
		return d.complain(invalidContext, "a context was destroyed twice")
	}
	for p, n := range x.plain {
		_ = d.memory.Free(p) // it is there
		d.used -= n
	}
	for _, m := range x.managed {
		d.drop(m)
	}
	delete(d.owners, h)
	return success
}

func (d *driver) drop(m managed) {
	_ = d.memory.Free(m.copy) // it is there
	freeHost(m.at)
	d.used -= m.size
}

func (d *driver) alloc(x *owner, n int64, shared bool) (uint64, result) {
	if n <= 0 {
		return 0, invalidValue
	}
	if shared && d.card.Unmanaged {
		return 0, d.complain(notSupported, "managed memory")
	}
	if n > d.free() {
		return 0, d.complain(outOfMemory, "%d bytes, of which %d are free", n, d.free())
	}
	p, err := d.memory.Alloc(fmt.Sprintf("allocation of %d bytes", n), n)
	if err != nil {
		return 0, d.complain(outOfMemory, "%v", err)
	}
	d.used += n
	if !shared {
		x.plain[p] = n
		return uint64(p), success
	}
	m := managed{at: hostMemory(n), size: n, copy: p}
	x.managed = append(x.managed, m)
	return uint64(uintptr(m.at)), success
}

func (d *driver) release(x *owner, p uint64) result {
	for i, m := range x.managed {
		if uint64(uintptr(m.at)) == p {
			d.drop(m)
			x.managed = append(x.managed[:i], x.managed[i+1:]...)
			return success
		}
	}
	n, ok := x.plain[ptx.Ptr(p)]
	if !ok {
		return d.complain(invalidValue, "free of %#x, which is no allocation of the context", p)
	}
	if err := d.memory.Free(ptx.Ptr(p)); err != nil {
		return d.complain(invalidValue, "%v", err)
	}
	delete(x.plain, ptx.Ptr(p))
	d.used -= n
	return success
}

// host returns n bytes of managed memory, nil where p lies elsewhere.
func (x *owner) host(p uint64, n int) []byte {
	for _, m := range x.managed {
		if at := p - uint64(uintptr(m.at)); m.holds(p) && int64(at)+int64(n) <= m.size {
			return m.bytes()[at : at+uint64(n)]
		}
	}
	return nil
}

// owns says whether p lies in plain memory of the context.
func (x *owner) owns(p uint64) bool {
	for at, n := range x.plain {
		if p >= uint64(at) && p < uint64(at)+uint64(n) {
			return true
		}
	}
	return false
}

func (d *driver) read(x *owner, dst []byte, from uint64) result {
	if b := x.host(from, len(dst)); b != nil {
		copy(dst, b)
		return success
	}
	if !x.owns(from) {
		return d.complain(invalidValue, "a copy from %#x, which the context does not own", from)
	}
	if err := d.memory.Read(dst, ptx.Ptr(from)); err != nil {
		return d.complain(invalidValue, "%v", err)
	}
	return success
}

func (d *driver) write(x *owner, to uint64, src []byte) result {
	if b := x.host(to, len(src)); b != nil {
		copy(b, src)
		return success
	}
	if !x.owns(to) {
		return d.complain(invalidValue, "a copy to %#x, which the context does not own", to)
	}
	if err := d.memory.Write(ptx.Ptr(to), src); err != nil {
		return d.complain(invalidValue, "%v", err)
	}
	return success
}

// parsed are the modules of texts, which launches do not change.
var parsed = map[string]*ptx.Module{}

func (d *driver) load(x *owner, text string) (handle, string, result) {
	if d.card.Refuse != "" {
		return 0, d.card.Refuse, d.complain(cmp.Or(result(d.card.RefuseAs), invalidPTX), "%s", d.card.Refuse)
	}
	m := parsed[text]
	if m == nil {
		var err error
		if m, err = ptx.Parse(text); err != nil {
			return 0, err.Error(), d.complain(invalidPTX, "%v", err)
		}
		parsed[text] = m
	}
	if sm, ok := ptx.Capability(m.Target()); !ok || sm > d.card.Capability {
		return 0, "no code for the card", d.complain(noBinary, "a text for %s, the card is sm_%d", m.Target(), d.card.Capability)
	}
	h := d.next()
	x.modules[h] = m
	return h, "", success
}

func (d *driver) function(x *owner, m handle, name string) (handle, result) {
	module := x.modules[m]
	if module == nil {
		return 0, d.complain(invalidHandle, "the function %s of a module of another context", name)
	}
	k, err := module.Kernel(name)
	if err != nil {
		return 0, d.complain(notFound, "%v", err)
	}
	h := d.next()
	x.functions[h] = &function{k, withoutAsking - k.SharedBytes()}
	return h, success
}

func (d *driver) allowShared(x *owner, f handle, bytes int) result {
	fn := x.functions[f]
	if fn == nil {
		return d.complain(invalidHandle, "a function of another context")
	}
	if most := ptx.MaxShared(d.card.target()); bytes < 0 || bytes+fn.SharedBytes() > most {
		return d.complain(invalidValue, "%s asks for %d bytes of shared memory beside %d static ones, the card has %d", fn.Name(),
			bytes, fn.SharedBytes(), most)
	}
	fn.shared = bytes
	return success
}

// launch runs a kernel to its end.
func (d *driver) launch(x *owner, f handle, grid, block [3]int, shared int, params unsafe.Pointer) result {
	fn := x.functions[f]
	if fn == nil {
		return d.complain(invalidHandle, "a launch in another context")
	}
	if shared > fn.shared {
		return d.complain(invalidValue, "%s asks for %d bytes of dynamic shared memory and may have %d", fn.Name(), shared,
			fn.shared)
	}
	d.launches++
	if d.launches == d.card.Fail {
		x.lost = illegalAddress
		d.complain(x.lost, "the card was to fail")
		return success
	}
	args, seen := d.arguments(x, fn, params)
	for _, m := range seen {
		if err := d.memory.Write(m.copy, m.bytes()); err != nil {
			return d.complain(invalidValue, "%v", err)
		}
	}
	_, err := fn.Launch(context.Background(), d.memory, ptx.Launch{Grid: grid, Block: block, Shared: shared, Args: args,
		Target: d.card.target()})
	for _, m := range seen {
		if err == nil {
			err = d.memory.Read(m.bytes(), m.copy)
		}
	}
	if err != nil {
		x.lost = illegalAddress
		return d.complain(x.lost, "kernel %s: %v", fn.Name(), err)
	}
	return success
}

// arguments reads a launch's arguments as the kernel's parameters say, and returns the managed memory that they point to; in
// that, addresses are those of the simulator's copy.
func (d *driver) arguments(x *owner, fn *function, params unsafe.Pointer) (args []any, seen []managed) {
	list := fn.Params()
	places := unsafe.Slice((*unsafe.Pointer)(params), len(list))
	for i, p := range list {
		raw := unsafe.Slice((*byte)(places[i]), p.Size)
		switch p.Size {
		case 4:
			args = append(args, binary.LittleEndian.Uint32(raw))
		case 8:
			bits := binary.LittleEndian.Uint64(raw)
			for _, m := range x.managed {
				if m.holds(bits) {
					bits += uint64(m.copy) - uint64(uintptr(m.at))
					seen = append(seen, m)
					break
				}
			}
			args = append(args, bits)
		default:
			args = append(args, raw)
		}
	}
	return args, seen
}
