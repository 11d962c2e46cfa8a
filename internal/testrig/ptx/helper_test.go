package ptx

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const head = ".version 7.0\n.target sm_80\n.address_size 64\n"

// entry writes a kernel k whose parameters are so many addresses a, b, c, … and registers of every kind are declared.
func entry(addresses int, body string) string {
	var s strings.Builder
	s.WriteString(head + ".visible .entry k(")
	for i := range addresses {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, ".param .u64 %c", 'a'+i)
	}
	s.WriteString(")\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .f32 %f<20>;\n.reg .b64 %d<40>;\n")
	for i := range addresses {
		fmt.Fprintf(&s, "ld.param.u64 %%d%d, [%c];\n", 30+i, 'a'+i)
	}
	s.WriteString("mov.u32 %r30, %tid.x;\nmov.u32 %r31, %ctaid.x;\nmov.u32 %r32, %ntid.x;\n")
	s.WriteString("mad.lo.u32 %r33, %r31, %r32, %r30;\n")
	s.WriteString(body)
	s.WriteString("\nret;\n}\n")
	return s.String()
}

// kernel parses a text and returns its kernel k.
func kernel(t testing.TB, text string) *Kernel {
	t.Helper()
	m, err := Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	k, err := m.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// alloc returns an allocation of n 4-byte words, which hold 0, 1, 2, … where filled.
func alloc(t testing.TB, m *Memory, name string, n int, filled bool) Ptr {
	t.Helper()
	p, err := m.Alloc(name, int64(4*n))
	if err != nil {
		t.Fatal(err)
	}
	if filled {
		words := make([]uint32, n)
		for i := range words {
			words[i] = uint32(i)
		}
		if err := Upload(m, p, words); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func words(t testing.TB, m *Memory, p Ptr, n int) []uint32 {
	t.Helper()
	out := make([]uint32, n)
	if err := Download(m, out, p); err != nil {
		t.Fatal(err)
	}
	return out
}

func launch(k *Kernel, m *Memory, grid, block int, args ...any) error {
	_, err := k.Launch(context.Background(), m, Launch{Grid: [3]int{grid}, Block: [3]int{block}, Args: args})
	return err
}

// faultOf returns the fault in an error, and fails where it is of another kind.
func faultOf(t testing.TB, err error, kind Kind) *Fault {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("%v is no fault, but should be %v", err, kind)
	}
	if f.Kind != kind {
		t.Fatalf("%v is no %v", err, kind)
	}
	return f
}
