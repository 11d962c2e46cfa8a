//go:build !race

package largemvc

// underRace says that the race detector is on.
const underRace = false
