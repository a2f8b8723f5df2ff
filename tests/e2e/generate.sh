#!/usr/bin/env bash
# A trained language model continues a text: what it has learned by heart, the same on every grid,
# from every place that a model can be in; and what goes wrong is said.
. "$(dirname "$0")/lib.bash"
export ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# A rhyme of 186 bytes, 23 different ones; by heart it goes round and round.
rhyme="The house that Jack built had a malt in it, and a rat ate the malt; a cat killed the rat, and a dog worried the cat that killed the rat that ate the malt in the house that Jack built. "
for i in $(seq 40); do printf '%s' "$rhyme"; done >rhyme.txt
round=$rhyme$rhyme$rhyme$rhyme

train() { "$KOLM" train --data text:rhyme.txt --tokenizer char --batch 8 --optimizer adamw --lr 0.004 --lr-schedule cosine --quiet --overwrite "$@" >/dev/null || fail "training $*"; }
generate() { "$KOLM" generate "$@" --quiet || fail "generate $*"; }
gpt=(--model gpt --layers 2 --heads 4 --dim 64 --context 64 --steps 500)
llama=(--model llama --layers 2 --heads 4 --kv-heads 2 --dim 64 --context 64 --steps 500)

train "${gpt[@]}" --save --run-dir gpt
train "${llama[@]}" --save --run-dir llama
greedy=(--prompt "The house that Jack" --temperature 0 --tokens 400)
for model in gpt llama; do
	# Beyond the context of 64 too, where it forgets the older half every time.
	text=$(generate $model "${greedy[@]}")
	[ "$text" = "${round:0:419}" ] || fail "$model does not know the rhyme: $text"
	generate $model --temperature 1.3 --tokens 300 --seed 5 >sampled.txt
	generate $model --temperature 1.3 --tokens 300 --seed 6 | cmp -s - sampled.txt && fail "another seed, the same text"
	for grid in "--pp 2" "--mp 2" "--pp 2 --mp 2" "--pp 4" "--threads 1" "--device fenced"; do
		[ "$(generate $model "${greedy[@]}" $grid)" = "$text" ] || fail "$model on $grid writes something else"
		generate $model --temperature 1.3 --tokens 300 --seed 5 $grid | cmp - sampled.txt || fail "$model on $grid draws something else"
	done
	for precision in fp16 bf16; do
		[ "$(generate $model "${greedy[@]}" --precision $precision)" = "$text" ] || fail "$model in $precision writes something else"
	done
	# It goes on wherever the prompt ends, also one that is longer than the context.
	for n in 1 7 31 32 33 63 64 65 100 200; do
		text=$(generate $model --prompt "${round:0:n}" --tokens 90 --only-new --temperature 0)
		[ $n -lt 31 ] || [ "$text" = "${round:n:90}" ] || fail "$model behind $n: $text"
		[ "$(generate $model --prompt "${round:0:n}" --tokens 90 --only-new --temperature 0 --pp 2 --mp 2)" = "$text" ] || fail "$model behind $n on a grid"
	done
done

printf 'The house' >short.txt

# What is printed where; one token can't be told from another's.
"$KOLM" generate gpt --prompt "The house" --temperature 0 --tokens 30 >out.txt 2>said.txt || fail "plain"
[ "$(cat out.txt)" = "${round:0:39}" ] || fail "printed: $(cat out.txt)"
[ "$(wc -l <out.txt)" = 1 ] || fail "no end of the line"
grep -q '^checkpoint: gpt/checkpoints/step-500' said.txt || fail "which checkpoint? $(cat said.txt)"
grep -qE '^prompt: 9 tokens in [0-9.]+ s, [0-9.]+ tokens/s; written: 30 tokens in [0-9.]+ s, [0-9.]+ tokens/s$' said.txt || fail "how fast? $(cat said.txt)"
[ -z "$("$KOLM" generate gpt --tokens 3 --quiet 2>&1 >/dev/null)" ] || fail "--quiet says something"
printf '%s' "The house that" >prompt.txt
[ "$(generate gpt --prompt-file prompt.txt --tokens 5 --temperature 0)" = "The house that Jack" ] || fail "--prompt-file"
[ "$(generate gpt --prompt "The house" --stop "malt" --temperature 0)" = "The house that Jack built had a " ] || fail "--stop"
[ "$(generate gpt --prompt "The house" --stop "built had a mal " --temperature 0 --tokens 60)" = "${round:0:69}" ] || fail "--stop that never comes"
for k in 1 3; do
	a=$(generate gpt --temperature 2 --top-k $k --tokens 100 --prompt "a ") b=$(generate gpt --temperature 2 --top-k $k --tokens 100 --prompt "a " --mp 2)
	[ "$a" = "$b" ] || fail "--top-k $k on a grid"
