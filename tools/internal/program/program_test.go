package program

import (
	"os/exec"
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	folder := t.TempDir()
	out, err := Run(folder, "go", "env", "GOOS", "GOARCH")
	if err != nil || strings.Count(string(out), "\n") != 2 {
		t.Errorf("%q, %v", out, err)
	}
	_, err = Run(folder, "go", "nosuchcommand")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"go nosuchcommand", folder, "unknown command", "exit status 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
	if _, err := Output(exec.Command("go-that-does-not-exist")); err == nil {
		t.Error("no error")
	}
}
