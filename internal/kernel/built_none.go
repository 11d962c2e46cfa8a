//go:build !(amd64 || arm64) || noasm

package kernel

// built names the paths of this build: without assembly there is the portable one alone.
var built = []path{pathPortable}

func supported(path) bool { return true }

// multipliesBytes reports whether the CPU has the instructions of products of bytes.
func multipliesBytes() bool { return false }
