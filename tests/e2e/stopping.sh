#!/usr/bin/env bash
# Ctrl-C, SIGTERM, SIGHUP, SIGKILL, a closed pipe: the documented exit code, what was
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
for case in INT:130 TERM:143 HUP:129; do
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

# A reader that goes away ends the run with an error, and leaves no half file.
"$KOLM" train --dim 64 --depth 2 --steps 20 --dump-check pipe-dump --run-dir pipe 2>pipe.err | head -n 1 >/dev/null
rc=${PIPESTATUS[0]}
if [ "$rc" != 0 ]; then # it may also have been done before head was
	[ "$rc" = 1 ] || fail "a closed pipe gave exit code $rc"
	grep -q "can't write to standard output" pipe.err || fail "said: $(cat pipe.err)"
fi
ls pipe-dump/*.tmp* 2>/dev/null && fail "temporary files left"

# Closed standard streams must not let text into the run's files.
"$KOLM" train --dim 8 --steps 3 --run-dir closed >&- 2>&-
[ "$(grep -c '^{.*}$' closed/metrics.jsonl)" = "$(wc -l <closed/metrics.jsonl)" ] ||
	fail "metrics.jsonl holds what standard output should: $(cat closed/metrics.jsonl)"
exit 0
