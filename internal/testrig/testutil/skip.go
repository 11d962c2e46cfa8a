package testutil

import "testing"

// Long skips a test that takes seconds or much memory unless the build tag slow is set. why says what takes them.
func Long(t testing.TB, why string) {
	t.Helper()
	if !Slow {
		t.Skip("without the build tag slow: " + why)
	}
}

// Few is the number of cases that a test tries: some, or all with the build tag slow.
func Few(some, all int) int {
	if Slow {
		return all
	}
	return some
}

// Large ends a run of a fuzz target on an input of more than most bytes.
func Large(t testing.TB, size, most int) {
	t.Helper()
	if size > most {
		t.Skip("large inputs only slow the search down")
	}
}
