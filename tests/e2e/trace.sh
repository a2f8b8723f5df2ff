#!/usr/bin/env bash
# kolm trace: a step as text, JSON and SVG; what it refuses; clocks of several machines.
. "$(dirname "$0")/lib.bash"
number() { grep -o "^    \"$1\": [^,]*" "$2" | head -n 1 | cut -d' ' -f6; }
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a / b - 1; exit !(d < t && d > -t) }'; }

virtual=(--device "virtual:gflops=20,link=200MB/s,latency=250us" --dim 512 --depth 16 --batch 64 --pp 4 --micro-batches 8)
"$KOLM" train "${virtual[@]}" --steps 10 --quiet --run-dir pipe || fail "a virtual run"
"$CHECK_TIMELINE" pipe/timeline.json >out.txt 2>&1 || fail "not the format: $(cat out.txt)"
"$KOLM" trace pipe --columns 60 >out.txt || fail "trace"
grep -q "^simulated, step 9$" out.txt || fail "not the last step: $(cat out.txt)"
[ "$(grep -c '^stage 3   \.*0=*0--*1' out.txt)" = 2 ] || fail "not two pictures of the last stage: $(cat out.txt)"
[ "$(awk '/^stage/ && length > 70' out.txt | wc -l)" = 0 ] || fail "wider than 60 columns: $(cat out.txt)"
grep -q "^simulated .* ms, predicted .* ms (.*): computing .*, exposed messages .*, waiting .*, other " out.txt ||
	fail "no attribution: $(cat out.txt)"

# On virtual devices the simulator is right; a late awakening may spoil a step, not all.
good=0
for step in 5 6 7 8 9; do
	"$KOLM" trace pipe --step $step --json >out.json || fail "--json"
	near "$(number step_ms out.json)" "$(grep -A1 '"predicted": {' out.json | number step_ms -)" 0.01 && good=1
done
[ $good = 1 ] || fail "no step is as predicted: $(cat out.json)"

"$KOLM" trace pipe/timeline.json --svg step.svg >/dev/null || fail "the file instead of the folder"
[ "$(grep -c '>stage 3</text>' step.svg)" = 2 ] || fail "the picture has not two of each stage"
tail -n 1 step.svg | grep -q "^</svg>$" || fail "the SVG is cut"

"$KOLM" train --dim 64 --depth 4 --dp 2 --pp 2 --mp 2 --micro-batches 4 --steps 4 --warmup 0 --quiet --run-dir grid || fail "2x2x2"
"$CHECK_TIMELINE" grid/timeline.json >out.txt 2>&1 || fail "not the format: $(cat out.txt)"
"$KOLM" trace grid --all-ranks >out.txt || fail "--all-ranks"
[ "$(grep -c '^rank' out.txt)" = 8 ] || fail "not 8 ranks: $(cat out.txt)"

# Who is slow is named.
"$KOLM" train "${virtual[@]}" --steps 4 --warmup 0 --layers-per-stage 3,3,7,3 --quiet --run-dir uneven || fail "uneven"
"$KOLM" trace uneven | grep -q "^stage 2 is busy 7. % longer than the mean$" || fail "the slow stage: $("$KOLM" trace uneven)"

# Behind -- there are names only.
mv pipe ./--quiet
"$KOLM" trace --columns 60 -- --quiet | grep -q "^simulated, step 9$" || fail "a name that begins with dashes"
mv ./--quiet pipe
expect_error 2 "unexpected argument 'grid'" "$KOLM" trace -- pipe grid

expect_error 2 "step 1 is not in the timeline; it has steps 2 to 9" "$KOLM" trace pipe --step 1
expect_error 2 "can't read none: No such file.*; give the folder of a run" "$KOLM" trace none
expect_error 2 "needs the folder of a run" "$KOLM" trace
expect_error 1 "can't write none/out.svg" "$KOLM" trace pipe --svg none/out.svg
echo '{"traceEvents": []}' >other.json
expect_error 2 "other.json is no timeline of kolm" "$KOLM" trace other.json
head -c 1000 pipe/timeline.json >half.json
expect_error 2 "half.json is no JSON: line" "$KOLM" trace half.json

[ -n "${MPIEXEC:-}" ] || exit 0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=detect_leaks=0 # MPI libraries leave some
over_mpi=(train --dim 64 --depth 4 --pp 2 --micro-batches 4 --steps 12 --verbose)
clock='s/^the clock of rank [0-9]*.s machine is ahead of rank 0.s by \([-0-9.]*\) us, give or take \([0-9.]*\)$/\1 \2/p'

# As if there were two machines: their clocks are one, which the measurement has to find.
KOLM_MPI_HOSTS=2,cyclic "$MPIEXEC" -n 4 "$KOLM" "${over_mpi[@]}" --dp 2 --run-dir hosts >/dev/null 2>err.txt || fail "two hosts: $(cat err.txt)"
"$CHECK_TIMELINE" hosts/timeline.json >out.txt 2>&1 || fail "two hosts: $(cat out.txt)"
sed -n "$clock" err.txt | awk '{ if ($1 > $2 || $1 < -$2) exit 1; n++ } END { exit n != 1 }' || fail "one clock is two: $(grep clock err.txt)"
grep -q '"clocks": \[{"first_rank": 1, "offset_us": ' hosts/timeline.json || fail "no clock in the file"

# A clock that is really another one, where the kernel lets us have it: 1000 s ahead.
unshare -T --fork --monotonic 1000 true 2>/dev/null || exit 0
KOLM_MPI_HOSTS=2 "$MPIEXEC" -n 1 "$KOLM" "${over_mpi[@]}" --run-dir clocks : -n 1 unshare -T --fork --monotonic 1000 \
	"$KOLM" "${over_mpi[@]}" --run-dir clocks >/dev/null 2>err.txt || fail "two clocks: $(cat err.txt)"
sed -n "$clock" err.txt | awk '{ d = $1 - 1e9; if (d > $2 + 1 || d < -$2 - 1) exit 1; n++ } END { exit n != 1 }' ||
	fail "not 1000 s ahead: $(grep clock err.txt)"
"$CHECK_TIMELINE" clocks/timeline.json >out.txt 2>&1 || fail "two clocks: $(cat out.txt)"
exit 0
