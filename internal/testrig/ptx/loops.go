package ptx

import (
	"math"
	"strings"
)

// loops gives the operations that kernels execute most a loop over all lanes, without a call for each.
func loops(t map[string]*operation) {
	for _, l := range fastLoops {
		for _, name := range strings.Fields(l.names) {
			t[name].all1, t[name].all2, t[name].all3 = l.all1, l.all2, l.all3
		}
	}
}

// A fastLoop computes all lanes of the operations that it names. One of its functions is set.
type fastLoop struct {
	names string
	all1  func(d, a *lanes)
	all2  func(d, a, b *lanes)
	all3  func(d, a, b, c *lanes)
}

var fastLoops = []fastLoop{
	{names: "add.u32 add.s32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = uint64(uint32(a[l]) + uint32(b[l]))
		}
	}},
	{names: "sub.u32 sub.s32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = uint64(uint32(a[l]) - uint32(b[l]))
		}
	}},
	{names: "mul.lo.u32 mul.lo.s32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = uint64(uint32(a[l]) * uint32(b[l]))
		}
	}},
	{names: "mad.lo.u32 mad.lo.s32", all3: func(d, a, b, c *lanes) {
		for l := range d {
			d[l] = uint64(uint32(a[l])*uint32(b[l]) + uint32(c[l]))
		}
	}},
	{names: "add.u64 add.s64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] + b[l]
		}
	}},
	{names: "sub.u64 sub.s64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] - b[l]
		}
	}},
	{names: "mul.lo.u64 mul.lo.s64 mul.wide.u32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] * b[l]
		}
	}},
	{names: "mad.lo.u64 mad.lo.s64", all3: func(d, a, b, c *lanes) {
		for l := range d {
			d[l] = a[l]*b[l] + c[l]
		}
	}},
	{names: "mul.wide.s32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = uint64(int64(int32(a[l])) * int64(int32(b[l])))
		}
	}},
	{names: "and.b16 and.b32 and.b64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] & b[l]
		}
	}},
	{names: "or.b16 or.b32 or.b64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] | b[l]
		}
	}},
	{names: "xor.b16 xor.b32 xor.b64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] ^ b[l]
		}
	}},
	{names: "shl.b32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = uint64(uint32(a[l]) << b[l])
		}
	}},
	{names: "shl.b64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] << b[l]
		}
	}},
	{names: "shr.u32 shr.b32 shr.u64 shr.b64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] >> b[l]
		}
	}},
	{names: "cvt.s64.s32", all1: func(d, a *lanes) {
		for l := range d {
			d[l] = uint64(int64(int32(a[l])))
		}
	}},
	{names: "cvt.u32.u64 cvt.u64.u32 cvt.s64.u32", all1: func(d, a *lanes) {
		for l := range d {
			d[l] = uint64(uint32(a[l]))
		}
	}},
	{names: "add.f32 add.rn.f32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = b32(math.Float32frombits(uint32(a[l])) + math.Float32frombits(uint32(b[l])))
		}
	}},
	{names: "sub.f32 sub.rn.f32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = b32(math.Float32frombits(uint32(a[l])) - math.Float32frombits(uint32(b[l])))
		}
	}},
	{names: "mul.f32 mul.rn.f32", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = b32(math.Float32frombits(uint32(a[l])) * math.Float32frombits(uint32(b[l])))
		}
	}},
	{names: "fma.rn.f32", all3: func(d, a, b, c *lanes) {
		for l := range d {
			d[l] = b32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
		}
	}},
	{names: "add.f64 add.rn.f64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = b64(math.Float64frombits(a[l]) + math.Float64frombits(b[l]))
		}
	}},
	{names: "mul.f64 mul.rn.f64", all2: func(d, a, b *lanes) {
		for l := range d {
			d[l] = b64(math.Float64frombits(a[l]) * math.Float64frombits(b[l]))
		}
	}},
	{names: "fma.rn.f64", all3: func(d, a, b, c *lanes) {
		for l := range d {
			d[l] = b64(math.FMA(f64(a[l]), f64(b[l]), f64(c[l])))
		}
	}},
}
