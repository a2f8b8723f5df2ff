#!/usr/bin/env bash
# Studies as a user runs them: a file of one's own, tables that agree with the runs, a
# failing case, Ctrl-C and going on, a full disk.
. "$(dirname "$0")/lib.bash"

"$KOLM" study list >list.txt || fail "study list"
[ "$(wc -l <list.txt)" = "$(ls "${SOURCE:?}"/studies/*.json | wc -l)" ] || fail "built-in studies: $(cat list.txt)"
"$KOLM" study show delay >delay.json || fail "study show"
cmp -s delay.json "$SOURCE/studies/delay.json" || fail "show prints something else than the file"
expect_error 2 "did you mean 'kolm study imbalance'" "$KOLM" study imbalence
expect_error 2 "which study" "$KOLM" study
echo '{"name": "x"' >broken.json
expect_error 2 "broken.json is not valid JSON: line 2" "$KOLM" study broken.json

# ---- a study of one's own, with a case that fails ----
cat >mine.json <<'JSON'
{"name": "mine", "title": "Mine", "repetitions": 3,
 "base": {"dim": 32, "depth": 2, "batch": 16, "steps": 8, "warmup": 2, "threads": 1},
 "axes": [{"name": "kind", "values": [{"name": "good"}, {"name": "bad, \"really\"", "set": {"inject": "rank=0,step=3,kill"}}]},
          {"name": "ranks", "option": "dp", "values": [1, 2]}],
 "devices": "real",
 "columns": [{"key": "ratio", "formula": "step_ms[ranks=1] / step_ms"}],
 "tables": [{"id": "all", "title": "All", "columns": ["kind", "ranks", "step_ms", "ratio", "peak_bytes"]}],
 "questions": [{"id": "1", "question": "Does it scale?", "where": {"kind": "good"}, "at": {"ranks": 2}, "verdict": {"compare": "ratio", "with": 1, "above": "Yes: {ratio}.", "below": "No: {ratio}.", "unsure": "Not to be told: {ratio}."}}]}
JSON
"$KOLM" study mine.json --out out >text.txt 2>err.txt || fail "a study with a failing case: $(cat err.txt)"
grep -q 'warning: mine: 2 of 4 cases failed; the first, bad-really-ranks1-real: rank 0 .*signal 9' err.txt || fail "the failure was not told: $(cat err.txt)"
grep -q 's left' err.txt || fail "no time left"
[ "$(grep -c '^kolm train ' out/mine/commands.txt)" = 12 ] || fail "12 commands"
grep -q '^"bad, ""really""",2,,,,,,.*signal 9' out/mine/all.csv || fail "the reason: $(cat out/mine/all.csv)"
grep -q '"failed": "rank 0 .*signal 9' out/mine/result.json || fail "no reason in result.json"
grep -q '"complete": false' out/mine/result.json || fail "it is not complete"
for file in result.json all.csv all.md commands.txt runs/good-ranks2-real-3/summary.json; do
	[ -s "out/mine/$file" ] || fail "$file is missing"
done

# The table is the median of what the runs say, and the spread half of their range.
step() { sed -n 's/^ *"median": \([0-9.e-]*\),/\1/p' "out/mine/runs/good-ranks$1-real-$2/summary.json"; }
for ranks in 1 2; do
	want=$(for rep in 1 2 3; do step $ranks $rep; done | sort -g |
		awk '{v[NR] = $1} END {printf "%.9f %.9f", v[2], (v[3] - v[1]) / 2}')
	got=$(awk -F, -v r=$ranks '$1 == "good" && $2 == r {printf "%.9f %.9f", $3, $4}' out/mine/all.csv)
	echo "$want $got" | awk '{a = $1 - $3; b = $2 - $4; exit !(NF == 4 && a * a < 1e-14 && b * b < 1e-14)}' ||
		fail "the table says '$got', the runs '$want'"
done
awk -F, '$1 == "good" {v[$2] = $3; r[$2] = $5} END {d = r[2] - v[1] / v[2]; exit !(d < 1e-6 && d > -1e-6)}' \
	out/mine/all.csv || fail "the formula does not follow from the table"

