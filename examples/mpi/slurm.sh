#!/bin/bash
#SBATCH --job-name=largemvc
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
# A process for each node. Two minutes before the time limit they are asked to end: the checkpoint of the last epoch is written at once,
# and within -grace seconds all stop at the same epoch and write their labels.
set -euo pipefail
data=/shared/data
run=/shared/runs/first
mkdir -p "$run"
# Once, when the files are complete: largemvc inspect -manifest "$data/x0-%d.npy" "$data/x1-%d.npy"

settings=(-clusters 100 -epochs 100 -grace 110 -checkpoint "$run/state.ckpt")
if [ -s "$run/state.ckpt" ]; then
  settings=(-resume "$run/state.ckpt" -grace 110)
fi
# The plugin that starts the processes has to be that of the library: pmix for Open MPI, pmi2 for MPICH ("srun --mpi=list" lists them).
srun --mpi=pmix --kill-on-bad-exit=1 largemvc fit -mpi -workers "$SLURM_CPUS_PER_TASK" \
  -data "$data/x0-%d.npy" -data "$data/x1-%d.npy" "${settings[@]}" -out "$run/labels-%d.csv" -save "$run/model.safetensors"
