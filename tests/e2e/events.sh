#!/usr/bin/env bash
# --tensorboard: event files say what metrics.jsonl says, also of runs that are stopped, killed
# and resumed. READER=--tensorboard reads them with TensorBoard.
. "$(dirname "$0")/lib.bash"
python=${PYTHON:-$(command -v python3)} || skip "no python3"
small="--dim 32 --depth 2 --batch 16 --quiet --tensorboard"

same() { "$python" "$SOURCE/tests/tensorboard/compare" "$1" ${READER:-} >out.txt 2>&1 || fail "$1: $(cat out.txt)"; }
files() { ls "$1" | grep -c '^events.out.tfevents\.[0-9]\{10\}\..*\.[0-9]*$'; }

"$KOLM" train $small --steps 20 --run-dir plain || fail "a run"
[ "$(files plain)" = 1 ] || fail "files: $(ls plain)"
same plain
"$KOLM" train $small --steps 8 --dp 2 --pp 2 --micro-batches 2 --precision fp16 --run-dir grid || fail "a grid"
same grid
"$KOLM" train $small --steps 8 --lr 1e6 --run-dir nan 2>/dev/null || fail "a run that is not finite"
same nan
grep -q '"loss": null' nan/metrics.jsonl || fail "that one was to be not finite"

awk 'BEGIN { srand(1); for (i = 0; i < 200; i++) print rand() "," rand() "," i % 2 }' >points.csv
"$KOLM" train --data csv:points.csv --depth 2 --dim 16 --batch 20 --steps 12 --quiet --tensorboard --eval-every 4 \
	--lr-schedule cosine --run-dir points || fail "a run with evaluations"
same points
grep -q '"held_out".*"accuracy"' points/metrics.jsonl || fail "that one was to be evaluated"
export XDG_CACHE_HOME=$dir/cache
"$KOLM" train --model gpt --layers 1 --dim 16 --context 8 --data text:points.csv --batch 4 --steps 6 --quiet --tensorboard --eval-every 3 --run-dir text || fail "a language model"
same text
grep -q '"held_out".*"perplexity".*"bits_per_byte"' text/metrics.jsonl || fail "that one was to be evaluated as text"

# None without it, and none is left of what is overwritten.
"$KOLM" train $small --steps 4 --tensorboard=false --run-dir none || fail "a run without"
[ "$(files none)" = 0 ] || fail "files without --tensorboard: $(ls none)"
expect_error 2 "plain holds the config.json" "$KOLM" train $small --run-dir plain
rm plain/*.json plain/*.jsonl plain/command.txt
expect_error 2 "plain holds the event files of another run" "$KOLM" train $small --run-dir plain
"$KOLM" train $small --steps 5 --overwrite --run-dir plain || fail "overwriting"
[ "$(files plain)" = 1 ] || fail "files after overwriting: $(ls plain)"
same plain

# Seen while it runs, and whole when it is stopped; then it goes on, over steps that were done.
"$KOLM" train $small --steps 1000000 --log-every 1 --save --run-dir long 2>/dev/null &
run=$!
for i in $(seq 600); do
	[ -e long/metrics.jsonl ] && [ "$(wc -l <long/metrics.jsonl)" -ge 10 ] && break
	sleep 0.1
done
[ "$(cat long/events.* | wc -c)" -gt 1000 ] || fail "nothing is seen while it runs"
kill -INT $run
wait $run
same long
done=$(wc -l <long/metrics.jsonl)
"$KOLM" train --resume long --steps $((done + 10)) --quiet || fail "resuming"
[ "$(files long)" = 2 ] || fail "files after resuming: $(ls long)"
same long

# Killed behind its last checkpoint, within a record: steps are done again.
"$KOLM" train $small --steps 20 --save-every 6 --run-dir killed --inject rank=0,step=15,kill 2>/dev/null && fail "it was to be killed"
truncate -s -5 killed/events.*
"$KOLM" train --resume killed --inject rank=0,step=19,at=forward,sleep=1ms --quiet || fail "resuming"
[ "$(wc -l <killed/metrics.jsonl)" = 20 ] || fail "steps: $(wc -l <killed/metrics.jsonl)"
same killed
# A supervisor that restarts does the same at once.
"$KOLM" train $small --steps 20 --save-every 4 --restarts 1 --run-dir again --inject rank=0,step=10,kill 2>/dev/null || fail "restarting"
same again
