package main

import "golang.org/x/sys/unix"

// processor is the name of the CPU, or "" where the system does not tell.
func processor() string {
	name, _ := unix.Sysctl("machdep.cpu.brand_string")
	return name
}
