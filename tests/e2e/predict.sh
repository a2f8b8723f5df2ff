#!/usr/bin/env bash
# A trained model is used on other files: kolm predict against plain Python, kolm eval against what
# follows from the predictions and from the run itself.
. "$(dirname "$0")/lib.bash"
command -v python3 >/dev/null || skip "no Python"
here=$SOURCE/tests/e2e

# Three kinds of flowers; a linear target of them and one of another size.
awk 'BEGIN {
	srand(5); print "id,sl,sw,pl,kind,price,weight"
	for (i = 0; i < 150; i++) {
		k = i % 3; a = 5 + k + rand(); b = 3 - k / 2 + rand(); c = 1.5 + 2 * k + rand()
		printf "no. %d,%.2f,%.2f,%.2f,%s,%.3f,%.5f\n", i, a, b, c, k == 0 ? "\"setosa, red\"" : k == 1 ? "versicolor" : "virginica", 300 * a - 50 * b, c / 100
	}
}' >flowers.csv
train() { "$KOLM" train --data csv:flowers.csv --ignore id --batch 16 --optimizer adamw --lr 0.01 --quiet --save --overwrite "$@" || fail "training $*"; }
predict() { # RUN FILE
	"$KOLM" predict "$1" --data "$2" --out out.csv 2>said.txt || fail "predict: $(cat said.txt)"
	grep -q "checkpoint: .*step-" said.txt || fail "it does not say which checkpoint: $(cat said.txt)"
}
value() { grep -o "\"$1\": [^,]*" "$2" | head -n 1 | cut -d' ' -f2; }

for model in "--activation relu" "--activation gelu --norm layer --residual" "--activation silu --norm rms --widths 3,7,7,3 --dropout 0.2" "--precision bf16 --dp 2 --zero 1"; do
	size="--dim 12 --depth 3"
	case $model in *widths*) size= ;; esac
	train --ignore id,price,weight --target kind $size --steps 60 --run-dir classes $model
	predict classes flowers.csv
	head -n 1 out.csv | grep -qx 'label,"p(setosa, red)",p(versicolor),p(virginica)' || fail "heading: $(head -n 1 out.csv)"
	case $model in
	*bf16*) [ "$(wc -l <out.csv)" = 151 ] || fail "bf16: $(wc -l <out.csv) lines" ;;
	*) python3 "$here/predict.py" classes/checkpoints/step-60 flowers.csv out.csv || fail "predictions of $model" ;;
	esac
	train --ignore id,kind --target weight,price --scale-target ${size/3,7,7,3/3,7,7,2} --steps 60 --run-dir targets $(echo $model | sed 's/7,3/7,2/')
	predict targets flowers.csv
	[ "$(head -n 1 out.csv)" = weight,price ] || fail "heading: $(head -n 1 out.csv)"
	case $model in
	*bf16*) ;;
	*) python3 "$here/predict.py" targets/checkpoints/step-60 flowers.csv out.csv || fail "targets of $model" ;;
	esac
done

# eval says what follows from the predictions.
train --ignore id,price,weight --target kind --dim 8 --depth 2 --steps 12 --run-dir classes
"$KOLM" eval classes --data flowers.csv --json >eval.json 2>/dev/null || fail "eval"
predict classes flowers.csv
python3 - <<'END' || fail "eval of classes: $(cat eval.json)"
import csv, json, math
e = json.load(open("eval.json"))
true = [r["kind"] for r in csv.DictReader(open("flowers.csv", newline=""))]
got = list(csv.DictReader(open("out.csv", newline="")))
names = [c["name"] for c in e["classes"]]
matrix = [[sum(t == a and g["label"] == b for t, g in zip(true, got)) for b in names] for a in names]
assert e["confusion"] == matrix and e["samples"] == 150
assert abs(e["accuracy"] - sum(matrix[i][i] for i in range(3)) / 150) < 1e-9
for i, c in enumerate(e["classes"]):
    assert c["samples"] == 50 and c["recall"] == matrix[i][i] / 50
    taken = sum(row[i] for row in matrix)
    assert c["precision"] == (matrix[i][i] / taken if taken else None)
loss = -sum(math.log(float(g[f"p({t})"])) for t, g in zip(true, got)) / 150
assert abs(e["loss"] - loss) < 1e-5 * loss
END
"$KOLM" eval classes --data flowers.csv 2>/dev/null | grep -q "^150 samples, accuracy .*loss" || fail "eval as text"
train --ignore id,kind --target weight,price --dim 8 --depth 2 --steps 60 --scale-target --run-dir targets
"$KOLM" eval targets --data flowers.csv --json >eval.json 2>/dev/null || fail "eval"
predict targets flowers.csv
python3 - <<'END' || fail "eval of targets: $(cat eval.json)"
import csv, json, math
e = json.load(open("eval.json"))
rows = list(csv.DictReader(open("flowers.csv", newline="")))
got = list(csv.DictReader(open("out.csv", newline="")))
for t in e["targets"]:
    true = [float(r[t["name"]]) for r in rows]
    off = [float(g[t["name"]]) - v for g, v in zip(got, true)]
    mean = sum(true) / 150
    want = {"mean_absolute_error": sum(map(abs, off)) / 150, "root_mean_square_error": math.sqrt(sum(v * v for v in off) / 150),
            "r2": 1 - sum(v * v for v in off) / sum((v - mean) ** 2 for v in true)}
    for name, value in want.items():
        assert abs(t[name] - value) <= 1e-4 * abs(value), (name, t[name], value)
