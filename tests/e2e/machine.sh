#!/usr/bin/env bash
# kolm doctor finds nothing broken where the tests run, and something where it is.
. "$(dirname "$0")/lib.bash"

"$KOLM" doctor >out.txt || fail "doctor: $(cat out.txt)"
grep -q " 0 failures$" out.txt || fail "doctor found failures: $(cat out.txt)"
grep -q "^ok *cpu " out.txt || fail "doctor says nothing of the cpu"
"$KOLM" doctor --json | grep -q '"failures": 0' || fail "doctor --json"
"$KOLM" devices | grep -q "^cpu .* of memory$" || fail "devices"
"$KOLM" devices --json | grep -q '"name": "cpu"' || fail "devices --json"

# Too little for ranks to share memory: a failure with its limit.
(ulimit -f 10; "$KOLM" doctor 2>&1) | cat >out.txt
grep -q "FAILURE *shm .*'ulimit -f 10' allows 10.0 KiB" out.txt || fail "doctor did not name the limit: $(cat out.txt)"
grep -q -- "-> ulimit -f unlimited" out.txt || fail "doctor gave no remedy: $(cat out.txt)"
# A few messages between ranks, measured.
ASAN_OPTIONS=detect_leaks=0 "$KOLM" bench comm --ranks 3 --seconds 0.002 --json >comm.json || fail "bench comm"
grep -q '"op": "all-reduce"' comm.json || fail "bench comm measured no all-reduce"
exit 0