done
[ "$(generate gpt --temperature 2 --top-k 1 --prompt "a " --tokens 50)" = "$(generate gpt --temperature 0 --prompt "a " --tokens 50)" ] || fail "--top-k 1 is the likeliest"
[ "$(generate gpt --top-p 0 --prompt "a " --tokens 50)" = "$(generate gpt --temperature 0 --prompt "a " --tokens 50)" ] || fail "--top-p 0 is the likeliest"
generate gpt "${greedy[@]}" --json >out.json
for word in '"text": " built had' '"prompt": "The house that Jack"' '"ended": "length"' '"ids": \[' '"tokens_per_s": [0-9]' '"step": 500'; do
	grep -q "$word" out.json || fail "--json has no $word: $(cat out.json)"
done
generate gpt --prompt "The house" --stop malt --temperature 0 --json | grep -q '"ended": "stop"' || fail "--json --stop"
! command -v python3 >/dev/null || python3 -c 'import json; d = json.load(open("out.json")); assert len(d["ids"]) == 400 and len(d["prompt_ids"]) == 19' || fail "--json is none"

# Of a prompt that is longer than the context the model sees the end: that is what takes the time that is said.
generate gpt --prompt "${round:0:200}" --tokens 2 --json >out.json
awk -F'[:,]' '{for (i = 1; i < NF; i++) {if ($i ~ /"prompt_ms"/) ms = $(i + 1); if ($i ~ /"prompt_tokens_per_s"/) rate = $(i + 1)}} END {n = ms * rate / 1000; exit !(n > 63.9 && n < 64.1)}' out.json || fail "--json counts tokens of the prompt that the model has not seen: $(cat out.json)"

# Documents end: bpe has a token for that, and a text begins behind it.
for i in $(seq 60); do printf '%s<|endoftext|>' "One two three, said the old count. "; done >ends.txt
"$KOLM" tokenizer train ends.txt --vocab 300 --out ends.json >/dev/null 2>&1 || fail "tokenizer"
"$KOLM" train --data text:ends.txt --tokenizer ends.json --model gpt --layers 1 --heads 2 --dim 32 --context 32 --batch 8 --lr 0.01 --steps 150 --quiet --save --overwrite --run-dir ends >/dev/null || fail "training with an end"
[ "$(generate ends --temperature 0)" = "One two three, said the old count. " ] || fail "it does not end: $(generate ends --temperature 0)"
generate ends --temperature 0 --json | grep -q '"ended": "end of text"' || fail "--json does not know the end"
generate ends --temperature 0 --past-end --tokens 60 | grep -q "count. <|endoftext|>One two" || fail "--past-end"

# Killed, resumed on another grid, and it writes; from a checkpoint, and from what was exported.
"$KOLM" train --data text:rhyme.txt --tokenizer char --batch 8 --optimizer adamw --lr 0.004 --lr-schedule cosine --quiet "${gpt[@]}" --save-every 50 --pp 2 --mp 2 --run-dir cut --inject step=320,kill >/dev/null 2>&1 && fail "it was not killed"
generate cut --tokens 20 >/dev/null
"$KOLM" train --resume cut --dp 2 --pp 1 --mp 1 --quiet >/dev/null || fail "resuming"
[ "$(generate cut "${greedy[@]}")" = "${round:0:419}" ] || fail "resumed, it does not know the rhyme"
[ "$(generate cut/checkpoints/step-500 "${greedy[@]}")" = "${round:0:419}" ] || fail "a folder of a checkpoint"
for model in gpt llama; do
	"$KOLM" export $model --hf $model-hf >/dev/null 2>&1 || fail "export"
	"$KOLM" import $model-hf --out $model-back >/dev/null 2>&1 || fail "import"
	[ "$(generate $model-back "${greedy[@]}")" = "${round:0:419}" ] || fail "$model out and back: $(generate $model-back "${greedy[@]}")"
done
rm -f gpt-hf/tokenizer* gpt-hf/vocab.json gpt-hf/merges.txt
"$KOLM" import gpt-hf --out bare >/dev/null 2>&1 || fail "import without a tokenizer"
expect_error 2 "has no tokenizer.*--tokenizer FILE.*--prompt-ids" "$KOLM" generate bare --quiet --prompt "The"
[ "$(generate bare --tokenizer gpt/checkpoints/step-500/tokenizer.json "${greedy[@]}")" = "${round:0:419}" ] || fail "--tokenizer"
ids=$(generate gpt "${greedy[@]}" --json | sed 's/.*"prompt_ids": \[\([^]]*\)\], "ids": \[\([^]]*\)\].*/\1, \2/' | tr -d ,)
[ "$(generate bare --prompt-ids "${ids:0:6}" --temperature 0 --tokens 2 | wc -w)" -ge 4 ] || fail "numbers of tokens"
[ "$(generate bare --prompt-ids "$(cut -d' ' -f1-19 <<<"$ids")" --temperature 0 --tokens 400)" = "$ids" ] || fail "numbers of tokens are not those of the text"

