#!/usr/bin/env bash
# Whatever is killed, and whenever: half-written files and temporary folders go away, by those
# who are left or by the next one; folders in use stay; no message names what is gone.
. "$(dirname "$0")/lib.bash"

RANDOM=${KOLM_SEED:=$(date +%s)}
echo "KOLM_SEED=$KOLM_SEED"
started=()
cleanup() {
	[ ${#started[@]} = 0 ] || kill -9 "${started[@]}" 2>/dev/null
	rm -rf "$dir"
}
moment() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }
leftovers() { find "$@" -name .lock -o -name job.json -o -name '*.tmp.*'; }
is_tidy() { [ -z "$(leftovers "$@")" ] || fail "left behind: $(leftovers "$@")"; }

# ---- rank 0 dies while a file is open: the supervisor cleans up ----
for where in step=3 step=19,at=optimizer step=0,at=forward; do
	"$KOLM" train --dim 64 --depth 2 --dp 2 --steps 20 --quiet --overwrite --run-dir run --dump-check dump --inject rank=0,$where,kill 2>err.txt
	[ $? = 137 ] || fail "rank 0 was not killed at $where: $(cat err.txt)"
	is_tidy run dump
	[ -s run/metrics.jsonl ] || [ $where = step=0,at=forward ] || fail "what was measured is gone"
done
# ... at any moment, most of all at the end, when everything is written. With kolm top's file or
# without: nobody is there to be watched.
for round in $(seq 15); do
	"$KOLM" train --dim 256 --depth 6 --steps 20 --quiet --overwrite --run-dir run --dump-check dump 2>err.txt &
	pid=$!
	moment 300
	rank=$(pgrep -P $pid | head -n 1)
	[ -z "$rank" ] || kill -9 "$rank" 2>/dev/null
	wait $pid
	is_tidy run dump
done
# A folder without a name is cleaned up by the next run.
"$KOLM" train --dim 64 --steps 1000000 --quiet 2>err.txt &
pid=$!
for _ in $(seq 200); do
	[ -n "$(find runs -name metrics.jsonl -size +0 2>/dev/null)" ] && break
	sleep 0.05
done
kill -9 $pid
wait $pid 2>/dev/null
dead=$(ls runs)
: >"runs/$dead/summary.json.tmp.0123456789abcdef" # as it may happen
"$KOLM" train --dim 16 --steps 2 --quiet || fail "the next run"
is_tidy runs
[ -s "runs/$dead/metrics.jsonl" ] || fail "what the killed run had measured is gone"

# ---- kolm verify and kolm max-batch are killed: the next one cleans up ----
mkdir tmp
export TMPDIR=$dir/tmp
commands=("verify --dim 48 --depth 3 --dp 2 --steps 60" "max-batch --dim 64 --depth 4 --device-memory 20MB")
"$KOLM" ${commands[0]} --inject at=forward,sleep=100ms >long.txt 2>&1 &
long=$!
started+=($long)
for round in $(seq 16); do
	"$KOLM" ${commands[round % 2]} >/dev/null 2>&1 &
	pid=$!
	moment 400
	kill -9 $pid
	wait $pid 2>/dev/null
done
"$KOLM" ${commands[1]} >/dev/null 2>err.txt || fail "max-batch after killed ones: $(cat err.txt)"
for folder in "$TMPDIR"/*; do
	[ ! -e "$folder" ] || fuser "$folder" >/dev/null 2>&1 || ! command -v fuser >/dev/null ||
		fail "left behind: $folder: $(ls -A "$folder")"
done
# The one that went on all the time did not lose its folder.
wait $long
[ $? = 0 ] || fail "a folder in use was taken: $(cat long.txt)"
[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -AR "$TMPDIR")"

# Asked to end, at any moment: they clean up themselves.
for round in $(seq 16); do
	command=${commands[round % 2]}
	[ $((round % 4)) != 3 ] || command="train --dim 32 --steps 100000 --quiet --overwrite --run-dir asked"
	"$KOLM" $command >/dev/null 2>&1 &
	pid=$!
	moment $((round < 8 ? 60 : 300))
	kill -"$([ $((RANDOM % 2)) = 0 ] && echo TERM || echo HUP)" $pid
	wait $pid
	[ -z "$(ls -A "$TMPDIR")" ] || fail "kolm $command, asked to end, leaves: $(ls -AR "$TMPDIR")"
	[ ! -e asked ] || is_tidy asked
done

# ---- no message names a folder that is gone ----
"$KOLM" max-batch --dim 512 --depth 8 --device-memory 80MB --inject at=forward,sleep=1s >/dev/null 2>err.txt &
pid=$!
for _ in $(seq 200); do
	[ -n "$(find "$TMPDIR" -name job.json)" ] && break
	sleep 0.05
done
kill -INT $pid
wait $pid
[ $? = 130 ] || fail "Ctrl-C: $(cat err.txt)"
[ "$(wc -l <err.txt)" = 1 ] && ! grep -q "$TMPDIR" err.txt || fail "said: $(cat err.txt)"
[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -AR "$TMPDIR")"

# ---- a study is killed: the same command goes on ----
cat >slow.json <<'JSON'
{"name": "slow", "title": "Slow", "repetitions": 2,
 "base": {"dim": 16, "depth": 2, "batch": 16, "steps": 20, "warmup": 2, "threads": 1, "inject": "sleep=10ms"},
 "axes": [{"name": "ranks", "option": "dp", "values": [1, 2]}], "devices": "real",
 "tables": [{"id": "all", "title": "All", "columns": ["ranks", "step_ms"]}]}
JSON
for round in $(seq 6); do
	"$KOLM" study slow.json --out out >/dev/null 2>err.txt &
	pid=$!
	moment 900
	kill -9 $pid
	wait $pid 2>/dev/null
done
"$KOLM" study slow.json --out out >/dev/null 2>err.txt || fail "going on: $(cat err.txt)"
! grep -q failed err.txt || fail "a case failed: $(cat err.txt)"
grep -q '"complete": true' out/slow/result.json || fail "not complete: $(cat err.txt)"
is_tidy out
for run in out/slow/runs/*; do
	[ "$(wc -l <"$run/metrics.jsonl")" = 20 ] || fail "$run: steps of two runs"
done
# Killed after its last file: the run is kept, and what it had no time to remove goes.
run=out/slow/runs/ranks1-real-1
echo "1 elsewhere" >$run/.lock
echo "{}" >$run/job.json
: >$run/timeline.json.tmp.0123456789abcdef
kept=$(stat -c %Y.%i $run/summary.json)
"$KOLM" study slow.json --out out >/dev/null 2>err.txt || fail "all is there: $(cat err.txt)"
[ "$kept" = "$(stat -c %Y.%i $run/summary.json)" ] || fail "a finished run was made again"
is_tidy out
# Two studies at once: the second is refused.
rm -rf out
sed 's/"steps": 20/"steps": 2000/' slow.json >slower.json
"$KOLM" study slower.json --out out >/dev/null 2>&1 &
pid=$!
started+=($pid)
for _ in $(seq 200); do
	[ -s out/slow/commands.txt ] && break
	sleep 0.05
done
expect_error 1 "out/slow is in use by process $pid" "$KOLM" study slow.json --out out
kill -INT $pid
wait $pid
[ $? = 130 ] || fail "the first study"

# ---- under mpirun: a job that is ended because a rank hangs ----
[ -n "${MPIEXEC:-}" ] || exit 0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
"$MPIEXEC" --version 2>&1 | grep -q "Open MPI" || exit 0 # others kill at once
for rank in 0 1; do
	timeout 60 "$MPIEXEC" -n 2 "$KOLM" train --dim 32 --dp 2 --steps 20 --timeout 1 --quiet --inject rank=$rank,step=3,hang \
		--run-dir hung$rank --dump-check dump$rank >/dev/null 2>err.txt
	[ $? = 1 ] || fail "a hang under mpirun: $(cat err.txt)"
	is_tidy hung$rank dump$rank
done
exit 0
