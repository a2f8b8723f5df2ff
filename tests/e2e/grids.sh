#!/usr/bin/env bash
# Grids from the command line: where layers go is printed and written, impossible ones are
# refused with what fits, and kolm verify tells a same run from another one.
. "$(dirname "$0")/lib.bash"

"$KOLM" train --dim 32 --depth 20 --pp 5 --steps 2 --run-dir five >/dev/null 2>err.txt || fail "$(cat err.txt)"
grep -q "^stage 4: layers 16-19 on rank 4" err.txt || fail "placement: $(cat err.txt)"
grep -q "the data crosses 4 times per forward pass, behind layer 3, 7, 11, 15" err.txt || fail "crossings: $(cat err.txt)"
summary() { tr -d ' \n' <five/summary.json; }
for part in '"transfers_per_forward":{"messages":4,"bytes":32768}' '"grid":{"dp":1,"pp":5,"mp":1}' '"schedule":"1f1b"' \
	'"engine":"hybrid"' '"layers":[0,1,2,3]' '"layers":[4,5,6,7]' '"layers":[8,9,10,11]' '"layers":[12,13,14,15]' \
	'"layers":[16,17,18,19]'; do
	summary | grep -qF "$part" || fail "summary.json has no $part: $(cat five/summary.json)"
done
[ "$(grep -o '"p2p_messages": [0-9]*' five/summary.json | cut -d' ' -f2 | tr '\n' ' ')" = "2 4 4 4 2 " ] || fail "messages per rank"

# Stages of unequal size have unequal numbers of buckets; the prediction tries each of them.
for uneven in "--dp 2 --pp 2 --depth 3" "--dp 2 --pp 5 --depth 8" "--dp 2 --pp 2 --depth 3 --zero 1" "--dp 2 --pp 2 --depth 3 --device virtual:gflops=1"; do
	"$KOLM" train --dim 32 --bucket-mb 0.001 --steps 2 --warmup 1 --quiet --timeout 20 $uneven --run-dir uneven --overwrite || fail "train $uneven"
done

# Sharded optimizer state: memory falls.
for zero in 0 1; do
	"$KOLM" train --dim 64 --dp 4 --optimizer adamw --steps 2 --zero $zero --quiet --run-dir zero$zero || fail "zero $zero"
done
bytes() { grep -o '"optimizer_bytes": [0-9]*' "$1/summary.json" | head -n 1 | cut -d' ' -f2; }
[ "$(bytes zero1)" -lt $(($(bytes zero0) / 4 + 4096)) ] || fail "optimizer state: $(bytes zero0) and sharded $(bytes zero1)"

expect_error 2 '3 layers are fewer than 4 stages; every stage needs a layer' "$KOLM" train --pp 4 --depth 3
expect_error 2 'the 1000 outputs of layers.0 do not divide by --mp 3; --mp 2, 4, 5, .* would fit, or 1002 of them; see --dim' "$KOLM" train --mp 3 --dim 1000
expect_error 2 'the 10 outputs of layers.2 do not divide by --mp 4; --mp 2, 5, 10 would fit, or 12 of them; see --widths' "$KOLM" train --mp 4 --widths 7,8,12,10,8 --norm rms
expect_error 2 'DataParallel has whole replicas only' "$KOLM" train --grad-sync master --dp 2 --pp 2
expect_error 2 'the master updates alone' "$KOLM" train --grad-sync master --dp 2 --zero 1
expect_error 2 '--chunks 2, but schedule 1f1b has one chunk per stage' "$KOLM" train --pp 2 --chunks 2
expect_error 2 'give 2 numbers that add up to --depth 8' "$KOLM" train --pp 2 --layers-per-stage 3,4
expect_error 2 "'x' is no number of layers" "$KOLM" train --pp 2 --layers-per-stage 3,x
"$KOLM" train --dim 16 --pp 2 --layers-per-stage 7,1 --steps 2 --run-dir cut >/dev/null 2>err.txt || fail "layers per stage: $(cat err.txt)"
grep -q "^stage 1: layer 7 on rank 1" err.txt || fail "layers per stage: $(cat err.txt)"

"$KOLM" verify --dim 24 --dp 2 --pp 2 --mp 2 --micro-batches 2 --depth 5 --optimizer adamw --json >out.json || fail "verify"
grep -q '"ok": true' out.json || fail "verify: $(cat out.json)"
"$KOLM" verify --dim 24 --dp 2 --micro-batches 3 --micro-batch-size 5 >/dev/null || fail "verify with a batch that follows"
"$KOLM" verify --dim 24 --mp 2 --weight-tolerance 0 --loss-tolerance 0 >out.txt 2>/dev/null
[ $? = 1 ] || fail "verify with no tolerance: $(cat out.txt)"
grep -q "NOT the same run" out.txt || fail "verify said: $(cat out.txt)"
expect_error 2 "did you mean --dim" "$KOLM" verify --dmi 3
mkdir own # others may verify at the same time
TMPDIR=$dir/own "$KOLM" verify --dim 24 --dp 2 >/dev/null || fail "verify in a folder of its own"
TMPDIR=$dir/own "$KOLM" verify --dim 24 --mp 2 --weight-tolerance 0 --loss-tolerance 0 >/dev/null 2>&1
[ -z "$(ls own)" ] || fail "verify leaves folders behind: $(ls own)"

