#!/usr/bin/env bash
# What a user sees of a language model: the heading of a run, its timeline, its report, who is
# asked for more than a preset allows.
. "$(dirname "$0")/lib.bash"
export XDG_CACHE_HOME=$dir/cache
size="--layers 4 --heads 4 --dim 32 --context 16 --batch 8 --steps 6 --warmup 2"
train() { "$KOLM" train $size --overwrite "$@" >out.txt 2>err.txt || fail "train $*: $(cat err.txt)"; }
says() { grep -qF -- "$1" err.txt || fail "it does not say '$1': $(cat err.txt)"; }

# What the model is, which layers are where, and who has which part of them.
train --model gpt --vocab 65 --no-bias --dropout 0.1 --recompute block --dp 2 --pp 2 --mp 2 --sequence-parallel --micro-batches 2 --run-dir grid
says "gpt: 4 layers, 4 heads, dim 32, context 16, 65 tokens;"
says "parameters (head tied)"
says "model: no biases, dropout 0.1, blocks are computed again for the backward pass"
says "stage 0: embedding, blocks 0-1 on ranks 0-3"
says "stage 1: blocks 2-3, head on ranks 4-7"
says "the data crosses 1 time per forward pass, behind blocks.1"
says "every mp rank has 2 of 4 heads, 64 of 128 columns inside of the feed-forward layers, 33 or 32 of 65 tokens; norms and positions are whole"
says "between products every mp rank has 16 of 32 rows of a micro-batch"
says "batch 8 = 2 replicas x 2 micro-batches x 2 samples of 16 tokens"
says "tokens/s"
grep -q "tokens/s" out.txt || fail "steps: $(cat out.txt)"
train --model llama --kv-heads 2 --ffn 64 --mp 2 --run-dir llama
says "llama: 4 layers, 4 heads (2 of keys and values), dim 32, ffn 64, context 16, 256 tokens;"
says "every mp rank has 2 of 4 heads (1 of 2 of keys and values), 32 of 64 columns"
train --model gpt --pp 2 --schedule interleaved --micro-batches 2 --run-dir interleaved
says "stage 0: embedding, block 0, block 2 on rank 0"

train --model gpt --gelu exact --sequence-parallel --run-dir exact
says "model: exact gelu"
says "--sequence-parallel changes nothing: without --mp no rows can be shared"
train --model gpt --steps 2 --warmup 1 --run-dir short
says "over 1 step:"

# What does not fit, with what would.
refused() { expect_error 2 "$1" "$KOLM" train --steps 2 "${@:2}"; }
refused '4 heads do not divide by --mp 3; --mp 2, 4 would fit: every rank' --model gpt --mp 3
refused '8 heads, of which 2 have keys, do not divide by --mp 4; --mp 2 would fit' --model llama --heads 8 --kv-heads 2 --mp 4
refused '6 heads do not divide by --as-if mp=4; --as-if mp=2 would fit' --model gpt --heads 6 --dim 48 --as-if mp=4 --mp 2
refused '7 heads do not divide by --as-if mp=4; --as-if mp=1 would fit' --model gpt --heads 7 --dim 56 --as-if mp=4
refused '--heads 8 does not divide by --kv-heads 3; --kv-heads 2 would fit' --model llama --heads 8 --kv-heads 3
refused '--layers means nothing to --model mlp; leave it out, or use --model gpt or llama' --layers 4
refused '--depth means nothing to --model gpt; --layers is the number of its blocks' --model gpt --depth 4
refused '--rope-theta means nothing to --model gpt; leave it out, or use --model llama' --model gpt --rope-theta 5
refused '--gelu means nothing to --model llama; leave it out, or use --model gpt' --model llama --gelu exact
refused '--norm means nothing to --model gpt; leave it out, or use --model mlp' --model gpt --norm rms

# All that the ranks did in all steps that are kept is in the timeline, also where rows are spread.
train --model gpt --layers 8 --mp 2 --sequence-parallel --recompute block --micro-batches 4 --trace 3 --run-dir traced
for rank in 0 1; do
	counts=$(for step in 3 4 5; do grep -c "\"pid\": $rank,.*\"step\": $step[,}]" traced/timeline.json; done | sort -u)
	[ "$counts" -gt 100 ] 2>/dev/null || fail "a step is not whole in the timeline of rank $rank: $counts"
done
"$KOLM" trace traced >out.txt 2>&1 || fail "trace: $(cat out.txt)"

# The report calls layers by their names, and counts tokens.
"$KOLM" report grid --out report >out.txt 2>&1 || fail "report: $(cat out.txt)"
grep -q "embedding, blocks 0-1" report/report.html || fail "the report has no layers"
grep -q "tokens per second" report/report.html || fail "the report has no tokens per second"
grep -q "samples per second" report/report.html && fail "the report counts samples"

# A preset has a course of its own, which shorter runs cut to their size.
"$KOLM" verify --preset nano --dim 32 --batch 4 --mp 2 >out.txt 2>&1 || fail "verify: $(cat out.txt)"
grep -q "the same run" out.txt || fail "verify: $(cat out.txt)"
"$KOLM" max-batch --preset nano --device-memory 40MB --compare fp32,bf16 >out.txt 2>&1 || fail "max-batch: $(cat out.txt)"
grep -q "bf16 has .* times the batch of fp32" out.txt || fail "max-batch: $(cat out.txt)"
# Rows are numbered: a step of more of them than there are numbers is refused, and not looked for.
expect_error 2 'at most 2147483647 can be; --batch 2047 is the most' "$KOLM" train --model gpt --context 1048576 --batch 4096 --dry-run --run-dir none
"$KOLM" max-batch --model gpt --layers 1 --heads 1 --dim 1 --vocab 2 --context 1048576 --device virtual:gflops=1000000000000,link=1000000GB/s,latency=0us --device-memory 1000000GB >out.txt 2>&1 || fail "max-batch: $(cat out.txt)"
grep -q '\b2047\b' out.txt || fail "the largest batch that there can be: $(cat out.txt)"
echo "what a language model shows is what it is"
