#!/usr/bin/env bash
# The course of a training: learning rates, epochs, evaluations on the way, patience, divergence, and
# which steps are written down; the same on one rank and on a grid.
. "$(dirname "$0")/lib.bash"

"${MAKE_DIGITS:?}" digits || fail "make_digits"
task=(--data csv:digits/digits.csv --dim 32 --depth 4 --optimizer adamw --threads 1)
train() { "$KOLM" train "$@" --overwrite >out.txt 2>err.txt || fail "train $*: $(cat err.txt)"; }
column() { grep -o "\"$1\": [^,}]*" "$2/metrics.jsonl" | cut -d' ' -f2; }
# The step and every loss, learning rate and accuracy of it, the held-out ones as well.
numbers() { grep -oE '"(step|loss|lr|accuracy)": [^,}]*' "$1/metrics.jsonl" | cut -d' ' -f2; }
agree() {
	paste -d' ' <(numbers "$1") <(numbers "$2") | awk -v t="$3" '
		NF != 2 { bad = 1 }
		{ d = $1 - $2; m = $1 < 0 ? -$1 : $1; if (d < 0) d = -d; if (d > t * m + 1e-12) bad = 1 }
		END { exit bad || NR < 20 }' || fail "$1 and $2 differ"
}

# Every schedule, with evaluations: one rank against grids.
for schedule in "cosine --lr-min 1e-4" linear "step --lr-step 7 --lr-gamma 0.5" "wsd --lr-decay 0.5" constant; do
	read -ra words <<<"--lr-schedule $schedule --lr-warmup 4 --lr 0.004 --steps 20 --eval-every 8 --batch 32"
	train "${task[@]}" "${words[@]}" --run-dir one
	train "${task[@]}" "${words[@]}" --run-dir cube --dp 2 --pp 2 --mp 2 --micro-batches 2
	agree one cube 1e-5
	[ "$(column step one | wc -l)" = 20 ] || fail "$schedule: $(column step one)"
	[ "$(grep held_out one/metrics.jsonl | grep -o '"step": [0-9]*' | cut -d' ' -f2 | tr '\n' ' ')" = "7 15 19 " ] || fail "evaluations of $schedule"
	column lr one | awk 'NR <= 4 { d = $1 - 0.001 * NR; if (d * d > 1e-20) exit 1 }' || fail "warm-up of $schedule: $(column lr one)"
	[ "$(column lr one | tail -n 1)" = "$(grep -o '"lr": [^,]*' one/summary.json | cut -d' ' -f2)" ] || fail "lr in the summary of $schedule"
	grep -q "^learning rate: ${words[1]}, " err.txt && grep -q '  lr 0.002  ' out.txt || fail "nobody says how the rate of $schedule goes: $(cat err.txt)"
done
# The last evaluation is the one of the end.
[ "$(tail -n 1 one/metrics.jsonl | grep -o '"held_out".*}}' | tr -d '{}' | sed 's/.*"samples"/"samples"/')" = \
	"$(grep -A3 '"held_out"' one/summary.json | tail -n 3 | tr -d '\n' | sed 's/^ *//; s/,  */, /g')" ] || fail "the last evaluation"

# The rate of a step is that of the update: half of it in the first step is half of it.
for how in "--optimizer sgd" "--optimizer momentum --dp 2" "--optimizer adamw --zero 1 --dp 2" "--optimizer sgd --dp 2 --grad-sync master" \
	"--optimizer momentum --precision bf16" "--optimizer adamw --clip-grad 0.1 --engine base"; do
	read -ra words <<<"$how --dim 16 --depth 2 --steps 2 --threads 1"
	train "${words[@]}" --lr 0.02 --run-dir half
	train "${words[@]}" --lr 0.04 --run-dir full
	train "${words[@]}" --lr 0.04 --lr-warmup 1 --run-dir none
	"$KOLM" train "${words[@]}" --steps 3 --lr 0.04 --lr-warmup 2 --run-dir warm --quiet || fail "$how"
	[ "$(column loss half | tail -n 1)" = "$(column loss warm | sed -n 2p)" ] || fail "$how: the warm-up is no update with half the rate"
	[ "$(column loss full)" = "$(column loss none)" ] || fail "$how: a warm-up of one step"
	[ "$(column loss full | tail -n 1)" != "$(column loss half | tail -n 1)" ] || fail "$how: the rate changes nothing"
	rm -rf warm
done

