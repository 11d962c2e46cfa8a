//go:build arm64 && !noasm

package kernel

// built names the paths of this build, the preferred one first.
var built = []path{pathNEON, pathPortable}

// supported: every arm64 CPU that Go runs on has NEON.
func supported(path) bool { return true }

// multipliesBytes reports whether the CPU has the instructions of products of bytes.
func multipliesBytes() bool { return false }
