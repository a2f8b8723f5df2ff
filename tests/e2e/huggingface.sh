#!/usr/bin/env bash
# Models for transformers and back: the same bytes, the same loss; a training begins with what is imported; what is
# harmed or not of kolm's is refused. Beside transformers itself: ONLY=huggingface scripts/check-all.
. "$(dirname "$0")/lib.bash"
small=(--layers 2 --heads 4 --dim 16 --context 12 --batch 4 --steps 6 --quiet)
train() { "$KOLM" train "${small[@]}" "$@"; }
cat >text.txt < <(for i in $(seq 60); do echo "$i bottles of beer on the wall, $i bottles of beer; take one down"; done)

# Out, back, and out again: every tensor is the same, bit by bit, and so are the loss of a text and what is written.
i=0
while read -r options; do
	i=$((i + 1))
	# shellcheck disable=SC2086
	train $options --data text:text.txt --save --run-dir run$i || fail "$options"
	"$KOLM" export run$i --hf out$i >said 2>&1 || fail "$options: $(cat said)"
	"$KOLM" import out$i --out back$i >said 2>&1 || fail "$options: $(cat said)"
	for file in model.safetensors tokenizer.json; do
		cmp run$i/checkpoints/step-6/$file back$i/checkpoints/step-0/$file || fail "$options: another $file"
	done
	"$KOLM" info run$i back$i | grep -q 'the same weights, bit by bit' || fail "$options: info says they differ"
	"$KOLM" info back$i | grep -q 'weights only, imported: ' || fail "$options: $("$KOLM" info back$i)"
	"$KOLM" export back$i --hf again$i >/dev/null 2>&1 || fail "$options: a second export"
	diff -r out$i again$i || fail "$options: the second export differs"
	for place in run$i back$i; do
		"$KOLM" eval $place --data text:text.txt --json 2>/dev/null | grep '"loss"' >$place.loss
	done
	for place in run$i back$i; do
		"$KOLM" generate $place --prompt "9 bottles" --tokens 30 --temperature 0 --quiet >$place.text || fail "$options: generate"
	done
	[ -s run$i.text ] && cmp run$i.text back$i.text || fail "$options: another text"
	[ -s run$i.loss ] && cmp run$i.loss back$i.loss || fail "$options: another loss: $(cat run$i.loss back$i.loss)"
done <<'G'
--model gpt --tokenizer char
--model gpt --no-bias --gelu exact --tokenizer byte --ffn 33
--model llama --kv-heads 2 --tokenizer bpe --vocab 300
G
grep -q '"kolm_bias": false' out2/config.json || fail "out2 says nothing of its biases"
grep -q '"activation_function": "gelu"' out2/config.json || fail "out2 has another gelu"
[ -e out3/merges.txt ] && [ ! -e out1/merges.txt ] || fail "merges.txt is there for bpe alone"

# 16 bit: half of the file, and a loss that is near.
"$KOLM" export run1 --hf half --dtype bf16 >/dev/null 2>&1 && "$KOLM" import half --out fromhalf >/dev/null 2>&1 || fail "bf16"
[ $((2 * $(stat -c %s half/model.safetensors))) -lt $((12 * $(stat -c %s out1/model.safetensors) / 10)) ] || fail "bf16 is not smaller"
near() { awk -v a="$(grep -oE '[0-9.]+' "$1")" -v b="$(grep -oE '[0-9.]+' "$2")" 'BEGIN { d = a / b - 1; exit d * d > 1e-4 }'; }
"$KOLM" eval fromhalf --data text:text.txt --json 2>/dev/null | grep '"loss"' >half.loss
near run1.loss half.loss || fail "bf16: $(cat run1.loss half.loss)"

# A training begins there, with any optimizer and seed, on any grid: step 0 has the loss of the weights.
"$KOLM" train --resume back1 --data text:text.txt --batch 4 --steps 3 --optimizer adamw --seed 7 --dropout 0 --save --quiet || fail "resume"
[ "$(cat back1/checkpoints/latest)" = step-3 ] || fail "resume ended with $(cat back1/checkpoints/latest)"
"$KOLM" train --resume back1/checkpoints/step-0 --run-dir grid --data text:text.txt --batch 4 --steps 3 --optimizer adamw --seed 7 --dropout 0 --save --quiet \
	--dp 2 --pp 2 --mp 2 || fail "resume on a grid"
