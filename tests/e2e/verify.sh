#!/usr/bin/env bash
# kolm verify tells rounding from error, in every precision. For all random models x grids x schedules x
# optimizers x ways to sum: a right run is never called wrong; one with a seeded
# error always is. KOLM_SEED repeats a run, KOLM_CASES is how many of each (make check: a few).
. "$(dirname "$0")/lib.bash"

seed=${KOLM_SEED:-12}
cases=${KOLM_CASES:-1}
echo "verify: KOLM_SEED=$seed KOLM_CASES=$cases"
RANDOM=$seed
pick() { local i=$((RANDOM % $#)); shift $i; picked=$1; }

# What is trained: rows of one sample, or of a sequence.
draw_mlp() {
	pick 1 2 3; options="$options --depth $((pp + picked))"
	pick 6 8 12; options="$options --dim $((mp * picked))"
	pick 2 4; options="$options --micro-batch-size $picked"
	pick relu relu gelu none; options="$options --activation $picked"
}
draw_language() {
	local heads
	pick 1 2 3; options="$options --layers $((pp > 2 ? picked + pp - 3 : picked))"
	pick 1 2; heads=$((mp * picked)); options="$options --heads $heads"
	pick 2 4 6; options="$options --dim $((heads * picked))"
	pick 11 16 29; options="$options --vocab $picked"
	pick 2 3 5; options="$options --context $((mp * picked))"
	pick 1 2; options="$options --micro-batch-size $picked"
	pick "" "--recompute block" "--recompute attention"; options="$options $picked"
	pick "" "" "--dropout 0.1"; options="$options $picked"
	pick "" "--sequence-parallel"; [ $mp = 1 ] || options="$options $picked"
}

# A random run in a precision: its options, and its number of ranks and micro-batches.
draw() {
	local dp pp mp model
	while :; do
		pick 1 2 2 3; dp=$picked
		pick 1 2 2 3; pp=$picked
		pick 1 2 2; mp=$picked
		ranks=$((dp * pp * mp))
		[ $ranks -gt 1 ] && [ $ranks -le 8 ] && break
	done
	pick 2 3 4 8; micro_batches=$picked
	pick $2; model=$picked
	options="--precision $1 --model $model --dp $dp --pp $pp --mp $mp --micro-batches $micro_batches"
	draw_${model/#[gl]*/language}
	pick naive gpipe 1f1b zb-h1; options="$options --schedule $picked"
	pick sgd momentum adamw adamw; options="$options --optimizer $picked"
	pick 0.001 0.01; options="$options --lr $picked"
	pick "" "" "--clip-grad 0.5" "--weight-decay 0.01" "--bucket-mb 0.001" "--grad-dtype fp32"
	[ "$1$picked" = "fp32--grad-dtype fp32" ] || options="$options $picked"
	pick "" "" "--grad-sync flat" "--zero 1"
	[ $dp -gt 1 ] && options="$options $picked"
	options="$options --seed $RANDOM"
}

# verify WANTED OPTIONS...: it says ok or not, as wanted, with that exit code.
verify() {
	local wanted=$1 rc
	shift
	"$KOLM" verify --json "$@" >out.json 2>err.txt
	rc=$?
	[ $rc = $([ "$wanted" = true ] && echo 0 || echo 1) ] && grep -q "\"ok\": $wanted" out.json ||
		fail "kolm verify $*: wanted ok: $wanted, exit code $rc: $(cat out.json err.txt)"
	for field in loss_rel weight_rel where verdict loss_tolerance weight_tolerance controls; do
		grep -q "\"$field\"" out.json || fail "no $field in $(cat out.json)"
	done
}

for precision in fp32 fp16 bf16; do
	for ((i = 0; i < cases; i++)); do
		draw $precision mlp
		verify true $options
		draw $precision "gpt llama"
		verify true $options
	done
	# Large enough for bf16; what each precision catches at least is in docs/precision.md.
	for ((i = 0; i < cases; i++)); do
		for models in mlp "gpt llama"; do
			draw $precision "$models"
			rank=$((RANDOM % ranks))
			pick "scale=0" "scale=2" "scale=0.7" "micro-batch=0,scale=2" "micro-batch=1,scale=0" shift stale
			verify false $options --inject "rank=$rank,$picked"
			grep -q '"verdict": "different"' out.json || fail "verdict: $(cat out.json)"
			grep -q '"first_step"' out.json || fail "no first step: $(cat out.json)"
		done
	done
done

# Runs that were called wrong: flipped rectifiers, 16 bit, an overflow on one side only.
verify true --dp 2 --pp 3 --mp 2 --schedule gpipe --depth 8 --dim 12 --micro-batches 8 --micro-batch-size 3 \
	--precision fp16 --grad-dtype fp32 --optimizer adamw --lr 0.001 --seed 992
KOLM_CPU=generic verify true --mp 2 --pp 2 --depth 4 --dim 12 --batch 6 --micro-batches 3 --precision fp16 --grad-dtype fp32 --lr 0.03 \
	--activation gelu --steps 8 --warmup 0 --seed 60 --init-scale 202824
grep -q '"init_scale": 101412' out.json || fail "from which loss scale on? $(cat out.json)"
if [ "$cases" -gt 1 ]; then
	verify true --dp 2 --mp 4 --dim 256 --depth 8 --batch 16 --micro-batches 2 --optimizer adamw --lr 0.01
	grep -q '"verdict": "rounding"' out.json || fail "an unsteady run in fp32: $(cat out.json)"
fi

# It says what is allowed from what; and the first step, tensor and element of an error.
grid="--dim 24 --dp 2 --pp 2 --mp 2 --micro-batches 4"
"$KOLM" verify $grid --precision bf16 >out.txt || fail "bf16: $(cat out.txt)"
grep -q "the same run up to rounding" out.txt || fail "bf16: $(cat out.txt)"
grep -q "allowed: 3 times what rounding does to one rank, 6 times for a tensor alone. Results in bf16 .* are good to 0.0039" out.txt || fail "the model: $(cat out.txt)"
"$KOLM" verify $grid --inject rank=5,step=7,scale=1.01 >out.txt 2>err.txt && fail "1 % in one step of fp32: $(cat out.txt)"
grep -qE "first at step 7, gradient of layers\.[4-7]\.[a-z]*\[[0-9]+\]: [-0-9.e]+, on one rank [-0-9.e]+: NOT the same run" out.txt || fail "where: $(cat out.txt)"
grep -q "this is not rounding: none of 65 runs on one rank did it" err.txt || fail "said: $(cat err.txt)"
verify false $grid --precision fp16 --inject rank=0,step=4,nan
grep -q '"where": "step 4, gradients that are not finite on the grid only"' out.json || fail "not finite: $(cat out.json)"
grid="--model gpt --layers 2 --heads 4 --dim 16 --context 6 --vocab 29 --dp 2 --pp 2 --mp 2 --micro-batches 4 --sequence-parallel --recompute block"
verify false $grid --precision fp16 --inject rank=5,step=4,nan
grep -q '"where": "step 4, gradients that are not finite on the grid only"' out.json || fail "not finite: $(cat out.json)"
"$KOLM" verify $grid --inject rank=6,step=7,scale=1.01 >out.txt 2>err.txt && fail "1 % in one step of fp32: $(cat out.txt)"
grep -qE "first at step 7, gradient of [a-z0-9._]+\[[0-9]+\]: [-0-9.e]+, on one rank [-0-9.e]+: NOT the same run" out.txt || fail "where: $(cat out.txt)"

# A copy that nobody else looks at: the last stage has a table and a norm that others keep, and one of its ranks does not update.
verify false --precision bf16 --model gpt --dp 2 --pp 2 --mp 2 --layers 1 --micro-batches 8 --heads 4 --dim 16 --vocab 11 --context 6 --micro-batch-size 2 \
	--optimizer sgd --lr 0.001 --dropout 0.1 --sequence-parallel --seed 23128 --inject rank=5,stale

# A tolerance that is given is the last word; trouble that makes no sense is refused.
"$KOLM" verify $grid --precision fp16 --loss-tolerance 1e-9 --json >out.json 2>err.txt && fail "beyond what was given: $(cat out.json)"
grep -q '"controls": 0' out.json || fail "controls: $(cat out.json)"
expect_error 2 "'noise=1e-7' is for one rank" "$KOLM" train --dp 2 --inject noise=1e-7
expect_error 2 "'micro-batch=4' is not in this run; it goes from 0 to 3" "$KOLM" train --micro-batches 4 --inject micro-batch=4,scale=2
expect_error 2 "'scale=x' is not a factor such as 2" "$KOLM" train --inject scale=x
exit 0
