#!/bin/sh
# One part of a sweep for each element of a Slurm array:
#
#   sbatch --array=1-8 deploy/slurm.sh SWEEP.toml FOLDER
#   benchflow merge FOLDER/*/ -o merged                      once all have ended
#
# FOLDER is on a file system that all nodes share; each part has a folder of its own in it. The
# repository is set up on each node, or on the shared file system, by scripts/demo; submit from it.
# A part that is requeued goes on: finished trials are not run again.
#SBATCH --job-name=benchflow
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
set -eu
file=$1 folder=$2
: "${SLURM_ARRAY_TASK_ID:?submit it as an array: sbatch --array=1-N}"
# Images and scratch are large and belong to one node: never on the shared file system.
export BENCHFLOW_HOME="${BENCHFLOW_HOME:-${TMPDIR:-/tmp}/benchflow-$(id -u)}"
part=$SLURM_ARRAY_TASK_ID count=$SLURM_ARRAY_TASK_COUNT
mkdir -p "$folder/$part"
.venv/bin/benchflow sweep "$file" --shard "$part/$count" --jobs-dir "$folder/$part" &
# The command ends in order when it is told to, and sandboxes with it; the shell hands it on.
trap 'kill -TERM $!' TERM
status=0
wait $! || status=$?
[ "$status" -le 128 ] || wait $! || status=$?
exit "$status"
