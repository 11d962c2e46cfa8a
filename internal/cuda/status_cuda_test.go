//go:build cuda

package cuda

import (
	"os"
	"strings"
	"testing"
)

// TestMissing: that this test runs shows that a program starts without a driver; the reason names the library that is missing.
func TestMissing(t *testing.T) {
	why := Missing()
	if _, err := os.Stat("/dev/nvidiactl"); err == nil || why == "" { // under WSL a card has no such file
		t.Logf("there is a driver: %q", why)
		return
	}
	if !strings.Contains(why, "libcuda.so.1") {
		t.Errorf("there is no driver, and what is missing is %q", why)
	}
}
