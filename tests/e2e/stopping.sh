#!/usr/bin/env bash
# Ctrl-C, SIGTERM, SIGKILL and a full disk: the documented exit code, what was
# measured is kept, no half file.
. "$(dirname "$0")/lib.bash"

start() { "$KOLM" train --dim 256 --depth 4 --steps 1000000 --run-dir "$1" >/dev/null 2>"$1.err" & }
wait_for_steps() {
	for _ in $(seq 100); do
		[ -s "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -gt 3 ] && return
		sleep 0.1
	done
	fail "no steps in $1"
}

# A background job of a script ignores SIGINT unless the program installs a handler, which
# kolm does.
for case in INT:130 TERM:143; do
	start "$case"
	pid=$!
	wait_for_steps "$case"
	kill -"${case%:*}" $pid
	wait $pid
	rc=$?
	[ $rc = "${case#*:}" ] || fail "SIG${case%:*} gave exit code $rc"
	grep -q '"interrupted": true' "$case/summary.json" || fail "no summary after SIG${case%:*}"
	grep -q 'stopped by' "$case.err" || fail "nothing said about SIG${case%:*}"
done

start killed
pid=$!
wait_for_steps killed
kill -9 $pid
wait $pid 2>/dev/null
[ ! -e killed/summary.json ] || fail "a killed run has no summary"
tail -n 1 killed/metrics.jsonl | grep -q '}$' || fail "half a line in metrics.jsonl"
ls killed/*.tmp* 2>/dev/null && fail "temporary files left"

# A full disk needs a small file system, and mounting one needs root.
mkdir small
if ! mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
	echo "full disk: not tested, mounting needs root"
	exit 0
fi
cleanup() { umount "$dir/small"; rm -rf "$dir"; }
# The dump alone needs more than 64 KiB: it must not leave half a file.
"$KOLM" train --dim 128 --depth 2 --steps 2 --dump-check small/dump --run-dir run \
	>/dev/null 2>full.err
rc=$?
[ $rc = 1 ] || fail "a full disk gave exit code $rc: $(cat full.err)"
grep -q "can't write small/dump/initial.safetensors: No space left" full.err ||
	fail "said: $(cat full.err)"
[ -z "$(ls small/dump)" ] || fail "left behind: $(ls small/dump)"
# metrics.jsonl fills the disk in the middle of a run.
rm -rf small/*
"$KOLM" train --dim 8 --depth 1 --batch 2 --steps 100000 --quiet --run-dir small/run 2>full.err
rc=$?
[ $rc = 1 ] || fail "metrics on a full disk gave exit code $rc: $(cat full.err)"
grep -q "metrics.jsonl: No space left" full.err || fail "said: $(cat full.err)"
tail -n 1 small/run/metrics.jsonl | grep -q '}$' || fail "half a line in metrics.jsonl"
ls small/run/*.tmp* 2>/dev/null && fail "temporary files left"
exit 0