paste <(losses back1/metrics.jsonl) <(losses grid/metrics.jsonl) | awk '{ n++; d = $2 - $4; if (d * d > 1e-10 * $2 * $2) exit 1 } END { exit n != 3 }' ||
	fail "resume on a grid: $(losses back1/metrics.jsonl) and $(losses grid/metrics.jsonl)"
"$KOLM" train --resume back1 --steps 5 --optimizer sgd --seed 7 --quiet 2>said && fail "another optimizer was taken after that"
grep -q 'state of the optimizer adamw' said || fail "another optimizer: $(cat said)"

# Without a tokenizer: tokens, and text only if somebody says how.
mkdir bare && cp out1/config.json out1/model.safetensors bare
"$KOLM" import bare --out untold 2>&1 | grep -q 'without a tokenizer' || fail "bare"
expect_error 2 'imported without a tokenizer' "$KOLM" train --resume untold --data text:text.txt --quiet
"$KOLM" tokenizer encode run1/checkpoints/step-6/tokenizer.json text.txt --out text.tokens || fail "encode"
"$KOLM" eval untold --data tokens:text.tokens --json 2>/dev/null | grep '"loss"' | cmp - run1.loss || fail "untold: another loss"

# What is there is not replaced unasked, and a run never.
expect_error 2 'has a config.json' "$KOLM" export run1 --hf out1
"$KOLM" export run1 --hf out3 --overwrite >/dev/null 2>&1 || fail "--overwrite"
diff -r out1 out3 || fail "--overwrite left something behind"
expect_error 2 'is a run or a checkpoint' "$KOLM" export run1 --hf run2 --overwrite
expect_error 2 'holds the config.json of another run; add --overwrite to replace that run, or choose another folder$' "$KOLM" import out1 --out run2
expect_error 2 'holds the checkpoints of another run' "$KOLM" import out1 --out back2
"$KOLM" import out1 --out back2 --overwrite >/dev/null 2>&1 || fail "import --overwrite"
cmp run1/checkpoints/step-6/model.safetensors back2/checkpoints/step-0/model.safetensors || fail "import --overwrite has other tensors"
(cd out1 && "$KOLM" import ../out2/ >/dev/null 2>&1 && [ -e runs/out2/checkpoints/step-0/state.json ]) || fail "the name that is chosen"

# Not of kolm's, or harmed.
expect_error 2 'export needs a folder to write to; such as' "$KOLM" export run1
expect_error 2 'has no checkpoint' "$KOLM" export nowhere --hf x
expect_error 2 'has no config.json' "$KOLM" import nowhere
"$KOLM" train --dim 8 --depth 2 --steps 2 --save --quiet --run-dir mlp || fail "mlp"
"$KOLM" export mlp --hf x 2>&1 | grep -q 'of a model mlp, which transformers does not have' || fail "an mlp was exported"
harm() { # PATTERN, WHAT IS DONE in harmed
	rm -rf harmed && cp -r out2 harmed
	(cd harmed && eval "$2")
	expect_error 2 "$1" "$KOLM" import harmed --out x
	[ ! -e x ] || fail "$2: something was written"
}
harm "activation_function is 'relu'" "sed -i 's/\"gelu\"/\"relu\"/' config.json"
harm "model_type is 'mistral'" "sed -i 's/\"gpt2\"/\"mistral\"/' config.json"
harm 'makes it \[33, 16\]|\[16, 34\]' "sed -i 's/\"n_inner\": 33/\"n_inner\": 34/' config.json"
harm 'no tensor transformer.h.2' "sed -i 's/\"n_layer\": 2/\"n_layer\": 3/' config.json"
harm 'nothing for the tensor transformer.h.1' "sed -i 's/\"n_layer\": 2/\"n_layer\": 1/' config.json"
harm 'has no model.safetensors; pytorch_model.bin is a program' "mv model.safetensors pytorch_model.bin"
harm 'not valid JSON' "truncate -s 40 config.json"
harm 'not a valid safetensors file' "truncate -s -1 model.safetensors"
harm 'there is no tensor transformer.wpe.weight' "sed -i 's/transformer.wpe/transformer.wqe/' model.safetensors"
rm -rf x harmed && cp -r out2 harmed && echo '{}' >harmed/tokenizer.json
"$KOLM" import harmed --out x 2>&1 | grep -q 'warning: the model comes without its tokenizer: ' || fail "a bad tokenizer is no warning"
exit 0