# Under mpirun, and as if it were two machines.
if [ -n "${MPIEXEC:-}" ]; then
	for hosts in 1 2; do
		text=$(KOLM_MPI_HOSTS=$hosts "$MPIEXEC" -n 4 "$KOLM" generate gpt "${greedy[@]}" --pp 2 --mp 2 --quiet) || fail "mpirun"
		[ "$text" = "${round:0:419}" ] || fail "mpirun on $hosts hosts: $text"
	done
fi

# Trouble.
expect_error 2 "needs a run or a checkpoint" "$KOLM" generate
expect_error 2 "nowhere has no checkpoint" "$KOLM" generate nowhere
expect_error 2 "--dp 2: a text is written by one replica" "$KOLM" generate gpt --dp 2
expect_error 2 "virtual device" "$KOLM" generate gpt --device virtual
expect_error 2 "--prompt-file contradicts --prompt" "$KOLM" generate gpt --prompt a --prompt-file prompt.txt
expect_error 2 "'@' .* is not among the" "$KOLM" generate gpt --quiet --prompt "a@b"
expect_error 2 "'9999' is no token; they are 0 to" "$KOLM" generate gpt --quiet --prompt-ids 1,9999
train "${gpt[@]}" --steps 3 --vocab 40 --save --run-dir wide # the tokenizer has 24
expect_error 2 "'30' is no token; they are 0 to 23" "$KOLM" generate wide --quiet --prompt-ids 1,30
expect_error 2 "do not divide by --mp 3" "$KOLM" generate gpt --quiet --mp 3
expect_error 2 "fewer than 9 stages" "$KOLM" generate gpt --quiet --pp 9
expect_error 2 "--prompt: 70000 bytes are too long; there is room for [0-9]+$" "$KOLM" generate gpt --quiet --prompt "$(head -c 70000 /dev/zero | tr '\0' a)"
expect_error 2 "no JSON file could hold it" "$KOLM" generate gpt --quiet --prompt $'\xff'
expect_error 2 "the text has 9 tokens: a sample of --context 64 takes 65; use a longer text$" bash -c '"$0" eval gpt --data text:short.txt 2>&1 >/dev/null | tail -n 1 >&2; exit 2' "$KOLM"
: >empty.txt
expect_error 2 "the prompt has no tokens" "$KOLM" generate gpt --quiet --prompt-file empty.txt
"$KOLM" train --dim 8 --depth 2 --steps 3 --save --quiet --run-dir mlp >/dev/null || fail "an mlp"
expect_error 2 "mlp is no language model; kolm predict" "$KOLM" generate mlp --quiet
expect_error 1 "can't write to standard output" bash -c '"$0" generate gpt --quiet --tokens 5 >&-' "$KOLM"
[ ! -e /dev/full ] || expect_error 1 "can't write to standard output" bash -c '"$0" generate gpt --quiet --tokens 5 >/dev/full' "$KOLM"
"$KOLM" generate gpt --quiet --tokens 10000000 2>err.txt | head -c 10 >/dev/null
[ "${PIPESTATUS[0]}" = 1 ] || fail "a reader that has gone away"
cp -r cut harmed
truncate -s -100 harmed/checkpoints/step-500/model.safetensors
expect_error 2 "step-500.*model.safetensors" "$KOLM" generate harmed/checkpoints/step-500 --quiet
"$KOLM" generate harmed --tokens 3 >/dev/null 2>said.txt || fail "an older checkpoint is whole: $(cat said.txt)"
grep -q "step-450, after step 450" said.txt || fail "it does not take the one before: $(cat said.txt)"
for signal in INT TERM; do
	for grid in "" "--pp 2 --mp 2"; do
		rm -f out.txt
		"$KOLM" generate gpt --tokens 10000000 $grid >out.txt 2>err.txt &
		pid=$!
		until [ -s out.txt ]; do kill -0 $pid || fail "it did not start: $(cat err.txt)"; sleep 0.05; done
		kill -$signal $pid
		wait $pid
		code=$?
		[ $code = $([ $signal = INT ] && echo 130 || echo 143) ] || fail "SIG$signal $grid: exit code $code, $(cat err.txt)"
		grep -qE "^kolm: stopped by .* after [0-9]+ of 10000000 tokens" err.txt || fail "SIG$signal $grid: $(cat err.txt)"
		grep -q "^prompt: 1 token " err.txt || fail "SIG$signal: no closing line: $(cat err.txt)"
		[ "$(tail -c 1 out.txt | wc -l)" = 1 ] || fail "SIG$signal: the last line has no end"
	done
done
echo ok
