#!/usr/bin/env bash
# kolm plan: a search, a published table, text and JSON, and one line for what it refuses.
. "$(dirname "$0")/lib.bash"

# The value of a member that is there once.
member() { grep -o "^  \"$1\": [^,]*" "$2" | cut -d' ' -f4; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }
published=$SOURCE/tests/data/plan/korthikanti.csv

"$KOLM" plan --validate "$published" >out.txt || fail "--validate"
grep -q "^time: 9 measured, mean error" out.txt || fail "no errors: $(cat out.txt)"
# Of the models that the constants were not fitted to; the bound is the one in docs/plan.md.
grep -v ",22B," "$published" >others.csv
"$KOLM" plan --validate others.csv --json >out.json || fail "--json"
[ "$(member measured out.json)" = 7 ] || fail "not 7 rows: $(cat out.json)"
below "$(member mean_abs_error out.json)" 0.035 || fail "mean error: $(cat out.json)"
below "$(member max_abs_error out.json)" 0.07 || fail "max error: $(cat out.json)"
[ "$(grep -c '"predicted_ms": [0-9]' out.json)" = 7 ] || fail "not 7 predictions: $(cat out.json)"
[ "$(grep -c '"error": -\?[0-9]' out.json)" = 7 ] || fail "not 7 errors: $(cat out.json)"

# Other tables of such machines, which nothing was fitted to.
for table in narayanan-1 narayanan-2; do
	"$KOLM" plan --validate "$SOURCE/tests/data/plan/$table.csv" --json >out.json || fail "$table"
	below "$(member mean_abs_error out.json)" 0.08 || fail "$table: $(cat out.json)"
done

# Nothing measured is no error; memory is judged where it was measured; columns in any order.
cat >own.csv <<'END'
mem_gib,model,cluster,layers,hidden,heads,seq,vocab,gpus,dp,tp,pp,micro_batch,global_batch,schedule,chunks,recompute,sequence_parallel,zero,iter_ms
,a,v100-16g-dlperf,16,1536,16,2048,51200,1,1,1,1,2,2,1f1b,1,full,0,0,
10,"b, c",v100-16g-dlperf,16,1536,16,2048,51200,8,8,1,1,2,16,,1,full,0,1,480
END
"$KOLM" plan --validate own.csv --json >out.json || fail "own"
[ "$(member measured out.json)" = 1 ] && [ "$(member mem_measured out.json)" = 1 ] || fail "not 1 and 1: $(cat out.json)"
[ "$(grep -c '"error": null' out.json)" = 1 ] || fail "no null: $(cat out.json)"
grep -q '"model": "b, c"' out.json || fail "no quotes: $(cat out.json)"

# Models by their names; sizes that Llama 3 has; columns that may be left out. Flash is faster than what writes scores down.
sed 's/,full,/,none,/g; 2s/^,a,/,llama3-8B,/; 2s/,16,1536,16,2048,51200,/,32,4096,32,2048,128256,/; 3s/"b, c"/mpt-x/' own.csv >models.csv
"$KOLM" plan --validate models.csv --json >out.json || fail "models"
sed 's/llama3-8B/gpt/; s/mpt-x/gpt/' models.csv >gpts.csv
"$KOLM" plan --validate gpts.csv --json >gpts.json || fail "gpts"
for i in 1 2; do
	nth() { grep -o '"predicted_ms": [0-9.]*' "$1" | sed -n "${i}p" | cut -d' ' -f2; }
	below "$(nth out.json)" "$(nth gpts.json)" || fail "row $i: flash takes $(nth out.json), not less than $(nth gpts.json)"
done
sed '1s/$/,ffn,kv_heads/; 2s/$/,14336,8/; 3s/$/,,/' models.csv >sized.csv
"$KOLM" plan --validate sized.csv --json | cmp - out.json || fail "sizes that are given are not those that are known"

