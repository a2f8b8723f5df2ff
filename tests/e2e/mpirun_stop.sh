#!/usr/bin/env bash
# Under mpirun: what a signal to mpirun leaves, and who is named when a rank is stopped.
. "$(dirname "$0")/lib.bash"
[ -n "${MPIEXEC:-}" ] || skip "built without MPI"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=detect_leaks=0 # MPI libraries leave some
open_mpi=$("$MPIEXEC" --version 2>&1 | grep -c "Open MPI\|OpenRTE")

# start NAME RANKS OPTIONS...: a run that goes on for long, and has done some steps.
start() {
	local name=$1 ranks=$2
	shift 2
	"$MPIEXEC" -n "$ranks" "$KOLM" train --dim 32 --dp "$ranks" --batch 48 --steps 1000000 --log-every 1 --run-dir "$dir/$name" "$@" >"$name.out" 2>"$name.err" &
	pid=$!
	for _ in $(seq 200); do
		[ -s "$name/metrics.jsonl" ] && [ "$(wc -l <"$name/metrics.jsonl")" -ge 3 ] && return
		sleep 0.1
	done
	fail "no steps in $name: $(cat "$name.err")"
}
nobody_left() {
	for _ in $(seq 50); do
		pgrep -f -- "--run-dir $dir/$1" >/dev/null || return 0
		sleep 0.1
	done
	fail "$1: processes are left: $(pgrep -af -- "--run-dir $dir/$1")"
}

# A summary of just the steps in metrics.jsonl, a message, nothing else; the exit code where mpirun passes it on.
check_stopped() { # NAME CODE EXIT-CODE
	local name=$1 code=$2 rc=$3 steps
	[ "$rc" != 0 ] || fail "$name ends well"
	[ "$open_mpi" != 0 ] || [ "$rc" = "$code" ] || fail "$name gave exit code $rc instead of $code"
	[ -e "$name/summary.json" ] || fail "no summary after $name: $(cat "$name.err")"
	steps=$(grep -c '^{.*}$' "$name/metrics.jsonl")
	[ "$steps" = "$(wc -l <"$name/metrics.jsonl")" ] || fail "$name: half a line in metrics.jsonl"
	grep -q '"interrupted": true' "$name/summary.json" || fail "$name: the summary does not say so"
	grep -q "\"steps\": $steps," "$name/summary.json" || fail "$name: not $steps steps in the summary"
	[ "$(grep -c '"peak_bytes": [1-9]' "$name/summary.json")" = 3 ] || fail "$name: not every rank is in the summary"
	[ "$(grep -c '^kolm: ' "$name.err")" = 1 ] || fail "$name: not one message: $(cat "$name.err")"
	grep -qE "^kolm: stopped by (SIGTERM|Ctrl-C) after $steps of 1000000 steps; what was measured is in $dir/$name" "$name.err" ||
		fail "$name said: $(cat "$name.err")"
	ls -d "$name"/*.tmp* "$name"/job.json 2>/dev/null && fail "$name: files are left"
	nobody_left "$name"
}
signalled() { # NAME SIGNAL CODE OPTIONS...
	local name=$1 signal=$2 code=$3
	shift 3
	start "$name" 3 "$@"
	sleep 0.2
	kill -"$signal" $pid
	wait $pid
	check_stopped "$name" "$code" $?
}

rank_pid() { # NAME RANK
	local p
	for p in $(pgrep -f -- "--run-dir $dir/$1"); do
		tr '\0' '\n' <"/proc/$p/environ" | grep -qE "^(OMPI_COMM_WORLD|PMI)_RANK=$2$" && echo "$p"
	done
}
# A rank that is stopped can't say so: the others name it, after the timeout and not much later.
stopped() { # NAME RANKS RANK PATTERN
	local name=$1 rank=$3 after
	start "$name" "$2" --quiet --timeout 2
	kill -STOP "$(rank_pid "$name" "$rank")"
	wait $pid
	[ $? != 0 ] || fail "$name ends well"
	grep -qE "^kolm: rank $rank of .* on .* hangs$4" "$name.err" || fail "$name said: $(cat "$name.err")"
	after=$(sed -nE 's/^kolm: rank .* for ([0-9.]+) s.*/\1/p' "$name.err")
	awk -v t="$after" 'BEGIN { exit !(t > 0 && t < 4) }' || fail "$name: named after $after s: $(cat "$name.err")"
	nobody_left "$name"
}

waits_for_another_machine() {
	"$MPIEXEC" -n 2 "$KOLM" train --dim 16 --dp 2 --batch 32 --micro-batches 16 --steps 1 --warmup 0 --timeout 2 \
		--inject rank=0,at=forward,sleep=400ms --quiet --run-dir slow || fail "waiting is taken for a hang"
}

# The job that is ended because of it is no second thing to tell, on whatever machine rank 0 is.
says_one_thing() {
	"$MPIEXEC" -n 4 "$KOLM" train --dim 32 --dp 4 --batch 64 --timeout 1 --inject rank=3,step=2,hang --run-dir one >/dev/null 2>one.err
	[ "$(grep -c '^kolm:' one.err)" = 1 ] && grep -q '^kolm: rank 3 of 4 .* hangs' one.err || fail "a hang elsewhere: $(cat one.err)"
}

# All at once: they do little but wait.
cases=()
signalled term TERM 143 & cases+=($!)
signalled int INT 130 & cases+=($!)
# In a step that takes longer than Open MPI waits before it kills.
signalled long TERM 143 --inject rank=1,step=3,at=forward,sleep=3s & cases+=($!)
stopped first 3 0 ' \(it is stopped\): last at step [0-9]+' & cases+=($!)
stopped other 3 1 ' \(it is stopped\): last at step [0-9]+' & cases+=($!)
export KOLM_MPI_HOSTS=2 # alone on its machine too; and waiting for one on another machine that works is no hang
stopped alone 2 1 ': nothing was heard from it' & cases+=($!)
waits_for_another_machine & cases+=($!)
says_one_thing & cases+=($!)
failed=0
for case in "${cases[@]}"; do
	wait "$case" || failed=1
done
exit $failed
