#!/usr/bin/env bash
# A full disk: exit code 1, a message that says so, no half file.
. "$(dirname "$0")/lib.bash"

mkdir small
mount -t tmpfs -o size=64k tmpfs small 2>/dev/null || skip "a small file system needs root to mount it"
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
