#!/usr/bin/env bash
# One folder, one run: a second one is refused with the process of the first, alone and under
# mpirun; what another run has left needs --overwrite; a run that is killed is in nobody's way.
. "$(dirname "$0")/lib.bash"

RANDOM=${KOLM_SEED:=$(date +%s)}
echo "KOLM_SEED=$KOLM_SEED"
started=()
cleanup() {
	[ ${#started[@]} = 0 ] || kill -9 "${started[@]}" 2>/dev/null
	rm -rf "$dir"
}
# Wait until a run in the background has measured some steps.
wait_for_steps() {
	for _ in $(seq 600); do
		[ -s "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -gt 3 ] && return
		sleep 0.05
	done
	fail "no steps in $1"
}
# The steps of a run are its own: 0, 1, 2, ... and nothing else.
is_one_run() {
	grep -o '"step": [0-9]*' "$1/metrics.jsonl" | awk '$2 != NR - 1 {exit 1}' || fail "$1: steps of two runs: $(cut -c1-40 "$1/metrics.jsonl")"
}
# In order: no lock, nothing for kolm top, no half file.
is_tidy() { [ -z "$(find "$@" -name .lock -o -name job.json -o -name '*.tmp.*')" ] || fail "left behind: $(find "$@" -name .lock -o -name job.json -o -name '*.tmp.*')"; }

# ---- two at once ----
endless=(--dim 32 --depth 2 --steps 1000000 --log-every 1 --threads 1)
"$KOLM" train "${endless[@]}" --dp 2 --run-dir shared >/dev/null 2>first.txt &
first=$!
started+=($first)
wait_for_steps shared
for again in "" --overwrite "--dp 2 --overwrite"; do
	expect_error 1 "shared is in use by process $first; wait for its end" timeout 20 "$KOLM" train --dim 16 --steps 3 $again --run-dir shared
done
expect_error 1 "in use by process $first" timeout 20 "$KOLM" train --dim 16 --steps 3 --run-dir "$PWD/./shared/../shared"
before=$(wc -l <shared/metrics.jsonl)
sleep 0.2
[ "$(wc -l <shared/metrics.jsonl)" -gt "$before" ] || fail "the first run does not go on"
kill -TERM $first
wait $first
[ $? = 143 ] || fail "the first run: $(cat first.txt)"
is_one_run shared
grep -q '"ranks": 2' shared/summary.json || fail "the summary is another run's"
is_tidy shared

# Started at the same moment: one of them has the folder, whoever it is.
for round in $(seq 4); do
	pids=()
	for i in 1 2 3; do
		timeout 60 "$KOLM" train --dim $((8 * i)) --steps 30 --quiet --inject at=forward,sleep=20ms --run-dir "race$round" 2>"race$i.txt" &
		pids+=($!)
	done
	good=0
	for i in 1 2 3; do
		wait "${pids[i - 1]}"
		case $? in
		0) good=$((good + 1)) ;;
		1) grep -q "race$round is in use by process" "race$i.txt" || fail "said: $(cat "race$i.txt")" ;;
		2) grep -q "holds the .* of another run" "race$i.txt" || fail "said: $(cat "race$i.txt")" ;;
		*) fail "ended with $?: $(cat "race$i.txt")" ;;
		esac
	done
	[ $good -ge 1 ] || fail "nobody got the folder: $(cat race?.txt)"
	is_one_run "race$round"
	[ "$(wc -l <"race$round/metrics.jsonl")" = 30 ] || fail "not the 30 steps of a run"
	is_tidy "race$round"
done

# The folder of --dump-check as well.
"$KOLM" train --dim 16 --steps 20 --inject sleep=200ms --quiet --run-dir d1 --dump-check dump &
first=$!
started+=($first)
wait_for_steps d1
expect_error 1 "dump is in use by process $first" "$KOLM" train --dim 16 --steps 3 --run-dir d2 --dump-check dump
[ ! -e d2 ] || fail "a refused run has made its folder"
kill -9 $first
wait $first 2>/dev/null
"$KOLM" train --dim 16 --steps 3 --quiet --run-dir both --dump-check both || fail "one folder for both"
is_tidy both