# Evaluations leave no trace in what was measured of the steps.
grid=(--dim 32 --depth 4 --dp 2 --pp 2 --mp 2 --micro-batches 2 --steps 12 --batch 32 --data csv:digits/digits.csv --threads 1)
train "${grid[@]}" --run-dir without
train "${grid[@]}" --run-dir with --eval-every 3
for what in p2p_messages p2p_bytes collective_bytes traffic_in_bytes; do
	[ "$(grep "\"$what\"" without/summary.json)" = "$(grep "\"$what\"" with/summary.json)" ] || fail "$what with evaluations"
done
[ "$(grep -A3 transfers_per_forward without/summary.json)" = "$(grep -A3 transfers_per_forward with/summary.json)" ] || fail "transfers with evaluations"
[ "$(column loss without)" = "$(sed 's/, "held_out".*//' with/metrics.jsonl | grep -o '"loss": [^,]*' | cut -d' ' -f2)" ] || fail "evaluations change the training"
"$KOLM" trace with >trace.txt 2>&1 || fail "the timeline: $(cat trace.txt)"
[ "$(grep -o '"name": "forward[^"]*"' with/timeline.json | wc -l)" = "$(grep -o '"name": "forward[^"]*"' without/timeline.json | wc -l)" ] || fail "evaluations are in the timeline"

# Epochs: as many steps as they take, by whoever reads config.json too.
train "${task[@]}" --epochs 2 --batch 1000 --holdout 0.1 --run-dir epochs
[ "$(column step epochs | wc -l)" = 9 ] || fail "2 epochs of 4500 in batches of 1000: $(column step epochs)"
grep -q '^9 steps: 2 epochs of 4500 samples$' err.txt || fail "epochs: $(cat err.txt)"
train --config epochs/config.json --batch 500 --run-dir again
[ "$(column step again | wc -l)" = 18 ] || fail "epochs of a file: $(column step again)"
train --config epochs/config.json --steps 4 --run-dir again
[ "$(column step again | wc -l)" = 4 ] || fail "steps instead of a file's epochs"
grep -q '^4 steps: 0.889 epochs of 4500 samples$' err.txt || fail "steps in epochs: $(cat err.txt)"

