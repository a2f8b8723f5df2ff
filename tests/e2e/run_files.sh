#!/usr/bin/env bash
# What a run leaves: files that parse, the same losses twice, and config.json that
# gives the same run again.
. "$(dirname "$0")/lib.bash"

args=(--dim 48 --depth 3 --batch 32 --micro-batches 2 --optimizer adamw --clip-grad 1 --steps 12)
"$KOLM" train "${args[@]}" --run-dir a >out.txt 2>err.txt || fail "the first run: $(cat err.txt)"
"$KOLM" train "${args[@]}" --run-dir b >/dev/null 2>&1 || fail "the second run"
cmp <(losses a/metrics.jsonl) <(losses b/metrics.jsonl) || fail "two runs, two results"
[ "$(losses a/metrics.jsonl | wc -l)" = 12 ] || fail "12 steps should give 12 lines"
[ "$(grep -c '^step' out.txt)" = 12 ] || fail "one line per step"
[ "$(grep -c '"warmup": true' a/metrics.jsonl)" = 5 ] || fail "5 warm-up steps"

"$KOLM" train --config a/config.json --run-dir c >/dev/null 2>&1 || fail "config.json fed back"
cmp a/config.json c/config.json || fail "config.json changed when fed back"
cmp <(losses a/metrics.jsonl) <(losses c/metrics.jsonl) || fail "config.json gave another run"
"$KOLM" train --config a/config.json --seed 1 --run-dir d >/dev/null 2>&1
cmp -s <(losses a/metrics.jsonl) <(losses d/metrics.jsonl) && fail "another seed, the same run"
"$KOLM" train "${args[@]}" --threads 1 --run-dir e >/dev/null 2>&1
cmp <(losses a/metrics.jsonl) <(losses e/metrics.jsonl) || fail "threads changed the result"

grep -q '^kolm train --dim 48 .*--run-dir a$' a/command.txt || fail "command.txt: $(cat a/command.txt)"
for key in schema version grid ranks cores oversubscribed precision batch micro_batches steps \
	warmup step_ms samples_per_s gflops first_loss final_loss per_rank; do
	grep -q "\"$key\":" a/summary.json || fail "summary.json has no $key"
done
"$KOLM" train "${args[@]}" --log-format jsonl --run-dir f 2>/dev/null >lines.jsonl
cmp lines.jsonl f/metrics.jsonl || fail "--log-format jsonl prints what metrics.jsonl holds"
[ -z "$("$KOLM" train "${args[@]}" --quiet --run-dir g 2>&1)" ] || fail "--quiet is not quiet"
ls ./*/*.tmp* 2>/dev/null && fail "temporary files left"

"$KOLM" train --dim 8 --steps 2 >/dev/null 2>&1 || fail "a run with no --run-dir"
[ "$(ls runs | wc -l)" = 1 ] || fail "no folder below runs/"

if command -v taskset >/dev/null && taskset -c 0 true 2>/dev/null; then
	taskset -c 0 "$KOLM" train "${args[@]}" --run-dir bound >/dev/null 2>&1
	grep -q '"cores": 1,' bound/summary.json || fail "a given affinity was not kept"
fi

# Every kernel table gives the same run, up to rounding.
for cpu in reference generic avx2; do
	KOLM_CPU=$cpu "$KOLM" train "${args[@]}" --run-dir k-$cpu >/dev/null 2>&1
	rc=$?
	# This CPU may have no AVX2; the others run anywhere.
	[ $rc = 2 ] && [ $cpu = avx2 ] && continue
	[ $rc = 0 ] || fail "$cpu kernels: exit code $rc"
	paste <(losses a/metrics.jsonl) <(losses k-$cpu/metrics.jsonl) |
		awk '{d = $2 - $4; if (d < 0) d = -d; if (d > 1e-5 * $2) bad = 1} END {exit bad}' ||
		fail "$cpu kernels train differently"
done
exit 0