# ---- what another run has left ----
"$KOLM" train --dim 16 --steps 3 --quiet --run-dir old || fail "a first run"
sums=$(cd old && md5sum -- *)
expect_error 2 "old holds the config.json of another run; add --overwrite" "$KOLM" train --dim 16 --steps 5 --run-dir old
[ "$sums" = "$(cd old && md5sum -- *)" ] || fail "a refused run has changed files"
"$KOLM" train --dim 16 --steps 5 --quiet --trace 0 --overwrite --run-dir old || fail "--overwrite"
[ "$(wc -l <old/metrics.jsonl)" = 5 ] && [ ! -e old/timeline.json ] || fail "not replaced: $(ls old)"
mkdir mine && echo "[]" >mine/notes.json
"$KOLM" train --dim 16 --steps 2 --quiet --run-dir mine || fail "a folder with other files"
[ "$(cat mine/notes.json)" = "[]" ] || fail "a stranger's file was touched"

# ---- killed, and started again at once ----
for round in $(seq 8); do
	"$KOLM" train "${endless[@]}" --dp 2 --overwrite --run-dir killed >/dev/null 2>&1 &
	first=$!
	sleep "$(printf '0.%03d' $((RANDOM % 400)))"
	kill -9 $first
	timeout 30 "$KOLM" train --dim 16 --steps 7 --quiet --overwrite --run-dir killed || fail "after kill -9, round $round"
	wait $first 2>/dev/null
	[ "$(wc -l <killed/metrics.jsonl)" = 7 ] || fail "round $round: $(cut -c1-40 killed/metrics.jsonl)"
	is_one_run killed
	is_tidy killed
done

# ---- under mpirun: rank 0 owns the files ----
[ -n "${MPIEXEC:-}" ] || exit 0
export ASAN_OPTIONS=detect_leaks=0 # MPI libraries leave some
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
"$MPIEXEC" -n 2 "$KOLM" train "${endless[@]}" --dp 2 --run-dir mpi >/dev/null 2>&1 &
started+=($!)
wait_for_steps mpi
owner=$(sed -n 's/^ *"pid": \([0-9]*\).*/\1/p' mpi/job.json)
expect_error 1 "mpi is in use by process $owner" "$KOLM" train --dim 16 --steps 3 --overwrite --run-dir mpi
timeout 60 "$MPIEXEC" -n 2 "$KOLM" train --dim 16 --dp 2 --steps 3 --overwrite --run-dir mpi >/dev/null 2>err.txt
[ $? = 1 ] || fail "a second job: $(cat err.txt)"
[ "$(grep -c '^kolm: ' err.txt)" = 1 ] || fail "not one message: $(cat err.txt)"
grep -q "^kolm: rank 0 .*mpi is in use by process $owner" err.txt || fail "said: $(cat err.txt)"
kill -TERM "$owner"
wait "${started[-1]}"
is_one_run mpi
is_tidy mpi
# Rank 0 is killed: the next run finds the folder free, and cleans up.
"$MPIEXEC" -n 2 "$KOLM" train "${endless[@]}" --dp 2 --overwrite --run-dir mpi >/dev/null 2>&1 &
started+=($!)
for _ in $(seq 200); do
	[ -s mpi/job.json ] && break
	sleep 0.05
done
kill -9 "$(sed -n 's/^ *"pid": \([0-9]*\).*/\1/p' mpi/job.json)"
wait "${started[-1]}" 2>/dev/null
timeout 60 "$MPIEXEC" -n 2 "$KOLM" train --dim 16 --dp 2 --steps 3 --quiet --overwrite --run-dir mpi || fail "after a rank 0 that was killed"
[ "$(wc -l <mpi/metrics.jsonl)" = 3 ] || fail "steps of two runs"
is_tidy mpi
exit 0
