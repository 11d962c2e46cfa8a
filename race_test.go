//go:build race

package largemvc

// underRace says that the race detector is on. It makes sync.Pool drop what it is given now and then.
const underRace = true