# Patience: an orderly end, with the best in the summary; the same on a grid.
hasty=(--data csv:digits/digits.csv --dim 32 --depth 2 --optimizer adamw --lr 0.05 --steps 400 --eval-every 5 --patience 3 --threads 1)
train "${hasty[@]}" --run-dir hasty
grep -q '^stopped early: 3 evaluations in a row without a better held-out loss$' err.txt || fail "patience: $(cat err.txt)"
grep -q '"stopped_early": true' hasty/summary.json && grep -q '"interrupted": false' hasty/summary.json || fail "stopped_early"
best=$(grep held_out hasty/metrics.jsonl | sed 's/.*"step": \([0-9]*\).*"held_out": {[^}]*"loss": \([^,]*\),.*/\2 \1/' | sort -g | head -n 1)
[ "$(grep -A2 '"best"' hasty/summary.json | tr -d ' ,\n' | sed 's/.*"step":\([0-9]*\)"loss":\(.*\)/\2 \1/')" = "$best" ] || fail "the best is $best: $(grep -A3 '"best"' hasty/summary.json)"
[ "$(column step hasty | tail -n 1)" = $((${best#* } + 15)) ] || fail "it ended behind step $(column step hasty | tail -n 1), the best was $best"
train "${hasty[@]}" --run-dir hasty2 --dp 2 --pp 2
[ "$(column step hasty | tail -n 1)" = "$(column step hasty2 | tail -n 1)" ] || fail "patience on a grid"

# Divergence is a failure, with a summary, on any grid; unless nobody minds.
for grid in "" "--dp 2 --pp 2"; do
	read -ra words <<<"--dim 16 --depth 4 --optimizer momentum --lr 1e6 --steps 60 $grid --quiet --overwrite"
	"$KOLM" train "${words[@]}" --max-bad-steps 4 --run-dir gone >out.txt 2>err.txt
	[ $? = 1 ] || fail "a run that diverges: $(cat err.txt)"
	grep -q 'diverged: the loss of step [0-9]* is .*, and that of 5 steps in a row is not finite (the first was .*; --max-bad-steps 4); try a smaller --lr than 1e+06, --clip-grad 1, or --lr-warmup N$' err.txt ||
		fail "diverging: $(cat err.txt)"
	grep -q '"diverged": true' gone/summary.json || fail "no word of it in the summary"
	[ "$(grep -c '"loss": null' gone/metrics.jsonl)" = 5 ] || fail "$(cat gone/metrics.jsonl)"
	"$KOLM" train "${words[@]}" --max-bad-steps off --run-dir nobody_minds 2>/dev/null || fail "--max-bad-steps off"
	[ "$(wc -l <nobody_minds/metrics.jsonl)" = 60 ] || fail "all steps are taken"
done
"$KOLM" train --dim 16 --depth 2 --lr 1e6 --optimizer adamw --steps 20 --quiet --run-dir large 2>err.txt || fail "a large loss: $(cat err.txt)"
[ "$(grep -c 'is more than a million times the first one' err.txt)" = 1 ] || fail "the warning: $(cat err.txt)"

# Which steps are written down.
train --dim 8 --depth 2 --steps 47 --log-every 10 --run-dir few
[ "$(column step few | tr '\n' ' ')" = "0 10 20 30 40 46 " ] || fail "--log-every 10: $(column step few)"
[ "$(grep -c '^step' out.txt)" = 6 ] || fail "printed: $(cat out.txt)"
grep -q '"steps": 47' few/summary.json || fail "steps of the summary"
train "${task[@]}" --steps 20 --log-every 1000 --eval-every 6 --run-dir few
[ "$(column step few | tr '\n' ' ')" = "0 5 11 17 19 " ] || fail "evaluations are written down: $(column step few)"
train --dim 8 --depth 2 --steps 9 --log-every 100 --precision fp16 --inject step=4,nan --run-dir few
[ "$(column step few | tr '\n' ' ')" = "0 4 8 " ] || fail "skipped steps are written down: $(column step few)"
train --dim 4 --depth 1 --batch 1 --steps 25000 --trace off --threads 1 --run-dir many
[ "$(wc -l <many/metrics.jsonl)" = 9000 ] || fail "25000 steps make $(wc -l <many/metrics.jsonl) lines"
"$KOLM" verify --dim 8 --depth 2 --dp 2 --steps 8 --log-every 5 --lr-schedule cosine --lr-warmup 2 >/dev/null 2>err.txt || fail "verify: $(cat err.txt)"
"$KOLM" report hasty gone nobody_minds --out report >/dev/null 2>err.txt || fail "report: $(cat err.txt)"
grep -q 'so it stopped before its last step' report/report.html && grep -q 'It diverged' report/report.html || fail "the report does not say how they went"

# Contradictions.
expect_error 2 '--lr-gamma is not used by --lr-schedule cosine; leave it out, or use --lr-schedule step' "$KOLM" train --lr-gamma 0.5 --lr-schedule cosine
expect_error 2 '--lr-min is not used by --lr-schedule constant' "$KOLM" train --lr-min 0
expect_error 2 '--lr-schedule step without the length of a step; add --lr-step N' "$KOLM" train --lr-schedule step
expect_error 2 '--lr-min 1 is more than --lr 0.001' "$KOLM" train --lr-schedule wsd --lr-min 1
expect_error 2 '--lr-warmup 35 leaves none of --steps 35' "$KOLM" train --lr-warmup 35
expect_error 2 '--lr-decay 1.5 is neither' "$KOLM" train --lr-schedule wsd --lr-decay 1.5
expect_error 2 '--lr-warmup 10 and --lr-decay 30 \(30 steps\) are more than 35 steps' "$KOLM" train --lr-schedule wsd --lr-decay 30 --lr-warmup 10
expect_error 2 '--epochs 3 contradicts --steps 4' "$KOLM" train --epochs 3 --steps 4
expect_error 2 "--epochs 3, but the data 'synthetic' is made up" "$KOLM" train --epochs 3
expect_error 2 'are 4500000000 steps, more than 10000000' "$KOLM" train "${task[@]}" --epochs 1000000 --batch 1
expect_error 2 "'step=71' is not in this run" "$KOLM" train "${task[@]}" --epochs 1 --inject step=71,nan
expect_error 2 '--lr-warmup 100 leaves none of --steps 71' "$KOLM" train "${task[@]}" --epochs 1 --lr-warmup 100
expect_error 2 '--patience 3 without evaluations; add --eval-every N' "$KOLM" train --patience 3
expect_error 2 '--eval-every 3, but no samples are held out; use --data' "$KOLM" train --eval-every 3
expect_error 2 '--eval-every 3, but no samples are held out; use a larger --holdout' "$KOLM" train "${task[@]}" --eval-every 3 --holdout 0
expect_error 2 '--eval-every 3 on a virtual device' "$KOLM" train "${task[@]}" --eval-every 3 --device virtual:gflops=1
exit 0
