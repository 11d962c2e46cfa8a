package ptx

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// TestMalformed holds that what is wrong with a text is an error that says so.
func TestMalformed(t *testing.T) {
	body := func(s string) string { return entry(1, s) }
	for _, c := range []struct{ name, text, says string }{
		{"no directive", "hello", `line 1: "hello" where a directive`},
		{"32 bits", ".address_size 32", "32 bits"},
		{"comment", ".version 7.0 /* no end", "line 1: comment without an end"},
		{"string", ".version \"7.0\n", "string without an end"},
		{"character", ".version é", "character"},
		{"called function", head + ".visible .func f()\n{\nret;\n}\n", "functions that are called"},
		{"body without an end", head + ".visible .entry k()\n{\nret;\n", "has no end"},
		{"kernel twice", head + ".entry k()\n{\n}\n.entry k()\n{\n}\n", "there twice"},
		{"parameter twice", head + ".entry k(.param .u32 a, .param .u32 a)\n{\n}\n", "there twice"},
		{"parameter without a type", head + ".entry k(.param a)\n{\n}\n", "a type is missing"},
		{"parameters too large", head + ".entry k(.param .b8 a[4000], .param .b8 b[400])\n{\n}\n", "more than 4352"},
		{"variable without a size", head + ".global .b8 a[];\n", "has no size"},
		{"variable twice", head + ".global .b8 a[4];\n.shared .b8 a[4];\n", "there twice"},
		{"too many values", head + ".global .b8 a[2] = {1, 2, 3};\n", "too many values"},
		{"values of shared memory", head + ".shared .b8 a[2] = {1, 2};\n", "no first values"},
		{"alignment", head + ".global .align 3 .b8 a[2];\n", "no power of two"},
		{"size", head + ".global .b8 a[99999999999];\n", "size is"},

		{"unknown instruction", body("frobnicate.u32 %r1, %r2;"), "line 16: unknown instruction frobnicate.u32"},
		{"unknown type of add", body("add.q32 %r1, %r2, %r3;"), "unknown instruction add.q32"},
		{"unknown rounding", body("add.rx.f32 %f1, %f2, %f3;"), "unknown instruction"},
		{"fma without rounding", body("fma.f32 %f1, %f2, %f3, %f4;"), "unknown instruction"},
		{"unknown cache", body("ld.global.zz.u32 %r1, [%d30];"), "unknown instruction"},
		{"unknown mma", body("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};"),
			"unknown instruction"},
		{"unknown barrier", body("bar.arrive 0, 64;"), "unknown instruction"},
		{"unknown special", body("mov.u32 %r1, %clock;"), "%clock is not declared"},
		{"undeclared register", body("mov.u32 %r1, %x1;"), "%x1 is not declared"},
		{"register beyond its family", body("mov.u32 %r1, %r40;"), "%r40 is not declared"},
		{"register with a leading zero", body("mov.u32 %r1, %r01;"), "%r01 is not declared"},
		{"register of another width", body("add.u32 %r1, %d1, 1;"), "%d1 has 64 bits, not 32"},
		{"result of another width", body("add.u64 %r1, %d1, 1;"), "%r1 has 32 bits, not 64"},
		{"predicate as a value", body("add.u32 %r1, %p1, 1;"), "of another type"},
		{"value as a predicate", body("@%r1 ret;"), "no predicate"},
		{"negated value", body("add.u32 %r1, !%r2, 1;"), "no predicate"},
		{"negated number", body("add.u32 %r1, !2, 1;"), "! before a number"},
		{"negative register", body("add.u32 %r1, -%r2, 1;"), "- before %r2"},
		{"constant as a result", body("add.u32 3, %r2, 1;"), "no register"},
		{"too few operands", body("add.u32 %r1, %r2;"), "2 operands, not 3"},
		{"too many operands", body("add.u32 %r1, %r2, %r3, %r4;"), "4 operands, not 3"},
		{"missing comma", body("add.u32 %r1 %r2, %r3;"), "among the operands"},
		{"missing semicolon", head + ".entry k()\n{\n.reg .u32 %r<3>;\nmov.u32 %r1, 0", "no semicolon"},
		{"float for a whole number", body("add.u32 %r1, %r2, 0f3F800000;"), "a float where"},
		{"whole number for a float", body("add.f32 %f1, %f2, 1;"), "a whole number where"},
		{"damaged float", body("add.f32 %f1, %f2, 0f3F80;"), "not a number"},
		{"damaged number", body("add.u32 %r1, %r2, 0x;"), "not a number"},
		{"address without brackets", body("ld.global.u32 %r1, %d30;"), "brackets"},
		{"address of 32 bits", body("ld.global.u32 %r1, [%r2];"), "no address"},
		{"address of a vector", body("ld.global.u32 %r1, [{%d1, %d2}];"), "not an address"},
		{"offset that is not a number", body("ld.global.u32 %r1, [%d30+x];"), "no offset"},
		{"address of another space", body("ld.global.u32 %r1, [a];"), "in param memory"},
		{"unknown variable", body("ld.global.u32 %r1, [nowhere];"), "nowhere is not declared"},
		{"store to parameters", body("st.param.u64 [a], %d1;"), "constant"},
		{"vector too long", body("ld.global.v4.u64 {%d1, %d2, %d3, %d4}, [%d30];"), "more than 128 bits"},
		{"vector too short", body("ld.global.v4.u32 {%r1, %r2}, [%d30];"), "2 registers"},
		{"unknown label", body("bra nowhere;"), "no label nowhere"},
		{"label twice", body("here:\nhere:"), "there twice"},
		{"label of an inner scope", body("bra here;\n{\nhere:\n}"), "no label here"},
		{"unknown table", body("brx.idx %r1, t;"), "no table t"},
		{"table of nothing", body("t: .branchtargets nowhere;\nbrx.idx %r1, t;"), "no label nowhere"},
		{"register twice", body(".reg .b32 x;\n.reg .b32 x;"), "there twice"},
		{"registers twice", body(".reg .b32 %r<4>;"), "there twice"},
		{"too many registers", body(".reg .b32 %y<99999999>;"), "number of registers"},
		{"registers of no type", body(".reg .z32 x;"), "no type of a register"},
		{"inner register outside", body("{\n.reg .b32 x;\n}\nmov.u32 x, 1;"), "no register"},
		{"braces", body(strings.Repeat("{", 100)), "braces"},
		{"shuffle operands", body("shfl.sync.up.b32 %r1, %r2, 1, 31;"), "4 operands"},
		{"shuffle mode", body("shfl.sync.left.b32 %r1, %r2, 1, 31, -1;"), "unknown instruction"},
		{"copy size", body("cp.async.ca.shared.global [%r1], [%d30], 12;"), "the size"},
		{"copy of 4 past the first cache", body("cp.async.cg.shared.global [%r1], [%d30], 4;"), "the size"},
		{"wait for a register", body("cp.async.wait_group %r1;"), "not a number"},
		{"atomic on bytes", body("atom.global.add.u8 %h1, [%d30], %h2;"), "unknown instruction"},
		{"atomic of floats that is none", body("atom.global.min.f32 %f1, [%d30], %f2;"), "unknown instruction"},
		{"fragments",
			body("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r1,%r2}, {%f1,%f2,%f3,%f4};"),
			"2 registers, not 4"},
		{"lop3 by a register", body("lop3.b32 %r1, %r2, %r3, %r4, %r5;"), "table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.text)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("%v names no line", err)
			}
		})
	}
}

