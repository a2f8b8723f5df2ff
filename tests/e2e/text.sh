#!/usr/bin/env bash
# Text as training data, as a user has it: folders, tokenizers, what is kept, grids, checkpoints,
# evaluation, and what is refused.
. "$(dirname "$0")/lib.bash"
export XDG_CACHE_HOME=$dir/cache

# A text with something to learn, and others.
awk 'BEGIN { srand(3); for (i = 0; i < 3000; i++) { n = int(rand() * 26); printf "%c is behind %c%s", 97 + n, 97 + (n + 25) % 26, i % 4 == 3 ? ".\n" : ", " } }' >book.txt
mkdir -p texts/b && printf 'first text\n' >texts/c && printf 'a second one\n' >texts/b/x && cat book.txt >texts/a
printf 'a\0b' >texts/d && echo hidden >texts/.e
size="--layers 2 --heads 2 --dim 32 --context 16 --batch 8 --lr 0.003"
train() { "$KOLM" train --model gpt $size --overwrite "$@" >out.txt 2>err.txt || fail "train $*: $(cat err.txt)"; }
value() { grep -o "\"$1\": [^,]*" "$2" | tail -n 1 | cut -d' ' -f2 | tr -d '}'; }
same() { awk -v a="$1" -v b="$2" -v by="${3:-1e-5}" 'BEGIN { d = a - b; exit !(d * d <= by * by * a * a) }'; }
held_out() { grep -o '"held_out": {.*}' "$1" | grep -o '"loss": [^,]*'; }

# Behind the line that names the checkpoint.
ends_with() {
	local pattern=$1 rc
	shift
	"$KOLM" "$@" >/dev/null 2>err.txt
	rc=$?
	[ $rc = 2 ] && tail -n 1 err.txt | grep -qE -- "$pattern" || fail "'$*' exited with $rc: $(cat err.txt)"
}

# It learns, and says how well.
train --data text:book.txt --steps 60 --eval-every 20 --save --tensorboard --run-dir one
grep -q "data: .* tokens to learn from, .* held out; tokenizer: char, 30 tokens" err.txt || fail "heading: $(cat err.txt)"
grep -q "held-out loss .* perplexity .* bits per byte .* accuracy" out.txt || fail "no evaluation: $(cat out.txt)"
grep -q "held-out: .* samples, loss .*, perplexity .*, bits per byte .*, accuracy" err.txt || fail "closing: $(cat err.txt)"
[ "$(held_out one/metrics.jsonl | wc -l)" = 3 ] || fail "evaluations: $(held_out one/metrics.jsonl)"
awk -v a="$(value first_loss one/summary.json)" -v b="$(value final_loss one/summary.json)" 'BEGIN { exit !(b < 0.8 * a) }' || fail "it does not learn"
# One byte per token here: bits per byte are the loss in bits; tokens per second follow from samples.
python3 - <<'END' 2>/dev/null || ! command -v python3 >/dev/null || fail "numbers: $(cat one/summary.json)"
import json, math
s = json.load(open("one/summary.json"))
h = s["held_out"]
assert abs(h["perplexity"] - math.exp(h["loss"])) < 1e-9 * h["perplexity"]
assert abs(h["bits_per_byte"] - h["loss"] / math.log(2)) < 1e-9
assert abs(s["tokens_per_s"] - 16 * s["samples_per_s"]) < 1e-6 * s["tokens_per_s"]
lines = [json.loads(l) for l in open("one/metrics.jsonl")]
assert all("tokens_per_s" in l for l in lines) and lines[-1]["held_out"] == h
c = json.load(open("one/config.json"))
assert c["tokenizer"] == "char" and c["vocab"] == 30
END

# Any grid has the same samples, and the same evaluation.
for grid in "--dp 2 --micro-batches 2" "--pp 2 --micro-batches 4" "--mp 2 --sequence-parallel" "--dp 2 --pp 2 --mp 2 --micro-batches 2 --zero 1"; do
	train --data text:book.txt --steps 60 --eval-every 20 --run-dir grid $grid
	paste <(losses one/metrics.jsonl | cut -d' ' -f2) <(losses grid/metrics.jsonl | cut -d' ' -f2) | while read -r a b; do
		same "$a" "$b" 1e-4 || exit 1
	done || fail "$grid: other losses than one rank: $(losses grid/metrics.jsonl | tail -n 3)"
