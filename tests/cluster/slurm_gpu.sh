#!/usr/bin/env bash
# GPUs under Slurm, which are simulated (tests/cuda): the batch script of examples/ as it is, one GPU for each task, and
# what nvidia-smi would say of them. Needs what slurm.bash needs, and PoCL.
. "$(dirname "$0")/slurm.bash"
[ -e "${BUILD:?the folder of the build}/cuda/libcuda.so.1" ] || skip "there is no simulated CUDA in $BUILD"
export POCL_MAX_PTHREAD_COUNT=1 POCL_CACHE_DIR=${POCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pocl/kcache}
export KOLM_CUDA_LIBRARY=$BUILD/cuda KOLM_SIM_DEVICES=4 XDG_CACHE_HOME=$dir/cache
export PATH=$(dirname "$KOLM"):$PATH
"$KOLM" train --device cuda:3 --dim 16 --depth 2 --batch 4 --steps 2 --quiet --run-dir first >said.txt 2>&1 || skip "no simulated CUDA, which computes on PoCL (Debian: pocl-opencl-icd): $(cat said.txt)"
figures() { sed -n "s/^ *\"$1\": \([0-9.]*\).*/\1/p" "$2" | tr '\n' ' '; } # NAME FILE

# Every rank has a GPU of its own: NVML's degrees are 40 and its number.
own_gpus() { # OUTPUT RUN
	! grep -q "share a GPU" "$1" || fail "ranks share a GPU: $(cat "$1")"
	[ "$(figures gpu_celsius "$2/summary.json" | tr ' ' '\n' | sort | tr '\n' ' ')" = "40 41 42 43 " ] || fail "other GPUs: $(grep gpu_ "$2/summary.json") $(cat "$1")"
}
timeout 200 sbatch --wait --overcommit --output=job.txt "$source/examples/slurm-gpu.sbatch" --dim 64 --depth 4 --steps 5 ||
	fail "the batch script: $(cat job.txt)"
grep -q "median step" job.txt || fail "the batch script said: $(cat job.txt)"
grep -q '"dp": 4' runs/slurm-*/summary.json || fail "not four replicas: $(cat job.txt)"
own_gpus job.txt runs/slurm-*
echo "examples/slurm-gpu.sbatch: 4 ranks on 4 simulated GPUs"

# A task sees one GPU, as number 0.
timeout 200 srun --mpi=pmix --partition=gpu --overcommit -n 4 --gpus-per-task=1 "$KOLM" train --device cuda:0 --dp 2 --pp auto --dim 64 --depth 4 --steps 5 \
	--micro-batches 2 --run-dir tasks >out.txt 2>&1 || fail "--gpus-per-task: $(cat out.txt)"
own_gpus out.txt tasks
echo "--gpus-per-task=1: 4 ranks, each with device 0 of its own"

# Fewer GPUs than tasks: that is said.
timeout 200 srun --mpi=pmix --partition=gpu --overcommit -n 4 --gres=gpu:2 "$KOLM" train --device gpu --dp auto --dim 64 --depth 4 --steps 5 --run-dir shared >out.txt 2>&1 ||
	fail "two GPUs: $(cat out.txt)"
grep -q "2 ranks share a GPU" out.txt || fail "two GPUs for four tasks: $(cat out.txt)"
exit 0
