#!/usr/bin/env bash
# kolm train over several ranks: the same run as on one, and the truth when a rank fails.
. "$(dirname "$0")/lib.bash"

common=(--dim 64 --depth 4 --batch 48 --steps 10 --optimizer momentum --clip-grad 1 --threads 1 --quiet)
"$KOLM" train "${common[@]}" --run-dir one || fail "one rank"
for dp in 2 3 4; do
	"$KOLM" train "${common[@]}" --dp $dp --run-dir "dp$dp" || fail "dp $dp"
	paste <(losses one/metrics.jsonl | cut -d' ' -f2) <(losses "dp$dp/metrics.jsonl" | cut -d' ' -f2) |
		awk '{ d = ($1 - $2) / $1; if (d < -1e-5 || d > 1e-5) exit 1 } END { if (NR != 10) exit 1 }' ||
		fail "dp $dp: losses differ from one rank's"
	"$KOLM" train "${common[@]}" --dp $dp --run-dir again --overwrite || fail "dp $dp again"
	[ "$(losses "dp$dp/metrics.jsonl")" = "$(losses again/metrics.jsonl)" ] || fail "dp $dp: not the same run twice"
	grep -q "\"ranks\": $dp" "dp$dp/summary.json" || fail "ranks in the summary"
done

# A batch that does not divide, an injection that is not there.
expect_error 2 '--batch 64 does not divide into 3 replicas of 1 micro-batches; --batch 63 or 66 would' "$KOLM" train --dp 3
expect_error 2 "'rank=2' is not in this run; it goes from 0 to 1" "$KOLM" train --dp 2 --inject rank=2,kill
expect_error 2 "does nothing" "$KOLM" train --inject rank=0
expect_error 2 "'nap=3' is unknown" "$KOLM" train --inject nap=3
expect_error 2 "nobody has started this as a rank" "$KOLM" train --transport mpi
expect_error 2 "but there are 2 ranks here" "$KOLM" train --dp 2 --nproc-per-node 4

nobody_left() { # of the ranks that we have started: they carry the folder's whole name
	! pgrep -f -- "--run-dir $dir/$1" >/dev/null || fail "$1: processes are left: $(pgrep -af -- "--run-dir $dir/$1")"
}

# Killed: named first, with its place; 137.
"$KOLM" train --dim 64 --dp 4 --inject rank=3,step=12,kill --run-dir "$dir/killed" >/dev/null 2>err.txt
[ $? = 137 ] || fail "a killed rank: $(cat err.txt)"
grep -q "^kolm: rank 3 of 4 (dp3 pp0 mp0) on .* was ended by signal 9 (Killed), at step 12" err.txt || fail "said: $(cat err.txt)"
nobody_left killed

# Hanging: reported with who waits for it, within the timeout.
"$KOLM" train --dim 64 --dp 4 --inject rank=1,step=5,at=backward,hang --timeout 1 --run-dir "$dir/hung" >/dev/null 2>err.txt
[ $? = 1 ] || fail "a hanging rank: $(cat err.txt)"
grep -q "^kolm: rank 1 of 4 (dp1 pp0 mp0) on .* hangs: last at step 5 backward 0, .*; ranks 0, 2-3 wait for it in all-reduce" err.txt ||
	fail "said: $(cat err.txt)"
nobody_left hung

# As many ranks as there is memory for; beyond the first 64, too, it is known who waits for whom.
"$KOLM" train --dim 16 --depth 2 --dp 100 --batch 100 --device virtual --steps 3 --quiet --run-dir many || fail "100 ranks"
[ "$(grep -c '"utilization"' many/summary.json)" = 100 ] || fail "not 100 ranks"
"$KOLM" train --dim 16 --depth 2 --dp 80 --batch 80 --device virtual --inject rank=70,step=3,hang --timeout 3 \
	--run-dir "$dir/hung80" >/dev/null 2>err.txt
[ $? = 1 ] || fail "80 ranks, one hangs: $(cat err.txt)"
grep -q "^kolm: rank 70 of 80 .*; ranks 0-69, 71-79 wait for it in all-" err.txt || fail "said: $(head -n 1 err.txt)"
nobody_left hung80
expect_error 2 '--dp 80 --pp 80 --mp 1 is 6400 ranks; at most 4096' "$KOLM" train --dp 80 --pp 80
expect_error 2 '--dp 4097 is out of range; it takes 1 to 4096' "$KOLM" train --dp 4097
expect_error 2 '--ranks 4097 is out of range; it takes 2 to 4096' "$KOLM" bench comm --ranks 4097

# Asleep: in every step, of one rank only, before each backward.
"$KOLM" train --dim 64 --dp 2 --steps 4 --warmup 0 --micro-batches 2 --inject rank=0,at=backward,sleep=20ms --quiet --run-dir slow || fail "sleep"
awk -F'"min": ' '/"min"/ { split($2, a, ","); if (a[1] < 40) exit 1 }' slow/summary.json || fail "two sleeps of 20 ms take less than 40"

# Ctrl-C and SIGTERM reach all ranks; what was measured is kept. A second one ends at once.
for case in INT:130 TERM:143; do
	"$KOLM" train --dim 64 --dp 3 --batch 48 --steps 1000000 --run-dir "$dir/$case" >/dev/null 2>err.txt &
	pid=$!
	for _ in $(seq 100); do
		[ -s "$case/metrics.jsonl" ] && [ "$(wc -l <"$case/metrics.jsonl")" -gt 3 ] && break
		sleep 0.1
	done
	kill -"${case%:*}" $pid
	wait $pid
	rc=$?
	[ $rc = "${case#*:}" ] || fail "SIG${case%:*} gave exit code $rc: $(cat err.txt)"
	grep -q '"interrupted": true' "$case/summary.json" || fail "no summary after SIG${case%:*}"
	nobody_left "$case"
done

# A signal to the whole group, as timeout(1) and batch systems send it, is one request.
timeout 1 "$KOLM" train --dim 64 --dp 2 --steps 1000000 --run-dir "$dir/group" >/dev/null 2>err.txt
grep -q '"interrupted": true' group/summary.json || fail "no summary after timeout(1): $(cat err.txt)"
grep -q "stopped by SIGTERM" err.txt || fail "timeout(1): $(cat err.txt)"
nobody_left group
exit 0