# Language models: what can't be shared is said; threads do not change a bit; all grids hold out the same.
export XDG_CACHE_HOME=$dir/cache
gpt="--model gpt --layers 2 --heads 6 --dim 48"
expect_error 2 '4 layers are fewer than 5 stages; every stage needs one, embedding and head are layers too: use --layers 3 or more, or fewer stages' "$KOLM" train $gpt --pp 5
expect_error 2 'give 2 numbers that add up to 4: embedding, blocks and head' "$KOLM" train $gpt --pp 2 --layers-per-stage 2,3
expect_error 2 'do not divide by --mp 4' "$KOLM" train $gpt --mp 4
expect_error 2 '3 tokens are too few for --mp 6' "$KOLM" train $gpt --mp 6 --vocab 3
expect_error 2 '--sequence-parallel: --context 10 does not divide by --mp 3; --context 12 would fit, or --sequence-parallel=false' \
	"$KOLM" train $gpt --mp 3 --context 10 --sequence-parallel
seq 3000 >text.txt
numbers() { grep -oE '"(loss|grad_norm)": [^,]*' "$1/metrics.jsonl"; }
for precision in fp32 bf16; do
	for threads in 1 2 3; do
		"$KOLM" train ${gpt/48/192} --data text:text.txt --context 77 --dropout 0.1 --batch 6 --steps 4 --warmup 0 --precision $precision --threads $threads --quiet \
			--save --run-dir threads$threads --overwrite 2>/dev/null || fail "$threads threads"
		[ "$(numbers threads1)" = "$(numbers threads$threads)" ] || fail "$threads threads: other losses in $precision"
		cmp threads1/checkpoints/step-4/model.safetensors threads$threads/checkpoints/step-4/model.safetensors || fail "$threads threads: other weights in $precision"
	done
done
for grid in "" "--dp 2 --pp 2 --mp 2 --micro-batches 2 --sequence-parallel --recompute block" "--pp 4 --micro-batches 4 --schedule zb-h1" "--mp 3"; do
	"$KOLM" train $gpt --data text:text.txt --context 12 --batch 16 --steps 30 --lr 0.01 --quiet --threads 1 $grid --run-dir held --overwrite || fail "text $grid"
	for what in loss accuracy perplexity; do tr -d ' \n' <held/summary.json | grep -o '"held_out":{[^}]*}' | grep -o "\"$what\":[0-9.]*"; done >>held.txt
done
[ "$(wc -l <held.txt)" = 12 ] || fail "held out: $(cat held.txt)"
awk -F: '{ if (!($1 in first)) first[$1] = $2; d = $2 - first[$1]; if (d * d > 1e-8 * first[$1] * first[$1]) exit 1 }' held.txt || fail "held out differs: $(cat held.txt)"

# Held-out samples are evaluated over the whole grid.
"$MAKE_DIGITS" digits 2>/dev/null
for grid in "" "--dp 2 --pp 2 --mp 2 --micro-batches 2"; do
	"$KOLM" train --data csv:digits/digits.csv --dim 32 --depth 4 --batch 64 --optimizer adamw --steps 60 --quiet --threads 1 $grid --run-dir held --overwrite || fail "digits $grid"
	grep -o '"accuracy": [0-9.]*' held/summary.json >>accuracy.txt
done
[ "$(sort -u accuracy.txt | wc -l)" = 1 ] && [ "$(wc -l <accuracy.txt)" = 2 ] || fail "accuracies differ: $(cat accuracy.txt)"

# A run's config.json under changed options: what the command line says counts.
"$KOLM" train --dim 16 --steps 3 --pp 2 --layers-per-stage 7,1 --quiet --run-dir first || fail "first"
for change in "--dp 2" "--pp 1" "--pp 4" "--schedule interleaved --micro-batches 4" "--dp 2 --pp 1 --zero 1"; do
	"$KOLM" train --config first/config.json $change --quiet --run-dir changed --overwrite || fail "config.json with $change"
done
"$KOLM" train --config changed/config.json --quiet --run-dir again || fail "config.json as it is"
cmp -s changed/config.json again/config.json || fail "config.json changes when it is read back"
grep -q '"collective_bytes": [1-9]' again/summary.json || fail "no bytes in collectives"
# What goes out of one rank comes in to another.
total() { grep -o "\"traffic_$1_bytes\": [0-9]*" again/summary.json | awk '{ n += $2 } END { print n }'; }
[ "$(total in)" -gt 0 ] && [ "$(total in)" = "$(total out)" ] || fail "in $(total in), out $(total out)"
expect_error 2 'use an even number of layers' "$KOLM" train --data csv:digits/digits.csv --depth 3 --mp 4 --dim 16
"$KOLM" verify --dim 16 --pp 2 --lr 1e6 --optimizer momentum >/dev/null 2>err.txt
[ $? = 1 ] || fail "verify of a run that diverges"
grep -q 'nothing to compare: on one rank the loss is not finite' err.txt || fail "diverging: $(cat err.txt)"
"$KOLM" verify --dim 8 --depth 2 --dp 4 --grad-sync master --batch 32768 --steps 2 >/dev/null || fail "a large batch at the master"
"$KOLM" verify --dim 8 --grad-sync master >/dev/null || fail "a master without replicas"
exit 0
