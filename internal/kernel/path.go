package kernel

import "os"

// path is a way to compute: plain Go or one of the instruction sets. A later one is preferred.
type path uint8

const (
	pathPortable path = iota
	pathAVX2
	pathAVX512
	paths
)

var pathNames = [paths]string{pathPortable: "portable", pathAVX2: "avx2", pathAVX512: "avx512"}

// active is the path that new panels and the elementwise work take. It is set once, when the program starts; only tests
// of this package set it again.
var active = choose(os.Getenv("LARGEMVC_KERNEL"))

// choose returns the path of the given name, or the best one below it that this CPU has; for another name, the best one.
func choose(name string) path {
	top := paths - 1
	for p, s := range pathNames {
		if s == name {
			top = path(p)
		}
	}
	for ; top > pathPortable; top-- {
		if supported(top) {
			break
		}
	}
	return top
}

// Path names the kernels in use: "avx512", "avx2" or "portable". The best one that the CPU and the operating system
// support is chosen at the start; the environment variable LARGEMVC_KERNEL names another. Where that one is not
// supported the next lower one is taken, and an unknown name counts as none.
func Path() string { return pathNames[active] }

// Paths names the paths that this CPU has, the preferred one first.
func Paths() []string {
	var names []string
	for p := int(paths) - 1; p >= 0; p-- {
		if supported(path(p)) {
			names = append(names, pathNames[p])
		}
	}
	return names
}
