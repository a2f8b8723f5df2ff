#!/usr/bin/env bash
# kolm grid: text, JSON, SVG, and one line for what it refuses.
. "$(dirname "$0")/lib.bash"

"$KOLM" grid --dp 2 --pp 2 --mp 2 >out.txt || fail "grid"
grep -qE "^replica 1 +2 +3 +6 +7$" out.txt || fail "no map: $(cat out.txt)"
grep -q "^model  2 groups of 4: 0 1 4 5 | 2 3 6 7$" out.txt || fail "no model groups: $(cat out.txt)"
grep -q "^pp     4 groups of 2: 0 4 | 1 5 | 2 6 | 3 7$" out.txt || fail "no pp groups: $(cat out.txt)"

"$KOLM" grid --dp 2 --pp 2 --tp 2 --json | tr -d ' \n' >out.json || fail "grid --json"
grep -q '{"rank":5,"dp":0,"pp":1,"mp":1}' out.json || fail "rank 5: $(cat out.json)"
grep -q '"groups":{"mp":\[\[0,1\],\[2,3\],\[4,5\],\[6,7\]\],"dp":\[\[0,2\],\[1,3\],\[4,6\],\[5,7\]\]' out.json ||
	fail "groups: $(cat out.json)"

"$KOLM" grid --dp 3 --pp 2 --svg out.svg >/dev/null || fail "grid --svg"
tail -n 1 out.svg | grep -q "^</svg>$" || fail "the SVG is cut"
# On its own auto is what there are cores for.
"$KOLM" grid --dp auto --json | grep -q '"rank": 0' || fail "--dp auto"
# The largest that is allowed.
"$KOLM" grid --dp 16 --pp 16 --mp 16 --json >out.json || fail "4096 ranks"
[ "$(grep -c '"rank":' out.json)" = 4096 ] || fail "4096 ranks are not listed"

refused() { expect_error 2 "$1" "$KOLM" grid "${@:2}"; }
refused "only one of --dp, --pp and --mp can be auto" --dp auto --pp auto
refused "--mp 0 is out of range" --mp 0
refused "is 8192 ranks; at most 4096" --dp 4096 --pp 2
refused "unexpected argument" 2
expect_error 1 "can't write none/out.svg" "$KOLM" grid --svg none/out.svg
exit 0
