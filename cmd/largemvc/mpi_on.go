//go:build mpi

package main

import "github.com/largemvc/largemvc/mpi"

// joinMPI joins the processes of the job.
func joinMPI() (world, error) { return mpi.Init() }
