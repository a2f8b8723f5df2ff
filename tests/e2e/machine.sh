#!/usr/bin/env bash
# kolm doctor finds nothing broken where the tests run, and something where it is.
. "$(dirname "$0")/lib.bash"

"$KOLM" doctor >out.txt || fail "doctor: $(cat out.txt)"
grep -q " 0 failures$" out.txt || fail "doctor found failures: $(cat out.txt)"
grep -q "^ok *cpu " out.txt || fail "doctor says nothing of the cpu"
"$KOLM" doctor --json | grep -q '"failures": 0' || fail "doctor --json"
"$KOLM" devices | grep -q "^cpu .* of memory$" || fail "devices"
"$KOLM" devices --json | grep -q '"name": "cpu"' || fail "devices --json"

# Too little address space for ranks to share memory: a failure with its remedy. Sanitizers
# need more address space than that themselves.
if (ulimit -v 4000000 && "$KOLM" --version) >/dev/null 2>&1; then
	(ulimit -v 4000000; "$KOLM" doctor) >out.txt 2>err.txt
	[ $? = 1 ] || fail "doctor did not fail where ranks can't share memory: $(cat out.txt)"
	grep -q "FAILURE *shm" out.txt || fail "doctor did not name shared memory: $(cat out.txt)"
	grep -q -- "-> .*ulimit -v" out.txt || fail "doctor gave no remedy: $(cat out.txt)"
fi
# A few messages between ranks, measured.
ASAN_OPTIONS=detect_leaks=0 "$KOLM" bench comm --ranks 3 --seconds 0.002 --json >comm.json || fail "bench comm"
grep -q '"op": "all-reduce"' comm.json || fail "bench comm measured no all-reduce"
exit 0
