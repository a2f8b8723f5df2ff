#!/usr/bin/env bash
# Training on a device whose memory the host can't reach and whose kernels run when they are
# waited for: the CPU's losses, gradient norms, weights and evaluation, to the last digit. A host
# that follows an address dies, an event that was forgotten is another loss. Some runs for what
# each does, then random ones: KOLM_SEED repeats them, KOLM_CASES is how many. DEVICE: another
# device that is to give the bits of the CPU.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/draw.bash"

seed=${KOLM_SEED:-12}
cases=${KOLM_CASES:-12}
other=${DEVICE:-fenced}
echo "$other: KOLM_SEED=$seed KOLM_CASES=$cases"
RANDOM=$seed

numbers() { grep -oE '"(loss|grad_norm)": [^,]*' "$1/metrics.jsonl"; }
held_out() { tr -d ' \n' <"$1/summary.json" | grep -o '"held_out":{[^}]*}'; }

# same OPTIONS...: on both devices.
same() {
	for device in cpu $other; do
		"$KOLM" train --device $device --batch 32 --steps 4 --warmup 0 "$@" \
			--run-dir $device --dump-check $device/dump --overwrite >/dev/null 2>said.txt || fail "$device, $*: $(cat said.txt)"
	done
	[ "$(numbers cpu | wc -l)" = 8 ] || fail "$*: no losses"
	[ "$(numbers cpu)" = "$(numbers $other)" ] || fail "$*: other losses or gradients: $(numbers cpu) $(numbers $other)"
	cmp cpu/dump/final.safetensors $other/dump/final.safetensors || fail "$*: other weights"
	[ "$(held_out cpu)" = "$(held_out $other)" ] || fail "$*: evaluated to $(held_out cpu), $(held_out $other)"
	rm -r cpu $other
}

stack="--dim 48 --depth 8"
same $stack --activation tanh
same $stack --dp 2 --zero 1 --precision fp16 --optimizer adamw --clip-grad 0.5
same $stack --dp 2 --grad-sync flat --optimizer momentum --micro-batches 2
same $stack --dp 2 --grad-sync master
same $stack --mp 2 --activation silu --precision bf16
same $stack --pp 2 --micro-batches 4 --schedule interleaved --chunks 2 --activation gelu
same $stack --pp 2 --micro-batches 4 --engine base
same $stack --dp 2 --pp 2 --mp 2 --micro-batches 4 --schedule zb-h1 --precision bf16

# Labels, the count of correct answers and the evaluation.
"${MAKE_DIGITS:?}" digits || fail "make_digits"
same $stack --data csv:digits/digits.csv --optimizer adamw
same $stack --data csv:digits/digits.csv --dp 2 --pp 2 --mp 2 --micro-batches 2 --norm layer --residual --dropout 0.2
[ -n "$("$KOLM" train --device $other $stack --data csv:digits/digits.csv --steps 2 --quiet --run-dir held && held_out held)" ] || fail "nothing evaluated"

# Tokens, attention, tables that two stages have, rows that are spread, blocks that compute again.
gpt="--model gpt --layers 2 --heads 4 --dim 24 --context 6 --vocab 29"
same $gpt --dropout 0.1
same $gpt --dp 2 --pp 2 --mp 2 --micro-batches 4 --sequence-parallel --recompute attention --zero 1
same $gpt --pp 4 --micro-batches 4 --schedule zb-h1 --recompute block --precision bf16
same $gpt --dp 2 --grad-sync master
same --model llama --layers 2 --heads 4 --kv-heads 2 --dim 24 --context 6 --vocab 31 --mp 2 --pp 2 --micro-batches 2 --sequence-parallel --dropout 0.2 --precision fp16
seq 2000 >text.txt
same ${gpt/--vocab 29/} --data text:text.txt --tokenizer char --holdout 0.2 --dp 2 --mp 2

for ((i = 0; i < cases; i++)); do
	draw
	same $options
done

# And it is the run of one rank.
"$KOLM" verify --device fenced --dim 24 --depth 5 --dp 2 --pp 2 --mp 2 --micro-batches 2 --norm rms --residual --dropout 0.2 \
	>said.txt 2>&1 || fail "verify: $(cat said.txt)"
"$KOLM" verify --device fenced --widths 10,24,18,8 --dp 2 --mp 2 --precision bf16 --bucket-mb 0.001 >said.txt 2>&1 || fail "verify: $(cat said.txt)"
exit 0
