package testutil

import (
	"os/exec"
	"strings"
	"testing"
)

// Python returns a Python 3 that has NumPy and other modules, and skips the test if there is none.
func Python(t testing.TB, modules ...string) string {
	t.Helper()
	probe := strings.Join(append([]string{"import sys, numpy"}, modules...), ", ") + "; sys.version_info >= (3, 6) or exit(1)"
	for _, name := range []string{"python3", "/usr/bin/python3", "python"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", probe).Run() == nil {
			return path
		}
	}
	t.Skip("no Python 3 with NumPy ", modules)
	return ""
}
