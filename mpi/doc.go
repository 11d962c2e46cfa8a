// Package mpi joins the processes of a job by MPI, the message library of computing clusters. mpirun, srun or the mpi-operator
// of Kubernetes starts the processes.
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
// Init loads the library at run time. Neither cgo nor header files are needed. A program that imports this package is linked
// dynamically, also without cgo, because it uses the loader of libc. These libraries can be loaded:
//
//   - Open MPI 4 and 5;
//   - MPICH 3.1 and later, and those with its ABI: Intel MPI, MVAPICH, Cray MPICH;
//   - libraries with the standard ABI of MPI 5.0.
//
// The environment of the launcher decides which library is loaded. The environment variable LARGEMVC_MPI names another one, by
// its path or by a name that the loader finds.
//
// Open MPI 4.1 and MPICH 4.0 were tested. Open MPI 5 has the ABI of Open MPI 4, by its documentation. The constants of the
// standard ABI come from the MPI Forum.
package mpi
