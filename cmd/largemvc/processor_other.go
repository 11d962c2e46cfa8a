//go:build !(linux || darwin || windows)

package main

// processor is not known here.
func processor() string { return "" }