func sample(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTruncated cuts a text that a compiler made at many places: none may make the parser panic, and a kernel without its end is
// an error.
func TestTruncated(t *testing.T) {
	text := sample(t, "atx.ptx")
	step := 40
	if !testutil.Slow {
		step = 10
	}
	for at := 0; at < len(text); at += 1 + at/step {
		_, err := Parse(text[:at])
		if cutOff := strings.Count(text[:at], "{") > strings.Count(text[:at], "}"); cutOff && err == nil {
			t.Fatalf("the first %d bytes are no error", at)
		}
	}
}

// tryMutant parses a text and, where it is one, launches its kernels on little memory: all that may come out is an error.
func tryMutant(t *testing.T, text string) (parsed bool) {
	m, err := Parse(text)
	if err != nil {
		return false
	}
	for _, name := range m.Kernels() {
		k, err := m.Kernel(name)
		if err != nil {
			t.Fatal(err)
		}
		memory := NewMemory(1 << 20)
		var args []any
		for _, p := range k.Params() {
			switch p.Size {
			case 8:
				a, err := memory.Alloc(p.Name, 1<<12)
				if err == nil {
					err = memory.Fill(a, 0, 1<<12)
				}
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, a)
			case 4:
				args = append(args, int32(40))
			default:
				args = append(args, make([]byte, p.Size))
			}
		}
		_, err = k.Launch(context.Background(), memory, Launch{Grid: [3]int{2}, Block: [3]int{64}, Shared: 4096, Args: args,
			MaxInstructions: 1 << 18, Workers: 1})
		var f *Fault
		if err != nil && !errors.As(err, &f) && !strings.HasPrefix(err.Error(), "launch of ") {
			t.Fatalf("%v", err)
		}
	}
	return true
}

// TestMutated moves, drops and doubles words of kernels and runs what is left.
func TestMutated(t *testing.T) {
	seeds := []string{sample(t, "atx.ptx")}
	for _, p := range plantedFaults {
		seeds = append(seeds, entry(2, p.bad))
	}
	r := rand.New(rand.NewPCG(5, 6))
	parsed, tried := 0, 0
	for i, text := range seeds {
		tokens, err := lex(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds := 12
		if i == 0 {
			rounds = 40
		}
		if !testutil.Slow {
			rounds /= 4
		}
		for range rounds {
			var s strings.Builder
			change := r.IntN(len(tokens))
			line := 1
			for j, k := range tokens {
				for ; line < k.line; line++ {
					s.WriteByte('\n')
				}
				word := k.text
				if j == change {
					other := tokens[r.IntN(len(tokens))].text
					word = []string{"", word + " " + word, other, word + " " + other, word[:len(word)/2] + " " +
						word[len(word)/2:]}[r.IntN(5)]
				}
				s.WriteString(word + " ")
			}
			tried++
			if tryMutant(t, s.String()) {
				parsed++
			}
		}
	}
	if parsed < tried/20 || parsed == tried {
		t.Errorf("of %d changed texts %d were understood", tried, parsed)
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range plantedFaults {
		f.Add(entry(2, p.bad))
	}
	f.Add(head + ".global .align 4 .f32 x[3] = {1, 0f3F800000};\n.visible .entry k(.param .align 8 .b8 s[24])\n{\n" +
		".pragma \"nounroll\";\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<14 {
			tryMutant(t, text)
		}
	})
}
