// Package mpi joins the processes of a job by MPI, the library that clusters of machines have: its processes are started by
// mpirun, by srun or by the mpi-operator of Kubernetes, and its messages go over whatever network there is.
//
//	world, err := mpi.Init()
//	if err != nil { … }
//	defer world.Close()
//	config.Machine.Comm = world
//	found, err := largemvc.Fit(ctx, views, config) // of this process's samples, see comm.Share
//	if err != nil {
//		world.Abort(err) // ends the others too
//	}
//
// The library is loaded when Init is called, without cgo and without its headers: Open MPI 4 and 5, MPICH 3.1 and later and its
// kin (Intel MPI, MVAPICH, Cray MPICH), and libraries with the standard ABI of MPI 5.0. The launcher's environment tells which of
// them the processes are to use; LARGEMVC_MPI names another, by a path or a name that the loader finds. A program that imports
// this package is linked dynamically, also without cgo, for the loader is libc's.
//
// Open MPI 4.1 and MPICH 4.0 were tried. Open MPI 5 has the ABI of Open MPI 4, as its makers say; for the standard ABI there are
// the constants of the MPI Forum.
package mpi
