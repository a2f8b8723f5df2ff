#!/usr/bin/env bash
# Virtual devices: steps take what the simulator says (all grids: predicted.sh), schedules differ as it says, messages
# hide where a schedule leaves room, a slow rank is named, and the parts of a step add up.
. "$(dirname "$0")/lib.bash"

value() { grep -o "\"$1\": [0-9.e+-]*" "$2" | head -n 1 | cut -d' ' -f2; }
holds() { awk "BEGIN { exit !($1) }"; }
# The first breakdown of a summary, or that of the rank'th rank: "compute comm bubble imbalance other".
parts() { grep -A 5 '"breakdown_ms"' "$1" | grep -oE ': [0-9.e+-]+' | cut -d' ' -f2 | tail -n +$((1 + 5 * (${2:--1} + 1))) | head -n 5 | tr '\n' ' '; }
train() { "$KOLM" train --overwrite --quiet --steps 2 --warmup 0 --dim 256 --run-dir "$@" || fail "$*"; }

device=virtual:gflops=64,link=2GB/s,latency=20us
for p in 4 8; do
	for m in 8 16 32; do
		for s in naive gpipe 1f1b interleaved zb-h1; do
			train run --device $device --depth $((2 * p)) --pp $p --micro-batches $m --batch $((32 * m)) --schedule $s
			eval "${s//[-1]/_}=$(value median run/summary.json)"
			holds "($(value median run/summary.json) - $(value predicted_ms run/summary.json))^2 < 0.0000005^2" ||
				fail "$s p $p m $m: $(value median run/summary.json) ms, predicted $(value predicted_ms run/summary.json)"
			holds "($(value bubble run/summary.json) - $(value predicted_bubble run/summary.json))^2 < 0.000001^2" ||
				fail "$s p $p m $m: bubble $(value bubble run/summary.json), predicted $(value predicted_bubble run/summary.json)"
			rm -rf run
		done
		holds "$_f_b < $naive / 2 && $interleaved < $_f_b && $zb_h_ < $_f_b" ||
			fail "p $p m $m: naive $naive, 1f1b $_f_b, interleaved $interleaved, zb-h1 $zb_h_"
	done
done

# Nothing is computed there, so there is no loss to print.
"$KOLM" train --device $device --dim 64 --depth 2 --steps 2 --run-dir loss >out.txt 2>err.txt || fail "loss"
grep -q 'loss -  ' out.txt && ! grep -q nan out.txt err.txt || fail "$(cat out.txt)"

# Equal replicas compute equally long: what the machine itself takes is not of their time.
train equal --device $device --dp 4 --depth 4 --steps 8
[ "$(grep -o '"compute": [0-9.e-]*' equal/summary.json | sort -u | wc -l)" = 1 ] || fail "replicas differ: $(grep '"compute"' equal/summary.json)"

# What is slow must be there.
slow() { expect_error 2 "--device: '$1' is not in this run; ranks go from 0 to 1" "$KOLM" train --dp 2 --device "virtual:gflops=9,$1"; }
slow slow=99:2
slow slow=2:2
slow slow-link=0-2:3
slow slow-link=1-1:3
train there --dp 2 --device virtual:slow=1:2,slow-link=0-1:3
# Messages of 0.5 ms beside operations of 1 ms: gpipe hides them, the base engine nothing.
slow=virtual:gflops=8.4,link=65.5MB/s,latency=0
for engine in hybrid base; do
	train $engine --device $slow --depth 4 --pp 4 --micro-batches 16 --batch 512 --schedule gpipe --engine $engine
done
each=$(awk "BEGIN { print 2 * 16 * 0.5 }") # of a rank in the middle, per step
read -r _ comm _ <<<"$(parts hybrid/summary.json 1)"
holds "$comm < 0.2 * $each" || fail "$comm of $each ms of messages are exposed"
read -r _ comm _ <<<"$(parts base/summary.json 1)"
holds "$comm > 0.99 * $each" || fail "the base engine exposes $comm of $each ms"

# A rank that sleeps: the others' time is imbalance, not communication.
train late --device $device --dp 4 --depth 4 --inject rank=0,at=forward,sleep=20ms
[ "$(grep -A 1 '"straggler"' late/summary.json | value rank /dev/stdin)" = 0 ] || fail "no straggler: $(cat late/summary.json)"
for rank in 1 2 3; do
	read -r compute comm bubble imbalance other <<<"$(parts late/summary.json $rank)"
	holds "$imbalance > 19.5 && $imbalance < 20.5 && $comm < 5" || fail "rank $rank: imbalance $imbalance, communication $comm"
done

# Slow ranks and slow links.
train even --device $device --dp 2 --depth 4
train slow-rank --device $device,slow=1:3 --dp 2 --depth 4
train slow-link --device $device,slow-link=0-1:5 --dp 2 --depth 4
holds "$(value median slow-rank/summary.json) > 1.5 * $(value median even/summary.json)" || fail "slow=1:3 changes nothing"
holds "$(value median slow-link/summary.json) > 1.5 * $(value median even/summary.json)" || fail "slow-link=0-1:5 changes nothing"

# Many ranks, and what adds up.
train many --device $device --dp 4 --pp 4 --mp 4 --depth 8 --micro-batches 4 --batch 64
[ "$(grep -c '"utilization"' many/summary.json)" = 64 ] || fail "not 64 ranks"
for run in many even slow-link late hybrid base; do
	read -r a b c d e <<<"$(parts $run/summary.json)"
	holds "($a + $b + $c + $d + $e) / $(value mean $run/summary.json) > 0.99 && ($a + $b + $c + $d + $e) / $(value mean $run/summary.json) < 1.01" ||
		fail "$run: $a + $b + $c + $d + $e is not $(value mean $run/summary.json)"
done

expect_error 2 "a virtual device can't have 'gflops=fast'; such as virtual:" "$KOLM" train --device virtual:gflops=fast
expect_error 2 "a virtual device can't have 'gflops16=0'; such as virtual:" "$KOLM" train --device virtual:gflops16=0
expect_error 2 "can't have 'speed=3'" "$KOLM" train --device virtual:speed=3
expect_error 2 "can't have 'link=1GB'" "$KOLM" train --device virtual:link=1GB
expect_error 2 "computes no weights" "$KOLM" train --device virtual --steps 2 --dump-check dump
expect_error 1 "out of device memory: rank 0 needs .* of 1.0 MiB" "$KOLM" train --device virtual:mem=1MiB
exit 0
