#!/usr/bin/env bash
# kolm top: a run that is under way, one that has ended, one that was killed, and none.
. "$(dirname "$0")/lib.bash"
export ASAN_OPTIONS=detect_leaks=0

started=()
cleanup() {
	[ ${#started[@]} = 0 ] || kill -9 "${started[@]}" 2>/dev/null
	rm -rf "$dir"
}
start() { # FOLDER OPTIONS...
	local folder=$1
	shift
	"$KOLM" train --dim 64 --depth 4 --steps 1000000 --run-dir "$folder" "$@" >/dev/null 2>&1 &
	started+=($!)
	for _ in $(seq 100); do
		[ -s "$folder/metrics.jsonl" ] && [ "$(wc -l <"$folder/metrics.jsonl")" -gt 3 ] && return
		sleep 0.1
	done
	fail "$folder does not start"
}
number() { sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" | head -n 1; }

expect_error 1 'no run below runs/ is running' "$KOLM" top
expect_error 2 'nowhere is not the folder of a run' "$KOLM" top nowhere

start runs/old --dp 2
sleep 0.1
start runs/new --dp 2 --pp 2 --micro-batches 4
"$KOLM" top runs/new --json >top.json || fail "top --json"
[ "$(number ranks <top.json)" = 4 ] || fail "ranks: $(cat top.json)"
grep -q '"peak_dtype": "fp32"' top.json || fail "of what peak: $(cat top.json)"
[ "$(number steps <top.json)" = 1000000 ] || fail "steps: $(cat top.json)"
[ "$(grep -c '"utilization":' top.json)" = 4 ] || fail "not four ranks: $(cat top.json)"
[ "$(grep -o '"[dpm]p": [0-9]' top.json | tr -d '\n')" = \
	'"dp": 0"pp": 0"mp": 0"dp": 1"pp": 0"mp": 0"dp": 0"pp": 1"mp": 0"dp": 1"pp": 1"mp": 0' ] || fail "coordinates: $(cat top.json)"
for pid in $(sed -n 's/^ *"pid": \([0-9]*\).*/\1/p' top.json); do
	[ "$(sed -n 's/^PPid:\t//p' "/proc/$pid/status")" = "${started[1]}" ] || fail "$pid is no rank of ours"
done
sleep 0.3
"$KOLM" top runs/new --json >later.json
[ "$(number step <later.json)" -gt "$(number step <top.json)" ] || fail "the step stands: $(number step <later.json)"
"$KOLM" top --once >table.txt || fail "the newest run"
grep -q '^runs/new: 4 ranks, dp 2 x pp 2 x mp 1$' table.txt || fail "not the newest: $(cat table.txt)"
grep -qE '^ +3 +1 +1 +0 +[0-9]+ ' table.txt || fail "no line for rank 3: $(cat table.txt)"
! grep -q "$(printf '\033')" table.txt || fail "sequences in a file"

# Of another user: the truth, with or without its name.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/kolm" top "$@"; }
	cp "$KOLM" kolm
	chmod 755 "$dir" kolm
	expect_error 1 'runs/new is a run of another user: Permission denied; start kolm top as that user' other runs/new
	expect_error 1 'runs/(new|old) is a run of another user: Permission denied' other
	chmod 700 runs/new
	expect_error 1 'runs/new is a run of another user: Permission denied' other runs/new
	chmod 755 runs/new
	# Its number is another process's of another user by now: it is over.
	cp -r runs/new mine
	chown -R 65534 mine
	expect_error 1 'mine is not running' other mine
fi

# Watched until its end: says so, and that is no failure. q ends it, Ctrl-C gives 130.
if command -v script >/dev/null; then
	export TERM=xterm
	watch() { timeout 30 script -qfec "stty cols 80 rows 24; $KOLM top runs/new --interval 0.1" "$1" >/dev/null; }
	frames() { grep -c 'step.* of 1000000' "$1" 2>/dev/null; }
	# However loaded the machine is: when there are some frames, or after 20 s.
	(for _ in {1..200}; do [ "$(frames q.log)" -ge 3 ] && break; sleep 0.1; done; printf q; sleep 1) 2>/dev/null | watch q.log
	rc=${PIPESTATUS[1]}
	[ "$rc" = 0 ] || fail "q gave exit code $rc: $(cat q.log)"
	[ "$(frames q.log)" -ge 3 ] || fail "no frames: $(cat q.log)"
	(sleep 0.7; printf '\003'; sleep 1) | watch c.log
	rc=${PIPESTATUS[1]}
	[ "$rc" = 130 ] || fail "Ctrl-C gave exit code $rc: $(cat c.log)"
	kill -0 "${started[1]}" || fail "Ctrl-C at top has ended the run"
	timeout 30 script -qfec "$KOLM top runs/new --interval 0.1; echo code \$?; stty" end.log </dev/null >/dev/null &
	watcher=$!
	sleep 0.7
fi
# A board that is cut short while somebody looks at it: a copy in a file of ours.
job() { sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" runs/new/job.json; }
mkdir cut
dd if="/proc/$(job pid)/fd/$(job fd)" of=board bs=1M count=64 status=none || fail "no copy of the board"
exec 9<board
sed "s/\"pid\": [0-9]*/\"pid\": $$/; s/\"fd\": [0-9]*/\"fd\": 9/" runs/new/job.json >cut/job.json
"$KOLM" top cut --once >cut.txt || fail "a copy of a board: $(cat cut.txt)"
grep -qE '^ +3 +1 +1 +0 +[0-9]+ ' cut.txt || fail "no line for rank 3 in the copy: $(cat cut.txt)"
if command -v script >/dev/null; then
	timeout 30 script -qfec "$KOLM top cut --interval 0.1; echo code \$?" cut.log </dev/null >/dev/null &
	cutter=$!
	for _ in $(seq 100); do grep -q 'step.* of 1000000' cut.log 2>/dev/null && break; sleep 0.1; done
	truncate -s 100 board
	wait $cutter
	grep -q 'the status board of cut is cut short' cut.log || fail "a board that is cut: $(tail -n 3 cut.log)"
	grep -q 'code 1' cut.log || fail "a board that is cut: $(tail -n 3 cut.log)"
fi
truncate -s 100 board
expect_error 1 'the status board of cut is cut short' "$KOLM" top cut
exec 9<&-

kill -TERM "${started[1]}"
wait "${started[1]}"
if [ -n "${watcher:-}" ]; then
	wait $watcher
	grep -q 'runs/new has ended' end.log || fail "the end: $(cat end.log)"
	grep -q 'code 0' end.log || fail "the end is a failure: $(cat end.log)"
	! grep -qE -- '-echo( |$)|-icanon' end.log || fail "the terminal is not as it was: $(tail -n 5 end.log)"
fi
expect_error 1 'runs/new is not running \(any more\)' "$KOLM" top runs/new
[ "$("$KOLM" top | head -n 1)" = "runs/old: 2 ranks, dp 2 x pp 1 x mp 1" ] || fail "the run that is left"

# Killed: its file is left behind, and its process number may be anybody's.
kill -9 "${started[0]}"
wait "${started[0]}" 2>/dev/null
for _ in $(seq 50); do
	[ -d "/proc/$(number pid <runs/old/job.json)" ] || break
	sleep 0.1
done
expect_error 1 'runs/old is not running \(any more\)' "$KOLM" top runs/old
expect_error 1 'no run below runs/ is running' "$KOLM" top
sed -i "s/\"pid\": [0-9]*/\"pid\": $$/" runs/old/job.json
expect_error 1 'runs/old is not running \(any more\)' "$KOLM" top runs/old
sed -i 's/"layout": [0-9]*/"layout": 1/' runs/old/job.json
expect_error 1 'was started by another build of kolm' "$KOLM" top runs/old
sed -i 's/"host": "[^"]*"/"host": "elsewhere"/' runs/old/job.json
expect_error 1 'runs/old was started on elsewhere, and this is' "$KOLM" top runs/old
echo '{' >runs/old/job.json
expect_error 2 'does not say where a run is' "$KOLM" top runs/old

# Under mpirun: the ranks of this machine.
if [ -n "${MPIEXEC:-}" ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
	"$MPIEXEC" -n 2 "$KOLM" train --dim 64 --dp 2 --steps 1000000 --run-dir mpi >/dev/null 2>&1 &
	started+=($!)
	for _ in $(seq 100); do
		[ -s mpi/metrics.jsonl ] && break
		sleep 0.1
	done
	"$KOLM" top mpi >mpi.txt || fail "under mpirun: $(cat mpi.txt)"
	grep -q '^mpi: 2 ranks, dp 2 x pp 1 x mp 1$' mpi.txt || fail "under mpirun: $(cat mpi.txt)"
	grep -qE '^ +1 +1 +0 +0 +[0-9]+ ' mpi.txt || fail "no line for rank 1 under mpirun: $(cat mpi.txt)"
	kill -TERM "${started[2]}"
	wait "${started[2]}"
	expect_error 1 'mpi is not running' "$KOLM" top mpi
fi
exit 0
