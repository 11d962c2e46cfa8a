//go:build !linux && !darwin && !freebsd

package mpi

import (
	"context"
	"errors"
	"runtime"
)

// World cannot be used on this system, where no MPI library can be loaded.
type World struct{}

var errSystem = errors.New("mpi: no MPI library can be loaded on " + runtime.GOOS)

// Init returns an error on this system.
func Init() (*World, error) { return nil, errSystem }

// Rank is the number of this process, from 0.
func (*World) Rank() int { return 0 }

// Size is the number of processes.
func (*World) Size() int { return 1 }

// String names the library.
func (*World) String() string { return "" }

// AllGather returns an error on this system.
func (*World) AllGather(context.Context, []byte, []int, []byte) error { return errSystem }

// AllToAll returns an error on this system.
func (*World) AllToAll(context.Context, []byte, []int, []byte, []int) error { return errSystem }

// Broadcast returns an error on this system.
func (*World) Broadcast(context.Context, int, []byte) error { return errSystem }

// Abort does nothing on this system.
func (*World) Abort(error) {}

// Close does nothing on this system.
func (*World) Close() error { return nil }