# A cluster from a file; a constant that is better makes it faster.
cp "$SOURCE/clusters/v100-16g-dlperf.json" mine.json
before=$("$KOLM" plan --validate own.csv --json --cluster ./mine.json | grep -m 1 -o 'predicted_ms": [^,]*')
sed -i 's/"value": 125,/"value": 250,/' mine.json
after=$("$KOLM" plan --validate own.csv --json --cluster ./mine.json | grep -m 1 -o 'predicted_ms": [^,]*')
below "${after##* }" "${before##* }" && [ "$after" != "$before" ] || fail "a faster device is no faster: $before, $after"

# This machine as a cluster, whose constants are whole, and a plan on it.
"$KOLM" plan --calibrate here.json >out.txt || fail "--calibrate: $(cat out.txt)"
grep -q "^here.json: a core of [0-9]* reaches [0-9.]* GFLOP/s" out.txt || fail "calibrated: $(cat out.txt)"
"$KOLM" plan --cluster ./here.json --gpus 2 --layers 4 --hidden 256 --heads 8 --context 128 --vocab 256 --batch 32 >out.txt || fail "a plan on it"
grep -q "on 2 devices of this-machine" out.txt || fail "another machine: $(cat out.txt)"

refused() { expect_error 2 "$1" "$KOLM" plan "${@:2}"; }
changed() { sed "$1" own.csv >bad.csv; refused "$2" --validate bad.csv; }
refused "--layers is missing"
refused "--top does nothing with --validate" --validate own.csv --top 3
refused "there is no cluster 'b200'.*a100-80g-selene" --validate own.csv --cluster b200
changed 's/zero/zeros/' "column 'zeros' is unknown"
changed 's/,zero,/,vocab,/' "column vocab is there twice"
changed 's/mem_gib,//; s/^10,//; s/^,//' "there is no column mem_gib"
changed 's/480$/fast/' "line 3: iter_ms 'fast' should be empty or a number above 0"
changed '2s/,full,/,some,/' "line 2: recompute 'some' should be none, selective or full"
changed 's/,8,8,1,1,2/,8,4,1,1,2/' "line 3: dp 4 times tp 1 times pp 1 is not gpus 8"
changed '2s/,1536,/,0,/' "line 2: hidden '0' should be a whole number from 1 to"
changed '2s/$/,/' "line 2 has 21 cells instead of 20"
# The other rows are forecast.
sed 's/,8,8,1,1,2/,8,4,1,1,2/' own.csv >bad.csv
"$KOLM" plan --validate bad.csv --json >out.json 2>err.txt && fail "a row that can't be"
grep -q '"problem": "bad.csv line 3: dp 4' out.json && [ "$(grep -c '"predicted_ms": [0-9]' out.json)" = 1 ] || fail "not one of two: $(cat out.json)"
changed '2,$d' "has no rows"
: >bad.csv
refused "is empty" --validate bad.csv
sed -i 's/"unit": "TFLOP/"unit": "GFLOP/' mine.json
refused "the unit of peak is 'TFLOP/s', not 'GFLOP/s'" --validate own.csv --cluster ./mine.json
sed -i 's/"peak"/"peek"/' mine.json
refused "unknown member 'peek'" --validate own.csv --cluster ./mine.json