done
if [ -n "${MPIEXEC:-}" ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
	rm -r cache
	"$MPIEXEC" -n 2 "$KOLM" train --model gpt $size --data text:book.txt --steps 60 --dp 2 --quiet --run-dir mpi || fail "mpirun"
	same "$(value final_loss one/summary.json)" "$(value final_loss mpi/summary.json)" 1e-4 || fail "mpirun: another loss"
	[ "$(ls cache/kolm | wc -l)" = 2 ] || fail "kept: $(ls cache/kolm)"
	"$MPIEXEC" -n 2 "$KOLM" train --model gpt $size --data text:missing.txt --dp 2 --run-dir mpi2 >out.txt 2>&1 && fail "a text that is missing"
	[ "$(grep -c "can't read missing.txt" out.txt)" = 1 ] || fail "said more than once: $(cat out.txt)"
fi

# The checkpoint is enough: its tokenizer is in it. What was held out has the loss that the run has found.
[ -f one/checkpoints/step-60/tokenizer.json ] || fail "no tokenizer in the checkpoint"
"$KOLM" info one | grep -q "^tokenizer.json .* sha256" || fail "info does not name it"
mv book.txt moved.txt
n=$(($(wc -c <moved.txt) - $(awk -v n="$(wc -c <moved.txt)" 'BEGIN { print int(n * 0.9) }')))
tail -c $n moved.txt >rest.txt
"$KOLM" eval one --data text:rest.txt --json >eval.json 2>/dev/null || fail "eval"
same "$(value loss eval.json)" "$(held_out one/metrics.jsonl | tail -n 1 | cut -d' ' -f2)" || fail "eval: $(cat eval.json)"
"$KOLM" eval one --data rest.txt 2>/dev/null | grep -q "tokens, loss .*, perplexity .*, bits per byte .*, accuracy" || fail "eval prints: $("$KOLM" eval one --data rest.txt)"
"$KOLM" tokenizer encode one/checkpoints/step-60/tokenizer.json rest.txt --out rest.tokens >/dev/null || fail "encode"
"$KOLM" eval one --data tokens:rest.tokens --json 2>/dev/null | cmp - eval.json || fail "eval of tokens"
mv moved.txt book.txt
ends_with "is a language model; kolm generate" predict one --data rest.txt
printf 'an "x" here\n%.0s' 1 2 3 >odd.txt
ends_with "the character '\"' .* is not among the 30" eval one --data odd.txt
ends_with "is no text" eval one --data csv:odd.txt

# Resumed, it goes on as if it had not been stopped; another text is read with its own tokenizer.
train --data text:book.txt --steps 60 --save-every 30 --run-dir half
rm -r half/checkpoints/step-60
"$KOLM" train --resume half --quiet || fail "resume"
[ "$(value weights_sha256 half/summary.json)" = "$(value weights_sha256 one/summary.json)" ] || fail "resumed: other weights"
head -c 3000 book.txt >other.txt
"$KOLM" train --resume half/checkpoints/step-30 --data text:other.txt --steps 40 --run-dir on --quiet --save || fail "resume with another text"
cmp on/checkpoints/step-40/tokenizer.json one/checkpoints/step-60/tokenizer.json || fail "another tokenizer"
expect_error 2 "trained with another tokenizer" "$KOLM" train --resume half/checkpoints/step-30 --tokenizer byte --vocab 256 --run-dir on2 --quiet

# A folder: what is in it, in order; what is no text is left out. bpe puts the end of text between.
train --data text:texts --steps 2 --run-dir folder
grep -q "data: the text of 3 files" err.txt && grep -q "left out: 1 file with zero bytes" err.txt || fail "folder: $(cat err.txt)"
train --data text:texts --tokenizer bpe --vocab 300 --steps 2 --run-dir folder --verbose
tokens=$(sed -n 's/^ *tokens: //p' err.txt)
[ -f "$tokens" ] || fail "where are the tokens: $(cat err.txt)"
{ cat texts/a && printf '<|endoftext|>' && cat texts/b/x && printf '<|endoftext|>' && cat texts/c; } >wanted.txt
"$KOLM" tokenizer decode "${tokens%/*}"/texts-*.tokenizer.json "$tokens" >back.txt 2>/dev/null ||
	for t in "${tokens%/*}"/texts-*.tokenizer.json; do "$KOLM" tokenizer decode "$t" "$tokens" >back.txt 2>/dev/null && break; done
cmp back.txt wanted.txt || fail "the text of the folder"

# Bits per byte where tokens are longer than bytes: all windows of 16 behind the first token of rest.txt.
train --data text:texts --tokenizer bpe --vocab 300 --steps 2 --save --run-dir pieces
"$KOLM" eval pieces --data text:rest.txt --json >eval.json 2>/dev/null || fail "eval of bpe"
if command -v python3 >/dev/null; then
	"$KOLM" tokenizer encode pieces/checkpoints/step-2 rest.txt --json >ids.json
	"$KOLM" tokenizer info pieces/checkpoints/step-2 >/dev/null || fail "a checkpoint is no tokenizer"
	python3 - <<'END' || fail "bits per byte: $(cat eval.json)"
import json, math
e = json.load(open("eval.json"))
ids = json.load(open("ids.json"))["ids"]
names = {i: t for t, i in json.load(open("pieces/checkpoints/step-2/tokenizer.json"))["model"]["vocab"].items()}
n = (len(ids) - 1) // 16 * 16
assert e["tokens"] == n and e["samples"] * 16 == n
assert e["bytes"] == sum(len(names[i]) for i in ids[1:n + 1])  # a character there stands for a byte
assert abs(e["bits_per_byte"] - e["loss"] / math.log(2) * n / e["bytes"]) < 1e-9
assert abs(e["perplexity"] - math.exp(e["loss"])) < 1e-9 * e["perplexity"]
END
fi

# A folder of tokens that can't be written to is no reason to stop.
touch nofolder
XDG_CACHE_HOME=$dir/nofolder "$KOLM" train --model gpt $size --data text:book.txt --steps 2 --quiet --overwrite --run-dir nocache 2>err.txt || fail "no cache: $(cat err.txt)"
grep -q "can't be kept" err.txt || fail "it does not say so: $(cat err.txt)"

# Epochs, made-up tokens, presets without text.
train --data text:other.txt --context 32 --epochs 2 --run-dir epochs
grep -q "21 steps: 2 epochs of 84 samples" err.txt || fail "epochs: $(cat err.txt)"
for data in synthetic noise; do train --model llama --data $data --vocab 50 --steps 3 --run-dir made; done
train --steps 150 --run-dir made --data synthetic
awk -v b="$(value final_loss made/summary.json)" 'BEGIN { exit !(b < 4.6) }' || fail "synthetic tokens are not learned: $(value final_loss made/summary.json)"
"$KOLM" train --preset nano --layers 1 --steps 3 --quiet --run-dir preset || fail "a preset without text"

refused() { local what=$1; shift; expect_error 2 "$what" "$KOLM" train --model gpt $size --steps 2 --run-dir refused "$@"; }
refused "can't read missing.txt.*check the name" --data text:missing.txt
printf '0123456789' >short.txt
refused "has 9 tokens: a sample of --context 16 takes 17; use a longer text, or a --context of 8 at most" --data text:short.txt
mkdir empty
refused "has no files of text" --data text:empty
refused "--vocab 10, but the tokenizer has 30 tokens; use --vocab 30 or more" --data text:book.txt --vocab 10
refused "a vocabulary of 40 tokens can't be" --data text:book.txt --vocab 40 --tokenizer bpe
refused "no samples are held out; use a larger --holdout, or a smaller --context" --data text:other.txt --holdout 0.001 --eval-every 1
refused "not a token file" --data tokens:book.txt
refused "nothing that a language model learns from" --data csv:book.txt
refused "--tokenizer byte, but --data synthetic is no text" --tokenizer byte
refused "--scale-target: a language model" --data text:book.txt --scale-target
expect_error 2 "is for language models; add --model gpt" "$KOLM" train --data text:book.txt --run-dir refused
[ ! -e refused ] || fail "what is refused leaves a folder"
exit 0
