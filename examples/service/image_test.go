package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// TestImage: the program of the Dockerfile asks for no other file when it starts, because its image has none.
func TestImage(t *testing.T) {
	testutil.Long(t, "it builds the program")
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`(?m)^RUN CGO_ENABLED=0 go (build .*) -o /service (\./examples/service)$`)
	build := form.FindStringSubmatch(string(text))
	if build == nil || !strings.Contains(string(text), "\nFROM scratch\n") {
		t.Fatalf("the Dockerfile has another form:\n%s", text)
	}
	program := filepath.Join(t.TempDir(), "service")
	c := exec.CommandContext(t.Context(), "go", append(strings.Fields(build[1]), "-o", program, build[2])...)
	c.Dir, c.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("the program starts by way of a loader of shared libraries")
		}
	}
}
