#!/usr/bin/env bash
# 16-bit training follows fp32; the loss scale does what it is for; a gradient that is not
# finite skips one step on all ranks; max-batch and the memory limit agree.
. "$(dirname "$0")/lib.bash"

value() { grep -o "\"$1\": [0-9.e+-]*" "$2" | head -n 1 | cut -d' ' -f2; }
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = (a - b) / b; exit !(d < t && d > -t) }'; }

# late_loss RUN: the mean loss of the last 50 steps. On the digits the loss of one batch of 64
# depends on a few hard samples; rounding alone moves it by several per cent either way.
late_loss() { grep -o '"loss": [0-9.e+-]*' "$1/metrics.jsonl" | tail -n 50 | awk '{ s += $2 } END { print s / NR }'; }

# Both tasks, on one rank and on a grid, end where fp32 on one rank does.
"${MAKE_DIGITS:?}" digits || fail "make_digits"
grid="--dp 2 --pp 2 --mp 2 --micro-batches 4"
for data in synthetic csv:digits/digits.csv; do
	common=(--data $data --dim 64 --depth 4 --steps 300 --optimizer adamw --threads 1 --quiet)
	"$KOLM" train "${common[@]}" --run-dir fp32 --overwrite || fail "fp32"
	for case in "fp16" "bf16" "fp16 $grid" "bf16 $grid" "bf16 --dp 2 --pp 2 --zero 1" "fp16 --dp 2 --grad-sync master"; do
		"$KOLM" train "${common[@]}" --precision $case --run-dir half --overwrite || fail "$case"
		near "$(late_loss half)" "$(late_loss fp32)" 0.02 ||
			fail "$data in $case ends at $(late_loss half), fp32 at $(late_loss fp32)"
		[ $data != synthetic ] || near "$(value final_loss half/summary.json)" "$(value final_loss fp32/summary.json)" 0.02 ||
			fail "$case ends at $(value final_loss half/summary.json), fp32 at $(value final_loss fp32/summary.json)"
	done
done
[ "$(value p2p_bytes half/summary.json)" -gt 0 ] || fail "no messages counted"

# So do the kernels that multiply bf16 without conversion, here with their instructions written
# out; on a grid they are the same run as on one rank, and near that of the other kernels.
for KOLM_CPU in emulated emulated-amx; do
	export KOLM_CPU
	if ! "$KOLM" train --steps 1 --quiet --run-dir pairs --overwrite 2>err.txt; then
		grep -q 'KOLM_CPU' err.txt || fail "KOLM_CPU=$KOLM_CPU: $(cat err.txt)"
		continue
	fi
	task=(--dim 64 --depth 4 --steps 100 --optimizer adamw --threads 1 --precision bf16 --quiet)
	KOLM_CPU= "$KOLM" train "${task[@]}" --run-dir floats --overwrite || fail "floats"
	for case in "" "$grid" "--dp 2 --zero 1 --grad-dtype fp32" "--pp 3 --micro-batches 5 --batch 60 --schedule gpipe"; do
		"$KOLM" train "${task[@]}" $case --run-dir pairs --overwrite || fail "$KOLM_CPU $case"
		[ -n "$case" ] && [ "${case#*--batch}" != "$case" ] || near "$(late_loss pairs)" "$(late_loss floats)" 0.02 ||
			fail "$KOLM_CPU $case ends at $(late_loss pairs), floats at $(late_loss floats)"
		[ -z "$case" ] || "$KOLM" verify --precision bf16 --widths 40,24,56,8,40 --norm layer --residual \
			--activation gelu $case >verify.txt 2>&1 || fail "$KOLM_CPU, verify $case: $(cat verify.txt)"
	done
done
unset KOLM_CPU

# Messages and activations take half.
for p in fp32 fp16; do
	"$KOLM" train --dim 64 --depth 4 --pp 2 --steps 2 --precision $p --quiet --run-dir bytes-$p || fail "bytes $p"
done
[ "$(value p2p_bytes bytes-fp16/summary.json)" = $(($(value p2p_bytes bytes-fp32/summary.json) / 2)) ] || fail "messages do not halve"

# Targets in metres that differ by hundredths of a millimetre: of a batch of 8192 every
# gradient of the outputs is below what fp16 can hold. Scaled, it learns what fp32 does.
awk 'BEGIN {
	srand(1)
	for (n = 0; n < 10000; n++) {
		t = rand() + rand() + rand() - 1.5 # what nobody can learn
		for (i = 0; i < 8; i++) {
			x = rand() + rand() + rand() + rand() - 2
			t += x * (i % 3 + 0.2 * i - 0.7)
			printf "%.4f,", x
		}
		printf "%.9f\n", 5e-6 * t
	}
}' >metres.csv
task=(--data csv:metres.csv --depth 1 --batch 8192 --lr 0.2 --steps 200 --threads 1 --quiet)
"$KOLM" train "${task[@]}" --run-dir plain || fail "plain"
"$KOLM" train "${task[@]}" --precision fp16 --loss-scale 1 --run-dir lost || fail "lost"
"$KOLM" train "${task[@]}" --precision fp16 --run-dir kept || fail "kept"
awk -v a="$(value final_loss lost/summary.json)" -v b="$(value final_loss plain/summary.json)" 'BEGIN { exit !(a > 20 * b) }' ||
	fail "without scaling it ends at $(value final_loss lost/summary.json), fp32 at $(value final_loss plain/summary.json)"
[ "$(tail -n 50 lost/metrics.jsonl | grep -c '"grad_norm": 0,')" -gt 40 ] || fail "without scaling gradients are left"
near "$(late_loss kept)" "$(late_loss plain)" 0.02 || fail "scaled it ends at $(late_loss kept), fp32 at $(late_loss plain)"

