//go:build !slow

package testutil

// Slow says that tests try all that they can try. Without the build tag slow they try a part, so that `go test ./...` takes two
// minutes.
const Slow = false
