#!/usr/bin/env bash
# Checkpoints: whole or not there, the same run after a resume, on the same grid bit by bit.
. "$(dirname "$0")/lib.bash"
small=(--dim 24 --depth 4 --batch 24 --steps 12 --lr 0.01 --trace 0 --quiet)

values() { sed 's/"step_ms.*"grad_norm"/"grad_norm"/; s/"data_ms".*//' "$1/metrics.jsonl"; }
sums() { (cd "$1/checkpoints/step-12" && sha256sum ./*.safetensors); }
same() { # A B WHAT
	[ "$(values "$1")" = "$(values "$2")" ] || fail "$3: the steps differ: $(diff <(values "$1") <(values "$2"))"
	[ "$(sums "$1")" = "$(sums "$2")" ] || fail "$3: the tensors differ"
}
train() { "$KOLM" train "${small[@]}" "$@"; }

# Killed and resumed: for every optimizer, some grids, precisions, schedules.
while read -r options; do
	rm -rf whole cut
	# shellcheck disable=SC2086
	train $options --save --run-dir whole || fail "$options"
	# shellcheck disable=SC2086
	train $options --save-every 3 --run-dir cut --inject step=10,kill 2>/dev/null && fail "$options: it was not killed"
	"$KOLM" train --resume cut --quiet || fail "$options: no resume"
	same whole cut "$options"
	[ "$(cat cut/checkpoints/latest)" = step-12 ] || fail "latest is $(cat cut/checkpoints/latest)"
	[ "$(ls cut/checkpoints)" = "$(printf '%s\n' latest step-12 step-6 step-9)" ] || fail "kept: $(ls cut/checkpoints)"
done <<'G'
--optimizer sgd
--optimizer adamw --dropout 0.2 --norm layer --residual
--optimizer adamw --precision fp16 --init-scale 1e12 --growth-interval 2
--optimizer momentum --precision bf16 --dp 2 --zero 1
--optimizer adamw --dp 3 --zero 1 --bucket-mb 0.001
--optimizer adamw --pp 2 --schedule interleaved --micro-batches 4
--optimizer momentum --dp 2 --pp 2 --mp 2 --micro-batches 2 --schedule zb-h1
--optimizer adamw --dp 2 --grad-sync master
G

# Language models: a table that two stages have, blocks of rows that are split each, tokens that can't be shared evenly.
gpt=(--model gpt --layers 2 --heads 6 --dim 24 --context 6 --vocab 31 --dropout 0.1 --batch 24 --steps 12 --lr 0.01 --trace 0 --quiet)
llama=("${gpt[@]/gpt/llama}" --kv-heads 6)
for model in gpt llama; do
	declare -n words=$model
	while read -r writer; do
		read -r reader
		rm -rf one whole cut grid
		# shellcheck disable=SC2086
		"$KOLM" train "${words[@]}" $writer --save --run-dir whole || fail "$model $writer"
		# shellcheck disable=SC2086
		"$KOLM" train "${words[@]}" $writer --save-every 3 --run-dir cut --inject step=10,kill 2>/dev/null && fail "$model $writer: it was not killed"
		cp -r cut grid
		"$KOLM" train --resume cut --quiet || fail "$model $writer: no resume"
		same whole cut "$model $writer"
		# The other grid goes on from there.
		# shellcheck disable=SC2086
		"$KOLM" train --resume grid $reader --quiet || fail "$model $writer, then $reader"
		paste <(losses whole/metrics.jsonl) <(losses grid/metrics.jsonl) |
			awk '{ n++; d = $2 - $4; if (d * d > 1e-10 * $2 * $2) exit 1 } END { exit n != 12 }' || fail "$model $writer, then $reader: the losses differ"
	done <<'G'
--pp 4 --micro-batches 4 --schedule zb-h1
--pp 1 --mp 3 --sequence-parallel --micro-batches 1 --schedule 1f1b
--dp 2 --pp 2 --mp 2 --zero 1 --bucket-mb 0.001 --sequence-parallel --recompute block
--dp 1 --pp 1 --mp 1 --zero 0 --recompute none
--mp 2 --optimizer momentum
--mp 1 --dp 3 --pp 2 --grad-sync flat --zero 1
G
done
grep -q 'head.weight *F32 *\[31, 24\]' <("$KOLM" info whole) || fail "info: $("$KOLM" info whole)"
# What is tied is kept once. Ranks are lost: the run goes on with the others.
rm -rf whole hit
"$KOLM" train "${gpt[@]}" --dp 2 --pp 2 --mp 2 --save --run-dir whole || fail "gpt"
grep -q 'tokens.weight *F32 *\[31, 24\]' <("$KOLM" info whole) || fail "info: $("$KOLM" info whole)"
grep -q 'head' <("$KOLM" info whole) && fail "a gpt has a head: $("$KOLM" info whole)"
"$KOLM" train "${gpt[@]}" --dp 2 --pp 2 --mp 2 --save-every 1 --restarts 2 --run-dir hit --inject rank=5,step=3,kill --inject rank=2,step=6,kill 2>said ||
	fail "restarts: $(cat said)"
paste <(losses whole/metrics.jsonl) <(losses hit/metrics.jsonl) | awk '{ n++; d = $2 - $4; if (d * d > 1e-10 * $2 * $2) exit 1 } END { exit n != 12 }' ||
	fail "restarts of a gpt: the losses differ"
rm -rf one whole cut grid hit

# Read by another grid: it agrees as grids agree.
train --optimizer adamw --save --run-dir one || fail "one rank"
train --optimizer adamw --save-every 4 --dp 2 --mp 2 --run-dir grid --inject step=9,kill 2>/dev/null
"$KOLM" train --resume grid --dp 1 --mp 1 --pp 2 --micro-batches 2 --quiet || fail "another grid"
paste <(losses one/metrics.jsonl) <(losses grid/metrics.jsonl) | awk '{ d = $2 - $4; if (d * d > 1e-10 * $2 * $2) exit 1 }' ||
	fail "another grid: the losses differ"
grep -q '"resumed_from": [48]' grid/summary.json || fail "summary.json does not say where it went on"

# What is written beside the steps that follow is what was there when it was begun: weights, moments and step.
train --dim 384 --optimizer adamw --save-every 6 --run-dir beside || fail "beside"
train --dim 384 --optimizer adamw --steps 6 --save --run-dir ended || fail "ended"
for file in model optimizer; do
	cmp ended/checkpoints/step-6/$file.safetensors beside/checkpoints/step-6/$file.safetensors || fail "$file of step 6 is of another step"
done

# Samples of a file: none is left out and none comes twice, whatever reads on, with whatever replicas and threads.
awk 'BEGIN { srand(5); for (i = 0; i < 60; i++) { x = rand(); y = rand(); print x "," y "," x - y } }' >table.csv
train --data csv:table.csv --batch 8 --steps 20 --run-dir all || fail "a table"
train --data csv:table.csv --batch 8 --steps 10 --dp 4 --threads 1 --save --run-dir part || fail "half of it"
"$KOLM" train --resume part --dp 2 --threads 2 --steps 20 --quiet || fail "the rest of it"
paste <(losses all/metrics.jsonl) <(losses part/metrics.jsonl) | awk '{ n++; d = $2 - $4; if (d * d > 1e-10 * $2 * $2) exit 1 } END { exit n != 20 }' ||
	fail "a table: other samples after the resume"

# A checkpoint goes on in a run of its own, and the old one stays as it was.
"$KOLM" train --resume one/checkpoints/step-12 --steps 14 --run-dir longer --quiet || fail "a run of its own"
[ "$(grep -c step longer/metrics.jsonl)" = 2 ] || fail "longer has other steps than two"
[ "$(ls one/checkpoints)" = "$(printf '%s\n' latest step-12)" ] || fail "one has changed"

# Whatever is harmed, the one before it is used and the bad one is named.
train --optimizer adamw --save --save-every 3 --save-last 4 --run-dir harmed || fail "harmed"
keep=$(sums harmed)
harm() { # WHAT FILE COMMAND...
	local what=$1 file=harmed/checkpoints/step-12/$2 said
	shift 2
	cp "$file" saved
	"$@" "$file"
	said=$("$KOLM" train --resume harmed --run-dir other --overwrite --quiet 2>&1) || fail "$what: $said"
	printf '%s' "$said" | grep -q "passed over: .*harmed/checkpoints/step-12/" || fail "$what: it said: $said"
	grep -q '"resumed_from": 9' other/summary.json || fail "$what: went on from elsewhere"
	[ "$(sums other)" = "$keep" ] || fail "$what: other tensors"
	cp saved "$file"
}
flip() { printf '\377' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") / 2)) conv=notrunc 2>/dev/null; }
for file in model.safetensors optimizer.safetensors state.json; do
	harm "a torn $file" "$file" truncate -s -1
	harm "a longer $file" "$file" truncate -s +1
	harm "an empty $file" "$file" truncate -s 0
	harm "a flipped byte in $file" "$file" flip
	harm "no $file" "$file" rm
done
expect_error 2 'its SHA-256 is not what state.json says' bash -c "
	printf X | dd of=harmed/checkpoints/step-6/model.safetensors bs=1 seek=999 conv=notrunc 2>/dev/null
	'$KOLM' train --resume harmed/checkpoints/step-6 --quiet --run-dir x"

# What is not of this model or this version is refused, with what differs.
expect_error 2 'is of another model: .*layers.0.weight: \[24, 24\] there, \[16, 16\] here' \
	"$KOLM" train --resume one --dim 16 --steps 20
expect_error 2 'state of the optimizer adamw, not of sgd' "$KOLM" train --resume one --optimizer sgd --steps 20
expect_error 2 'made with --seed 0, not 3' "$KOLM" train --resume one --seed 3 --steps 20
expect_error 2 'all of the 12 steps behind it' "$KOLM" train --resume one
expect_error 2 'there is no checkpoint' "$KOLM" train --resume nowhere
expect_error 2 'holds the config.json of another run' train --run-dir one
expect_error 2 'neither a number of steps nor a time' train --save-every soon
expect_error 2 'without checkpoints to go on from' train --restarts 2
expect_error 2 'computes no weights' train --save --device virtual

# auto: from the start where there is nothing, then on, then nothing is left.
train --save-every 5 --resume auto --run-dir auto --inject step=11,kill 2>/dev/null
train --save-every 5 --resume auto --run-dir auto || fail "auto"
[ "$(wc -l <auto/metrics.jsonl)" = 12 ] || fail "auto has $(wc -l <auto/metrics.jsonl) steps"
train --save-every 5 --resume auto --run-dir auto || fail "auto with nothing left"

# A signal: the step is ended and saved. SIGUSR1 saves and goes on.
stop_by() { # SIGNAL CODE
	rm -rf long
	"$KOLM" train "${small[@]}" --steps 1000000 --log-every 1 --dp 2 --save --run-dir long 2>said &
	pid=$!
	until [ -s long/metrics.jsonl ]; do kill -0 $pid || fail "$1: it did not start"; sleep 0.05; done
	kill -USR1 $pid
	until [ -e long/checkpoints/latest ]; do kill -0 $pid || fail "$1: SIGUSR1 ended it"; sleep 0.05; done
	kill "-$1" $pid
	wait $pid
	[ $? = "$2" ] || fail "$1: exit code $?"
	steps=$(wc -l <long/metrics.jsonl)
	[ "$(cat long/checkpoints/latest)" = "step-$steps" ] || fail "$1: $steps steps, but $(cat long/checkpoints/latest)"
	grep -q 'train --resume long goes on' said || fail "$1 said: $(cat said)"
}
stop_by TERM 143
stop_by INT 130

# Three ranks are lost, one after the other: the run goes on with the others and ends where it should.
train --dp 8 --optimizer adamw --save --run-dir calm || fail "calm"
train --dp 8 --optimizer adamw --save-every 1 --restarts 3 --run-dir hit --inject rank=5,step=3,kill \
	--inject rank=2,step=6,kill --inject rank=0,step=9,kill 2>said || fail "restarts: $(cat said)"
[ "$(grep -c '^kolm: warning: restart' said)" = 3 ] || fail "restarts said: $(cat said)"
paste <(losses calm/metrics.jsonl) <(losses hit/metrics.jsonl) | awk '{ d = $2 - $4; if (d * d > 1e-10 * $2 * $2) exit 1 }' ||
	fail "restarts: the losses differ"
grep -q '"restarts": 3' hit/summary.json || fail "summary.json does not count the restarts"
train --dp 2 --save-every 1 --restarts 1 --elastic none --run-dir same --inject rank=1,step=6,kill 2>said || fail "elastic none"
grep -q 'grid of 2 x 1 x 1' said || fail "elastic none said: $(cat said)"
train --dp 2 --save-every 1 --restarts 1 --timeout 1 --run-dir hung --inject rank=1,step=6,hang 2>said || fail "a hang: $(cat said)"
grep -q 'hangs' said || fail "a hang said: $(cat said)"

# A disk that is full: a warning, and training goes on; the last checkpoint is a failure.
mkdir disk
if mount -t tmpfs -o size=256k tmpfs disk 2>/dev/null; then
	cleanup() { umount "$dir/disk"; rm -rf "$dir"; }
	train --dim 96 --optimizer adamw --save-every 3 --run-dir disk/run 2>said
	rc=$?
	[ $rc = 1 ] || fail "a full disk: exit code $rc: $(cat said)"
	grep -q 'warning: the checkpoint of step 3 was not written: .*No space left' said || fail "a full disk said: $(cat said)"
	grep -q 'the last checkpoint, of step 12, was not written: .*No space left' said || fail "a full disk ended with: $(cat said)"
	[ -z "$(ls disk/run/checkpoints)" ] || fail "a full disk left $(ls disk/run/checkpoints)"
	[ "$(wc -l <disk/run/metrics.jsonl)" = 12 ] || fail "a full disk ended the training"
fi
mkdir -p taken && : >taken/checkpoints
train --save --run-dir taken 2>said && fail "a file in the way was not seen"
grep -q 'was not written: taken/checkpoints exists and is not a folder' said || fail "a file in the way: $(cat said)"
exit 0
