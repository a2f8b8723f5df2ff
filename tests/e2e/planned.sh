#!/usr/bin/env bash
# What --dry-run says of a step on virtual devices, without starting a rank, is what is then measured (to 2 %, and mostly to the
# nanosecond), and the memory that it says is what the ranks account for, on grids of up to 64 ranks. KOLM_SEED repeats a run,
# KOLM_GRIDS says how many grids. Then --plan: it takes the best of what it lists.
. "$(dirname "$0")/drawn.bash"
. "$(dirname "$0")/lib.bash"

exact=0 worst=0
check() {
	local said ms bytes most
	said=$("$KOLM" train --dry-run --run-dir none "$@") || fail "--dry-run $*"
	ms=$(grep -o 'planned step [0-9.]*' <<<"$said" | cut -d' ' -f3)
	bytes=$(grep -o '[0-9]* bytes' <<<"$said" | cut -d' ' -f1)
	"$KOLM" train --quiet --steps 4 --warmup 2 --run-dir run "$@" || fail "$*"
	holds "($(value median) - $ms)^2 <= (0.02 * $(value median))^2" || fail "$*: $(value median) ms, planned $ms ms"
	holds "($(value median) - $ms)^2 < 0.000002^2" && exact=$((exact + 1))
	worst=$(awk -v a="$ms" -v b="$(value median)" -v w=$worst 'BEGIN { e = a / b - 1; e = e < 0 ? -e : e; print (e > w ? e : w) }')
	most=$(grep -o '"peak_bytes": [0-9]*' run/summary.json | cut -d' ' -f2 | sort -n | tail -n 1)
	[ "$bytes" = "$most" ] || fail "$*: planned $bytes bytes, the fullest rank has $most"
	rm -rf run
}

draw_mlp() {
	between x $parts $((2 * parts + 1)) && args+=(--depth $x)
	between x 1 12 && args+=(--dim $((24 * x)))
	one_of x relu gelu && args+=(--activation $x)
}
draw_language() {
	args+=(--model $model)
	between x $((parts > 3 ? parts - 2 : 1)) $((parts + 2)) && args+=(--layers $x)
	one_of x 1 2 && args+=(--heads $((heads = mp * x)))
	between x 1 9 && args+=(--dim $((2 * x * heads)))
	one_of x 5 31 64 97 && args+=(--vocab $((mp * x)))
	between x 1 9 && args+=(--context $((mp * x)))
	one_of x none none attention block && args+=(--recompute $x)
	[ $mp -gt 1 ] && often 5 && args+=(--sequence-parallel)
}

draw() {
	local dp pp mp chunks=1 x parts model heads
	while one_of dp 1 2 3 4 8 16 && one_of pp 1 2 4 5 8 16 && one_of mp 1 1 2 4 8 && [ $((dp * pp * mp)) -gt 64 ]; do :; done
	one_of schedule gpipe 1f1b zb-h1 interleaved
	[ $schedule$pp != interleaved1 ] || schedule=gpipe
	[ $schedule != interleaved ] || between chunks 2 3
	parts=$((pp * chunks))
	args=(--dp $dp --pp $pp --mp $mp --schedule $schedule)
	[ $chunks = 1 ] || args+=(--chunks $chunks)
	one_of model mlp gpt llama
	if [ $model = mlp ]; then draw_mlp; else draw_language; fi
	between x 1 9 && args+=(--micro-batches $x)
	between x 1 9 && args+=(--micro-batch-size $x)
	one_of x 0.001 0.1 25 && args+=(--bucket-mb $x)
	one_of x 0 0 1 && args+=(--zero $x)
	one_of x fp32 bf16 && args+=(--precision $x)
	one_of x sgd adamw && args+=(--optimizer $x)
	often 3 && args+=(--clip-grad 1)
	one_of x 10 100 && device=virtual:gflops=$x
	one_of x 1GB/s 20GB/s && often 7 && device+=,bandwidth=$x
	one_of x 20MB/s 1GB/s && often 8 && device+=,link=$x
	one_of x 1us 20us && often 7 && device+=,latency=$x
	args+=(--device $device)
}

for ((n = ${KOLM_GRIDS:-10}; n > 0; n--)); do
	draw
	check "${args[@]}"
done
echo "${KOLM_GRIDS:-10} grids, $exact to the nanosecond, the worst by $worst of the step"

# The best of what is listed is run, and is as fast as was said.
device=virtual:gflops=100,link=1GB/s,latency=50us
"$KOLM" train --device $device --plan --nproc-per-node 8 --batch 256 --depth 16 --steps 4 --warmup 2 --run-dir run >/dev/null 2>out.txt || fail "--plan: $(cat out.txt)"
grep -q "ways to run it, forecast:" out.txt || fail "no ways: $(cat out.txt)"
grep " ms .*  dp " out.txt | awk '{ if ($1 < last) exit 1; last = $1 }' || fail "not in order: $(cat out.txt)"
[ "$(grep -c "<- chosen" out.txt)" = 1 ] || fail "not one is chosen: $(cat out.txt)"
grep -q "^planned step [0-9.]* ms, for which this grid was chosen: simulated [-+]0.0 %" out.txt || fail "no comparison: $(cat out.txt)"
holds "($(value median) - $(value planned_ms))^2 < 0.000002^2" || fail "$(value median) ms, planned $(value planned_ms)"
chosen=$(value planned_ms)
# Nothing that one could have said by hand is faster.
for grid in "--dp 8" "--pp 8 --micro-batches 16" "--mp 8" "--dp 2 --pp 4 --micro-batches 8" "--dp 4 --mp 2"; do
	# shellcheck disable=SC2086
	ms=$("$KOLM" train --dry-run --device $device --batch 256 --depth 16 $grid | grep -o 'planned step [0-9.]*' | cut -d' ' -f3)
	holds "$ms >= $chosen" || fail "$grid takes $ms ms, the chosen one $chosen"
done
# What is given stays.
"$KOLM" train --device $device --dp auto --pp auto --mp 2 --nproc-per-node 8 --batch 64 --depth 8 --steps 2 --run-dir given >/dev/null 2>out.txt || fail "$(cat out.txt)"
grep -q "^8 ranks: dp [0-9] x pp [0-9] x mp 2" out.txt || fail "another mp: $(cat out.txt)"
expect_error 2 "none of .* ways can be run" "$KOLM" train --plan --nproc-per-node 7 --device $device --mp 7 --batch 3 --model gpt --heads 4
expect_error 2 "--plan is for kolm train" "$KOLM" verify --plan
expect_error 2 "--dry-run is for kolm train" "$KOLM" verify --dry-run
# A real machine is measured, the best ways are tried, one is run.
"$KOLM" train --plan --dim 64 --depth 4 --steps 3 --warmup 1 --run-dir real >/dev/null 2>out.txt || fail "--plan here: $(cat out.txt)"
grep -q "from what this machine was measured to do" out.txt || fail "not measured: $(cat out.txt)"
grep -q "tried .*<- chosen" out.txt || fail "nothing was tried: $(cat out.txt)"
grep -q "^planned step .*: measured " out.txt || fail "not compared: $(cat out.txt)"
exit 0
