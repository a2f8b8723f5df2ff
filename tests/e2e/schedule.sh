#!/usr/bin/env bash
# kolm schedule: text, JSON, SVG, and one line for what it refuses.
. "$(dirname "$0")/lib.bash"

# The value of a member that is there once.
member() { grep -o "^  \"$1\": [^,]*" "$2" | cut -d' ' -f4; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b < 5e-4 && b - a < 5e-4) }'; }

"$KOLM" schedule >out.txt || fail "schedule"
grep -q "^stage 3 .*\.0==0-----1==" out.txt || fail "no drawing: $(cat out.txt)"
grep -q "bubble 27.27 %, makespan 33 ms" out.txt || fail "no bubble: $(cat out.txt)"
grep -q "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7$" out.txt || fail "no order: $(cat out.txt)"

"$KOLM" schedule --send-early >out.txt || fail "--send-early"
grep -q "bubble 20.00 %, makespan 30 ms" out.txt || fail "gradients are not sent early: $(cat out.txt)"

# The published profile, as a script would read it.
profile="--pp 8 --micro-batches 24 --cost-f 18.522 --cost-b 27.423ms --cost-w 9.337 --latency 601us"
for want in "1f1b 0.2431" "zb-h1 0.1585"; do
	read -r schedule bubble <<<"$want"
	# shellcheck disable=SC2086
	"$KOLM" schedule --schedule "$schedule" $profile --json >out.json || fail "$schedule --json"
	near "$(member bubble out.json)" "$bubble" || fail "$schedule: not $bubble: $(cat out.json)"
done
[ "$(grep -c '"activations": 8,' out.json)" = 8 ] || fail "zb-h1 should have 8 activations on all stages"
[ "$(grep -c '"messages": 48,' out.json)" = 6 ] || fail "inner stages send 2 messages per micro-batch"
[ "$(grep -c '"order": "F0 ' out.json)" = 8 ] || fail "no orders in JSON"

for schedule in naive gpipe 1f1b zb-h1 "interleaved --chunks 3"; do
	for size in "2 1" "3 7" "8 5"; do
		# shellcheck disable=SC2086
		"$KOLM" schedule --schedule $schedule --pp "${size% *}" --micro-batches "${size#* }" \
			--svg out.svg >/dev/null || fail "$schedule $size"
		tail -n 1 out.svg | grep -q "^</svg>$" || fail "$schedule $size: the SVG is cut"
		rm out.svg
	done
done
"$KOLM" schedule --cost-f 0 --cost-b 0 --json >out.json || fail "costs of 0"
[ "$(member bubble out.json)" = 0 ] || fail "costs of 0 have a bubble: $(cat out.json)"

refused() { expect_error 2 "$1" "$KOLM" schedule "${@:2}"; }
refused "schedule 1f1b has one chunk per stage; use --schedule interleaved" --chunks 2
refused "needs at least 2 chunks.*; give --chunks 2" --schedule interleaved --chunks 1
refused "needs at least 2 stages; give --pp 2" --schedule interleaved --chunks 2 --pp 1
refused "--cost-w 3 is more than --cost-b 2" --cost-w 3
refused "--pp 0 is out of range" --pp 0
refused "is too much to draw; their product may be" --pp 1024 --micro-batches 65536
refused "did you mean|one of naive, gpipe" --schedule gpip
expect_error 1 "can't write none/out.svg" "$KOLM" schedule --svg none/out.svg
exit 0
