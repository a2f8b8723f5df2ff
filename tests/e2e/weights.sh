#!/usr/bin/env bash
# One SHA-256 for all weights: of a run that saves nothing, of a checkpoint, on grids that have the same bits; and what kolm info says of two that differ.
. "$(dirname "$0")/lib.bash"
command -v python3 >/dev/null || skip "no python3"
small=(--dim 24 --batch 24 --steps 6 --lr 0.01 --trace 0)
sum_of() { grep -o '"weights_sha256": "[0-9a-f]*"' "$1" | grep -o '[0-9a-f]\{64\}'; }

# The definition: the tensors of the checkpoint in the order of their names, their bytes one behind the other.
by_hand() {
	python3 - "$1" <<'P'
import hashlib, json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
head = json.loads(data[8:8 + size])
body, h = data[8 + size:], hashlib.sha256()
for name in sorted(n for n in head if n != "__metadata__"):
    begin, end = head[name]["data_offsets"]
    h.update(body[begin:end])
print(h.hexdigest())
P
}

while read -r options; do
	rm -rf plain saved
	# shellcheck disable=SC2086
	"$KOLM" train "${small[@]}" $options --run-dir plain 2>said >/dev/null || fail "$options: $(cat said)"
	# shellcheck disable=SC2086
	"$KOLM" train "${small[@]}" $options --run-dir saved --save --quiet || fail "$options"
	want=$(by_hand saved/checkpoints/step-6/model.safetensors)
	[ "$(sum_of saved/checkpoints/step-6/state.json)" = "$want" ] || fail "$options: state.json has another"
	[ "$(sum_of saved/summary.json)" = "$want" ] || fail "$options: the summary of the run that saved has another"
	[ "$(sum_of plain/summary.json)" = "$want" ] || fail "$options: the run that saved nothing has another"
	grep -qx "weights: sha256 $want" said || fail "$options: it is not told: $(cat said)"
	grep -q "bit by bit: sha256 $want" <("$KOLM" info plain saved) || fail "$options: info: $("$KOLM" info plain saved 2>&1)"
done <<'G'
--depth 4 --optimizer sgd
--depth 4 --optimizer adamw --precision bf16 --mp 2
--depth 4 --optimizer momentum --precision fp16 --pp 3 --micro-batches 2
--depth 4 --optimizer adamw --dp 2 --zero 1 --norm layer
--depth 4 --optimizer sgd --dp 2 --grad-sync master
--model gpt --layers 2 --heads 2 --context 6 --vocab 31 --dp 2 --pp 2 --mp 2 --micro-batches 2
G

# Two that differ: the first element, both values, the distance in floats.
rm -rf plain saved
"$KOLM" train "${small[@]}" --depth 4 --run-dir saved --save --quiet
"$KOLM" train "${small[@]}" --depth 4 --run-dir other --save --quiet --lr 0.02
"$KOLM" train "${small[@]}" --depth 4 --run-dir plain --quiet --lr 0.02
out=$("$KOLM" info saved other 2>/dev/null) && fail "different weights are the same: $out"
[ "$(wc -l <<<"$out")" = 8 ] || fail "not every tensor is told: $out"
grep -qE '^  layers.0.weight +[0-9]+ of 576 differ, first element [0-9]+: [-0-9.e]+ and [-0-9.e]+; at most [0-9]+ ulp' <<<"$out" || fail "$out"
expect_error 1 'the weights of saved and plain differ; run both with --save' "$KOLM" info saved plain
cp -r saved one_bit
python3 - one_bit/checkpoints/step-6 <<'P'
import hashlib, re, sys
folder = sys.argv[1]
data = bytearray(open(folder + "/model.safetensors", "rb").read())
data[-4 * 7] ^= 1  # the lowest bit of an element of the last tensor
open(folder + "/model.safetensors", "wb").write(data)
size = 8 + int.from_bytes(data[:8], "little")
text = open(folder + "/state.json").read()
sums = re.findall(r'"[0-9a-f]{64}"', text)
text = text.replace(sums[0], '"%s"' % hashlib.sha256(data).hexdigest()).replace(sums[1], '"%s"' % hashlib.sha256(data[size:]).hexdigest())
at = text.rindex(',\n  "sha256"')
text = text.replace(sums[-1], '"%s"' % hashlib.sha256(text[:at].encode()).hexdigest())
open(folder + "/state.json", "w").write(text)
P
out=$("$KOLM" info saved one_bit 2>/dev/null) && fail "a bit was not seen"
grep -qE '^  layers.3.weight +1 of 576 differ, first element 569: .*; at most 1 ulp' <<<"$out" || fail "one bit: $out $("$KOLM" info saved one_bit 2>&1)"
exit 0
