#!/usr/bin/env bash
# Ranks that bring different collectives are an error with both sides, as a user sees it: on
# one machine, and between machines, where each side sees only what does not come.
. "$(dirname "$0")/lib.bash"

# expect PATTERN COMMAND...: exit code 1 and that message, once, of whoever was first.
expect() {
	local pattern=$1 rc
	shift
	timeout 60 "$@" >out.txt 2>err.txt
	rc=$?
	[ $rc = 1 ] || fail "'$*' exited with $rc: $(cat err.txt)"
	grep -qE -- "$pattern" err.txt || fail "'$*' did not say '$pattern': $(cat err.txt)"
}

expect 'rank [0-3] of 4 on .*: collectives do not match: rank [0-2] is in barrier, at step 3 backward 1; rank 3 in all-reduce of 12 F32, at predicting the step' \
	"$MISMATCH" op 3

[ -n "${MPIEXEC:-}" ] || skip "no MPI"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
at='at step 3 backward 1; rank [23] in'
export KOLM_MPI_HOSTS=2 ASAN_OPTIONS=detect_leaks=0 # MPI libraries leave some
expect "rank [01] is in barrier, $at all-reduce of 12 F32, at predicting the step" "$MPIEXEC" -n 4 "$MISMATCH" op 2
expect "rank [01] is in all-reduce of 12 F32, $at reduce-scatter of 12 F32, at predicting the step" "$MPIEXEC" -n 4 "$MISMATCH" way 2
expect "rank [01] is in all-reduce of 64 F32, $at all-reduce of 63 F32, at predicting the step" "$MPIEXEC" -n 4 "$MISMATCH" size 2
expect "rank [01] is in all-gather of 16 F16, $at all-gather of 16 BF16, at predicting the step" "$MPIEXEC" -n 4 "$MISMATCH" type 2
expect "rank [01] is in broadcast of 8 F32 from rank 0, $at gather of 8 F32 to rank 0, at predicting the step" "$MPIEXEC" -n 4 "$MISMATCH" one-way 2
# Where somebody is only slow, they ask each other and go on; nobody hears of it.
timeout 120 "$MPIEXEC" -n 4 "$KOLM" train --dim 16 --dp 4 --steps 4 --quiet --inject rank=2,step=1,sleep=2s --run-dir slow >out.txt 2>&1 ||
	fail "a slow rank: $(cat out.txt)"
[ ! -s out.txt ] || fail "a slow rank: $(cat out.txt)"
# Two on one machine differ: they see it themselves.
expect "rank 2 is in broadcast of 8 F32 from rank 0, at step 3 backward 1; rank 3 in broadcast of 8 F32 from rank 1, at" \
	"$MPIEXEC" -n 4 "$MISMATCH" root 3
exit 0
