#!/usr/bin/env bash
# kolm doctor finds nothing broken where the tests run, and something where it is.
. "$(dirname "$0")/lib.bash"

"$KOLM" doctor >out.txt || fail "doctor: $(cat out.txt)"
grep -q " 0 failures$" out.txt || fail "doctor found failures: $(cat out.txt)"
grep -q "^ok *cpu " out.txt || fail "doctor says nothing of the cpu"
"$KOLM" doctor --json | grep -q '"failures": 0' || fail "doctor --json"
grep -qE "^ok +peak +fp32 [0-9]+ GFLOP/s, fp16 as fp32: no instruction, bf16 ([0-9]+ GFLOP/s|as fp32: no instruction)$" out.txt || fail "doctor says nothing of the peaks: $(cat out.txt)"
# The peak of each type: its own where the CPU multiplies it, otherwise that of fp32; and so everywhere.
"$KOLM" devices --json | grep -q '"bf16"' && own=bf16 || own=fp32
"$KOLM" doctor --json | grep -A 2 '"dtype": "bf16"' | grep -q "\"peak_dtype\": \"$own\"" || fail "doctor --json: not the peak of $own"
"$KOLM" bench peak --threads 1 --seconds 0.002 --json | grep -A 2 '"dtype": "bf16"' | grep -q "\"peak_dtype\": \"$own\"" || fail "bench peak: not the peak of $own"
for type in fp32 fp16 bf16; do
	[ $type = bf16 ] && of=$own || of=fp32
	"$KOLM" bench gemm --rows 8 --out 32 --in 32 --dtype $type --seconds 0.002 --json | grep -q "\"peak_dtype\": \"$of\"" || fail "bench gemm: $type is not held against $of"
	"$KOLM" bench gemm --rows 8 --out 32 --in 32 --dtype $type --seconds 0.002 | grep -q "^$type; $of peak in this run: " || fail "bench gemm --dtype $type says nothing of $of"
done
"$KOLM" devices | grep -qE "^cpu .* of memory; products [0-9]+ GFLOP/s, copies [0-9.]+ GB/s$" || fail "devices"
"$KOLM" devices --json | grep -q '"name": "cpu"' || fail "devices --json"

# Too little for ranks to share memory: a failure with its limit.
(ulimit -f 10; "$KOLM" doctor 2>&1) | cat >out.txt
grep -q "FAILURE *shm .*'ulimit -f 10' allows 10.0 KiB" out.txt || fail "doctor did not name the limit: $(cat out.txt)"
grep -q -- "-> ulimit -f unlimited" out.txt || fail "doctor gave no remedy: $(cat out.txt)"
# A few messages between ranks, measured.
ASAN_OPTIONS=detect_leaks=0 "$KOLM" bench comm --ranks 3 --seconds 0.002 --json >comm.json || fail "bench comm"
grep -q '"op": "all-reduce"' comm.json || fail "bench comm measured no all-reduce"
exit 0
