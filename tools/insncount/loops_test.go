package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExpand: macros, within macros too, stand for their lines.
func TestExpand(t *testing.T) {
	got := expand("#define a \\\n\tX; \\\n\tWORD $1 /* fmla v1 */\n#define b \\\n\tY; \\\n\ta\nTEXT ·f(SB)\n\tb\n\tRET\n")
	if want := "TEXT ·f(SB)\n\tY\n\tX\n\tWORD $1 /* fmla v1 */\n\tRET\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLoopOfTMul counts in a kernel whose loop is known: eight rows of a tile of 4 vectors by 6 columns of A.
func TestLoopOfTMul(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", kernels, "tmul_f64_neon_arm64.s"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(expand(string(source)), "TEXT ·tmulF64NEONW4M6(SB)")
	if !ok {
		t.Fatal("no such kernel")
	}
	body, _, _ = strings.Cut(body, "\nTEXT ")
	l := mainLoop(parse(body))
	if l.name != "many" || l.fma != 8*24 || l.loads != 8*2 || l.prefetches != 0 || l.all != 8*26+2 {
		t.Errorf("%+v", l)
	}
}
