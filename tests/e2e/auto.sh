#!/usr/bin/env bash
# --precision auto: bf16 where every rank's device multiplies it, otherwise fp32; decided once, and everything after that
# sees what it is. Virtual devices are of either kind; whether the CPU is, 'kolm devices' says.
. "$(dirname "$0")/lib.bash"

with=virtual:gflops=50,gflops16=100,link=10GB/s
without=virtual:gflops=50,link=10GB/s
option() { grep -o "\"$1\": \"[a-z0-9]*\"" "$2" | head -n 1 | cut -d'"' -f4; }
value() { grep -o "\"$1\": [0-9.e+-]*" "$2" | head -n 1 | cut -d' ' -f2; }
# took RUN PRECISION REASON: what the files and the start of a run say.
took() {
	[ "$(option precision $1/config.json)$(option precision $1/summary.json)" = $2$2 ] || fail "$1 is in $(option precision $1/config.json), not in $2"
	grep -qE "^precision: $2, $3$" err.txt || fail "$1 does not say '$3': $(cat err.txt)"
}
train() { "$KOLM" train --steps 4 --warmup 1 --dim 64 --depth 4 --overwrite --run-dir "$@" >/dev/null 2>err.txt || fail "$*: $(cat err.txt)"; }

# peak RUN TYPE GFLOPS: what bounds it: that many of each rank.
peak() {
	[ "$(option peak_dtype $1/summary.json) $(value peak_gflops $1/summary.json)" = "$2 $(($3 * $(value ranks $1/summary.json)))" ] ||
		fail "$1 is held against $(value peak_gflops $1/summary.json) GFLOP/s of $(option peak_dtype $1/summary.json)"
	grep -qE "^that is [0-9.]+ % of the $2 peak, [0-9.]+ GFLOP/s" err.txt || fail "$1: $(cat err.txt)"
}
# On any grid; the step is that of the precision it became, and is predicted exactly.
for grid in "" "--dp 2" "--pp 2 --micro-batches 4" "--mp 2" "--dp 2 --pp 2 --mp 2 --micro-batches 4"; do
	train chosen --precision auto --device $with $grid
	took chosen bf16 "since the device multiplies it"
	peak chosen bf16 100
	train same --precision bf16 --device $with $grid
	[ "$(value median chosen/summary.json)" = "$(value median same/summary.json)" ] || fail "$grid: auto is not bf16"
	awk "BEGIN { exit !(($(value predicted_ms chosen/summary.json) - $(value median chosen/summary.json))^2 < 0.0000005^2) }" || fail "$grid: predicted $(value predicted_ms chosen/summary.json)"
	train half --precision fp32 --device $with $grid
	awk "BEGIN { exit !($(value median chosen/summary.json) < $(value median half/summary.json)) }" || fail "$grid: bf16 is not faster than fp32"
	peak half fp32 50
	train chosen --precision auto --device $without $grid
	took chosen fp32 "since the device is not known to multiply bf16"
	train same --precision bf16 --device $without $grid
	peak same fp32 50
	grep -qE "of the fp32 peak, [0-9.]+ GFLOP/s, since the device is not known to multiply bf16$" err.txt || fail "$grid: $(cat err.txt)"
done
train chosen --precision auto --grad-dtype fp32 --device $with --dp 2
[ "$(option grad_dtype chosen/summary.json)" = fp32 ] || fail "--grad-dtype fp32 is not kept"

# What this CPU does is what 'kolm devices' says.
"$KOLM" devices --json | grep -q '"bf16"' && here=bf16 || here=fp32
train cpu --precision auto --save
[ "$(option precision cpu/config.json)" = $here ] || fail "the CPU takes $(option precision cpu/config.json), not $here"
"$KOLM" info cpu | grep -q "trained in $here" || fail "$("$KOLM" info cpu)"
KOLM_CPU=reference train cpu --precision auto # which has no instructions of any kind
took cpu fp32 "since the device is not known to multiply bf16"

# A run that goes on stays what it is, whatever the device; a precision that is named counts.
train kept --precision bf16 --save
"$KOLM" train --resume kept --steps 6 --precision auto >/dev/null 2>err.txt || fail "resume: $(cat err.txt)"
took kept bf16 "that of the checkpoint"
"$KOLM" train --resume auto --run-dir kept --dim 64 --depth 4 --steps 8 --precision auto --save >/dev/null 2>err.txt || fail "resume auto: $(cat err.txt)"
took kept bf16 "that of the checkpoint"
"$KOLM" train --resume auto --run-dir none-yet --dim 64 --depth 4 --steps 2 --warmup 0 --precision auto --save >/dev/null 2>err.txt || fail "resume auto of nothing: $(cat err.txt)"
[ "$(option precision none-yet/config.json)" = $here ] || fail "a first run with --resume auto"
"$KOLM" train --resume kept --steps 10 --precision fp32 >/dev/null 2>err.txt || fail "resume in fp32: $(cat err.txt)"
[ "$(option precision kept/config.json)" = fp32 ] && ! grep -q '^precision:' err.txt || fail "resume in fp32: $(cat err.txt)"
# config.json of a run names what it became.
"$KOLM" train --config chosen/config.json --steps 2 --warmup 0 --run-dir again --quiet || fail "its config.json"
[ "$(option precision again/summary.json)" = bf16 ] || fail "its config.json is of $(option precision again/summary.json)"

# Other commands.
"$KOLM" max-batch --dim 16 --device-memory 2MB --precision auto --device $with | grep -q '^bf16 ' || fail "max-batch"
"$KOLM" max-batch --dim 16 --device-memory 2MB --precision auto --device $without | grep -q '^fp32 ' || fail "max-batch"
"$KOLM" verify --dim 16 --depth 2 --steps 3 --dp 2 --precision auto --json | grep -q "\"precision\": \"$here\"" || fail "verify"
for i in {1..40}; do echo "$((i % 7)).5,$((i % 3)).25,$((i % 2))"; done >two.csv
train learned --data csv:two.csv --precision auto --save
for command in eval predict; do "$KOLM" $command learned --data two.csv >out.txt 2>err.txt || fail "$command: $(cat err.txt)"; done
expect_error 2 "--amp contradicts --precision auto" "$KOLM" train --amp --precision auto

# The ranks of a job decide together.
[ -n "${MPIEXEC:-}" ] || exit 0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 ASAN_OPTIONS=detect_leaks=0
args=(--dp 2 --steps 2 --warmup 0 --dim 32 --depth 2 --overwrite --run-dir job)
"$MPIEXEC" -n 2 "$KOLM" train "${args[@]}" --precision auto --device $with >/dev/null 2>err.txt || fail "mpi: $(cat err.txt)"
took job bf16 "since the device multiplies it"
"$MPIEXEC" -n 1 "$KOLM" train "${args[@]}" --precision auto : -n 1 env KOLM_CPU=reference "$KOLM" train "${args[@]}" --precision auto >/dev/null 2>err.txt ||
	fail "machines that differ: $(cat err.txt)"
[ $here = fp32 ] && lacking=0 || lacking=1
took job fp32 "since the device of rank $lacking is not known to multiply bf16"
"$MPIEXEC" -n 1 "$KOLM" train "${args[@]}" --precision auto : -n 1 "$KOLM" train "${args[@]}" --precision fp16 >/dev/null 2>err.txt &&
	fail "ranks may have other precisions"
grep -q "rank 1 has other options or other data than rank 0" err.txt || fail "ranks with other precisions: $(cat err.txt)"
exit 0
