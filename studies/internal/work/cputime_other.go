//go:build !unix

package work

import "time"

var begun = time.Now()

// ProcessorTime is the time that has passed, where no other is known.
func ProcessorTime() time.Duration { return time.Since(begun) }
