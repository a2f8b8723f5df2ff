#!/usr/bin/env bash
# --as-if: one run, whatever the grid. All grids of up to 16 ranks that divide 4 x 4, with every schedule and precision, for an MLP, a GPT and a LLaMA, must leave the same losses, norms, skipped steps, weights and
# optimizer's state, bit by bit; so must other transports, threads, what is recomputed, where the state is, checkpoints that go on elsewhere, and restarts with fewer and fewer ranks.
# KOLM_BITS=N runs N of the grids (40), KOLM_BITS=all all of them, or with KOLM_PART=I/N every N-th from number I on; KOLM_SEED chooses which, and the options that must not matter.
. "$(dirname "$0")/lib.bash"
seed=${KOLM_SEED:-$(date +%s)}
echo "bits: KOLM_SEED=$seed"
RANDOM=$((seed % 32768))
runs=0
all=$([ "${KOLM_BITS:-}" = all ] && echo 1 || echo 0)

common=(--batch 16 --micro-batches 2 --steps 4 --lr 0.01 --optimizer adamw --clip-grad 1 --trace 0 --quiet --save --as-if dp=4,mp=4)
mlp=(--widths 20,28,12,36,36,24,16,8,12 --norm layer --residual --dropout 0.1 --activation gelu)
gpt=(--model gpt --layers 6 --heads 4 --dim 16 --context 5 --vocab 33 --dropout 0.1)
llama=(--model llama --layers 6 --heads 8 --kv-heads 4 --dim 16 --ffn 24 --context 5 --vocab 35 --dropout 0.1)
fp32=()
bf16=(--precision bf16)
fp16=(--precision fp16 --init-scale 300000 --growth-interval 2) # the first steps are skipped

