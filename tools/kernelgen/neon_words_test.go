package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// wordLine matches an instruction that stands as a word, outside a macro or in one.
var wordLine = regexp.MustCompile(`^\tWORD \$0x([0-9a-f]{8}) (?:// (.*)|/\* (.*) \*/(?:; \\)?)$`)

// TestWords disassembles every instruction that the NEON kernels spell as a word, and compares it with its comment.
func TestWords(t *testing.T) {
	objdump := ""
	for _, name := range []string{"aarch64-linux-gnu-objdump", "gobjdump"} {
		if path, err := exec.LookPath(name); err == nil {
			objdump = path
			break
		}
	}
	if objdump == "" {
		t.Skip("no GNU objdump for arm64 (Debian: binutils-aarch64-linux-gnu)")
	}
	var code []byte
	var want []string
	seen := map[string]bool{}
	files, err := filepath.Glob("../../internal/kernel/*_neon_arm64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			m := wordLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				if strings.Contains(line, "WORD") {
					t.Errorf("%s: cannot read %q", file, line)
				}
				continue
			}
			if seen[m[1]+m[2]+m[3]] {
				continue
			}
			seen[m[1]+m[2]+m[3]] = true
			word, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			code = binary.LittleEndian.AppendUint32(code, uint32(word))
			want = append(want, m[2]+m[3])
		}
	}
	bin := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(bin, code, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(objdump, "-D", "-z", "-b", "binary", "-m", "aarch64", bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if _, text, ok := strings.Cut(line, ":\t"); ok { // address, code, instruction, operands
			got = append(got, strings.Join(strings.Fields(text)[1:], " "))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d instructions, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("word %08x is %q, its comment says %q", binary.LittleEndian.Uint32(code[4*i:]), got[i], want[i])
		}
	}
	t.Logf("%d different words in %d files", len(want), len(files))
}
