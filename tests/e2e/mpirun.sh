#!/usr/bin/env bash
# Under mpirun every process is a rank: one message where it does not fit, and the same
# run, bit for bit, as over shared memory.
. "$(dirname "$0")/lib.bash"
[ -n "${MPIEXEC:-}" ] || skip "built without MPI"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=detect_leaks=0 # MPI libraries leave some

"$MPIEXEC" -n 4 "$KOLM" train --dp 3 --batch 48 >out.txt 2>&1
[ $? = 2 ] || fail "a wrong world: $(cat out.txt)"
[ "$(grep -c '^kolm: ' out.txt)" = 1 ] || fail "not one message: $(cat out.txt)"
grep -q "needs 3 ranks, but there are 4; grids that fit: --dp 4, --dp 2 --mp 2" out.txt || fail "said: $(cat out.txt)"
"$MPIEXEC" -n 4 "$KOLM" train --dmi 3 >out.txt 2>&1
[ "$(grep -c '^kolm: ' out.txt)" = 1 ] || fail "not one message for a wrong option: $(cat out.txt)"
[ "$("$MPIEXEC" -n 3 "$KOLM" --version | wc -l)" = 1 ] || fail "more than one rank says its version"

# same_run HOSTS OPTIONS...: over MPI what shm-run and shm, of the same options, are.
same_run() {
	local hosts=$1
	shift
	KOLM_MPI_HOSTS=$hosts "$MPIEXEC" -n 4 "$KOLM" train "$@" --dump-check mpi --run-dir mpi-run --overwrite || fail "mpi on $hosts hosts: $*"
	[ "$(losses shm-run/metrics.jsonl)" = "$(losses mpi-run/metrics.jsonl)" ] || fail "losses differ on $hosts hosts: $*"
	cmp shm/final.safetensors mpi/final.safetensors || fail "weights differ on $hosts hosts: $*"
}
common=(--dim 100 --depth 3 --batch 48 --steps 8 --optimizer adamw --threads 1 --quiet)
"$KOLM" train "${common[@]}" --dp 4 --dump-check shm --run-dir shm-run --overwrite || fail "shm"
for hosts in 1 2 3 2,cyclic; do
	same_run $hosts "${common[@]}" --dp 4
done
# In 16 bit too: sums of replicas and of slices, messages, sharded optimizer state.
for case in "fp16 --dp 4" "bf16 --dp 4 --zero 1" "fp16 --dp 2 --pp 2 --micro-batches 3" "bf16 --pp 2 --mp 2 --micro-batches 4"; do
	"$KOLM" train "${common[@]}" --precision $case --dump-check shm --run-dir shm-run --overwrite || fail "shm: $case"
	same_run 1 "${common[@]}" --precision $case
	same_run 2,cyclic "${common[@]}" --precision $case
done
"$MPIEXEC" -n 2 "$KOLM" train --dim 32 --dp auto --steps 3 --run-dir auto >/dev/null 2>&1 || fail "--dp auto"
grep -q '"ranks": 2' auto/summary.json || fail "--dp auto is not the world"

# A rank that hangs reports itself and takes the job down; so does one that fails.
"$MPIEXEC" -n 3 "$KOLM" train --dim 32 --dp 3 --batch 48 --timeout 1 --inject rank=1,step=2,hang --run-dir hung >/dev/null 2>err.txt
[ $? != 0 ] || fail "a hang ends well"
grep -q "^kolm: rank 1 of 3 (dp1 pp0 mp0) on .* hangs: last at step 2" err.txt || fail "hang: $(cat err.txt)"
"$MPIEXEC" -n 3 "$KOLM" train --dim 32 --dp 3 --batch 48 --device-memory 10KB --run-dir small >/dev/null 2>err.txt
[ $? != 0 ] || fail "no memory ends well"
[ "$(grep -c '^kolm: ' err.txt)" = 1 ] || fail "not one message: $(cat err.txt)"

# Waiting for one that works is no hang; ranks with different options are.
"$MPIEXEC" -n 2 "$KOLM" train --dim 16 --dp 2 --batch 32 --micro-batches 8 --steps 1 --warmup 0 --timeout 1 \
	--inject rank=0,at=forward,sleep=600ms --quiet --run-dir slow || fail "waiting is taken for a hang"
"$MPIEXEC" -n 1 "$KOLM" train --dim 32 --dp 2 --run-dir other : -n 1 "$KOLM" train --dim 64 --dp 2 --run-dir other >/dev/null 2>err.txt
[ $? != 0 ] || fail "different options end well"
grep -q "rank 1 has other options or other data than rank 0" err.txt || fail "different options: $(cat err.txt)"
exit 0
