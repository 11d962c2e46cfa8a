package ptx

import (
	"strings"
	"testing"
)

// TestReadersAreRemembered has several readers before a write by the last of them, which alone would be in order.
func TestReadersAreRemembered(t *testing.T) {
	const last = "setp.eq.u32 %p1, %r33, 63;\n"
	for _, c := range []struct {
		name        string
		grid, block int
		text        string
	}{
		{"threads of a warp", 1, 32, zeroShared + "setp.eq.u32 %p1, %r33, 31;\nld.shared.u32 %r6, [s];\n" +
			"@%p1 st.shared.u32 [s], 1;\n"},
		{"warps of a block", 1, 64, zeroShared + "setp.eq.u32 %p1, %r33, 32;\n" + "ld.shared.u32 %r6, [s];\n" +
			"@%p1 st.shared.u32 [s], 1;\n"},
		{"blocks of a grid", 2, 32, last + "setp.eq.u32 %p2, %r30, 31;\n@%p2 ld.global.u32 %r6, [%d30];\n" +
			"@%p1 st.global.u32 [%d30], 1;\n"},
		{"threads of a warp, in global memory", 1, 32, "setp.eq.u32 %p1, %r33, 31;\nld.global.u32 %r6, [%d30];\n" +
			"@%p1 st.global.u32 [%d30], 1;\n"},
	} {
		for i, text := range []string{c.text, strings.ReplaceAll(strings.ReplaceAll(c.text, "@%p1 st.shared.u32 [s]",
			"bar.sync 0;\n@%p1 st.shared.u32 [s]"), "@%p1 st.global.u32 [%d30]", "@%p1 st.global.u32 [%d31]")} {
			k := kernel(t, entry(2, text))
			m := NewMemory(0)
			l := Launch{Grid: [3]int{c.grid}, Block: [3]int{c.block}, Workers: 1,
				Args: []any{alloc(t, m, "a", 64, true), alloc(t, m, "b", 64, true)}}
			_, err := k.Launch(t.Context(), m, l)
			if i == 0 {
				faultOf(t, err, Race)
			} else if err != nil {
				t.Errorf("%s, in order: %v", c.name, err)
			}
		}
	}
}

