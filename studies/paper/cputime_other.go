//go:build !unix

package main

import "time"

var begun = time.Now()

// processorTime is the time that has passed, where no other is known.
func processorTime() time.Duration { return time.Since(begun) }
