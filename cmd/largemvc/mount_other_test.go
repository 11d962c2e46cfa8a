//go:build unix && !linux

package main

import "testing"

// mountSmall says that no small disk can be mounted.
func mountSmall(*testing.T, string) bool { return false }
