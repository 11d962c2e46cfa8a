//go:build race

package testutil

// UnderRace says that the race detector is on. It makes sync.Pool drop what it is given now and then, and allocations larger.
const UnderRace = true
