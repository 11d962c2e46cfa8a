//go:build race

package ptx

const raceDetector = true