// TestCrossing compares what two workers remember of one word, as at the end of a launch.
func TestCrossing(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  string // uses by the two workers, in words
		races bool
	}{
		{"both write", "write", "write", true}, {"one writes, one reads", "write", "read", true},
		{"one reads, one writes", "read", "write", true}, {"both read", "read", "read", false},
		{"both add atomically", "atomic", "atomic", false}, {"atomic and read", "atomic", "read", true},
		{"write and atomic", "write", "atomic", true}, {"read and write, one in the last launch", "old write", "read", false},
		{"write and read, one in the last launch", "write", "old read", false}, {"nothing", "", "write", false},
	} {
		k := kernel(t, entry(0, ""))
		m := NewMemory(0)
		p := alloc(t, m, "word", 8, true)
		a, _, err := m.find(p, 4)
		if err != nil {
			t.Fatal(err)
		}
		m.shadows = []*shadow{{}, {}}
		r := &running{launch: &Launch{Grid: [3]int{2, 1, 1}, Block: [3]int{32, 1, 1}}}
		var workers [2]*worker
		for i, uses := range []string{c.a, c.b} {
			old := strings.HasPrefix(uses, "old ")
			for launch := range 2 {
				w := newWorker(k, m, r, i)
				workers[i] = w
				w.tick()
				w.clock.block = w.clock.now
				w.shadow.blocks = append(w.shadow.blocks, blockStart{w.clock.now, [3]int{i}})
				q := w.warps[0]
				q.time, q.pc = 0, 3
				if old != (launch == 0) {
					continue
				}
				switch strings.TrimPrefix(uses, "old ") {
				case "write":
					q.globalWrite(a, 8, 4, 7, 0)
				case "atomic":
					q.globalWrite(a, 8, 4, 7, atomicWrite)
				case "read":
					q.globalRead(a, 8, 4, 7)
				}
			}
		}
		for i := range 2 {
			f := workers[i].crossed(workers[1-i])
			if (f != nil) != c.races {
				t.Errorf("%s: %v", c.name, f)
			}
			if f != nil && (f.Kind != Race || f.Address != uint64(p)+8 || f.Thread != [3]int{7} || f.Block != [3]int{i}) {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// TestWorkersAreCompared has two blocks write one word, the first of which takes so long that another worker has the second.
func TestWorkersAreCompared(t *testing.T) {
	if raceDetector {
		t.Skip("the kernel's race is one of the simulator's goroutines, too")
	}
	text := "st.global.u32 [%d30], %r30;\nsetp.ne.u32 %p1, %r31, 0;\n@%p1 ret;\nmov.u32 %r1, 0;\nagain:\n" +
		"add.u32 %r1, %r1, 1;\n" +
		"setp.lt.u32 %p1, %r1, 1000000;\n@%p1 bra again;\n"
	m := NewMemory(0)
	_, err := kernel(t, entry(1, text)).Launch(t.Context(), m, Launch{Grid: [3]int{2}, Workers: 2,
		Args: []any{alloc(t, m, "a", 1, false)}})
	f := faultOf(t, err, Race)
	if !strings.Contains(f.Detail, "of block ["+map[int]string{0: "1", 1: "0"}[f.Block[0]]+" 0 0] writes") {
		t.Error(f)
	}
}

// TestTimeRunsOut begins to count intervals anew in the middle of a block, which must change nothing.
func TestTimeRunsOut(t *testing.T) {
	k := kernel(t, entry(2, zeroShared+"st.shared.u32 [%r1], %r30;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\n"+
		"st.global.u32 [%d2], %r6;\n"))
	for before := range uint64(6) {
		m := NewMemory(0)
		a, b := alloc(t, m, "a", 128, true), alloc(t, m, "b", 128, false)
		l := Launch{Grid: [3]int{2}, Block: [3]int{64}, Workers: 1, Args: []any{a, b}}
		m.shadows = []*shadow{{}}
		w, err := k.check(&l)
		if err != nil || w != 2 {
			t.Fatal(err, w)
		}
		params, err := k.marshal(l.Args)
		if err != nil {
			t.Fatal(err)
		}
		r := &running{ctx: t.Context(), launch: &l, blocks: 2, params: params}
		r.budget.Store(1 << 30)
		one := newWorker(k, m, r, 0)
		one.shadow.time = timeEnd - 1 - before
		one.run()
		if r.fault != nil {
			t.Fatalf("%d intervals before the end: %v", before, r.fault)
		}
		for i, v := range words(t, m, b, 128) {
			if int(v) != i%64^32 {
				t.Fatalf("word %d is %d", i, v)
			}
		}
	}
}

// TestAsyncFillsWithZeros copies part of 16 bytes over others.
func TestAsyncFillsWithZeros(t *testing.T) {
	k := kernel(t, entry(2, ".shared .align 16 .b8 s[512];\nmov.u32 %r1, s;\nshl.b32 %r2, %r30, 4;\nadd.u32 %r1, %r1, %r2;\n"+
		"mov.u32 %r3, -1;\nst.shared.v4.u32 [%r1], {%r3, %r3, %r3, %r3};\n"+
		"cp.async.cg.shared.global [%r1], [%d30], 16, %r30;\n"+
		"cp.async.wait_all;\nld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1];\nmul.wide.u32 %d0, %r30, 16;\n"+
		"add.s64 %d1, %d31, %d0;\n"+
		"st.global.v4.u32 [%d1], {%r4, %r5, %r6, %r7};\n"))
	m := NewMemory(0)
	a, b := alloc(t, m, "a", 4, false), alloc(t, m, "b", 4*17, false)
	if err := m.Write(a, []byte("0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	if err := launch(k, m, 1, 17, a, b); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 16*17)
	if err := m.Read(out, b); err != nil {
		t.Fatal(err)
	}
	for n := range 17 {
		if want := "0123456789abcdef"[:n] + strings.Repeat("\x00", 16-n); string(out[16*n:16*n+16]) != want {
			t.Errorf("%d bytes: %q", n, out[16*n:16*n+16])
		}
	}
}
