package testutil

import (
	"os"
	"runtime/debug"
)

// Tests make much garbage and end soon. Collecting it less often takes a quarter off their time; GOGC overrides it.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
