//go:build !race

package testutil

// UnderRace says that the race detector is on.
const UnderRace = false
