//go:build !mpi

package main

// joinMPI says how to get a command that can join the processes of a job.
func joinMPI() (world, error) {
	return nil, usagef("-mpi: this command was built without MPI: build it with go build -tags mpi ./cmd/largemvc")
}
