//go:build !amd64 || noasm

package kernel

// supported: without assembly there is the portable path alone.
func supported(p path) bool { return p == pathPortable }
