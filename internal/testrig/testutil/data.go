package testutil

import (
	"os"
	"testing"
)

// RealSets returns the folder of real data sets, which LARGEMVC_DATA names, and skips the test if it names none.
func RealSets(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("LARGEMVC_DATA")
	if folder == "" {
		t.Skip("LARGEMVC_DATA names no folder of real data sets")
	}
	return folder
}
