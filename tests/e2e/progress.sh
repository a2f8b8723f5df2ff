#!/usr/bin/env bash
# The live screen: frames on a terminal that is left clean however the run ends; plain
# lines anywhere else.
. "$(dirname "$0")/lib.bash"
command -v script >/dev/null || skip "no script(1) here"
export TERM=xterm LC_ALL=C.UTF-8 ASAN_OPTIONS=detect_leaks=0
unset NO_COLOR

# on_terminal LOG COLUMNS COMMAND: what the terminal got goes to LOG; its keys are our input.
on_terminal() {
	timeout 60 script -qfec "stty cols $2 rows 30; $3" "$1.script" >/dev/null
	local rc=$?
	sed '1d;$d' "$1.script" | head -c -1 >"$1" # without script's own lines
	return $rc
}
escape=$(printf '\033')
frames() { grep -c "step.* of [0-9].*$escape\[K" "$1"; }
# As it would stand there: without styles and movements.
plain() { sed "s/$escape\[[0-9]*[mAKJ]//g; s/\r//g" "$1"; }

# The cursor was never hidden and no mode was set: there is nothing to restore. The last
# line is whole.
is_clean() {
	! grep -q "$escape\[?" "$1" || fail "$1: a mode of the terminal was changed"
	! sed "s/$escape\[[0-9]*[mAKJ]//g" "$1" | grep -q "$escape" || fail "$1: unknown sequences"
	[ -z "$(tail -c 1 "$1" | tr -d '\n')" ] || fail "$1: the last line is not whole"
}

slow="--dim 32 --depth 4 --inject at=forward,sleep=15ms"
start=$(date +%s%N)
on_terminal done.log 80 "$KOLM train $slow --steps 60 --dp 2 --run-dir done" </dev/null || fail "a run on a terminal"
ms=$((($(date +%s%N) - start) / 1000000))
is_clean done.log
[ "$(frames done.log)" -ge 3 ] || fail "$(frames done.log) frames"
[ "$(frames done.log)" -le $((ms / 125 + 3)) ] || fail "$(frames done.log) frames in $ms ms"
plain done.log >done.txt
grep -q '^kolm .*: 4 layers' done.txt || fail "no heading: $(cat done.txt)"
! grep -q 'grad_norm' done.txt || fail "lines of steps on the screen"
grep -n '^step 60 of 60 .* 100 %  done' done.txt | tail -n 1 >last.txt
[ -s last.txt ] || fail "the last frame: $(tail done.txt)"
tail -n "+$(cut -d: -f1 <last.txt)" done.txt >last.txt # it and what follows
grep -q '^median step' last.txt || fail "the closing text is not below the last frame: $(cat done.txt)"
for figure in 'loss +[0-9]' 'samples/s +[0-9]' 'step +[0-9.]+ ms' 'memory +[0-9.]+ KiB' 'GFLOP/s +[0-9]' 'of peak +[0-9]+ %'; do
	grep -qE "$figure" last.txt || fail "no $figure: $(cat last.txt)"
done
[ "$(wc -l <done/metrics.jsonl)" = 60 ] || fail "metrics.jsonl has no line per step"
[ ! -e done/job.json ] || fail "job.json is left"

# Narrow, with a line per rank.
on_terminal ranks.log 40 "LC_ALL=C $KOLM train $slow --steps 30 --dp 2 --progress ranks --run-dir ranks" </dev/null || fail "--progress ranks"
is_clean ranks.log
sed "s/\r//g" ranks.log | grep "$escape\[[KJ].\?$" | sed "s/$escape\[[0-9]*[mAKJ]//g" | awk '{ if (length($0) > 39) { print; exit 1 } }' ||
	fail "a line is wider than the terminal"
plain ranks.log | grep -q '^   1   1  0  0 ' || fail "no line for rank 1: $(plain ranks.log | tail)"

# Ctrl-C at the terminal: exit code, summary, the message below the frame.
(
	for _ in $(seq 100); do
		[ -s ctrl-c/metrics.jsonl ] && [ "$(wc -l <ctrl-c/metrics.jsonl)" -gt 20 ] && break
		sleep 0.1
	done
	printf '\003'
	sleep 2
) | on_terminal ctrl-c.log 80 "$KOLM train $slow --steps 100000 --dp 2 --run-dir ctrl-c"
rc=${PIPESTATUS[1]}
[ "$rc" = 130 ] || fail "Ctrl-C gave exit code $rc: $(plain ctrl-c.log | tail -n 3)"
is_clean ctrl-c.log
grep -q '"interrupted": true' ctrl-c/summary.json || fail "no summary after Ctrl-C"
plain ctrl-c.log | tail -n 1 | grep -q '^kolm: stopped by Ctrl-C after' || fail "Ctrl-C: $(plain ctrl-c.log | tail -n 3)"