# One gradient of one rank: one step skipped on all, the scale halved, training goes on.
"$KOLM" train --dim 32 --dp 2 --pp 2 --steps 10 --precision fp16 --optimizer adamw --inject rank=2,step=4,nan --quiet --run-dir nan || fail "nan"
[ "$(grep -c '"skipped": true' nan/metrics.jsonl)" = 1 ] || fail "not one skipped step: $(cat nan/metrics.jsonl)"
[ "$(grep -o '"loss_scale": [0-9]*' nan/metrics.jsonl | cut -d' ' -f2 | uniq | tr '\n' ' ')" = "65536 32768 " ] || fail "loss scales"
[ "$(value skipped_steps nan/summary.json)" = 1 ] || fail "skipped_steps"
grep -q '"loss": null' nan/metrics.jsonl && fail "a loss is not finite"

# Diverging for good ends with a message.
"$KOLM" train --dim 32 --depth 2 --precision fp16 --lr 1000000 --steps 100 --max-bad-steps off --quiet --run-dir gone 2>err.txt
[ $? = 1 ] || fail "a run that diverges: $(cat err.txt)"
grep -q "gradients are not finite even with a loss scale of" err.txt || fail "diverging: $(cat err.txt)"
"$KOLM" train --dim 16 --precision bf16 --grad-dtype bf16 --dp 2 --steps 2 --quiet --run-dir named || fail "--grad-dtype bf16"
grep -q '"grad_dtype": "bf16"' named/summary.json || fail "--grad-dtype bf16 is not kept"
expect_error 2 "--grad-dtype bf16 with --precision fp32.*--precision bf16" "$KOLM" train --grad-dtype bf16
expect_error 2 "--amp contradicts --precision bf16" "$KOLM" train --amp --precision bf16

# The largest batch: one more is refused, with what needs how much.
"$KOLM" max-batch --dim 128 --depth 16 --device-memory 16MB --compare fp32,fp16 --json >max.json || fail "max-batch: $(cat max.json)"
[ "$(grep -c '"confirmed": true' max.json)" = 2 ] || fail "not confirmed: $(cat max.json)"
batches=($(grep -o '"batch": [0-9]*' max.json | cut -d' ' -f2))
awk -v a="${batches[0]}" -v b="${batches[1]}" 'BEGIN { exit !(b >= 1.8 * a) }' || fail "fp16 has ${batches[1]}, fp32 ${batches[0]}"
expect_error 1 "out of device memory: rank 0 needs .*: params .*, grads .*, activations" \
	"$KOLM" train --dim 128 --depth 16 --device-memory 16MB --batch $((batches[0] + 1))
"$KOLM" train --dim 128 --depth 16 --device-memory 16MB --batch "${batches[0]}" --steps 1 --quiet --run-dir full || fail "the batch that fits does not"
expect_error 2 "max-batch needs a limit" "$KOLM" max-batch --dim 8
# The same of a language model, whatever it spreads or computes again; that makes room.
gpt="--model gpt --layers 6 --heads 4 --dim 64 --context 16 --vocab 97 --device-memory 10MB --mp 2"
for how in "" "--sequence-parallel" "--recompute attention" "--recompute block" "--recompute block --sequence-parallel --pp 2 --micro-batches 2"; do
	"$KOLM" max-batch $gpt $how --json >max.json || fail "max-batch $how: $(cat max.json)"
	grep -q '"confirmed": true' max.json || fail "$how is not confirmed: $(cat max.json)"
	batches["${#how}"]=$(grep -o '"batch": [0-9]*' max.json | cut -d' ' -f2)
	expect_error 1 "out of device memory: rank [0-9] needs .*: params .*, grads .*, activations" \
		"$KOLM" train $gpt $how --batch $((batches[${#how}] + (${#how} > 40 ? 2 : 1))) --quiet
done
for how in "--recompute attention" "--recompute block"; do
	[ "${batches[${#how}]}" -gt "${batches[0]}" ] || fail "$how has a batch of ${batches[${#how}]}, not more than ${batches[0]}"
done
# Where any batch fits, the largest that there is; every cut of it.
for grid in "" "--dp 2" "--dp 3" "--dp 3 --micro-batches 7"; do
	"$KOLM" max-batch --dim 4 --depth 1 --device virtual --device-memory 8GB $grid --json >most.json || fail "max-batch $grid"
	read -r dp m <<<"$(echo "$grid" | awk '{ print ($2 ? $2 : 1), ($4 ? $4 : 1) }')"
	grep -q "\"batch\": $((16777216 / (dp * m) * dp * m))," most.json || fail "max-batch $grid: $(cat most.json)"
	[ "$(grep -cE '"(confirmed|largest_possible)": true' most.json)" = 2 ] || fail "max-batch $grid: $(cat most.json)"
done
"$KOLM" max-batch --dim 4 --depth 1 --device virtual --device-memory 8GB | grep -q 'yes, and no batch can be larger' || fail "it does not say so"

# What it runs goes to TMPDIR, and is removed.
mkdir scratch && TMPDIR=$PWD/scratch "$KOLM" max-batch --dim 16 --device-memory 2MB >/dev/null || fail "max-batch in TMPDIR"
[ -z "$(ls scratch)" ] || fail "max-batch leaves $(ls scratch)"
for command in "max-batch --device-memory 2MB" verify; do
	TMPDIR=$PWD/none expect_error 1 "can't make a folder in .*/none: No such file.*TMPDIR" "$KOLM" $command --dim 16
done
exit 0