# A report has every command once, and they run from any folder.
"$KOLM" report out/mine --out report >/dev/null 2>&1 || fail "report"
[ "$(grep -c '^kolm train ' report/commands.txt)" = 4 ] || fail "4 commands: $(cat report/commands.txt)"
grep -q '^# Mine: 4 commands, each run 3 times$' report/commands.txt || fail "how often: $(cat report/commands.txt)"
grep -q 'run-dir /' report/commands.txt && fail "a path that is not relative"
mkdir elsewhere
grep '^kolm train' report/commands.txt | grep -v inject >some.sh
sed -n '1p' report/commands.txt | grep -q '^#' || fail "no heading"
sed -i "s|^kolm|$KOLM|" some.sh
(cd elsewhere && sh ../some.sh >said.txt 2>&1) || fail "commands.txt can't be run: $(cat elsewhere/said.txt)"
[ "$(find elsewhere -name summary.json | wc -l)" = 2 ] || fail "two runs, and $(find elsewhere -name summary.json)"

# Every command can be given as it is.
sed -n 2p out/mine/commands.txt | sed "s|^kolm|$KOLM|" | sh || fail "a command of commands.txt"

# Done once, nothing runs again.
before=$(stat -c %Y.%i out/mine/runs/good*/summary.json)
"$KOLM" study mine.json --out out >/dev/null 2>err.txt
grep -q '6 of 12 runs are there already' err.txt || fail "finished runs are kept: $(cat err.txt)"
[ "$before" = "$(stat -c %Y.%i out/mine/runs/good*/summary.json)" ] || fail "finished runs were made again"
# Another command is another run.
"$KOLM" study mine.json --out out --steps 5 --reps 1 >/dev/null 2>err.txt
grep -q 'already' err.txt && fail "runs of other options were kept"

# ---- all cases fail: that is a failure, with how many and why ----
cat >bad.json <<'JSON'
{"name": "bad", "title": "Bad", "repetitions": 2,
 "base": {"dim": 32, "depth": 2, "batch": 16, "steps": 3, "warmup": 5, "threads": 1}, "devices": "real",
 "axes": [{"name": "ranks", "option": "dp", "values": [1, 2]}],
 "tables": [{"id": "all", "title": "All", "columns": ["ranks", "step_ms"]}]}
JSON
expect_error 1 'kolm: bad: all 2 cases failed; the first, ranks1-real: --warmup 5 leaves none of --steps 3 to measure' \
	"$KOLM" study bad.json --out out --quiet
[ "$(grep -c '"failed": "--warmup 5' out/bad/result.json)" = 2 ] || fail "its rows do not say why"
# A number of steps from the command line brings a warm-up that fits.
for steps in 1 3 9; do
	"$KOLM" study bad.json --out out --quiet --steps $steps --reps 1 >/dev/null || fail "--steps $steps"
done
grep -q -- '--steps 9 --warmup 5' out/bad/commands.txt || fail "a warm-up that fits is kept: $(cat out/bad/commands.txt)"
sed 's/"repetitions": 2/"repetitions": 1.5/' bad.json >half.json
expect_error 2 "half.json: 'repetitions' must be a whole number from 1 to 32" "$KOLM" study half.json --out out
mkdir broken
echo '{"link_gb_per_s": "fast"}' >broken/calibration.json
expect_error 2 "broken/calibration.json: 'link_gb_per_s' is not a speed .*; delete it" "$KOLM" study delay --quick --only virtual --out broken

# ---- stopping, and going on ----
cat >slow.json <<'JSON'
{"name": "slow", "title": "Slow", "repetitions": 2,
 "base": {"dim": 16, "depth": 2, "batch": 16, "steps": 40, "warmup": 2, "threads": 1, "inject": "sleep=10ms"},
 "axes": [{"name": "ranks", "option": "dp", "values": [1, 2]}],
 "tables": [{"id": "all", "title": "All", "columns": ["ranks", "step_ms"]}]}
JSON
for signal in INT:130 TERM:143; do
	rm -rf out/slow
	"$KOLM" study slow.json --out out --only real >/dev/null 2>stop.txt &
	pid=$!
	for _ in $(seq 1000); do
		[ -e out/slow/runs/ranks1-real-1/summary.json ] && [ -s out/slow/runs/ranks2-real-1/metrics.jsonl ] && break
		sleep 0.05
	done
	kill -"${signal%:*}" $pid
	wait $pid
	rc=$?
	[ $rc = "${signal#*:}" ] || fail "SIG${signal%:*} gave $rc: $(cat stop.txt)"
	grep -q 'runs are kept; the same command goes on' stop.txt || fail "said: $(cat stop.txt)"
	grep -q '"complete": false' out/slow/result.json || fail "no result of what there was"
done
kept=$(stat -c %Y.%i out/slow/runs/ranks1-real-1/summary.json)
"$KOLM" study slow.json --out out --only real >/dev/null 2>again.txt || fail "going on: $(cat again.txt)"
[ "$kept" = "$(stat -c %Y.%i out/slow/runs/ranks1-real-1/summary.json)" ] || fail "a finished run was lost"
grep -q '"complete": true' out/slow/result.json || fail "it is complete now"

# ---- virtual devices: what was put in is found again ----
"$KOLM" study delay --quick --only virtual --reps 3 --steps 6 --out out >/dev/null 2>err.txt || fail "delay: $(cat err.txt)"
[ -s out/calibration.json ] || fail "no calibration.json"
# The same every time: run once, known of all repetitions.
[ "$(find out/delay/runs -name summary.json | wc -l)" = 6 ] && [ "$(wc -l <out/delay/commands.txt)" = 6 ] || fail "6 runs: $(ls out/delay/runs)"
grep -q 'delay 6/6: ' err.txt && grep -q '"complete": true' out/delay/result.json || fail "6 of 6: $(cat err.txt)"
grep -q 'on every number of ranks it makes the step longer by 10.0 ms' out/delay/result.json ||
	fail "the delay was not found: $(cat out/delay/delay.csv)"
"$KOLM" study imbalance --quick --only virtual --reps 1 --steps 6 --out out >/dev/null 2>&1 || fail "imbalance"
awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "grown") c = i}
	$2 == "20 ms" {n++; if ($c < 19.5 || $c > 20.5) bad = 1} END {exit !(n == 2 && !bad)}' out/imbalance/imbalance.csv ||
	fail "the step did not grow by 20 ms: $(cat out/imbalance/imbalance.csv)"
