package kernel

import "os"

// path is a way to compute: plain Go or one of the instruction sets.
type path uint8

const (
	pathPortable path = iota
	pathAVX2
	pathAVX512
	pathNEON
	paths
)

var pathNames = [paths]string{pathPortable: "portable", pathAVX2: "avx2", pathAVX512: "avx512", pathNEON: "neon"}

// active is the path that new panels and the elementwise work take. It is set once, when the program starts; only tests
// of this package set it again.
var active = choose(os.Getenv("LARGEMVC_KERNEL"))

// choose returns the path of the given name, or the best one after it that this CPU has; for a name that this build does
// not know, the best one of all.
func choose(name string) path {
	from := 0
	for i, p := range built {
		if pathNames[p] == name {
			from = i
		}
	}
	for _, p := range built[from:] {
		if supported(p) {
			return p
		}
	}
	return pathPortable
}

// Path names the kernels in use: "avx512" or "avx2" on amd64, "neon" on arm64, or "portable". The best one that the CPU
// and the operating system support is chosen at the start; the environment variable LARGEMVC_KERNEL names another. Where
// that one is not supported the next lower one is taken, and an unknown name counts as none.
func Path() string { return pathNames[active] }

// Paths names the paths that this CPU has, the preferred one first.
func Paths() []string {
	var names []string
	for _, p := range built {
		if supported(p) {
			names = append(names, pathNames[p])
		}
	}
	return names
}
