package ptx

import (
	"fmt"
	"testing"
)

// TestTraffic counts the sectors and bank passes of accesses whose cost is known.
func TestTraffic(t *testing.T) {
	for _, c := range []struct {
		name                       string
		body                       string // the address of an access from the lane in %r30
		sectors, passes, conflicts int64
	}{
		{"neighbouring words", "mul.wide.u32 %d1, %r30, 4;\nadd.s64 %d1, %d1, %d30;\nld.global.u32 %r1, [%d1];\n", 4, 0, 0},
		{"neighbours in reverse", "sub.u32 %r2, 31, %r30;\nmul.wide.u32 %d1, %r2, 4;\nadd.s64 %d1, %d1, %d30;\n" +
			"ld.global.u32 %r1, [%d1];\n", 4, 0, 0},
		{"one word for all", "ld.global.u32 %r1, [%d30];\n", 1, 0, 0},
		{"every eighth word", "mul.wide.u32 %d1, %r30, 32;\nadd.s64 %d1, %d1, %d30;\nld.global.u32 %r1, [%d1];\n", 32, 0, 0},
		{"vectors", "mul.wide.u32 %d1, %r30, 16;\nadd.s64 %d1, %d1, %d30;\n" +
			"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];\n", 16, 0, 0},
		{"generic", "mul.wide.u32 %d1, %r30, 4;\nadd.s64 %d1, %d1, %d30;\nld.u32 %r1, [%d1];\n", 4, 0, 0},
		{"a bank for each lane", "shl.b32 %r1, %r30, 2;\nst.shared.u32 [%r1], 0;\n", 0, 1, 0},
		{"two words a bank", "shl.b32 %r1, %r30, 3;\nst.shared.u32 [%r1], 0;\n", 0, 2, 1},
		{"one bank", "shl.b32 %r1, %r30, 7;\nst.shared.u32 [%r1], 0;\n", 0, 32, 31},
		{"doubles", "shl.b32 %r1, %r30, 3;\nst.shared.u64 [%r1], %d30;\n", 0, 2, 0},
		{"vectors of 16", "shl.b32 %r1, %r30, 4;\nst.shared.v2.u64 [%r1], {%d30, %d30};\n", 0, 4, 0},
		{"vectors of 16, one bank", "shl.b32 %r1, %r30, 7;\nst.shared.v2.u64 [%r1], {%d30, %d30};\n", 0, 32, 28},
		{"copies", "mul.wide.u32 %d1, %r30, 16;\nadd.s64 %d1, %d1, %d30;\nshl.b32 %r1, %r30, 4;\n" +
			"cp.async.cg.shared.global [%r1], [%d1], 16;\n", 16, 4, 0},
		{"copies of nothing", "mov.u32 %r2, 0;\nshl.b32 %r1, %r30, 4;\n" +
			"cp.async.cg.shared.global [%r1], [%d30], 16, %r2;\n", 0, 4, 0},
		{"half of the lanes", "setp.lt.u32 %p1, %r30, 16;\nmul.wide.u32 %d1, %r30, 4;\nadd.s64 %d1, %d1, %d30;\n" +
			"@%p1 ld.global.u32 %r1, [%d1];\n", 2, 0, 0},
	} {
		k := kernel(t, entry(1, ".shared .align 16 .b8 s[4096];\nmov.u32 %r9, s;\n"+c.body))
		m := NewMemory(0)
		a := alloc(t, m, "a", 256, true)
		stats, err := k.Launch(t.Context(), m, Launch{Block: [3]int{32}, Args: []any{a}})
		if err != nil {
			t.Fatal(c.name, err)
		}
		got := fmt.Sprint(stats.GlobalSectors, stats.SharedWavefronts, stats.SharedConflicts)
		if want := fmt.Sprint(c.sectors, c.passes, c.conflicts); got != want || stats.Blocks != 1 {
			t.Errorf("%s: %s, not %s", c.name, got, want)
		}
	}
}

// TestStats counts instructions, bytes and operations of a kernel by hand.
func TestStats(t *testing.T) {
	k := kernel(t, entry(1, own1+"ld.global.f32 %f1, [%d1];\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.f32 %f1, %f1, %f1;\n"+
		"st.global.f32 [%d1], %f1;\n"+
		"setp.lt.u32 %p1, %r30, 8;\n@%p1 mul.f64 %d2, %d30, %d30;\n@!%p1 fma.rn.f64 %d2, %d30, %d30, %d30;\n"))
	m := NewMemory(0)
	a := alloc(t, m, "a", 128, true)
	stats, err := k.Launch(t.Context(), m, Launch{Grid: [3]int{2}, Block: [3]int{40}, Args: []any{a}})
	if err != nil {
		t.Fatal(err)
	}
	// 5 instructions of the entry, 2 for the address, 7 of which the last two are for part of the threads, and ret.
	want := Stats{Instructions: 2 * (40*13 + 40), WarpInstructions: 2 * 2 * 15, Blocks: 2, GlobalRead: 320,
		GlobalWritten: 320,
		GlobalSectors: 2 * (4 + 1) * 2, Float32: 2 * 40 * 3, Float64: 2 * (8 + 2*32)}
	if stats != want {
		t.Errorf("%+v\nnot\n%+v", stats, want)
	}
}

const own1 = "mul.wide.u32 %d0, %r33, 4;\nadd.s64 %d1, %d30, %d0;\n"
