package ptx

import "math"

// loops gives the operations that kernels execute most a loop over all lanes, without a call for each.
func loops(t map[string]*operation) {
	for _, name := range []string{"u32", "s32"} {
		t["add."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = uint64(uint32(a[l]) + uint32(b[l]))
			}
		}
		t["sub."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = uint64(uint32(a[l]) - uint32(b[l]))
			}
		}
		t["mul.lo."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = uint64(uint32(a[l]) * uint32(b[l]))
			}
		}
		t["mad.lo."+name].all3 = func(d, a, b, c *lanes) {
			for l := range d {
				d[l] = uint64(uint32(a[l])*uint32(b[l]) + uint32(c[l]))
			}
		}
	}
	for _, name := range []string{"u64", "s64"} {
		t["add."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = a[l] + b[l]
			}
		}
		t["sub."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = a[l] - b[l]
			}
		}
		t["mul.lo."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = a[l] * b[l]
			}
		}
		t["mad.lo."+name].all3 = func(d, a, b, c *lanes) {
			for l := range d {
				d[l] = a[l]*b[l] + c[l]
			}
		}
	}
	t["mul.wide.u32"].all2 = func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] * b[l]
		}
	}
	t["mul.wide.s32"].all2 = func(d, a, b *lanes) {
		for l := range d {
			d[l] = uint64(int64(int32(a[l])) * int64(int32(b[l])))
		}
	}
	for _, name := range []string{"b16", "b32", "b64"} {
		t["and."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = a[l] & b[l]
			}
		}
		t["or."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = a[l] | b[l]
			}
		}
		t["xor."+name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = a[l] ^ b[l]
			}
		}
	}
	t["shl.b32"].all2 = func(d, a, b *lanes) {
		for l := range d {
			d[l] = uint64(uint32(a[l]) << b[l])
		}
	}
	t["shl.b64"].all2 = func(d, a, b *lanes) {
		for l := range d {
			d[l] = a[l] << b[l]
		}
	}
	for _, name := range []string{"shr.u32", "shr.b32", "shr.u64", "shr.b64"} {
		t[name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = a[l] >> b[l]
			}
		}
	}
	t["cvt.s64.s32"].all1 = func(d, a *lanes) {
		for l := range d {
			d[l] = uint64(int64(int32(a[l])))
		}
	}
	for _, name := range []string{"cvt.u32.u64", "cvt.u64.u32", "cvt.s64.u32"} {
		t[name].all1 = func(d, a *lanes) {
			for l := range d {
				d[l] = uint64(uint32(a[l]))
			}
		}
	}
	for _, name := range []string{"add.f32", "add.rn.f32"} {
		t[name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = b32(math.Float32frombits(uint32(a[l])) + math.Float32frombits(uint32(b[l])))
			}
		}
	}
	for _, name := range []string{"sub.f32", "sub.rn.f32"} {
		t[name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = b32(math.Float32frombits(uint32(a[l])) - math.Float32frombits(uint32(b[l])))
			}
		}
	}
	for _, name := range []string{"mul.f32", "mul.rn.f32"} {
		t[name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = b32(math.Float32frombits(uint32(a[l])) * math.Float32frombits(uint32(b[l])))
			}
		}
	}
	t["fma.rn.f32"].all3 = func(d, a, b, c *lanes) {
		for l := range d {
			d[l] = b32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
		}
	}
	for _, name := range []string{"add.f64", "add.rn.f64"} {
		t[name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = b64(math.Float64frombits(a[l]) + math.Float64frombits(b[l]))
			}
		}
	}
	for _, name := range []string{"mul.f64", "mul.rn.f64"} {
		t[name].all2 = func(d, a, b *lanes) {
			for l := range d {
				d[l] = b64(math.Float64frombits(a[l]) * math.Float64frombits(b[l]))
			}
		}
	}
	t["fma.rn.f64"].all3 = func(d, a, b, c *lanes) {
		for l := range d {
			d[l] = b64(math.FMA(math.Float64frombits(a[l]), math.Float64frombits(b[l]), math.Float64frombits(c[l])))
		}
	}
}