assert e["targets"][1]["r2"] > 0.5, e
END
"$KOLM" eval targets --data flowers.csv 2>/dev/null | grep -q "^price " || fail "eval as text"

# A test file of the training has the loss that the run has told.
train --ignore id,price,weight --target kind --dim 8 --depth 2 --steps 12 --test csv:flowers.csv --run-dir tested
"$KOLM" eval tested --data flowers.csv --json >eval.json 2>/dev/null || fail "eval"
awk -v a="$(value loss eval.json)" -v b="$(grep -A5 '"held_out"' tested/summary.json | grep -o '"loss": [^,]*' | head -n 1 | cut -d' ' -f2)" \
	'BEGIN {exit !(a > 0 && (a - b) ^ 2 <= (1e-5 * a) ^ 2)}' || fail "the held-out loss is another: $(value loss eval.json)"
# Images, with their labels and without.
"${MAKE_DIGITS:?}" digits || fail "make_digits"
"$KOLM" train --data idx:digits/digits-images.idx,digits/digits-labels.idx --dim 16 --depth 2 --steps 20 --quiet --save --run-dir images || fail "images"
"$KOLM" eval images --data idx:digits/digits-images.idx,digits/digits-labels.idx 2>/dev/null | grep -q "^5000 samples" || fail "eval of images"
predict images idx:digits/digits-images.idx
[ "$(wc -l <out.csv)" = 5001 ] || fail "predictions of images"

# Fewer columns, in another order, labels that nobody knows: predict does not ask for them.
predict classes flowers.csv
cp out.csv want.csv
python3 -c '
import csv
rows = list(csv.DictReader(open("flowers.csv", newline="")))
csv.writer(open("bare.csv", "w")).writerows([["pl", "sl", "sw"], *([r["pl"], r["sl"], r["sw"]] for r in rows)])
csv.writer(open("open.csv", "w")).writerows([["kind", "pl", "sl", "sw"], *(["?", r["pl"], r["sl"], r["sw"]] for r in rows)])'
for file in bare open; do
	predict classes $file.csv
	cmp -s out.csv want.csv || fail "$file.csv gives other predictions"
done
"$KOLM" predict classes --data bare.csv 2>/dev/null | cmp -s - want.csv || fail "standard output has other predictions"
# The best checkpoint, if one is marked.
train --ignore id,price,weight --target kind --dim 8 --depth 2 --steps 20 --save-every 10 --run-dir best
ln -s step-10 best/checkpoints/best
"$KOLM" predict best --data bare.csv 2>&1 >/dev/null | grep -q "after step 10, the best of the run" || fail "best is not used"
"$KOLM" predict best/checkpoints/step-20 --data bare.csv 2>&1 >/dev/null | grep -q "after step 20" || fail "step-20 is not used"

# expect_error wants one line: the note about the checkpoint is left out.
refused() {
	local pattern=$1 out rc
	shift
	out=$("$KOLM" "$@" 2>&1 >/dev/null)
	rc=$?
	[ $rc = 2 ] || fail "'$*' exited with $rc: $out"
	printf '%s' "$out" | grep -qE -- "$pattern" || fail "'$*' did not say '$pattern': $out"
}
refused 'no column of labels or targets' eval classes --data bare.csv
refused "column 1 'kind'.*missing" eval classes --data open.csv
refused 'needs a run or a checkpoint' predict --data bare.csv
refused 'needs a run or a checkpoint' eval classes
refused 'has no checkpoint' predict nowhere --data bare.csv
refused "can't read none.csv" predict classes --data none.csv
sed 's/sl/xl/' bare.csv >other.csv
refused "no column 'sl'" predict classes --data other.csv
sed 's/virginica/lily/' flowers.csv >unknown.csv
refused "'lily' is none of the classes" eval classes --data unknown.csv
"$KOLM" train --steps 3 --dim 4 --depth 1 --quiet --save --run-dir made-up || fail "made-up"
refused 'made-up data' predict made-up --data bare.csv
"$KOLM" predict classes --data bare.csv --out nowhere/out.csv >/dev/null 2>&1 && fail "an --out that can't be written is no error"
printf 'x' >>classes/checkpoints/step-12/model.safetensors
refused 'has no checkpoint that can be used' predict classes --data bare.csv
echo "predictions and evaluations are what they should be"