# SIGTERM, a killed rank, a warning in the middle.
on_terminal term.log 80 "timeout --foreground 1 $KOLM train $slow --steps 100000 --run-dir term" </dev/null
[ $? = 124 ] || fail "timeout: $(plain term.log | tail -n 3)"
is_clean term.log
plain term.log | tail -n 1 | grep -q '^kolm: stopped by SIGTERM' || fail "SIGTERM: $(plain term.log | tail -n 3)"
grep -q '"interrupted": true' term/summary.json || fail "no summary after SIGTERM"
on_terminal kill.log 80 "$KOLM train $slow --steps 100 --dp 2 --inject rank=1,step=20,kill --run-dir kill" </dev/null
[ $? = 137 ] || fail "a killed rank: $(plain kill.log | tail -n 3)"
is_clean kill.log
plain kill.log | grep -q '^kolm: rank 1 of 2 .* was ended by signal 9' || fail "a killed rank: $(plain kill.log | tail -n 3)"
on_terminal warn.log 80 "$KOLM train $slow --lr 1e6 --steps 60 --max-bad-steps off --run-dir warn" </dev/null || fail "a run that diverges"
is_clean warn.log
[ "$(plain warn.log | grep -c '^kolm: warning: step [0-9]*: the loss is not finite')" = 1 ] || fail "the warning: $(plain warn.log)"

# Where standard output goes elsewhere it gets its lines, besides the screen.
on_terminal file.log 80 "$KOLM train $slow --steps 30 --run-dir file >file.txt" </dev/null || fail "standard output in a file"
[ "$(grep -c '^step .* grad_norm .* samples/s' file.txt)" = 30 ] || fail "lines in the file: $(cat file.txt)"
[ "$(frames file.log)" -ge 2 ] || fail "no screen besides a file"

# Plain lines: without a terminal, on a dumb one, where asked for, in a background job.
lines_only() {
	! grep -q "$escape" "$1" || fail "$1: sequences in plain text: $(cat "$1")"
	[ "$(grep -cE '^step +[0-9]+  loss [^ ]+ +grad_norm [^ ]+ +[0-9.]+ ms +[0-9.]+ samples/s +[0-9.]+ GFLOP/s(  \(warm-up\))?.?$' "$1")" = 8 ] ||
		fail "$1: not the lines of 8 steps: $(cat "$1")"
}
small="train --dim 16 --steps 8 --run-dir plain --overwrite"
"$KOLM" $small >no.log 2>&1 </dev/null || fail "no terminal"
lines_only no.log
on_terminal dumb.log 80 "TERM=dumb $KOLM $small" </dev/null
lines_only dumb.log
on_terminal plain.log 80 "$KOLM $small --progress plain" </dev/null
lines_only plain.log
on_terminal back.log 80 "timeout 20 $KOLM $small; exit" </dev/null
lines_only back.log
# One that is over before the first frame: heading, perhaps a frame, closing.
on_terminal short.log 80 "$KOLM train --dim 2 --depth 1 --batch 1 --steps 1 --run-dir short" </dev/null
is_clean short.log
plain short.log | grep -oE '^(kolm 0|step|median)' | tr '\n' ' ' | grep -qE '^kolm 0 (step )*median $' || fail "a short run: $(cat short.log)"
on_terminal quiet.log 80 "$KOLM $small --quiet" </dev/null
[ ! -s quiet.log ] || fail "--quiet: $(cat quiet.log)"
on_terminal jsonl.log 80 "$KOLM $small --log-format jsonl 2>err.txt" </dev/null
sed 's/\r//' jsonl.log | cmp - plain/metrics.jsonl || fail "--log-format jsonl on a terminal"

expect_error 2 'no progress screen: standard error is no terminal' "$KOLM" $small --progress screen
expect_error 2 '--quiet contradicts --progress ranks' "$KOLM" $small --quiet --progress ranks

# Under mpirun isatty lies: rank 0 prints lines.
if [ -n "${MPIEXEC:-}" ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
	on_terminal mpi.log 80 "$MPIEXEC -n 2 $KOLM $small --dp 2" </dev/null || fail "mpirun on a terminal: $(cat mpi.log)"
	lines_only mpi.log
	"$MPIEXEC" -n 2 "$KOLM" $small --dp 2 --progress screen >out.txt 2>&1
	[ "$(grep -c '^kolm: there can be no progress screen' out.txt)" = 1 ] || fail "mpirun with a screen: $(cat out.txt)"
fi
exit 0
