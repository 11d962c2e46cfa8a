package kernel

import "unsafe"

// mulRows is the number of rows of X that go through all strips together: a block that stays in the second-level cache.
const mulRows = 96

// aheadRows is how far in front of the rows at work the kernels ask for data, so that rows that come from memory are there
// in time; the next rows of a block of data follow in memory, and asking for what is not needed does no harm.
const aheadRows = 12

// zeroBlock is the operand of the kernels where nothing is to be added.
var zeroBlock [128]byte

// Mul computes Y = X·B for n rows of X (stride ldx, k columns) into Y (stride ldy ≥ Pad(m)); with add, Y += X·B.
// The columns of Y from m to Pad(m) become zero (with add: stay as they are). A row of Y has the same bits whatever n, the
// place of the row and the alignment.
func Mul[T Float](n int, x []T, ldx int, b *Panel[T], y []T, ldy int, add bool) {
	if n <= 0 || b.m == 0 {
		return
	}
	pad := Pad(b.m)
	_ = y[(n-1)*ldy+pad-1]
	if b.k == 0 {
		for i := 0; i < n && !add; i++ {
			clear(y[i*ldy : i*ldy+pad])
		}
		return
	}
	_ = x[(n-1)*ldx+b.k-1]
	b.complete()
	switch b.form {
	case formDot:
		mulPortable(n, x, ldx, b, y, ldy, add)
	case formLanesM:
		mulLanesM(n, x, ldx, b, y, ldy, add)
	case formLanesK:
		mulLanesK(n, x, ldx, b, y, ldy, add)
	}
}

// kind is the number of the element type in the tables of kernels.
func kind[T Float]() int {
	var t T
	return int(unsafe.Sizeof(t) / 8)
}

func mulLanesM[T Float](n int, x []T, ldx int, b *Panel[T], y []T, ldy int, add bool) {
	var t T
	size := int(unsafe.Sizeof(t))
	l := lanes[T](b.path)
	vectors, done := (b.m+l-1)/l, 0
	if n == 1 {
		done = mulStrips(x, b, y, add)
	}
	first := firstMul[b.path][kind[T]()] - 1
	kc := blockRows[T](b.k, stripVectors(b.path, vectors)*l)
	args := mulArgs{ahead: aheadRows * ldx * size, ldx: ldx * size, ldy: ldy * size}
	for i0 := 0; i0 < n; i0 += mulRows {
		args.n = min(mulRows, n-i0)
		for k0 := 0; k0 < b.k; k0 += kc {
			args.k = min(kc, b.k-k0)
			args.x = unsafe.Pointer(&x[i0*ldx+k0])
			load := add || k0 > 0
			args.load, args.keep, args.store = 0, l, l
			if load {
				args.load = 1
			}
			for j, nv := done, vectors-done/l; nv > 0; {
				w := stripVectors(b.path, nv)
				if nv -= w; nv == 0 {
					last := b.m - j - (w-1)*l
					if load {
						args.store = last
					} else {
						args.keep = last
					}
				}
				args.b = unsafe.Pointer(&b.data[j*b.k+k0*w*l])
				args.y = unsafe.Pointer(&y[i0*ldy+j])
				callMul(first+w, &args)
				j += w * l
			}
		}
	}
	if done, pad := vectors*l, Pad(b.m); !add && done < pad {
		for i := range n {
			clear(y[i*ldy+done : i*ldy+pad])
		}
	}
}

// mulStrips multiplies a single row by strips of B that are all of whole vectors, some side by side, where the path has kernels
// for that. It returns the number of columns that it has done, the first ones.
func mulStrips[T Float](x []T, b *Panel[T], y []T, add bool) (done int) {
	var t T
	size := int(unsafe.Sizeof(t))
	together, width := blockings[b.path].together, blockings[b.path].strip*lanes[T](b.path)
	if together == 0 {
		return 0
	}
	args := stripsArgs{k: b.k, x: unsafe.Pointer(&x[0]), stride: b.k * width * size}
	if add {
		args.load = 1
	}
	for ; done+together*width <= b.m; done += together * width {
		args.b, args.y = unsafe.Pointer(&b.data[done*b.k]), unsafe.Pointer(&y[done])
		callStrips(firstStrips[b.path][kind[T]()], &args)
	}
	return done
}

func mulLanesK[T Float](n int, x []T, ldx int, b *Panel[T], y []T, ldy int, add bool) {
	var t T
	size := int(unsafe.Sizeof(t))
	l := lanes[T](b.path)
	chunks := (b.k + l - 1) / l
	first := firstDot[b.path][kind[T]()] - 1
	kc := blockRows[T](b.k, stripColumns[T](b.path, b.m))
	per, treeLanes := 16/size, 0
	if b.path == pathAVX512 && size == 4 {
		treeLanes = l
	}
	args := dotArgs{ahead: aheadRows * ldx * size, ldx: ldx * size, ldy: ldy * size}
	for i0 := 0; i0 < n; i0 += mulRows {
		args.n = min(mulRows, n-i0)
		for k0 := 0; k0 < b.k; k0 += kc {
			kk := min(kc, b.k-k0)
			args.steps, args.tail = kk/l, kk%l
			args.x = unsafe.Pointer(&x[i0*ldx+k0])
			load := add || k0 > 0
			for j := 0; j < b.m; {
				c := stripColumns[T](b.path, b.m-j)
				args.b = unsafe.Pointer(&b.data[j*chunks*l+k0*c])
				args.y = unsafe.Pointer(&y[i0*ldy+j])
				args.old, args.ldold, args.zeros, args.store = unsafe.Pointer(&zeroBlock), 0, 0, c
				if load {
					args.old, args.ldold = args.y, args.ldy
				} else if j+c == b.m {
					rest := Pad(b.m) - j // columns of the strip and of zeros behind it
					args.store = min(rest, l)
					args.zeros = (rest - max((c+per-1)/per*per, min(rest, treeLanes))) / per
				}
				callDot(first+c, &args)
				j += c
			}
		}
	}
}
