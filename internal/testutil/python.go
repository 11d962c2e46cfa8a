package testutil

import (
	"os/exec"
	"testing"
)

// Python returns a Python 3 that has NumPy, and skips the test if there is none.
func Python(t testing.TB) string {
	t.Helper()
	const probe = "import sys, numpy; sys.version_info >= (3, 6) or exit(1)"
	for _, name := range []string{"python3", "/usr/bin/python3", "python"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", probe).Run() == nil {
			return path
		}
	}
	t.Skip("no Python 3 with NumPy")
	return ""
}