# The best ones that fit, and what would be faster.
model="--layers 48 --hidden 6144 --heads 64 --context 2048 --vocab 51200 --batch 512"
# shellcheck disable=SC2086
search() { "$KOLM" plan $model --cluster a100-80g-selene --gpus 64 "$@"; }
search >out.txt || fail "search"
grep -q "^22.07 G parameters on 64 devices of a100-80g-selene with 80 GiB: [0-9]* ways, [0-9]* fit" out.txt || fail "no head: $(cat out.txt)"
grep -q "^Faster, but too large" out.txt || fail "nothing is too large: $(cat out.txt)"
search --top 3 --json | sed '/"front"/q' >out.json || fail "search --json"
[ "$(grep -c '"step_ms"' out.json)" = 6 ] || fail "not 3 and 3: $(cat out.json)"
first() { grep -m 1 -o "\"$1\": [^,]*" "$2" | cut -d' ' -f2; }
below "$(first mem_gib out.json)" 80 || fail "it does not fit: $(cat out.json)"
search --memory 30GiB --json >less.json || fail "--memory"
below "$(first mem_gib less.json)" 30 || fail "it does not fit: $(cat less.json)"
below "$(first step_ms out.json)" "$(first step_ms less.json)" || fail "less memory is faster"
[ "$(grep -c '"simulated_ms"' less.json)" -ge 5 ] || fail "not simulated: $(cat less.json)"
# What if: a faster device is faster, and what the step does not use changes nothing.
grid="--dp 8 --pp 4 --mp 2 --micro-batch-size 1"
# shellcheck disable=SC2086
search $grid --sensitivity --json >out.json || fail "--sensitivity"
below "$(first peak out.json)" -0.02 || fail "the peak changes nothing: $(cat out.json)"
[ "$(first reserved out.json)" = 0 ] || fail "time depends on memory: $(cat out.json)"
# shellcheck disable=SC2086
search $grid --set peak=2x --set memory-bandwidth=4000 --json >faster.json || fail "--set"
below "$(first step_ms faster.json)" "$(awk -v t="$(first step_ms out.json)" 'BEGIN { print t * 0.6 }')" || fail "not faster: $(cat faster.json)"
"$KOLM" plan --validate own.csv --set peak=2x --json >out.json || fail "--validate --set"
search --svg out.svg >/dev/null && tail -n 1 out.svg | grep -q "^</svg>$" || fail "no picture"
search --pp 2 --mp 4 --micro-batch-size 1 --json | sed '/"space"/q' >out.json || fail "--pp 2"
[ "$(grep -o '"[dpm]*": [0-9]*' out.json | sort -u | tr -d ' "\n')" = dp:8mp:4pp:2 ] || fail "another grid: $(cat out.json)"
# One taken apart: the shares of its step add up, and its stages have all layers.
# shellcheck disable=SC2086
search $grid --explain >out.txt || fail "--explain"
grep "^step .*of a step: compute" out.txt | grep -o "[0-9.]* %" | awk '{ s += $1 } END { exit !(s > 99.7 && s < 100.3) }' || fail "shares: $(cat out.txt)"
for word in products "messages between stages" imbalance embedding head "^stage 0  *0" "^ *stage layers"; do
	grep -q -- "$word" out.txt || fail "no $word: $(cat out.txt)"
done
# shellcheck disable=SC2086
search $grid --json >out.json || fail "explain in JSON"
[ "$(sed -n '/"stages"/,$p' out.json | grep -o '"layers": [0-9]*' | head -n 4 | awk '{ s += $2 } END { print s }')" = 48 ] || fail "not 48 layers: $(cat out.json)"
# The fronts: less memory is slower, fewer devices too.
falls() { awk 'NF && NR > 1 && $1 >= last { exit 1 } { last = $1 }'; }
search --pareto memory --json | sed -n '/"front"/,/"devices"/p' | grep -o '"step_ms": [0-9.]*' | cut -d' ' -f2 >steps.txt
[ "$(wc -l <steps.txt)" -gt 5 ] && falls <steps.txt || fail "no front: $(cat steps.txt)"
search --pareto devices --top 1 >out.txt || fail "--pareto devices"
sed -n '/^devices/,/^$/p' out.txt | awk 'NR > 1 && NF { print $3 }' >steps.txt
[ "$(wc -l <steps.txt)" -gt 2 ] && falls <steps.txt || fail "no devices: $(cat out.txt)"
# Only what is asked for.
search --schedule interleaved --chunks 3 --recompute full --sequence-parallel on --zero 1 --json >out.json || fail "fixed"
[ "$(sed '/"front"/q' out.json | grep -o '"\(chunks\|zero\|recompute\|schedule\|sequence_parallel\)": [^,]*' | sort -u | wc -l)" = 5 ] || fail "others: $(cat out.json)"
# A folder with pictures and a page, which a report takes too.
search --out planned >/dev/null || fail "--out"
for name in grids memory devices; do tail -n 1 planned/$name.svg | grep -q "^</svg>$" || fail "no $name.svg"; done
grep -q "grid by grid" planned/plan.html || fail "no map in the page"
"$KOLM" report planned --out reported >/dev/null || fail "report"
grep -q "22.07 G parameters on 64 devices" reported/report.html || fail "no plan in the report"
grep -q "grid by grid" reported/report.html || fail "no map in the report"
sed -i 's/"layers": [0-9]*/"layers": 0/' planned/plan.json
expect_error 2 "planned/plan.json is not a plan: layers" "$KOLM" report planned --out reported
# Thousands of devices; one pipeline stands for all.
"$KOLM" plan --layers 96 --hidden 12288 --heads 96 --context 2048 --vocab 51200 --batch 4096 --cluster a100-80g-selene \
	--gpus 8192 --dp 64 --pp 16 --mp 8 --svg large.svg --top 1 >out.txt || fail "8192 devices"
tail -n 1 large.svg | grep -q "^</svg>$" || fail "no picture of 16 stages"
used() { expect_error 2 "$1" "$KOLM" plan $model --cluster a100-80g-selene --gpus 64 "${@:2}"; }
used "--kv-heads does nothing with --model gpt" --kv-heads 8
used "--kv-heads 7 does not divide --heads 64" --kv-heads 7 --model llama
"$KOLM" plan --model llama --layers 32 --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --context 8192 --vocab 128256 --batch 128 --cluster h100-80g --gpus 64 >out.txt || fail "llama"
grep -q "^8.03 G parameters" out.txt || fail "not 8.03 G parameters: $(cat out.txt)"
used "--schedule zb-h1 does nothing with --pp 1" --pp 1 --schedule zb-h1
used "--schedule 1f1b does not have --chunks 2" --chunks 2 --schedule 1f1b
used "--chunks 2 does nothing with --pp 1" --pp 1 --chunks 2
used "--schedule interleaved needs --chunks 2 or more" --chunks 1 --schedule interleaved
used "--sequence-parallel does nothing with --mp 1" --mp 1 --sequence-parallel on
used "--zero 3 does nothing with --dp 1" --dp 1 --zero 3
# shellcheck disable=SC2086
{
	expect_error 1 "none of [0-9]* ways fits into 3 GiB; the smallest needs" "$KOLM" plan $model --cluster a100-80g-selene --gpus 8 --memory 3GiB
	expect_error 2 "there is no grid of 7 devices" "$KOLM" plan $model --cluster a100-80g-selene --gpus 7 --pp 2
	expect_error 2 "--gpus is missing" "$KOLM" plan $model --cluster a100-80g-selene
	expect_error 2 "--heads 7 does not divide --hidden 6144" "$KOLM" plan $model --heads 7 --cluster a100-80g-selene --gpus 8
}
refused "--set peek: a cluster has no such constant; did you mean peak" --validate own.csv --set peek=1
refused "--set peak: 'fast' is not a number" --validate own.csv --set peak=fast
refused "--set peak should be NAME=VALUE" --validate own.csv --set peak
refused "--set memory_share: 1.7.* is out of range; 0.001 to 1" --validate own.csv --set memory_share=2x
refused "--top does nothing with --calibrate: it only measures" --calibrate x.json --top 3
refused "--explain does nothing with --validate" --validate own.csv --explain
refused "--svg does nothing with --validate" --validate own.csv --svg x.svg
expect_error 2 "none.csv" "$KOLM" plan --validate none.csv
exit 0
