package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestShuffles compares the four ways of shfl.sync, whole and in segments, with the manual's words.
func TestShuffles(t *testing.T) {
	for _, mode := range []string{"up", "down", "bfly", "idx"} {
		for _, segment := range []int{32, 16, 8, 4} {
			for _, b := range []int{0, 1, 3, 4, 9, 16, 31} {
				clamp := 31
				if mode == "up" {
					clamp = 0
				}
				c := (32-segment)<<8 | clamp
				text := fmt.Sprintf("add.u32 %%r1, %%r30, 100;\nshfl.sync.%s.b32 %%r2|%%p1, %%r1, %d, %d, -1;\n"+
					"selp.u32 %%r3, 1000, 0, %%p1;\n"+
					"add.u32 %%r0, %%r2, %%r3;\n", mode, b, c)
				expect(t, fmt.Sprint(mode, " ", segment, " ", b), 64, text, func(i int) uint32 {
					lane, first := i%32, i%32/segment*segment
					from, ok := 0, true
					switch mode {
					case "up":
						from, ok = lane-b, lane-b >= first
					case "down":
						from, ok = lane+b, lane+b < first+segment
					case "bfly":
						from, ok = lane^b, lane^b < first+segment
					case "idx":
						from = first + b%segment
					}
					if !ok {
						from = lane
					}
					return uint32(100+i-lane+from) + 1000*truth(ok)
				})
			}
		}
	}
	// Two halves of a warp, each for itself, after they parted.
	expect(t, "halves", 32, "setp.lt.u32 %p1, %r30, 16;\n@%p1 bra low;\n"+
		"shfl.sync.bfly.b32 %r0, %r30, 1, 31, 0xffff0000;\nbra over;\n"+
		"low:\nshfl.sync.bfly.b32 %r0, %r30, 2, 31, 0x0000ffff;\nover:\n", func(i int) uint32 {
		if i < 16 {
			return uint32(i ^ 2)
		}
		return uint32(i ^ 1)
	})
}

// TestVotes tries the other instructions of whole warps.
func TestVotes(t *testing.T) {
	expect(t, "ballot", 64, "and.b32 %r1, %r30, 3;\nsetp.eq.u32 %p1, %r1, 1;\nvote.sync.ballot.b32 %r0, %p1, -1;\n",
		func(int) uint32 { return 0x22222222 })
	expect(t, "ballot of the negated", 64, "setp.ge.u32 %p1, %r30, 40;\nvote.sync.ballot.b32 %r0, !%p1, -1;\n",
		func(i int) uint32 {
			if i < 32 {
				return 0xffffffff
			}
			return 0xff
		})
	expect(t, "activemask", 32, "mov.u32 %r0, 0;\nsetp.lt.u32 %p1, %r30, 5;\n@%p1 activemask.b32 %r0;\n", func(i int) uint32 {
		return 0x1f * truth(i < 5)
	})
	for op, want := range map[string]uint32{"add.s32": 31 * 16, "min.u32": 0, "max.s32": 31, "or.b32": 31,
		"and.b32": 0, "xor.b32": 0} {
		expect(t, "redux."+op, 32, "redux.sync."+op+" %r0, %r30, -1;\n", func(int) uint32 { return want })
	}
	expect(t, "match", 64, "and.b32 %r1, %r30, 7;\nmatch.any.sync.b32 %r0, %r1, -1;\n",
		func(i int) uint32 { return 0x01010101 << (i & 7) })
	expect(t, "lanes", 64, "mov.u32 %r1, %laneid;\nmov.u32 %r2, %lanemask_lt;\nmov.u32 %r3, %lanemask_ge;\n"+
		"mov.u32 %r4, %lanemask_eq;\n"+
		"mov.u32 %r5, %lanemask_le;\nmov.u32 %r6, %lanemask_gt;\nxor.b32 %r7, %r2, %r3;\nxor.b32 %r8, %r5, %r6;\n"+
		"and.b32 %r7, %r7, %r8;\n"+
		"and.b32 %r8, %r4, %r5;\nand.b32 %r8, %r8, %r3;\nclz.b32 %r8, %r8;\nadd.u32 %r8, %r8, %r1;\nadd.u32 %r0, %r7, %r8;\n",
		func(int) uint32 { return 30 }) // all ones and 31
}

