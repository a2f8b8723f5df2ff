#!/usr/bin/env bash
# Files of data: what is guessed is said, what is missing is refused or filled in, columns are
# chosen, targets scaled, another file evaluated, compressed files read.
. "$(dirname "$0")/lib.bash"

train() { "$KOLM" train --dim 8 --depth 2 --batch 8 --steps 5 --run-dir run --overwrite "$@"; }
# says PATTERN OPTIONS...: a run that goes well and says so once
says() {
	local pattern=$1
	shift
	train "$@" >/dev/null 2>said.txt || fail "$*: $(cat said.txt)"
	[ "$(grep -cE -- "$pattern" said.txt)" -eq 1 ] || fail "$*: not '$pattern': $(cat said.txt)"
}
refused() {
	local pattern=$1
	shift
	expect_error 2 "$pattern" "$KOLM" train --dim 8 --depth 2 --batch 8 --steps 5 --run-dir run --overwrite "$@"
}
summary() { grep -o "\"$1\": [^,]*" run/summary.json | cut -d' ' -f2; }

# Prices, written with a point or without: targets, and no 300 classes.
awk 'BEGIN {for (i = 0; i < 90; i++) printf "%d,%d,%d.0\n", i % 7, i % 5, (i * 37) % 80 + 25}' >points.csv
says 'column 3 has 80 different whole numbers for 90 samples, written with a point.*targets; --loss cross-entropy' --data csv:points.csv
sed 's/\.0$//' points.csv >whole.csv
says 'column 3 has 80 different whole numbers for 90 samples: taken as targets; --loss cross-entropy' --data csv:whole.csv
says 'labelled' --data csv:points.csv --loss cross-entropy
# Classes by number and by name are the same run.
awk 'BEGIN {print "a,b,kind"; for (i = 0; i < 60; i++) print i % 7 "," (i * i) % 5 "," i % 3}' >numbers.csv
says "column 3 'kind' has 3 different whole numbers.*classes; --loss mse" --data csv:numbers.csv
want=$(losses run/metrics.jsonl)
sed 's/,0$/,"rose, red"/; s/,1$/,"the ""tulip"""/; s/,2$/,violet/' numbers.csv >names.csv
says "column 3 'kind' is text: taken as classes" --data csv:names.csv
[ "$(losses run/metrics.jsonl)" = "$want" ] || fail "names of classes are another run"
# The label may be anywhere.
awk -F, '{print $3 "," $1 "," $2}' numbers.csv >front.csv
says labelled --data csv:front.csv --target kind
[ "$(losses run/metrics.jsonl)" = "$want" ] || fail "--target by name is another run"
says labelled --data csv:front.csv --target 1
[ "$(losses run/metrics.jsonl)" = "$want" ] || fail "--target by number is another run"
awk '{print (NR > 1 ? "row " NR : "id") "," $0}' numbers.csv >texts.csv
refused "line 2, column 1 'id': 'row 2' is not a number.*--ignore 1" --data csv:texts.csv
says labelled --data csv:texts.csv --ignore id
[ "$(losses run/metrics.jsonl)" = "$want" ] || fail "--ignore is another run"
says '2 outputs' --data csv:numbers.csv --target a,-1 --loss mse
refused 'with 2 targets' --data csv:numbers.csv --target a,b --loss cross-entropy
refused 'no such column' --data csv:numbers.csv --target c
refused 'is no file' --target c
# What is missing.
awk 'NR == 5 {sub(/^[^,]*/, "NA")} {print}' numbers.csv >holes.csv
refused "holes.csv line 5, column 1 'a': 'NA' is a value that is missing.*--missing mean" --data csv:holes.csv
says '1 missing values are the mean' --data csv:holes.csv --missing mean
says '1 samples with missing values are left out' --data csv:holes.csv --missing drop
awk 'NR == 5 {sub(/[^,]*$/, "")} {print}' numbers.csv >unlabelled.csv
refused "line 5, column 3 'kind'.*--missing drop" --data csv:unlabelled.csv --missing mean
says labelled --data csv:unlabelled.csv --missing drop
# Scaled targets begin with a loss near 1, not near their square.
train --data csv:points.csv --quiet || fail "plain targets"
awk -v l="$(summary first_loss)" 'BEGIN {exit !(l > 1000)}' || fail "loss of targets: $(summary first_loss)"
train --data csv:points.csv --scale-target --quiet || fail "scaled targets"
awk -v l="$(summary first_loss)" 'BEGIN {exit !(l < 10)}' || fail "loss of scaled targets: $(summary first_loss)"
refused 'labels have no scale' --data csv:names.csv --scale-target
# Another file.
{ echo kind,b,a; awk -F, 'NR > 1 && NR < 12 {print $3 "," $2 "," $1}' names.csv | grep -v '"'; } >test.csv
says "60 samples to learn from, $(($(wc -l <test.csv) - 1)) held out" --data csv:names.csv --test csv:test.csv
sed 's/violet/lily/' test.csv >unknown.csv
refused "unknown.csv line 2, column 1 'kind': 'lily' is none of the classes" --data csv:names.csv --test csv:unknown.csv
refused 'contradicts' --data csv:names.csv --test csv:test.csv --holdout 0.2
# Compressed files are the same run; spoiled ones are refused.
gzip -k numbers.csv
if "$KOLM" doctor --json | grep -q "compressed files with zlib"; then
	says labelled --data csv:numbers.csv.gz
	[ "$(losses run/metrics.jsonl)" = "$want" ] || fail "gzip is another run"
	head -c 60 numbers.csv.gz >cut.csv.gz
	refused "can't be uncompressed: it is cut" --data csv:cut.csv.gz
	head -c 80000000 /dev/zero | gzip >bomb.csv.gz
	refused 'holds more than' --data csv:bomb.csv.gz
	"${MAKE_DIGITS:?}" digits || fail "make_digits"
	gzip digits/*.idx
	says labelled --data idx:digits/digits-images.idx.gz,digits/digits-labels.idx.gz
else
	refused 'built without zlib' --data csv:numbers.csv.gz
fi
echo "all files are read as they should be"
