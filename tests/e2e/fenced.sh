#!/usr/bin/env bash
# Training on a device whose memory the host can't reach and whose kernels run when they are
# waited for: the CPU's losses, to the last digit. A host that follows an address dies, an event
# that was forgotten is another loss.
. "$(dirname "$0")/lib.bash"

# same OPTIONS...: on both devices.
same() {
	for device in cpu fenced; do
		"$KOLM" train --device $device --dim 48 --depth 8 --batch 32 --steps 4 --warmup 0 "$@" \
			--run-dir $device --overwrite >/dev/null 2>said.txt || fail "$device, $*: $(cat said.txt)"
	done
	[ -n "$(losses cpu/metrics.jsonl)" ] || fail "$*: no losses"
	[ "$(losses cpu/metrics.jsonl)" = "$(losses fenced/metrics.jsonl)" ] || fail "$*: other losses"
}

same --activation tanh
same --dp 2 --zero 1 --precision fp16 --optimizer adamw --clip-grad 0.5
same --dp 2 --grad-sync flat --optimizer momentum --micro-batches 2
same --dp 2 --grad-sync master
same --mp 2 --activation silu --precision bf16
same --pp 2 --micro-batches 4 --schedule interleaved --chunks 2 --activation gelu
same --pp 2 --micro-batches 4 --engine base
same --dp 2 --pp 2 --mp 2 --micro-batches 4 --schedule zb-h1 --precision bf16

# Labels, the count of correct answers and the evaluation.
"${MAKE_DIGITS:?}" digits || fail "make_digits"
same --data csv:digits/digits.csv --optimizer adamw