# What all tables have in common is said once.
grep -q '"reading": "One run each: .* Simulated devices compute nothing' out/imbalance/result.json || fail "how to read it"
[ "$(grep -c 'Simulated devices compute nothing' out/imbalance/result.json)" = 1 ] || fail "it is said with every table"
"$KOLM" study transfers --quick --only virtual --reps 1 --steps 5 --out out >/dev/null 2>&1 || fail "transfers"
awk -F, 'NR > 1 {n++; if ($4 != $2 - 1) bad = 1} END {exit !(n == 3 && !bad)}' out/transfers/transfers.csv ||
	fail "one transfer less than devices: $(cat out/transfers/transfers.csv)"

# A simulated device multiplies bf16 where this CPU does: auto is the same on both.
cat >auto.json <<'END'
{"name": "auto", "title": "Auto", "about": "What auto takes.", "base": {"dim": 64, "depth": 2, "steps": 3, "warmup": 1, "precision": "auto"}, "repetitions": 1, "devices": "both",
 "axes": [{"name": "ranks", "option": "dp", "values": [1, 2]}], "tables": [{"id": "auto", "title": "Auto", "columns": ["device", "ranks", "step_ms", "gflops", "peak_gflops", "peak_dtype", "grad_dtype"]}]}
END
"$KOLM" study auto.json --quick --out out >/dev/null 2>err.txt || fail "auto: $(cat err.txt)"
[ "$(cat out/auto/runs/*/config.json | grep -cE '"precision": "(fp32|bf16)"')" = 4 ] && [ "$(cat out/auto/runs/*/config.json | grep '"precision"' | sort -u | wc -l)" = 1 ] ||
	fail "auto is not the same everywhere: $(grep -h '"precision"' out/auto/runs/*/config.json)"
! grep -q ',,' out/auto/auto.csv || fail "a peak is not known: $(cat out/auto/auto.csv)"

# ---- a full disk ----
mkdir small
mount -t tmpfs -o size=192k tmpfs small 2>/dev/null || exit 0 # needs root
cleanup() { umount "$dir/small"; rm -rf "$dir"; }
expect_error 1 "the disk of small/slow is full: [0-9]* of 32 runs are kept; free some space" \
	"$KOLM" study slow.json --out small --only real --steps 3 --reps 16 --quiet
exit 0
