//go:build amd64 && !noasm

package kernel

import "golang.org/x/sys/cpu"

// built names the paths of this build, the preferred one first.
var built = []path{pathAVX512, pathAVX2, pathPortable}

// supported reports whether the CPU has the instructions of a path and the operating system saves their registers.
func supported(p path) bool {
	switch p {
	case pathAVX512:
		x := &cpu.X86
		return x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && supported(pathAVX2)
	case pathAVX2:
		return cpu.X86.HasAVX2 && cpu.X86.HasFMA
	}
	return true
}

// multipliesBytes reports whether the CPU has the instructions of products of bytes that go with the path of AVX-512.
func multipliesBytes() bool { return cpu.X86.HasAVX512VNNI }