// TestAtomics holds that atomics of all threads make the sum of what they add, and others what they say.
func TestAtomics(t *testing.T) {
	for _, c := range []struct {
		op, value string
		first     uint32
		want      uint32
	}{
		{"add.u32", "%r33", 5, 5 + 127*64}, {"min.s32", "%r33", 9, 0}, {"max.u32", "%r33", 9, 127}, {"or.b32", "%r33",
			0, 127},
		{"and.b32", "%r33", 0xff, 0}, {"xor.b32", "%r33", 1, 1}, {"inc.u32", "99", 3, (3 + 128) % 100}, {"dec.u32",
			"99", 3, (3 + 100 - 28) % 100},
	} {
		for _, form := range []string{"red.global.", "red.relaxed.gpu.global.", "atom.global.", "atom.", "shared"} {
			var body string
			switch {
			case form == "shared":
				body = sharedWords + fmt.Sprintf("setp.eq.u32 %%p1, %%r30, 0;\n@%%p1 st.shared.u32 [s], %d;\nbar.sync 0;\n"+
					"atom.shared.%s %%r1, [s], %s;\nbar.sync 0;\n@!%%p1 ret;\nld.shared.u32 %%r1, [s];\n"+
					"st.global.u32 [%%d30], %%r1;\n",
					c.first, c.op, c.value)
			case strings.HasPrefix(form, "red"):
				body = form + c.op + " [%d30], " + c.value + ";\n"
			default:
				body = form + c.op + " %r1, [%d30], " + c.value + ";\n"
			}
			k := kernel(t, entry(1, body))
			m := NewMemory(0)
			a := alloc(t, m, "a", 1, false)
			if err := Upload(m, a, []uint32{c.first}); err != nil {
				t.Fatal(err)
			}
			grid, block := 4, 32
			if form == "shared" {
				grid, block = 1, 128
			}
			if err := launch(k, m, grid, block, a); err != nil {
				t.Fatal(c, form, err)
			}
			if got := words(t, m, a, 1)[0]; got != c.want {
				t.Errorf("%s%s: %d, not %d", form, c.op, got, c.want)
			}
		}
	}
	// Each thread gets another ticket; a float sum of small whole numbers is exact in any order.
	expect(t, "cas and exch", 1, "atom.global.exch.b32 %r1, [%d30], 8;\natom.global.cas.b32 %r2, [%d30], 8, 9;\n"+
		"atom.global.cas.b32 %r3, [%d30], 8, 10;\nshl.b32 %r2, %r2, 8;\nshl.b32 %r3, %r3, 16;\nor.b32 %r0, %r1, %r2;\n"+
		"or.b32 %r0, %r0, %r3;\n",
		func(int) uint32 { return 0 | 8<<8 | 9<<16 })
	k := kernel(t, entry(1, "atom.global.add.f32 %f1, [%d30], 0f3F800000;\n"+
		"red.global.add.f64 [%d30+8], 0d3FE0000000000000;\n"+
		"red.global.add.u64 [%d30+16], 0x100000001;\n"))
	m := NewMemory(0)
	a, _ := m.Alloc("a", 24)
	if err := m.Fill(a, 0, 24); err != nil {
		t.Fatal(err)
	}
	if err := launch(k, m, 3, 32, a); err != nil {
		t.Fatal(err)
	}
	out := make([]uint64, 3)
	if err := Download(m, out, a); err != nil {
		t.Fatal(err)
	}
	if f := math.Float32frombits(uint32(out[0])); f != 96 || math.Float64frombits(out[1]) != 48 || out[2] != 96<<32|96 {
		t.Errorf("%v %v %#x", f, math.Float64frombits(out[1]), out[2])
	}
}

// TestParting runs loops and branches that part warps in many ways, and compares with the same program in Go.
func TestParting(t *testing.T) {
	// Collatz: every lane loops as often as its number takes, with a branch in the loop, and all meet at the shuffle.
	text := "add.u32 %r1, %r30, 1;\nmov.u32 %r2, 0;\nagain:\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra out;\n" +
		"and.b32 %r3, %r1, 1;\n" +
		"setp.ne.u32 %p2, %r3, 0;\n@%p2 bra odd;\nshr.u32 %r1, %r1, 1;\nbra next;\nodd:\nmad.lo.u32 %r1, %r1, 3, 1;\n" +
		"next:\n" +
		"add.u32 %r2, %r2, 1;\nbra again;\nout:\nshfl.sync.bfly.b32 %r0, %r2, 1, 31, -1;\n"
	collatz := func(n uint32) (steps uint32) {
		for ; n != 1; steps++ {
			if n&1 != 0 {
				n = 3*n + 1
			} else {
				n /= 2
			}
		}
		return steps
	}
	expect(t, "collatz", 96, text, func(i int) uint32 { return collatz(uint32(i^1) + 1) })
	// The code after the branch lies before it, so that the lanes that go on are those behind.
	expect(t, "backwards", 64, "setp.lt.u32 %p1, %r30, 10;\nbra start;\nfirst:\nadd.u32 %r0, %r30, 100;\nbra over;\n"+
		"start:\n@%p1 bra first;\n"+
		"add.u32 %r0, %r30, 200;\nover:\nshfl.sync.idx.b32 %r1, %r0, 0, 31, -1;\nadd.u32 %r0, %r0, %r1;\n",
		func(i int) uint32 {
			v := func(i int) uint32 {
				if i < 10 {
					return uint32(i) + 100
				}
				return uint32(i) + 200
			}
			return v(i) + v(i&^31)
		})
	expect(t, "table", 64, "t: .branchtargets zero, one, two, one;\nand.b32 %r1, %r30, 3;\nmov.u32 %r0, 9;\n"+
		"setp.lt.u32 %p1, %r30, 60;\n"+
		"@%p1 brx.idx %r1, t;\nbra over;\nzero:\nmov.u32 %r0, 10;\nbra over;\none:\nmov.u32 %r0, 11;\nbra over;\ntwo:\n"+
		"mov.u32 %r0, 12;\nover:\n",
		func(i int) uint32 {
			if i >= 60 {
				return 9
			}
			return []uint32{10, 11, 12, 11}[i&3]
		})
	// Lanes wait at the shuffle, which lies before the code that the others come from.
	expect(t, "waiting", 64, "mov.u32 %r2, 5;\nsetp.lt.u32 %p1, %r30, 40;\nbra start;\nhere:\n"+
		"shfl.sync.bfly.b32 %r0, %r2, 31, 31, -1;\nbra out;\nstart:\n@%p1 bra here;\nmov.u32 %r2, 6;\nbra here;\nout:\n",
		func(i int) uint32 { return 5 + truth(i^31 >= 40) })
	// Lanes end one after the other; those that are left go on.
	expect(t, "ending", 64, "mov.u32 %r0, 1;\nsetp.gt.u32 %p1, %r30, 63;\n@%p1 exit;\nmov.u32 %r2, 0;\nloop:\n"+
		"add.u32 %r2, %r2, 1;\n"+
		"setp.lt.u32 %p2, %r2, %r30;\n@%p2 bra loop;\nadd.u32 %r0, %r2, 1;\n",
		func(i int) uint32 { return max(uint32(i), 1) + 1 })
}
