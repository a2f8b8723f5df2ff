#!/usr/bin/env bash
# It learns: over 95 % of the held-out digits, as CSV and as IDX; a regression; made-up data.
. "$(dirname "$0")/lib.bash"

"${MAKE_DIGITS:?}" digits || fail "make_digits"
for data in csv:digits/digits.csv idx:digits/digits-images.idx,digits/digits-labels.idx; do
	"$KOLM" train --data "$data" --dim 128 --depth 3 --optimizer adamw --steps 400 \
		--run-dir run --overwrite >/dev/null 2>&1 || fail "training on $data"
	accuracy=$(grep -o '"accuracy": [0-9.]*' run/summary.json | cut -d' ' -f2)
	awk -v a="$accuracy" 'BEGIN {exit !(a > 0.95)}' || fail "$data: accuracy $accuracy"
	echo "$data: accuracy $accuracy"
done
# The same table under every heading, and behind an index: the same run, told what was found.
awk 'BEGIN {for (i = 0; i < 40; i++) print i * 7 % 11 "," i * i % 13 "," i % 2}' >plain.csv
for head in "" a,b,label 0,1,2 0,1,label ,a,b,label ,0,1,2; do
	{ [ -z "$head" ] || echo "$head"; if [ "${head#,}" = "$head" ]; then cat plain.csv; else nl -s, -w1 plain.csv; fi; } >data.csv
	rm -rf table
	"$KOLM" train --data csv:data.csv --dim 8 --depth 2 --batch 8 --steps 5 --run-dir table >/dev/null 2>said.txt || fail "'$head': $(cat said.txt)"
	[ -n "${want:-}" ] || want=$(losses table/metrics.jsonl)
	[ "$(losses table/metrics.jsonl)" = "$want" ] || fail "'$head' is another run"
	case $head in *0,1*) grep -q 'counts the columns: a heading' said.txt || fail "'$head': $(cat said.txt)" ;; esac
	case $head in ,*) grep -q 'the first column is an index: left out' said.txt || fail "'$head': $(cat said.txt)" ;; esac
done
# The same digits as a regression on their number: loss goes down.
"$KOLM" train --data csv:digits/digits.csv --loss mse --dim 64 --depth 2 --optimizer adamw \
	--steps 200 --run-dir regression >/dev/null 2>&1 || fail "regression"
awk '{gsub(/[,"]/, "")} /first_loss/ {a = $2} /final_loss/ {b = $2} END {exit !(b < a / 2)}' \
	regression/summary.json || fail "the regression did not learn"
# Made-up data has something to learn; noise has not.
for data in synthetic noise; do
	"$KOLM" train --data $data --dim 256 --depth 3 --optimizer adamw --steps 60 \
		--run-dir $data >/dev/null 2>&1 || fail "training on $data"
done
ratio() {
	awk '{gsub(/[,"]/, "")} /first_loss/ {a = $2} /final_loss/ {b = $2} END {print b / a}' "$1/summary.json"
}
awk -v r="$(ratio synthetic)" 'BEGIN {exit !(r < 0.15)}' || fail "synthetic: $(ratio synthetic) of the first loss is left"
awk -v r="$(ratio noise)" 'BEGIN {exit !(r > 0.3)}' || fail "noise was learned: $(ratio noise)"