# Everything that a run leaves and that is not about time, as one sum.
sum_of() {
	sed 's/"step_ms.*"grad_norm"/"grad_norm"/; s/"data_ms".*//' "$1/metrics.jsonl" >values
	(cat values && cd "$1/checkpoints/$(cat "$1/checkpoints/latest")" && sha256sum ./*.safetensors) | sha256sum | cut -c 1-64
}

train() { # MODEL PRECISION OPTIONS...: one sum, in $sum
	declare -n of_model=$1 of_precision=$2
	shift 2
	rm -rf run
	"${by[@]}" "$KOLM" train "${of_model[@]}" "${of_precision[@]}" "${common[@]}" "$@" --run-dir run </dev/null >said 2>&1 || fail "$*: $(cat said)"
	sum=$(sum_of run)
	runs=$((runs + 1))
}
by=()

declare -A want
for model in mlp gpt llama; do
	for precision in fp32 bf16 fp16; do
		train $model $precision
		want[$model,$precision]=$sum
		cp -r run "one-$model-$precision"
	done
	grep -q '"skipped": true' run/metrics.jsonl || fail "$model: no step was skipped in fp16"
	grep -q '"skipped": false' run/metrics.jsonl || fail "$model: every step was skipped in fp16"
done
[ "$(printf '%s\n' "${want[@]}" | sort -u | wc -l)" = 9 ] || fail "runs that differ have the same sum"

same() { # MODEL PRECISION OPTIONS...
	train "$@"
	[ "$sum" = "${want[$1,$2]}" ] && return
	fail "$*${by[*]:+, by ${by[*]}}: other bits than one rank: $(diff <(sed 's/"step_ms.*"grad_norm"/"grad_norm"/; s/"data_ms".*//' "one-$1-$2/metrics.jsonl") values)
$("$KOLM" info "one-$1-$2" run 2>&1)"
}

# ---- grids ----

for model in mlp gpt llama; do for precision in fp32 bf16 fp16; do
	for dp in 1 2 4; do for mp in 1 2 4; do for pp in 1 2 3 4; do
		[ $((dp * mp * pp)) -le 16 ] || continue
		for schedule in naive gpipe 1f1b interleaved zb-h1; do
			echo "$model $precision --dp $dp --mp $mp --pp $pp --schedule $schedule"
		done
	done; done; done
done; done >all
if [ "$all" = 1 ]; then
	part=${KOLM_PART:-0/1}
	awk -v part="${part%/*}" -v parts="${part#*/}" 'NR % parts == part % parts' all >some
else
	shuf -n "${KOLM_BITS:-40}" --random-source=<(yes "$seed") all >some
fi
# What must not matter, by chance.
others() { # MODEL DP RANKS
	local list=(--threads $(($3 > 4 ? 1 : RANDOM % 3 + 1)))
	[ "$2" = 1 ] || [ $((RANDOM % 3)) != 0 ] || list+=(--zero 1)
	[ $((RANDOM % 3)) != 0 ] || list+=(--bucket-mb 0.001)
	[ $((RANDOM % 8)) != 0 ] || list+=(--engine base)
	[ "$1" = mlp ] || [ $((RANDOM % 3)) != 0 ] || list+=(--recompute "$([ $((RANDOM % 2)) = 0 ] && echo block || echo attention)")
	echo "${list[@]}"
}
while read -r model precision options; do
	read -r _ dp _ mp _ pp _ <<<"$options"
	# shellcheck disable=SC2046,SC2086
	same "$model" "$precision" $options $(others "$model" "$dp" $((dp * mp * pp)))
done <some

# ---- transports ----

if [ -n "${MPIEXEC:-}" ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
	export ASAN_OPTIONS=detect_leaks=0 # MPI libraries leave some
	by=("$MPIEXEC" -n 4)
	cat >transports <<-'G'
		2,cyclic gpt bf16 --dp 4 --zero 1
		2 gpt fp32 --mp 4
		2,cyclic mlp bf16 --dp 2 --mp 2
		1 mlp bf16 --dp 4
		2 mlp fp32 --dp 4
		2,cyclic mlp fp16 --mp 4
		3 gpt fp16 --dp 2 --mp 2
		2 gpt bf16 --pp 2 --mp 2 --schedule zb-h1
		2,cyclic llama fp32 --dp 2 --mp 2 --zero 1
	G
	[ "$all" = 1 ] || sed -i '4,$d' transports
	while read -r hosts model precision options; do
		# shellcheck disable=SC2086
		KOLM_MPI_HOSTS=$hosts same "$model" "$precision" $options --threads 1
	done <transports
	by=()
fi

# ---- stopped and gone on ----

# On another grid from a checkpoint in the middle; ranks are slow so that one is whole before they are killed.
train gpt bf16 --steps 12
undisturbed=$sum
rm -rf run
"$KOLM" train "${gpt[@]}" "${bf16[@]}" "${common[@]}" --steps 12 --dp 4 --mp 2 --save-every 2 --run-dir run --inject 'sleep=10ms;step=9,kill' >said 2>&1 && fail "it was not killed"
"$KOLM" train --resume run --dp 1 --mp 4 --pp 3 --quiet || fail "no resume"
[ "$(sum_of run)" = "$undisturbed" ] || fail "resumed on another grid: other bits"

# Three kills: 8 ranks, then 4, then 2, which are replaced.
for model in mlp gpt; do
	[ $model = mlp ] || [ "$all" = 1 ] || continue
	train $model fp32 --steps 12
	undisturbed=$sum
	train $model fp32 --steps 12 --dp 4 --mp 2 --save-every 2 --restarts 3 --inject 'sleep=10ms;rank=3,step=3,kill;rank=1,step=6,kill;rank=0,step=9,kill'
	grep -q '"restarts": 3' run/summary.json || fail "$model: not three restarts: $(grep restarts run/summary.json)"
	grep -q '"ranks": 2,' run/summary.json || fail "$model: not on two ranks: $(grep '"ranks"' run/summary.json)"
	[ "$sum" = "$undisturbed" ] || fail "$model: three kills left other bits"
done

# ---- what is held out ----

"$MAKE_DIGITS" digits
evaluate() { # GRID: what evaluations say, in $said
	rm -rf run
	"$KOLM" train --data csv:digits/digits.csv --dim 32 --depth 3 --batch 32 --steps 6 --eval-every 2 --as-if dp=4,mp=2 --quiet --trace 0 --run-dir run "$@" || fail "$*"
	said=$(grep -o '"held_out".*' run/metrics.jsonl)
	runs=$((runs + 1))
}
evaluate
alone=$said
[ "$(wc -l <<<"$alone")" = 3 ] || fail "not three evaluations: $alone"
for grid in '--dp 4' '--dp 2 --mp 2 --pp 3'; do
	# shellcheck disable=SC2086
	evaluate $grid
	[ "$said" = "$alone" ] || fail "$grid: held out, $said; on one rank $alone"
done

# ---- instruction sets ----

# The base one has bits of its own, and the same on every grid.
export KOLM_CPU=generic
train mlp bf16
generic=$sum
train mlp bf16 --dp 2 --mp 2 --pp 2 --threads 1
[ "$sum" = "$generic" ] || fail "KOLM_CPU=generic: a grid has other bits than one rank"

echo "$runs runs, no difference"
exit 0
